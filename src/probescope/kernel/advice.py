"""(call, errno, context) -> what to do about it. Every KernelError of this room is made here.

The table below is read from the top; each rule whose call, errno and condition fit adds its hints. A hint is a line
that can be acted on: a command to paste, a build option, another way to ask. ``context`` is what the caller knew:
``path``, ``cpu``, ``prog``... Sources: man pages of bpf(2) and perf_event_open(2),
Documentation/admin-guide/sysctl/kernel.rst.
"""

from __future__ import annotations

import errno as _e
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from probescope.errors import KernelError, PermissionDenied, Unsupported
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.kernel.privileges import Privileges

ENOTSUPP = 524
_NAMES = {ENOTSUPP: "ENOTSUPP", _e.EOPNOTSUPP: "EOPNOTSUPP"}
_DENIED = (_e.EPERM, _e.EACCES)
_ABSENT = (_e.ENOSYS, _e.EOPNOTSUPP, ENOTSUPP)
_MOST = 4


class Situation:
    """What a rule may look at. Settings of the machine are read when a rule first asks."""

    def __init__(self, call: str, errno: int, context: dict[str, object]) -> None:
        self.call = call
        self.errno = errno
        self.context = context
        self._privileges: Privileges | None = None

    def get(self, name: str) -> object:
        return self.context.get(name)

    def text(self, name: str) -> str:
        return str(self.context.get(name) or "")

    @property
    def privileges(self) -> Privileges:
        if self._privileges is None:
            from probescope.kernel.privileges import privileges

            self._privileges = privileges()
        return self._privileges

    @property
    def privileged(self) -> bool:
        return self.privileges.can_trace_with_bpf

    @property
    def filtered(self) -> bool:
        """Whether system calls of this process are filtered."""
        from probescope.kernel.host import host

        try:
            return "\nSeccomp:\t2\n" in host().read_text("/proc/self/status", 1 << 16)
        except OSError:
            return False

    def setting(self, name: str) -> int:
        """A sysctl as a number; 0 if it cannot be read."""
        from probescope.kernel.machine import sysctl_int

        return sysctl_int(name) or 0

    def exists(self, path: str) -> bool:
        from probescope.kernel.host import host

        return host().exists(path)


@dataclass(frozen=True, slots=True)
class Rule:
    """``call``: how the call's name begins. ``errnos``: empty for any. ``hint`` gives a text, several, or nothing."""

    call: str
    errnos: tuple[int, ...]
    hint: str | Callable[[Situation], Iterable[str]]
    when: Callable[[Situation], bool] = lambda _: True


def hints_for(call: str, number: int, /, **context: object) -> list[str]:
    """What a person can do, best first, at most four lines; empty if we know nothing."""
    from probescope.kernel.advice_rules import RULES

    s = Situation(call, number, context)
    out: list[str] = []
    for rule in RULES:
        if call.startswith(rule.call) and (not rule.errnos or number in rule.errnos) and rule.when(s):
            hints = [rule.hint] if isinstance(rule.hint, str) else rule.hint(s)
            out.extend(h for h in hints if h not in out)
    return out[:_MOST]


def kernel_error(call: str, number: int, where: str = "", /, **context: object) -> KernelError:
    """The error for a failed call, with advice: PermissionDenied, Unsupported, or a bare KernelError."""
    kind = PermissionDenied if number in _DENIED else Unsupported if number in _ABSENT else KernelError
    error = kind(call, number, where=where, hints=hints_for(call, number, **context))
    if number in _NAMES:  # the first is the kernel's own number, the second has two names in user space
        error.errno_name = _NAMES[number]
        error.what = f"{call} failed: {error.errno_name}"
    return error
