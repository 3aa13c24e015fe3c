"""Records field by field, as libtraceevent prints them where it cannot read a print format: `` name=value``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from probescope.formats.tracing.fields import Records, is_text

if TYPE_CHECKING:
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import EventType, RawField

Make = Callable[[Records], list[Any]]
_SPACES = b"\t\n\v\f\r"


def raw_fields(event: EventType, context: Context) -> tuple[str, tuple[Make, ...]]:
    """A template for Python's ``%`` and its columns; common fields are left out."""
    template, makers = "", []
    for field in event.fields:
        if field.name.startswith("common_"):
            continue
        spec, make = _shown(field, context)
        template += f" {field.name}={spec}"
        makers.append(make)
    return template, tuple(makers)


def _shown(field: RawField, c: Context) -> tuple[str, Make]:
    if field.dynamic or field.count or field.size not in {1, 2, 4, 8}:
        text = is_text(field)
        return "%s", lambda r: [_piece(piece, text) for piece in r.pieces(field)]
    if "*" in field.declared:
        return "0x%x", lambda r: r.number(field.offset, field.size).tolist()
    long = "long" in field.declared.split() and field.size == c.long_size
    if field.signed:
        if long and field.size == 4:
            return "0x%x", lambda r: r.number(field.offset, 4).tolist()
        spec = {2: "%2d", 1: "%1d"}.get(field.size, "%d")
        return spec, lambda r: r.field(field).view("i8").tolist()
    return ("0x%x" if long else "%d"), lambda r: r.field(field).tolist()


def _piece(data: bytes, text: bool) -> str:
    cut = data.split(b"\0", 1)[0]
    if text and all(0x20 <= b < 0x7F or b in _SPACES for b in cut):
        return cut.decode("ascii")
    return "ARRAY[" + ", ".join(f"{b:02x}" for b in data) + "]"
