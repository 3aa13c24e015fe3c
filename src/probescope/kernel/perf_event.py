"""perf_event_open(2): events as owned descriptors. What to open is in ``perf_attr``. Source:
include/uapi/linux/perf_event.h."""

from __future__ import annotations

import errno
import os
import struct

from probescope.errors import KernelError, Unsupported
from probescope.kernel.fds import Fd
from probescope.kernel.host import FdLike, host
from probescope.kernel.perf_attr import ATTR_SIZE, PerfAttr
from probescope.kernel.syscalls import number
from probescope.kernel.uapi import perf as u


class PerfEvent(Fd):
    """An open event. Methods raise KernelError. Closing one that is a tracepoint costs some 73 ms (it waits for
    RCU)."""

    __slots__ = ()

    def _ioctl(self, name: str, request: int, arg: int | bytearray = 0, **context: object) -> int:
        try:
            return host().ioctl(self.fileno(), request, arg)
        except OSError as e:
            from probescope.kernel.advice import kernel_error

            raise kernel_error(f"ioctl(PERF_EVENT_IOC_{name})", e.errno or 0, **context) from None

    def enable(self, *, group: bool = False) -> None:
        self._ioctl("ENABLE", u.PERF_EVENT_IOC_ENABLE, u.PERF_IOC_FLAG_GROUP if group else 0)

    def disable(self, *, group: bool = False) -> None:
        self._ioctl("DISABLE", u.PERF_EVENT_IOC_DISABLE, u.PERF_IOC_FLAG_GROUP if group else 0)

    def reset(self) -> None:
        self._ioctl("RESET", u.PERF_EVENT_IOC_RESET)

    def set_bpf(self, prog: FdLike) -> None:
        """Runs the program at each event, one program an event (EEXIST for a second). Enable the event afterwards."""
        self._ioctl("SET_BPF", u.PERF_EVENT_IOC_SET_BPF, prog.__index__())

    def set_filter(self, text: str) -> None:
        """A tracefs-style filter on the event's fields; for a tracepoint, uprobe or kprobe event."""
        self._ioctl(
            "SET_FILTER",
            u.PERF_EVENT_IOC_SET_FILTER,
            bytearray(text.encode("utf-8", "surrogateescape") + b"\0"),
            filter=text,
        )

    def set_output(self, other: FdLike | None) -> None:
        """Puts this event's records into the ring of ``other`` (same CPU), or back into none."""
        self._ioctl("SET_OUTPUT", u.PERF_EVENT_IOC_SET_OUTPUT, other.__index__() if other is not None else -1)

    def set_period(self, period: int) -> None:
        self._ioctl("PERIOD", u.PERF_EVENT_IOC_PERIOD, bytearray(struct.pack("=Q", period)))

    def pause_output(self, paused: bool) -> None:
        self._ioctl("PAUSE_OUTPUT", u.PERF_EVENT_IOC_PAUSE_OUTPUT, int(paused))

    def id(self) -> int:
        """The number that PERF_SAMPLE_ID and PERF_SAMPLE_IDENTIFIER carry."""
        out = bytearray(8)
        self._ioctl("ID", u.PERF_EVENT_IOC_ID, out)
        return int(struct.unpack("=Q", out)[0])

    def read_values(self, size: int = 4096) -> tuple[int, ...]:
        """The u64s that read(2) gives: one count, or as ``read_format`` says. ``size`` in bytes bounds a group."""
        try:
            data = host().read(self.fileno(), size)
        except OSError as e:
            from probescope.kernel.advice import kernel_error

            raise kernel_error("read(perf event)", e.errno or 0) from None
        return struct.unpack(f"={len(data) // 8}Q", data)


def perf_event_open(
    attr: PerfAttr,
    *,
    pid: int = -1,
    cpu: int = -1,
    group: FdLike | None = None,
    flags: int = 0,
    what: str = "",
) -> PerfEvent:
    """Opens one event: of process ``pid`` (0: this one, -1: all) on ``cpu`` (-1: any). Raises KernelError; Unsupported
    if the kernel does not know a field that is used. An older kernel says E2BIG and its own size: then the shorter
    attribute is given."""
    text = os.fsencode(attr.text1) + b"\0" if attr.text1 else b""
    packed = attr.pack(host().address(text) if text else None)
    leader = group.__index__() if group is not None else -1
    try:
        fd = _open(packed, pid, cpu, leader, flags)
    except OSError as e:
        if e.errno == errno.E2BIG:
            fd = _open_shorter(packed, pid, cpu, leader, flags)
        else:
            raise _error(e, attr, pid, cpu) from None
    return PerfEvent(fd, what or f"perf:{attr.type}:{attr.config:#x}")


def _open(packed: bytearray, pid: int, cpu: int, group: int, flags: int) -> int:
    h = host()
    return h.syscall(number("perf_event_open"), h.address(packed), pid, cpu, group, flags | u.PERF_FLAG_FD_CLOEXEC)


def _open_shorter(packed: bytearray, pid: int, cpu: int, group: int, flags: int) -> int:
    size = struct.unpack_from("=I", packed, 4)[0]
    if not u.ATTR_SIZES[0] <= size < ATTR_SIZE or any(packed[size:]):
        raise Unsupported(
            "perf_event_open", errno.E2BIG, hints=["this kernel does not know a field of the event: use a newer kernel"]
        )
    short = packed[:size]
    struct.pack_into("=I", short, 4, size)
    try:
        return _open(short, pid, cpu, group, flags)
    except OSError as e:
        raise _error(e, None, pid, cpu) from None


def _error(e: OSError, attr: PerfAttr | None, pid: int, cpu: int) -> KernelError:
    from probescope.kernel.advice import kernel_error

    return kernel_error(
        "perf_event_open",
        e.errno or 0,
        pid=pid,
        cpu=cpu,
        type=attr.type if attr else -1,
        config=attr.config if attr else 0,
        path=attr.text1 if attr else "",
        breakpoint=bool(attr and attr.type == u.PERF_TYPE_BREAKPOINT),
        frequency=attr.period if attr and attr.flags & u.FLAG_FREQ else 0,
    )
