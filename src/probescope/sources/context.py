"""What a source needs to know to find a probe on this host: process, architecture, types, limits, and where to look.

Everything that costs time (BTF, symbol tables) is reached through functions that load on first use: a program that
names only ``begin`` and ``interval`` reads nothing.
"""

from __future__ import annotations

from typing import Any

from probescope.errors import LimitError
from probescope.frozen import dataclass, field
from probescope.model.arch import X86_64, Arch
from probescope.model.types import TypeTable


@dataclass(slots=True)
class ResolveContext:
    """``pid``: only this process (``-p``), -1 for all. ``child``: path of the program that ``-c`` will start.
    ``types``: named C types, usually the kernel's BTF; ``None`` leaves typedefs of unknown meaning plain integers.
    ``need_fields``: whether ``args`` is used at all; without it, formats and types are not read.
    ``max_strlen``: capacity in bytes of strings whose length is known only at run time.
    ``max_probes``: the greatest number of sites that one program may have. ``unsafe``: raw kernel addresses are
    allowed. ``tries``: kernel functions that are not known are tried all the same. ``debug_dirs``: more folders to look
    for debug files in (``--debuginfo``). ``programs``: what was read of binaries' debug information
    (``uprobe_types.ProgramTypes``), made on first use.
    """

    pid: int = -1
    child: str = ""
    arch: Arch = X86_64
    types: TypeTable | None = None
    need_fields: bool = True
    max_strlen: int = 1024
    max_probes: int = 1024
    unsafe: bool = False
    tries: bool = False
    debug_dirs: tuple[str, ...] = ()
    programs: Any = field(default=None, repr=False)
    cache: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)


def check_count(what: object, count: int, ctx: ResolveContext) -> None:
    """Before sites are made: raises ``LimitError`` if a probe stands for more of them than ``ctx.max_probes``."""
    if count > ctx.max_probes:
        raise LimitError(
            f"{what} stands for {count} probes, more than {ctx.max_probes}",
            hints=["make the pattern narrower", f"or raise the limit: config = {{ max_probes = {count} }}"],
        )
