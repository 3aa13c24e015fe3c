"""(call, errno, context) -> what to do about it. Filled in below; every KernelError of this room is made here."""

from __future__ import annotations

import errno as _errno

from probescope.errors import KernelError, PermissionDenied, Unsupported

ENOTSUPP = 524
_DENIED = frozenset((_errno.EPERM, _errno.EACCES))
_ABSENT = frozenset((_errno.ENOSYS, _errno.EOPNOTSUPP, ENOTSUPP))


def hints_for(call: str, number: int, /, **context: object) -> list[str]:
    return []


def kernel_error(call: str, number: int, where: str = "", /, **context: object) -> KernelError:
    kind = PermissionDenied if number in _DENIED else Unsupported if number in _ABSENT else KernelError
    return kind(call, number, where=where, hints=hints_for(call, number, **context))
