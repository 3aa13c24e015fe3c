"""Code by address, by source line, and by the error that it returns."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from probescope.errors import DwarfError, ElfError
from probescope.views.whois.search import Finding

if TYPE_CHECKING:
    from probescope.debuginfo.crossrefs import Span
    from probescope.debuginfo.dwarf_lines import Lines
    from probescope.views.whois.images import Image, Program, Where
    from probescope.views.whois.kernel import Kernel, KernelNames

MOST_RETURNS = 1 << 17
NEAR_LINES = 20
"""Lines after one without code within which the next code is taken."""


def by_address(image: Image, address: int) -> Finding | None:
    """``None`` where the file has nothing there."""
    span = image.refs.span(address)
    if span is None:
        return None
    if span.code:
        return Finding(image, "", image.where(address), image.frames(address))
    return None


def in_kernel(image: Kernel | KernelNames, address: int) -> Finding | None:
    """Of an address of the kernel: ``None`` where no symbol is near."""
    where = image.where(address)
    return Finding(image, "", where, image.frames(address)) if where.name else None


def by_line(program: Program, path: str, line: int) -> list[Finding]:
    """Where code of a source line begins, once a function; of the next line with code, where that one has none.
    Raises DwarfError where the file has no debug information."""
    rows = [p for p in _lines(program).places(path) if line <= p.line < line + NEAR_LINES]
    nearest = min((p.line for p in rows), default=0)
    first: dict[tuple[str, int], Finding] = {}
    for p in sorted(p for p in rows if p.line == nearest):
        where = program.where(p.address)
        first.setdefault((where.name, where.start), Finding(program, "", where, program.frames(p.address)))
    return list(first.values())


def near(programs: Sequence[Program], path: str, line: int) -> list[str]:
    """Hints for a line that no code comes from: the nearest ones that have some, in the first program that has such a
    file; or what shows the names of files. Raises DwarfError."""
    for program in programs:
        known = sorted({p.line for p in _lines(program).places(path) if p.statement})
        around = [n for n in known if n < line][-1:] + [n for n in known if n > line][:1]
        if around:
            return [f"line {n} has code: {path}:{n}" for n in around]
    return [f"readelf --debug-dump=decodedline {p.title} shows its files and lines" for p in programs[:1]]


def _lines(program: Program) -> Lines:
    from probescope.debuginfo.dwarf_lines import Lines
    from probescope.debuginfo.dwarf_open import open_dwarf

    try:
        dwarf = open_dwarf(program.binary)
    except ElfError as e:
        raise DwarfError(str(e), file=program.title) from e
    if dwarf is None:
        raise DwarfError("has no debug information, which tells source lines", file=program.title)
    return Lines(dwarf)


def returning(image: Image, error: int, functions: str = "*") -> list[tuple[Where, list[int]]]:
    """Functions whose code sets a register to ``-error``, and the places where it does: by name."""
    found: dict[tuple[str, int], tuple[Where, list[int]]] = {}
    for span in image.refs.spans:
        for place in _settings(span, error) if span.code else ():
            where = image.where(place)
            if fnmatchcase(where.plain or hex(where.start), functions):
                found.setdefault((where.plain, 0 if where.name else where.start), (where, []))[1].append(place)
    return [found[key] for key in sorted(found)]


def _settings(span: Span, error: int) -> Iterator[int]:
    """Moves of it to a 32-bit (b8+r imm32) or 64-bit register (c7 /0 imm32). Source: Intel SDM volume 2, MOV."""
    value = struct.pack("<i", -error)
    at = span.data.find(value)
    left = MOST_RETURNS
    while at >= 0 and left:
        before = span.data[max(at - 2, 0) : at]
        if before[-1:] and (before[-1] & 0xF8 == 0xB8 or (before[:1] == b"\xc7" and before[-1] & 0xF8 == 0xC0)):
            yield span.start + at - 1
            left -= 1
        at = span.data.find(value, at + 1)
