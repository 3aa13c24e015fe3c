r"""``events/SYSTEM/EVENT/format``: an event's number, the places of its fields, how it is printed.

    name: sched_switch
    ID: 372
    format:
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
    \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
    \tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;
    \nprint fmt: "prev_comm=%s", REC->prev_comm

Source: kernel/trace/trace_events.c (``f_show``) and include/trace/stages/. ``signed:`` is missing before 2.6.34;
dimensions may be names (``char comm[TASK_COMM_LEN]``, before 5.11); ``field special:`` stands in ftrace's own of
old kernels; ``__rel_loc`` came with 5.19. Text from outside: it is bounded, and a line that makes no sense is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from probescope.errors import FormatError
from probescope.model.recording import EventType, RawField

MAX_TEXT = 1 << 20
MAX_FIELDS = 1024
MAX_RECORD = 1 << 16

_FIELD = re.compile(
    r"^[ \t]*field(?: special)?:([^;\n]{1,512});[ \t]*offset:[ \t]*(\d{1,9});[ \t]*size:[ \t]*(\d{1,9});"
    r"(?:[ \t]*signed:[ \t]*(\d);)?",
    re.MULTILINE,
)
_DECLARED = re.compile(r"([A-Za-z_]\w*)[ \t]*((?:\[[^\[\]]{0,64}\][ \t]*){0,8})$")
_DYNAMIC = re.compile(r"^[ \t]*__(data|rel)_loc[ \t]+")
_DIMENSION = re.compile(r"\[\s*(\w*)\s*\]")
_NAME = re.compile(r"^name:[ \t]*(\S{1,256})", re.MULTILINE)
_ID = re.compile(r"^ID:[ \t]*(\d{1,9})[ \t]*$", re.MULTILINE)
_PRINT = re.compile(r"^print fmt:[ \t]*", re.MULTILINE)

#: Bytes of an element, where dimensions do not tell; everything else is as wide as the array's bytes divide.
_WIDTHS = {"char": 1, "u8": 1, "s8": 1, "bool": 1, "short": 2, "u16": 2, "s16": 2, "int": 4, "u32": 4, "s32": 4} | {
    "u64": 8,
    "s64": 8,
    "__u8": 1,
    "__u16": 2,
    "__u32": 4,
    "__u64": 8,
    "uint8_t": 1,
    "uint32_t": 4,
}


def parse_event_format(text: str, system: str) -> EventType:
    """Raises ``FormatError`` where there is no name or number, or too much of it. A field that cannot be is left out;
    ``print_fmt`` is empty where the text has none."""
    if len(text) > MAX_TEXT:
        raise FormatError(f"an event's format of more than {MAX_TEXT} bytes", section="format")
    name, number = _NAME.search(text), _ID.search(text)
    if not name or not number:
        raise FormatError(f"an event's format without {'an ID' if name else 'a name'}", section="format", offset=0)
    printed = _PRINT.search(text)
    head = text[: printed.start()] if printed else text
    fields: dict[str, RawField] = {}
    for field in _fields(head):
        if len(fields) < MAX_FIELDS:
            fields.setdefault(field.name, field)
    return EventType(
        f"{system}:{name[1]}" if system else name[1],
        int(number[1]),
        tuple(fields.values()),
        text[printed.end() :].strip() if printed else "",
    )


def _fields(text: str) -> Iterator[RawField]:
    for declaration, offset, size, signed in _FIELD.findall(text):
        field = _field(declaration.strip(), int(offset), int(size), signed)
        if field is not None:
            yield field


@lru_cache(4096)  # thousands of events begin with the same fields
def _field(declaration: str, offset: int, size: int, signed: str) -> RawField | None:
    if offset + size > MAX_RECORD:
        return None
    dynamic: Literal["", "data", "rel"] = ""
    found = _DYNAMIC.match(declaration)
    if found:
        dynamic = "data" if found[1] == "data" else "rel"
        declaration = declaration[found.end() :]
    named = _DECLARED.search(declaration)
    if not named:
        return None
    declared, dimensions = declaration[: named.start()].strip(), named[2]
    if dynamic:  # `__data_loc char[] name`: the brackets stand with the type
        return RawField(named[1], declared.partition("[")[0].strip(), offset, size, signed == "1", 0, dynamic)
    is_signed = signed == "1" if signed else _looks_signed(declared)
    return RawField(
        named[1], declared, offset, size, is_signed, _count(declared, dimensions, size) if dimensions else 0
    )


def _count(declared: str, dimensions: str, size: int) -> int:
    """Elements of an array. A product of dimensions that does not divide its bytes is none."""
    count = 1
    for dimension in _DIMENSION.findall(dimensions):
        count *= int(dimension) if dimension.isdecimal() and len(dimension) < 7 else 0
    if count and size % count == 0:
        return count
    width = _WIDTHS.get(declared.rsplit(maxsplit=1)[-1] if declared else "", 1)
    return size // width if size % width == 0 else size


def _looks_signed(declared: str) -> bool:
    """Of kernels that do not say; as libtraceevent takes them: what is not named unsigned."""
    last = declared.rsplit(maxsplit=1)[-1] if declared else ""
    return not ("unsigned" in declared or "*" in declared or re.fullmatch(r"_*u\d+|size_t|bool", last))
