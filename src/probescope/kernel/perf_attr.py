"""What perf_event_open(2) is told: attributes as data, and the PMUs that sysfs lists.

Source: include/uapi/linux/perf_event.h; Documentation/ABI/testing/sysfs-bus-event_source-devices-*.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping

from probescope.errors import Unsupported
from probescope.frozen import dataclass, replace
from probescope.kernel.host import host
from probescope.kernel.uapi import perf as u

ATTR_SIZE = 136

# type@0 size@4 config@8 period|freq@16 sample_type@24 read_format@32 flags@40 wakeup@48 bp_type@52 config1@56
# config2@64 branch_sample_type@72 sample_regs_user@80 sample_stack_user@88 clockid@92 sample_regs_intr@96
# aux_watermark@104 sample_max_stack@108 reserved@110 aux_sample_size@112 aux_action@116 sig_data@120 config3@128
_LAYOUT = struct.Struct("=IIQQQQQIIQQQQIiQIHHIIQQ")


@dataclass(frozen=True, slots=True)
class PerfAttr:
    """``struct perf_event_attr``. ``flags`` are the FLAG_* bits. With FLAG_FREQ ``period`` is in Hz, else in events (ns
    for clocks). ``text1``, if not empty, is put in memory and its address into ``config1``: the file of a uprobe, the
    symbol of a kprobe."""

    type: int
    config: int = 0
    period: int = 0
    sample_type: int = 0
    read_format: int = 0
    flags: int = 0
    wakeup: int = 0
    bp_type: int = 0
    config1: int = 0
    config2: int = 0
    branch_sample_type: int = 0
    sample_regs_user: int = 0
    sample_stack_user: int = 0
    clockid: int = 0
    sample_regs_intr: int = 0
    sample_max_stack: int = 0
    sig_data: int = 0
    config3: int = 0
    text1: str = ""

    def pack(self, config1: int | None = None) -> bytearray:
        """As the kernel takes it, 136 bytes (the size since 6.3); ``config1`` replaces the field."""
        return bytearray(
            _LAYOUT.pack(
                self.type,
                ATTR_SIZE,
                self.config,
                self.period,
                self.sample_type,
                self.read_format,
                self.flags,
                self.wakeup,
                self.bp_type,
                self.config1 if config1 is None else config1,
                self.config2,
                self.branch_sample_type,
                self.sample_regs_user,
                self.sample_stack_user,
                self.clockid,
                self.sample_regs_intr,
                0,
                self.sample_max_stack,
                0,
                0,
                0,
                self.sig_data,
                self.config3,
            )
        )


# --- what to open
# --------------------------------------------------------------------------------------------------------


def tracepoint_attr(event_id: int, *, sample_type: int = 0, period: int = 1, flags: int = 0) -> PerfAttr:
    """``event_id`` as in events/CATEGORY/EVENT/id of tracefs. It fires on every CPU for a BPF program, whatever ``cpu``
    it is opened on."""
    return PerfAttr(u.PERF_TYPE_TRACEPOINT, event_id, period, sample_type, flags=flags)


def software_attr(
    config: int, *, period: int = 0, frequency: int = 0, sample_type: int = 0, flags: int = 0
) -> PerfAttr:
    """Every ``period`` events (ns for cpu-clock and task-clock), or ``frequency`` times a second."""
    return _counter(u.PERF_TYPE_SOFTWARE, config, period, frequency, sample_type, flags)


def hardware_attr(
    config: int, *, period: int = 0, frequency: int = 0, sample_type: int = 0, flags: int = 0
) -> PerfAttr:
    return _counter(u.PERF_TYPE_HARDWARE, config, period, frequency, sample_type, flags)


def _counter(type_: int, config: int, period: int, frequency: int, sample_type: int, flags: int) -> PerfAttr:
    if frequency:
        return PerfAttr(type_, config, frequency, sample_type, flags=flags | u.FLAG_FREQ)
    return PerfAttr(type_, config, period, sample_type, flags=flags)


def breakpoint_attr(address: int, length: int, kind: int, *, sample_type: int = 0, flags: int = 0) -> PerfAttr:
    """A hardware watchpoint on ``length`` (1, 2, 4 or 8) bytes; ``kind`` of HW_BREAKPOINT_R|W|X."""
    return PerfAttr(
        u.PERF_TYPE_BREAKPOINT, 0, 1, sample_type, flags=flags, bp_type=kind, config1=address, config2=length
    )


def uprobe_attr(path: str, offset: int, *, ret: bool = False, ref_ctr: int = 0, sample_type: int = 0) -> PerfAttr:
    """At a file offset. ``ref_ctr``: file offset of a USDT semaphore, kept raised while the event is open. Raises
    Unsupported where the kernel has no uprobe PMU (4.17, "perf/core: Implement the 'perf_uprobe' PMU")."""
    config = (1 << pmu_bit("uprobe", "retprobe")) if ret else 0
    config |= ref_ctr << 32
    return PerfAttr(pmu_type("uprobe"), config, 1, sample_type, config2=offset, text1=path)


def kprobe_attr(symbol: str, offset: int = 0, *, address: int = 0, ret: bool = False, sample_type: int = 0) -> PerfAttr:
    """At ``symbol + offset``, or at ``address`` if ``symbol`` is empty. Raises Unsupported where there is no kprobe
    PMU."""
    config = (1 << pmu_bit("kprobe", "retprobe")) if ret else 0
    at = offset if symbol else address
    return PerfAttr(pmu_type("kprobe"), config, 1, sample_type, config2=at, text1=symbol)


def with_samples(attr: PerfAttr, sample_type: int, *, wakeup: int = 0, flags: int = 0) -> PerfAttr:
    """The same event, sampling: ``wakeup`` in events, or bytes with FLAG_WATERMARK."""
    return replace(attr, sample_type=sample_type, wakeup=wakeup, flags=attr.flags | flags)


# --- PMUs
# ----------------------------------------------------------------------------------------------------------------

PMU_DIR = "/sys/bus/event_source/devices"


def pmus() -> Mapping[str, int]:
    """Every PMU that this kernel registered, by name, with its type number. Empty if sysfs is not there."""
    h = host()
    found: dict[str, int] = {}
    try:
        names = h.listdir(PMU_DIR)
    except OSError:
        return found
    for name in sorted(names):
        try:
            found[name] = int(h.read_text(f"{PMU_DIR}/{name}/type", 64))
        except (OSError, ValueError):
            continue
    return found


def pmu_type(name: str) -> int:
    """The ``type`` for PerfAttr. Raises Unsupported if the kernel has no such PMU."""
    cache = host().cache
    key = "pmu_" + name
    if key not in cache:
        try:
            cache[key] = int(host().read_text(f"{PMU_DIR}/{name}/type", 64))
        except (OSError, ValueError):
            from probescope.kernel.advice import hints_for

            raise Unsupported(
                f"open {PMU_DIR}/{name}/type", errno.ENOENT, hints=hints_for("pmu", errno.ENOENT, pmu=name)
            ) from None
    result: int = cache[key]
    return result


def pmu_bit(pmu: str, field: str) -> int:
    """The lowest bit of ``config`` that a PMU's format file gives to ``field`` (``config:0`` or ``config:32-63``); 0 if
    it cannot be read."""
    try:
        text = host().read_text(f"{PMU_DIR}/{pmu}/format/{field}", 256)
        return int(text.split(":", 1)[1].split("-", 1)[0])
    except (OSError, ValueError, IndexError):
        return 0
