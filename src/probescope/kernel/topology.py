"""Core, socket and node of CPUs. Source: Documentation/ABI/stable/sysfs-devices-system-cpu and -node."""

from __future__ import annotations

from probescope.kernel.host import host
from probescope.kernel.machine import parse_cpus

CPUS = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"


def _number(path: str) -> int:
    try:
        return int(host().read_text(path, 64))
    except (OSError, ValueError):
        return 0


def socket_of(cpu: int) -> int:
    """0 where the kernel does not say."""
    return max(0, _number(f"{CPUS}/cpu{cpu}/topology/physical_package_id"))


def die_of(cpu: int) -> int:
    return max(0, _number(f"{CPUS}/cpu{cpu}/topology/die_id"))


def core_of(cpu: int) -> int:
    """Within its socket and die."""
    return max(0, _number(f"{CPUS}/cpu{cpu}/topology/core_id"))


def nodes() -> dict[int, int]:
    """The NUMA node of each CPU; empty if the kernel has none."""
    out: dict[int, int] = {}
    try:
        names = host().listdir(NODES)
    except OSError:
        return out
    for name in names:
        if name.startswith("node") and name[4:].isdigit():
            try:
                cpus = parse_cpus(host().read_text(f"{NODES}/{name}/cpulist", 1 << 16).strip())
            except (OSError, ValueError):
                continue
            out.update(dict.fromkeys(cpus, int(name[4:])))
    return out
