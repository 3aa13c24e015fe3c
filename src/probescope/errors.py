"""Every exception that probescope raises on purpose.

    ProbescopeError            base: carries what, where, cause, hints
    |-- UsageError             the request itself makes no sense (exit code 2)
    |   |-- ScriptError        a program text is wrong; carries diagnostics with spans
    |   |   `-- NothingToAttach none of its probes is left
    |   |-- ProbeError         a probe name does not resolve, or cannot be used here
    |   `-- LimitError         too large, too deep, too many; names the limit and the key that moves it
    |-- KernelError            a system call said no: call, errno name, advice
    |   |-- PermissionDenied   the same, for want of privileges
    |   |-- Unsupported        this kernel lacks the feature
    |   `-- VerifierError      BPF_PROG_LOAD refused a program; carries the useful end of the log
    |-- FormatError            bytes from outside are malformed: file, section, offset
    |   |-- ElfError
    |   |-- BtfError
    |   `-- DwarfError
    |-- SessionError           a running session could not go on
    `-- InternalError          a rule of ours was broken: a bug in probescope, never in the input

The library raises; only ``cli/`` prints and chooses exit codes.
"""

from __future__ import annotations

import errno as _errno
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probescope.diagnostics import Diagnostic

    Hints = Sequence[str] | Callable[[], Sequence[str]]


class ProbescopeError(Exception):
    """What went wrong, where, why, and what can be done.

    ``what`` is one sentence without a full stop; ``where`` names a place (``file:section+0xoff`` or
    ``stdin:1:5``); ``hints`` are lines that a person can act on, best first, or a function that finds them: many an
    error is caught and forgotten, and the nearest of 100,000 names take a while.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", hints: Hints = ()) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self._hints = hints

    @property
    def hints(self) -> tuple[str, ...]:
        if callable(self._hints):
            self._hints = self._hints()
        return tuple(self._hints)

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what

    def to_json(self) -> dict[str, object]:
        return {"error": type(self).__name__, "what": self.what, "where": self.where, "hints": list(self.hints)}


class UsageError(ProbescopeError):
    exit_code = 2


class ScriptError(UsageError):
    """A program text was refused; ``diagnostics`` hold every finding with its span."""

    exit_code = 1

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        first = next((d for d in diagnostics if d.severity == "error"), None)
        super().__init__(first.message if first else "the program was refused")
        self.diagnostics = tuple(diagnostics)


class NothingToAttach(ScriptError):
    """No probe of the script is left. That may be what its ``missing_probes`` asks for: it ends, and nothing is
    wrong with the text."""


class ProbeError(UsageError):
    exit_code = 1


class NoSuchProbe(ProbeError):
    """What was named is nowhere on this machine; another error says that it is there but cannot be used. ``doubt``:
    what is told besides, as a warning, of a thing that may be there after all."""

    def __init__(self, what: str, *, where: str = "", hints: Hints = (), doubt: str = "") -> None:
        super().__init__(what, where=where, hints=hints)
        self.doubt = doubt


class LimitError(UsageError):
    exit_code = 1


class KernelError(ProbescopeError):
    """A system call failed. ``errno`` is the positive number, ``call`` what was asked (``bpf(BPF_MAP_CREATE)``)."""

    def __init__(self, call: str, errno: int, *, where: str = "", hints: Sequence[str] = ()) -> None:
        self.call = call
        self.errno = errno
        self.errno_name = _errno.errorcode.get(errno, str(errno))
        super().__init__(f"{call} failed: {self.errno_name}", where=where, hints=hints)


class PermissionDenied(KernelError):
    pass


class Unsupported(KernelError):
    pass


class VerifierError(KernelError):
    """The verifier refused a program. ``log`` is its whole text, ``reason`` the last line that says why."""

    def __init__(self, errno: int, log: str, *, reason: str = "", where: str = "", hints: Sequence[str] = ()) -> None:
        super().__init__("bpf(BPF_PROG_LOAD)", errno, where=where, hints=hints)
        self.log = log
        self.reason = reason
        if reason:
            self.what = f"the kernel refused the program: {reason}"


class FormatError(ProbescopeError):
    """Malformed bytes. ``offset`` is in bytes from the start of ``section`` (or of the file), -1 if unknown."""

    def __init__(
        self, what: str, *, file: str = "", section: str = "", offset: int = -1, hints: Sequence[str] = ()
    ) -> None:
        place = ":".join(p for p in (file, section) if p)
        where = f"{place}+{offset:#x}" if offset >= 0 else place
        super().__init__(what, where=where, hints=hints)
        self.file = file
        self.section = section
        self.offset = offset


class ElfError(FormatError):
    pass


class BtfError(FormatError):
    pass


class DwarfError(FormatError):
    pass


class SessionError(ProbescopeError):
    pass


class InternalError(ProbescopeError):
    """A broken invariant: the message asks the user for a bug report, and says of what."""
