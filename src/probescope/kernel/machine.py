"""The machine and its kernel as /proc and /sys tell them: CPUs, clocks, settings, build configuration, symbols."""

from __future__ import annotations

import time
from collections.abc import Mapping

from probescope.errors import FormatError
from probescope.kernel.host import host

KCORE = "/proc/kcore"
"""An ELF file of the kernel's memory, if it shows it (CONFIG_PROC_KCORE) and we may look (CAP_SYS_RAWIO)."""
_MOST_CPUS = 1 << 16

# --- CPUs
# --------------------------------------------------------------------------------------------------------------


def parse_cpus(text: str) -> list[int]:
    """The kernel's list format: ``0-3,8,10-11`` is [0, 1, 2, 3, 8, 10, 11]; empty text is none. Raises FormatError."""
    out: list[int] = []
    for part in text.strip().split(","):
        if not part:
            continue
        first, _, last = part.partition("-")
        try:
            low, high = int(first), int(last or first)
        except ValueError:
            raise FormatError(f"not a list of CPUs: {text[:80]!r}") from None
        if not 0 <= low <= high < _MOST_CPUS:
            raise FormatError(f"not a list of CPUs: {text[:80]!r}")
        out.extend(range(low, high + 1))
    return out


def _cpus(name: str) -> list[int]:
    cache = host().cache
    key = "cpus_" + name
    if key not in cache:
        path = f"/sys/devices/system/cpu/{name}"
        try:
            cache[key] = parse_cpus(host().read_text(path, 1 << 16))
        except OSError as e:
            from probescope.kernel.advice import kernel_error

            raise kernel_error(f"open {path}", e.errno or 0) from None
    return list(cache[key])


def possible_cpus() -> list[int]:
    """CPUs that may ever come online: per-CPU maps hold a slot for each. Raises KernelError, FormatError."""
    return _cpus("possible")


def online_cpus() -> list[int]:
    """CPUs online when first asked. Raises KernelError, FormatError."""
    return _cpus("online")


# --- time
# ----------------------------------------------------------------------------------------------------------------


def uptime_ns() -> int:
    """Since boot, with suspended time: what bpf_ktime_get_boot_ns() reads."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def clock_offset_ns(clock: int) -> int:
    """``clock`` minus CLOCK_MONOTONIC, in ns. The pair is read several times and the closest reading taken: within a
    microsecond or so."""
    best, offset = 1 << 63, 0
    for _ in range(5):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        other = time.clock_gettime_ns(clock)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if after - before < best:
            best, offset = after - before, other - (before + after) // 2
    return offset


def wall_offset_ns() -> int:
    """What to add to a bpf_ktime_get_ns() reading to get nanoseconds since 1970."""
    return clock_offset_ns(time.CLOCK_REALTIME)


def boot_offset_ns() -> int:
    """What to add to a bpf_ktime_get_ns() reading to get time since boot: the suspended time."""
    return clock_offset_ns(time.CLOCK_BOOTTIME)


# --- settings
# ------------------------------------------------------------------------------------------------------------


def sysctl(name: str) -> str | None:
    """The value of ``kernel.perf_event_paranoid`` and the like, stripped; None if there is none such or it may not be
    read."""
    try:
        return host().read_text("/proc/sys/" + name.replace(".", "/"), 1 << 16).strip()
    except OSError:
        return None


def sysctl_int(name: str) -> int | None:
    text = sysctl(name)
    try:
        return int(text.split()[0]) if text else None
    except ValueError:
        return None


def available_memory() -> int | None:
    """Bytes that may be used before anything has to be written out or taken from somebody: MemAvailable of
    /proc/meminfo (proc(5))."""
    try:
        text = host().read_text("/proc/meminfo", 1 << 16)
    except OSError:
        return None
    words = next((line.split() for line in text.splitlines() if line.startswith("MemAvailable:")), [])
    return int(words[1]) * 1024 if len(words) > 1 and words[1].isdecimal() else None


def kernel_config() -> Mapping[str, str]:
    """The kernel's build options (``{"CONFIG_BPF": "y", ...}``), from /proc/config.gz or /boot/config-RELEASE; empty if
    neither is there. For explanations only: what the kernel can do is found by trying."""
    h = host()
    cached: Mapping[str, str] | None = h.cache.get("kernel_config")
    if cached is None:
        cached = h.cache["kernel_config"] = _parse_config(_config_text())
    return cached


def _config_text() -> str:
    h = host()
    try:
        packed = h.read_bytes("/proc/config.gz", 1 << 22)
    except OSError:
        packed = b""
    if packed:
        import zlib

        try:
            return zlib.decompressobj(31).decompress(packed, 1 << 24).decode("utf-8", "replace")
        except zlib.error:
            return ""
    for path in (f"/boot/config-{h.release}", f"/lib/modules/{h.release}/config"):
        try:
            return h.read_text(path, 1 << 24)
        except OSError:
            continue
    return ""


def _parse_config(text: str) -> Mapping[str, str]:
    out: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("CONFIG_") and "=" in line:
            name, _, value = line.partition("=")
            out[name] = value.strip('"')
    return out


# --- the kernel's own symbols
# ----------------------------------------------------------------------------------------------


def kallsyms() -> bytes:
    """/proc/kallsyms as it is: ``address type name [module]`` lines. Addresses are zeros for those whom kptr_restrict
    excludes; nothing where there is no /proc, or it may not be read: functions of the kernel have no names then."""
    try:
        return host().read_bytes("/proc/kallsyms")
    except OSError:
        return b""


def btf_names() -> list[str]:
    """What /sys/kernel/btf holds: ``vmlinux`` and modules; empty if the kernel has no BTF."""
    try:
        return sorted(host().listdir("/sys/kernel/btf"))
    except OSError:
        return []


def btf_bytes(name: str = "vmlinux") -> bytes:
    """The raw BTF of the kernel or of a module. Raises OSError."""
    return host().read_bytes(f"/sys/kernel/btf/{name}")
