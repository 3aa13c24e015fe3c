"""``print fmt:`` compiled once for an event, then run for as many of its records as there are.

    "pid=%d op=%s", REC->pid, __print_symbolic(...)     parser
    ["pid=", %d, " op=", %s]                            directives
    b"pid=", digits, b" op=", texts                     cells: columns of bytes, for whole lines at once
    "pid=%d op=%s" % rows of (column, column)           Python's own formatting, one call a record

Columns are worked out by numpy where they are numbers, by a dictionary of texts met before where they are names; so a
record costs about 0.3 us and 0.1 us an argument. Events whose format cannot be read are printed field by field, as
libtraceevent does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.errors import FormatError
from probescope.formats.tracing import cells, pointers
from probescope.formats.tracing import tree as t
from probescope.formats.tracing.byte_texts import bytes_of
from probescope.formats.tracing.directives import MAX_WIDTH, Directive, pieces
from probescope.formats.tracing.fields import Records
from probescope.formats.tracing.numbers import Number, number
from probescope.formats.tracing.parser import parse_print_fmt
from probescope.formats.tracing.plugins import form, prefix
from probescope.formats.tracing.raw import raw_fields
from probescope.formats.tracing.special import special
from probescope.formats.tracing.texts import Memo, text_of
from probescope.frozen import dataclass
from probescope.model.recording import EventType

if TYPE_CHECKING:
    from probescope.formats.tracing.cells import Cells
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import Column

Make = Callable[[Records], list[Any]]
MakeCells = Callable[[Records], "list[Cells]"]
MAX_LINE = 1 << 13  # without what arguments bring


@dataclass(frozen=True, slots=True)
class Printer:
    """``template`` is for Python's ``%``, with one value of each of ``makers``' columns. ``parsed``: the event's own
    format, not its fields one by one. ``alone``: the text is the record's, whatever came before it. ``pieces``: the
    template cut into texts and, for each maker, what Python's ``%`` has for it; ``quick``: cells of some makers."""

    template: str
    makers: tuple[Make, ...]
    parsed: bool = True
    alone: bool = True
    pieces: tuple[tuple[str, bool], ...] = ()
    quick: tuple[MakeCells | None, ...] = ()

    def columns(self, records: Records) -> list[list[Any]]:
        return [make(records) for make in self.makers]

    def texts(self, records: Records) -> list[str]:
        columns = self.columns(records)
        if not columns:
            return [self.template % ()] * len(records)
        return list(map(self.template.__mod__, zip(*columns, strict=True)))

    def cells(self, records: Records) -> list[Cells]:
        """The same as columns of bytes."""
        if not self.pieces:
            return [cells.encoded(self.texts(records))]
        out: list[Cells] = []
        makers = zip(self.makers, self.quick, strict=True)
        for text, directive in self.pieces:
            if not directive:
                out.append(text.encode("utf-8", "surrogateescape"))
                continue
            make, quick = next(makers)
            if quick is not None:
                out += quick(records)
            else:
                column = make(records)
                out.append(cells.encoded(column if text == "%s" else map(text.__mod__, column)))
        return out


def compile_event(event: EventType, context: Context, plugins: bool = False) -> Printer:
    """Never fails: an event that has no format that can be worked out is printed field by field. ``plugins``: in the
    forms that libtraceevent's plugins give some events."""
    show = special(event, context)
    if show is not None:
        return Printer("%s", (show,), alone=False)
    if plugins:
        other = form(event, context)
        if other is not None:
            return Printer(*other)
    printer = _by_format(event, context)
    before = prefix(event, context) if plugins else None
    return Printer("%s" + printer.template, (before, *printer.makers), printer.parsed) if before else printer


def _by_format(event: EventType, context: Context) -> Printer:
    try:
        parsed = parse_print_fmt(event, context.long_size)
        return compile_format(parsed.format, parsed.args, context)
    except FormatError:
        template, makers = raw_fields(event, context)
        return Printer("[FAILED TO PARSE]" + template, makers, False)


def compile_format(text: str, args: tuple[t.Node, ...], context: Context) -> Printer:
    """Raises FormatError where an argument is missing or cannot be worked out."""
    template, makers, at, width = "", [], 0, 0
    cut: list[tuple[str, bool]] = []
    quick: list[MakeCells | None] = []
    for piece in pieces(text):
        width += len(piece) if isinstance(piece, str) else piece.width + max(piece.precision, 0)
        if width > MAX_LINE:
            raise FormatError(f"a line of more than {MAX_LINE} bytes", section="print fmt")
        if isinstance(piece, str):
            template += piece.replace("%", "%%")
            cut.append((piece, False))
            continue
        stars = len(piece.star.replace(".", ""))
        if at + stars >= len(args):
            raise FormatError("an argument is missing", section="print fmt")
        counts = [number(n, context.symbols, context.long_size) for n in args[at : at + stars]]
        spec, make = _made(piece, args[at + stars], counts, context)
        at += stars + 1
        template += spec
        makers.append(make)
        cut.append((spec, True))
        quick.append(quick_cells(piece, args[at - 1], context))
    return Printer(template, tuple(makers), pieces=tuple(cut), quick=tuple(quick))


def quick_cells(d: Directive, node: t.Node, c: Context) -> MakeCells | None:
    """For numbers as they are; None for all else."""
    if not d.plain or d.flags or d.conversion not in "diux" or isinstance(node, _TEXTS):
        return None
    value = number(node, c.symbols, c.long_size)
    column = _column(value, d.bytes or c.long_size, d.conversion in "di")
    if d.conversion == "x":
        return lambda r: cells.hexadecimal(column(r))
    return lambda r: cells.decimal(column(r))


def _made(d: Directive, node: t.Node, counts: list[Number], c: Context) -> tuple[str, Make]:
    if d.conversion == "p" and d.pointer not in {"", "x", "K"}:
        return "%s", _pointer(d, node, counts, c)
    if d.star:
        spec, make = _made(Directive(d.flags, d.width, d.precision, "", d.bytes, d.conversion, d.pointer), node, [], c)
        return "%s", _starred(d, spec, make, counts)
    if d.conversion == "s":
        return "%s", text_of(node, d, c)
    if d.conversion == "p":
        return "%s", _memo(number(node, c.symbols, c.long_size), 8, False, lambda v: f"0x{v:x}" if v else "(nil)")
    return _integer(d, node, c)


_TEXTS = t.Str | t.DynamicText | t.Flags | t.Symbolic | t.Seconds | t.Mask | t.Hex | t.Elements


def _integer(d: Directive, node: t.Node, c: Context) -> tuple[str, Make]:
    if isinstance(node, _TEXTS):
        if isinstance(node, t.Seconds):
            make = text_of(node, Directive(), c)
            return d.python("d"), lambda r: list(map(int, make(r)))
        node = t.Num(0)
    value = number(node, c.symbols, c.long_size)
    size = d.bytes or c.long_size
    if d.conversion == "c":
        return d.python("s"), _memo(value, 1, False, lambda v: chr(v) if v < 0x80 else chr(0xDC00 + v))
    signed = d.conversion in "di"
    if "#" in d.flags and d.conversion != "u":  # C writes no 0x before 0, and 0 before octal numbers
        return "%s", _memo(value, size, False, _alternate(d))
    return d.python("d" if d.conversion in "iu" else d.conversion), _numbers(value, size, signed)


def _alternate(d: Directive) -> Callable[[int], str]:
    flags = d.flags.replace("#", "")
    plain = Directive(flags, d.width, d.precision).python(d.conversion)
    spec = Directive(d.flags, d.width, d.precision).python(d.conversion)
    if d.conversion == "o":
        octal = Directive(flags, d.width, d.precision).python("s")
        return lambda v: octal % (f"0{v:o}" if v else "0")
    return lambda v: spec % v if v else plain % v


def _numbers(value: Number, size: int, signed: bool) -> Make:
    """A column of Python's numbers, cut to what the directive prints."""
    column = _column(value, size, signed)
    return lambda r: column(r).tolist()


def _column(value: Number, size: int, signed: bool) -> Callable[[Records], Column]:
    """u8, or i8 where ``signed``."""
    of, mask = value.of, np.uint64(value.mask)
    if size == 8:
        if value.width == 4 and not signed:  # an int where a long is printed: its 32 bits, as the caller passes them
            return lambda r: of(r) & mask
        return (lambda r: of(r).view(np.int64)) if signed else of
    if signed:
        kind, view = f"u{size}", f"i{size}"
        return lambda r: of(r).astype(kind).view(view).astype(np.int64)
    cut = np.uint64((1 << 8 * size) - 1)
    return lambda r: of(r) & cut


def _memo(value: Number, size: int, signed: bool, of: Callable[[int], str]) -> Make:
    numbers, memo = _numbers(value, size, signed), Memo(of)
    return lambda r: list(map(memo.__getitem__, numbers(r)))


def _starred(d: Directive, spec: str, make: Make, counts: list[Number]) -> Make:
    """Widths and precisions out of the record. Negative ones: to the left, and none."""
    columns = [_numbers(count, 4, True) for count in counts]
    flags, conversion = d.flags.replace("'", ""), spec[-1]

    def show(r: Records) -> list[str]:
        out: list[str] = []
        for value, *wanted in zip(make(r), *(column(r) for column in columns), strict=True):
            numbers = iter(max(-MAX_WIDTH, min(n, MAX_WIDTH)) for n in wanted)
            width = next(numbers) if d.star.startswith("*") else d.width
            exact = next(numbers) if d.star.endswith(".*") else d.precision
            left = "-" if width < 0 else ""
            precision = f".{exact}" if exact >= 0 else ""
            out.append(f"%{flags}{left}{abs(width) or ''}{precision}{conversion}" % value)
        return out

    return show


def _pointer(d: Directive, node: t.Node, counts: list[Number], c: Context) -> Make:
    letters = d.pointer
    if letters[0] in "FfSs":
        offset = letters[0] in "FS"

        def function(address: int) -> str:
            found = c.plain(address)
            if not found:
                return f"0x{address:x}"
            return f"{found[0]}+0x{address - found[1]:x}" if offset else found[0]

        return _memo(number(node, c.symbols, c.long_size), 8, False, function)
    found = bytes_of(node)
    if found is None:
        return _memo(number(node, c.symbols, c.long_size), 8, False, lambda v: f"0x{v:x}" if v else "(nil)")
    field, big, show = found.field, c.big, pointers.text
    if counts:
        wanted = _numbers(counts[0], 4, True)
        return lambda r: [show(p, letters, big, n) for p, n in zip(r.pieces(field), wanted(r), strict=True)]
    return lambda r: [show(p, letters, big) for p in r.pieces(field)]
