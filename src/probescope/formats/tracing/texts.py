"""Texts of a print format: what ``%s`` shows, for all records at once.

Values repeat: the text of a set of flags is worked out once for each value met, and kept. As libtraceevent does, a
directive's width holds for each flag's name and for a symbol's, not for numbers without a name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracing import tree as t
from probescope.formats.tracing.byte_texts import shown
from probescope.formats.tracing.fields import Records
from probescope.formats.tracing.numbers import number

if TYPE_CHECKING:
    from probescope.formats.tracing.directives import Directive
    from probescope.formats.tracing.numbers import Number
    from probescope.formats.tracing.symbols import Context

Show = Callable[[Records], list[str]]
MOST_KEPT = 1 << 16
MOST_LENGTH = 1 << 12


class Memo(dict[int, str]):
    """Texts of numbers; forgets all when there are too many."""

    def __init__(self, of: Callable[[int], str]) -> None:
        super().__init__()
        self._of = of

    def __missing__(self, value: int) -> str:
        if len(self) >= MOST_KEPT:
            self.clear()
        text = self._of(value)
        if len(text) <= MOST_LENGTH:  # a recording's own names of flags can be as long as its format
            self[value] = text
        return text


def text_of(node: t.Node, d: Directive, c: Context) -> Show:
    """Raises FormatError where the node cannot be worked out. Stars in ``d`` are the caller's."""
    match node:
        case t.Str():
            return _constant(padded(node.text, d))
        case t.Symbol():
            return _constant(padded(node.name, d))
        case t.Cast():
            return text_of(node.value, d, c)
        case t.Cond():
            return _either(number(node.test, c.symbols, c.long_size), text_of(node.yes, d, c), text_of(node.no, d, c))
        case t.Field():
            return _field(node, d, c)
        case t.DynamicText() | t.Dynamic():
            field = node.field
            return _padding(lambda r: r.strings(field), d)
        case t.Flags() | t.Symbolic():
            value = number(node.value, c.symbols, c.long_size)
            of = _flags(node, value.mask, d) if isinstance(node, t.Flags) else _symbolic(node, value, d)
            return _memoized(value, Memo(of))
        case t.Mask() | t.Hex() | t.Elements() | t.HexDump():
            return _padding(shown(node, c), d)
        case t.Seconds():
            numbers, rest = number(node.value, c.symbols, c.long_size).of, node.rest
            return lambda r: [str(n % 1_000_000_000 if rest else n // 1_000_000_000) for n in numbers(r).tolist()]
        case _:  # a number: there is no text at such an address
            number(node, c.symbols, c.long_size)
            return _constant("")


def padded(text: str, d: Directive) -> str:
    return text if d.plain else d.python("s") % text


def _constant(text: str) -> Show:
    return lambda r: [text] * len(r)


def _padding(of: Show, d: Directive) -> Show:
    if d.plain:
        return of
    spec = d.python("s")
    return lambda r: [spec % text for text in of(r)]


def _memoized(value: Number, memo: Memo) -> Show:
    of, mask = value.of, np.uint64(value.mask)
    return lambda r: list(map(memo.__getitem__, (of(r) & mask).tolist()))


def _either(test: Number, yes: Show, no: Show) -> Show:
    """Each side is worked out only where it is wanted."""
    of = test.of

    def show(r: Records) -> list[str]:
        which = of(r) != 0
        if which.all():
            return yes(r)
        if not which.any():
            return no(r)
        out = np.empty(len(r), object)
        out[which] = yes(r.subset(which))
        out[~which] = no(r.subset(~which))
        return list(out.tolist())

    return show


def _field(node: t.Field, d: Directive, c: Context) -> Show:
    """An array's text; what has a pointer's size is one, to the format of a printk perhaps."""
    field = node.field
    if field.dynamic or field.count or field.size != c.long_size:
        return _padding(lambda r: r.strings(field), d)
    printk = c.printk

    def pointed(address: int) -> str:
        return printk.get(address) or f"{address:x}"

    memo = Memo(pointed)
    return lambda r: list(map(memo.__getitem__, r.number(field.offset, field.size).tolist()))


def _flags(node: t.Flags, mask: int, d: Directive) -> Callable[[int], str]:
    names = [(value & mask, padded(name, d)) for value, name in node.names]
    delimiter = node.delimiter
    zero = next((name for value, name in names if not value), "")

    def show(value: int) -> str:
        if not value:
            return zero
        out: list[str] = []
        for flag, name in names:
            if flag and value & flag == flag:
                out.append(name)
                value &= ~flag
        if value:
            out.append(f"0x{value:x}")
        return delimiter.join(out)

    return show


def _symbolic(node: t.Symbolic, value: Number, d: Directive) -> Callable[[int], str]:
    names: dict[int, str] = {}
    for number_, name in node.names:
        names.setdefault(number_ & value.mask, padded(name, d))
    return lambda v: names.get(v) or f"0x{v:x}" if v not in names else names[v]
