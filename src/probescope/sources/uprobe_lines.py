"""Probes at source lines: ``uprobe:/bin/bash@readline.c:362``, with a column ``...:362:5``.

A line has code in every function that it was compiled into: the probe sits once in each, where the line begins there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from probescope.debuginfo.binary import Binary, FunctionSite
from probescope.errors import DwarfError, ProbeError
from probescope.model.probe import ProbeSpec
from probescope.sources import elf_places
from probescope.sources.context import ResolveContext, check_count
from probescope.sources.uprobe_types import HOW, program_types

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_lines import Place

Found = tuple[int, FunctionSite | None]


def find(spec: ProbeSpec, binary: Binary, ctx: ResolveContext) -> list[Found]:
    """(address, function that it is in) of a line, by address. Raises ``ProbeError`` with what there is instead,
    ``DwarfError`` where the line tables are damaged."""
    debug = program_types(ctx).debug(binary)
    if debug.lines is None:
        raise ProbeError(f"{binary.elf.path} cannot be probed at source lines: {debug.reason}", hints=[HOW])
    try:
        places = list(debug.lines.places(spec.name))
    except DwarfError as e:
        raise ProbeError(f"the line tables of {binary.elf.path} are damaged: {e}") from e
    places = [p for p in places if elf_places.is_code(binary, p.address)]
    if not places:
        raise ProbeError(f"no code of {binary.elf.path} comes from a file {spec.name}", hints=[_readelf(binary)])
    paths = sorted({p.path for p in places})
    if len(paths) > 1:
        raise ProbeError(f"{spec.name} may be any of {', '.join(paths[:6])}", hints=["write more of the path"])
    here = [p for p in places if p.line == spec.line and spec.column in (0, p.column)]
    if not here:
        raise ProbeError(_no_code(spec), hints=_near(spec, places))
    found = _one_each([p for p in here if p.statement] or here, binary)
    check_count(spec, len(found), ctx)
    return found


def _one_each(places: Iterable[Place], binary: Binary) -> list[Found]:
    """The lowest address in each function."""
    out: dict[int, Found] = {}
    for address in sorted({p.address for p in places}):
        known = binary.function_at(elf_places.offset_of(binary, address))
        function = known[0] if known is not None else None
        out.setdefault(function.address if function is not None else address, (address, function))
    return list(out.values())


def _no_code(spec: ProbeSpec) -> str:
    column = f", column {spec.column}" if spec.column else ""
    return f"there is no code at line {spec.line}{column} of {spec.name}"


def _near(spec: ProbeSpec, places: Iterable[Place]) -> list[str]:
    """The columns of the line, or the lines around it."""
    lines = sorted({p.line for p in places if p.statement})
    if spec.column and spec.line in lines:
        columns = sorted({p.column for p in places if p.line == spec.line})
        return [f"line {spec.line} has code at column {', '.join(map(str, columns))}"]
    after = [n for n in lines if n > spec.line][:1]
    before = [n for n in lines if n < spec.line][-1:]
    return [f"line {n} has code: {spec.source}:{spec.target}@{spec.name}:{n}" for n in (*after, *before)]


def _readelf(binary: Binary) -> str:
    return f"readelf --debug-dump=decodedline {binary.elf.path} shows its files and lines"
