"""What of this machine may serve a recording, and how its user wants names to be looked for and shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from probescope.frozen import dataclass, field

if TYPE_CHECKING:
    from probescope.formats.symbolfile import SymbolFile

Demangle = Literal["full", "short", "none"]
Kind = Literal["executable", "debuginfo"]


def _nothing(_: int) -> str:
    return ""


def _itself(pid: int) -> int:
    return pid


def _not_fetched(_build_id: str, _kind: Kind) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Here:
    """What of this machine may serve a recording; empty things serve none. ``kallsyms`` and ``vdso`` (the bytes that
    this kernel maps into processes) are called when first needed. ``root``: where the root folder of a process is, if
    it lives in another mount namespace; ``pid_inside``: its number in its own pid namespace."""

    release: str = ""
    kernel_build_id: str = ""
    kallsyms: Callable[[], bytes] = field(default=bytes)
    home: str = ""
    vdso: Callable[[], bytes] = field(default=bytes)
    root: Callable[[int], str] = field(default=_nothing)
    pid_inside: Callable[[int], int] = field(default=_itself)


@dataclass(frozen=True, slots=True)
class Search:
    """``symfs``: a folder that stands for the recorded machine's root. ``vmlinux``, ``kallsyms``: files that are taken
    for the kernel's, whatever was recorded. ``saved``: tables saved beside the recording. ``fetch``: the path of a
    file by its build-id and kind, or "": it may be slow. ``demangle``: with parameters, without them as perf, or not
    at all. ``inline``: calls that the compiler inlined are frames; ``lines``: frames have their source lines;
    ``bare``: they have none, not even where these are known, and no table of lines is read for their names.
    ``force``: JIT compilers' files of other users too."""

    symfs: str = ""
    vmlinux: str = ""
    kallsyms: str = ""
    saved: SymbolFile | None = None
    fetch: Callable[[str, Kind], str] = field(default=_not_fetched)
    demangle: Demangle = "full"
    inline: bool = False
    lines: bool = False
    bare: bool = False
    force: bool = False
