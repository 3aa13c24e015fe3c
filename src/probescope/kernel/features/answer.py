"""Yes, no and unknown, and what an errno means for them."""

from __future__ import annotations

import errno
import os

from probescope.errors import KernelError
from probescope.frozen import dataclass

ENOTSUPP = 524

_PASSING = frozenset(
    (errno.EAGAIN, errno.EINTR, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EBUSY, errno.ETIMEDOUT)
)
_DENIED = frozenset((errno.EPERM, errno.EACCES))


@dataclass(frozen=True, slots=True)
class Answer:
    """``yes`` is None for unknown. ``reason`` is empty for a yes; ``errno`` 0 where no system call failed."""

    name: str
    yes: bool | None
    reason: str = ""
    errno: int = 0

    @property
    def word(self) -> str:
        return "unknown" if self.yes is None else "yes" if self.yes else "no"

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "answer": self.word, "reason": self.reason, "errno": self.errno}


class No(Exception):
    def __init__(self, reason: str, number: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.errno = number


class Unknown(Exception):
    def __init__(self, reason: str, number: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.errno = number


def judge(name: str, e: OSError | KernelError) -> Answer:
    """What a failed attempt says. A refusal for want of privileges is no answer; the same refusal to one who holds them
    all is: the kernel was built or told not to."""
    number = e.errno or 0
    if number in _PASSING:
        return Answer(name, None, f"could not be tried now: {errno_name(number)}", number)
    if number == errno.EROFS:
        return Answer(name, None, "could not be tried: the file system is mounted read-only", number)
    if number in _DENIED and not _privileged():
        return Answer(name, None, f"not permitted to try: {errno_name(number)}", number)
    if number in _DENIED:
        return Answer(name, False, f"the kernel refuses it even with all capabilities: {errno_name(number)}", number)
    return Answer(name, False, f"{_call(e)}{errno_name(number)}", number)


def _call(e: OSError | KernelError) -> str:
    return f"{e.call}: " if isinstance(e, KernelError) else ""


def errno_name(number: int) -> str:
    return errno.errorcode.get(number) or ("ENOTSUPP" if number == ENOTSUPP else f"errno {number}")


def _privileged() -> bool:
    from probescope.kernel.privileges import privileges

    p = privileges()
    return p.can_trace_with_bpf and (p.may("sys_admin") or os.geteuid() == 0)
