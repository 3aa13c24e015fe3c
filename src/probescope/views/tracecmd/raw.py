"""Events field by field, as libtraceevent prints them: a number that the event's own format prints as it is has its
directive there (``target_cpu=001``), a function its name; all else as in formats/tracing/raw. Arguments are looked
for from where the last was found, round and round, and no more when that was the last of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probescope.errors import FormatError
from probescope.formats.tracing import tree as t
from probescope.formats.tracing.directives import Directive, pieces
from probescope.formats.tracing.parser import parse_print_fmt
from probescope.formats.tracing.print_fmt import Printer
from probescope.formats.tracing.raw import raw_fields
from probescope.formats.tracing.texts import Memo
from probescope.frozen import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from probescope.formats.tracing.fields import Records
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import EventType, RawField

    Make = Callable[[Records], list[Any]]

_OWN_FORMATS = "ftrace:bprint"
"""Its arguments are of the format that each record points to; its fields are shown without one."""


def raw_printer(event: EventType, context: Context) -> Printer:
    told = [] if event.name == _OWN_FORMATS else _directives(event, context)
    template, at = "", 0
    makers: list[Make] = []
    for field in event.fields:
        if field.name.startswith("common_"):
            continue
        order = (*range(at, len(told)), *range(at)) if at < len(told) else ()
        found = next((i for i in order if told[i][0] == field.name), -1)
        made = _made(field, told[found][1:], context) if found >= 0 else None
        at = found + 1 if found >= 0 else at
        if made is None:
            one, some = raw_fields(replace(event, fields=(field,)), context)
            template += one
            makers += some
        else:
            template += f" {field.name}={made[0]}"
            makers.append(made[1])
    return Printer(template, tuple(makers), False)


def _directives(event: EventType, context: Context) -> list[tuple[str, Directive, bool]]:
    """Of each argument: the name of the field that it is, if it is just that; its directive; whether ``0x`` stands
    before it."""
    try:
        parsed = parse_print_fmt(event, context.long_size)
        parts = pieces(parsed.format)
    except FormatError:
        return []
    before = ["", *parts]
    found = [(p, str(b).endswith("0x")) for b, p in zip(before, parts, strict=False) if isinstance(p, Directive)]
    if any(d.star for d, _ in found):
        return []
    out: list[tuple[str, Directive, bool]] = []
    for told, node in zip(found, map(_bare, parsed.args), strict=False):
        plain = isinstance(node, t.Field) and not (node.field.dynamic or node.field.count)
        out.append((node.field.name if plain and isinstance(node, t.Field) else "", *told))
    return out


def _bare(node: t.Node) -> t.Node:
    while isinstance(node, t.Cast):
        node = node.value
    return node


def _made(field: RawField, told: tuple[Directive, bool], c: Context) -> tuple[str, Make] | None:
    if field.size not in {1, 2, 4, 8}:
        return None
    d, hexadecimal = told

    def unsigned(r: Records) -> list[int]:
        numbers: list[int] = r.number(field.offset, field.size).tolist()
        return numbers

    if d.conversion in "ps":
        memo = Memo(_pointed(d, c))
        return "%s", lambda r: list(map(memo.__getitem__, unsigned(r)))
    if d.conversion in "xX":
        return ("0x" if hexadecimal else "") + d.python("x"), unsigned
    if d.conversion in "uo":
        return d.python("d" if d.conversion == "u" else "o"), unsigned
    if d.conversion in "di":
        return d.python("d"), lambda r: r.number(field.offset, field.size, signed=True).view("i8").tolist()
    return None


def _pointed(d: Directive, c: Context) -> Callable[[int], str]:
    """Functions by their names, texts of the kernel, or just the address."""

    def shown(address: int) -> str:
        if d.conversion == "s":
            return c.printk.get(address) or f"0x{address:x}"
        if d.pointer[:1] not in {"f", "F", "s", "S"}:
            return f"0x{address:x}" if address else "(nil)"
        found = c.plain(address)
        name = found[0] + (f"+0x{address - found[1]:x}" if d.pointer[0] in "FS" else "") if found else ""
        return f"{name} (0x{address:x})"

    return shown
