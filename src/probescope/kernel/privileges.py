"""What this process may do, and which settings of the machine decide it. Source: capabilities(7), kernel sysctl
docs."""

from __future__ import annotations

import os
import struct

from probescope.errors import LimitError
from probescope.frozen import dataclass
from probescope.kernel.host import host
from probescope.kernel.machine import sysctl_int
from probescope.kernel.syscalls import number

_CAPABILITY_VERSION_3 = 0x20080522  # include/uapi/linux/capability.h

CAPABILITIES: tuple[str, ...] = tuple(
    """
chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable net_bind_service
net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin
sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease audit_write audit_control setfcap mac_override
mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf checkpoint_restore
""".split()
)
"""By bit, from include/uapi/linux/capability.h."""


@dataclass(frozen=True, slots=True)
class Privileges:
    """``capabilities``: names of the effective ones, ``sys_admin``. Settings are None where the file is not there.
    ``lockdown``: ``none``, ``integrity``, ``confidentiality``, or empty if the kernel has no lockdown."""

    uid: int
    capabilities: frozenset[str]
    lockdown: str
    perf_event_paranoid: int | None
    unprivileged_bpf_disabled: int | None
    kptr_restrict: int | None

    def may(self, capability: str) -> bool:
        """``bpf`` and ``perfmon`` are also in the older, larger ``sys_admin`` (5.8, "capability: introduce
        CAP_PERFMON")."""
        held = self.capabilities
        return capability in held or (capability in {"bpf", "perfmon"} and "sys_admin" in held)

    @property
    def can_trace_with_bpf(self) -> bool:
        return self.may("bpf") and self.may("perfmon")

    @property
    def missing(self) -> tuple[str, ...]:
        """Capabilities that BPF tracing wants and this process does not hold, as setcap writes them."""
        return tuple(f"cap_{c}" for c in ("bpf", "perfmon") if not self.may(c))


def privileges() -> Privileges:
    """As of now: capabilities can be dropped, settings changed."""
    return Privileges(
        os.geteuid(),
        _effective(),
        _lockdown(),
        sysctl_int("kernel.perf_event_paranoid"),
        sysctl_int("kernel.unprivileged_bpf_disabled"),
        sysctl_int("kernel.kptr_restrict"),
    )


def _effective() -> frozenset[str]:
    try:
        text = host().read_text("/proc/self/status", 1 << 16)
        mask = int(text.split("\nCapEff:", 1)[1].split(None, 1)[0], 16)
    except (OSError, IndexError, ValueError):
        mask = _told_by_the_kernel()
    return frozenset(name for bit, name in enumerate(CAPABILITIES) if mask >> bit & 1)


def _told_by_the_kernel() -> int:
    """Where there is no /proc. capget(2), version 3, fills two of

    0          4          8            12
    effective  permitted  inheritable          the lower 32 bits of each, then the upper ones
    """
    h = host()
    header, data = bytearray(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)), bytearray(24)
    try:
        h.syscall(number("capget"), h.address(header), h.address(data))
    except (OSError, LimitError):
        return 0
    low, high = struct.unpack_from("=I8xI", data)
    return int(low) | int(high) << 32


def _lockdown() -> str:
    """The file reads ``none [integrity] confidentiality``, the bracketed word being in force."""
    try:
        text = host().read_text("/sys/kernel/security/lockdown", 4096)
    except OSError:
        return ""
    return text.partition("[")[2].partition("]")[0]
