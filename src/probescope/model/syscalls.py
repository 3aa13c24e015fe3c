"""System calls: numbers, names, arguments, per architecture. Import this only when it is needed: it holds 370 rows.

The kernel's tracepoints call a few of them by the name of the function behind them (``uname`` is
``sys_enter_newuname``).
"""

from __future__ import annotations

from functools import cache

from probescope.frozen import dataclass
from probescope.model.syscalls_table import RESERVED, TABLE, WITHOUT_ARGUMENTS

_COLUMN = {"x86_64": 1, "aarch64": 2}

_EVENT_NAMES: dict[str, dict[str, str]] = {
    "x86_64": {
        "stat": "newstat",
        "fstat": "newfstat",
        "lstat": "newlstat",
        "uname": "newuname",
        "sendfile": "sendfile64",
        "umount2": "umount",
    },
    "aarch64": {
        "fstat": "newfstat",
        "uname": "newuname",
        "sendfile": "sendfile64",
        "umount2": "umount",
        "fadvise64": "fadvise64_64",
        "personality": "arm64_personality",
    },
}
"""System call to the name in its tracepoints, where the two differ (SYSCALL_DEFINE names)."""

_OTHER_ORDER = {
    # CONFIG_CLONE_BACKWARDS: tls and child_tidptr change places
    ("clone", "aarch64"): "unsigned long clone_flags, unsigned long newsp, int *parent_tidptr, "
    "unsigned long tls, int *child_tidptr",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """``type`` as C writes it: ``const char *``, ``unsigned int``."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Syscall:
    name: str
    number: int
    args: tuple[Argument, ...]


@cache
def _rows() -> list[list[str]]:
    """``[name, x86-64, AArch64, arguments]``"""
    rows = f"{TABLE};{WITHOUT_ARGUMENTS};{RESERVED}".replace("\n  ", " ").replace("\n", ";").split(";")
    return [[*row.split(None, 3), ""][:4] for row in rows if row.strip()]


@cache
def numbers(arch: str) -> dict[str, int]:
    """Name to number of all calls of an architecture (``x86_64``, ``aarch64``). Raises ``KeyError`` on another one."""
    column = _COLUMN[arch]
    return {r[0]: int(r[column]) for r in _rows() if r[column] != "-"}


@cache
def names(arch: str) -> dict[int, str]:
    """Number to name."""
    return {n: name for name, n in numbers(arch).items()}


@cache
def _by_event(arch: str) -> dict[str, int]:
    special = _EVENT_NAMES[arch]
    return {special.get(name, name): n for name, n in numbers(arch).items()}


def number_of_event(name: str, arch: str) -> int:
    """The number of the call behind the tracepoints ``sys_enter_NAME`` and ``sys_exit_NAME``; -1 if it is not known."""
    return _by_event(arch).get(name, -1)


def event_name(name: str, arch: str) -> str:
    """The NAME of ``sys_enter_NAME`` for a system call."""
    return _EVENT_NAMES[arch].get(name, name)


def find(name: str, arch: str) -> Syscall | None:
    """The system call of this name, with its arguments; ``None`` if the architecture has none such."""
    number = numbers(arch).get(name)
    if number is None:
        return None
    text = _OTHER_ORDER.get((name, arch)) or next(r[3] for r in _rows() if r[0] == name)
    return Syscall(name, number, tuple(_argument(a) for a in text.split(", ") if a))


def _argument(text: str) -> Argument:
    cut = max(text.rfind(" "), text.rfind("*")) + 1
    return Argument(text[cut:], text[:cut].strip())
