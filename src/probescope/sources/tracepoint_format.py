r"""``events/CATEGORY/EVENT/format`` of tracefs: the fields of a record, as places and types.

    \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
    \tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;
    \tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;

Source: kernel/trace/trace_events.c (``f_show``), include/trace/stages/stage4_event_fields.h. ``__data_loc`` words hold
``length << 16 | offset``; ``__rel_loc`` ones (kernel 5.19) count the offset from their own end. Text from outside: it
is bounded, and a line that makes no sense is left out.
"""

from __future__ import annotations

import re

from probescope.errors import FormatError
from probescope.model.recording import RawField
from probescope.model.site import CtxBytes, CtxLoad, DataLoc, Field, Location
from probescope.model.types import (
    BOOL,
    CHAR,
    Array,
    Bool,
    Enum,
    Int,
    Pointer,
    Space,
    String,
    Struct,
    Type,
    width,
)
from probescope.sources import ctypes_text
from probescope.sources.ctypes_text import CTypes

MAX_TEXT = 1 << 20
MAX_FIELDS = 512
MAX_RECORD = 1 << 16

_LINE = re.compile(r"^\tfield:([^;\n]{1,512});\toffset:(\d{1,9});\tsize:(\d{1,9});(?:\tsigned:([01]);)?", re.MULTILINE)
_NAME = re.compile(r"(\w+)\s*((?:\[[^\]]*\]\s*)*)$")
_LOC = re.compile(r"\s*__(data|rel)_loc\s+(.*?)\s*\[[^\]]*\]\s*(\w+)\s*$")
_ID = re.compile(r"^ID: (\d{1,9})$", re.MULTILINE)


def parse_id(text: str) -> int:
    """The event's number; raises ``FormatError`` if there is none."""
    found = _ID.search(text, 0, 4096)
    if not found:
        raise FormatError("a tracepoint format without an ID line", section="format")
    return int(found[1])


def declarations(text: str) -> list[str]:
    """The fields as C declares them, in order, those common to all events left out: for ``list -v``."""
    found = [m[1] for m in _LINE.finditer(text, 0, MAX_TEXT)]
    return [d for d in found if not (m := _NAME.search(d)) or not m[1].startswith("common_")]


class FormatParser:
    """Turns formats into fields; types seen before are not worked out again. ``max_strlen`` is the capacity in bytes
    given to strings whose length is known only at run time. Every pointer of a system call's arguments points into user
    space."""

    def __init__(self, table: CTypes | None, max_strlen: int) -> None:
        self.table = table
        self.max_strlen = max_strlen
        self._types: dict[tuple[str, Space], Type] = {}
        self._fields: dict[tuple[str, str, str, str | None, bool], Field | None] = {}

    def fields(self, text: str, *, syscall: bool = False) -> tuple[Field, ...]:
        """Raises ``FormatError`` where the text is too large."""
        if len(text) > MAX_TEXT:
            raise FormatError(f"a tracepoint format of more than {MAX_TEXT} bytes", section="format")
        out: dict[str, Field] = {}
        for declaration, offset, size, sign in _LINE.findall(text):
            key = (declaration, offset, size, sign, syscall)
            if key not in self._fields:
                self._fields[key] = self._field(declaration, int(offset), int(size), sign == "1", syscall)
            field = self._fields[key]
            if field is not None and len(out) < MAX_FIELDS:
                out.setdefault(field.name, field)
        return tuple(out.values())

    def recorded(self, f: RawField, *, syscall: bool = False) -> Field | None:
        """A field that a recording describes."""
        declaration = f"{f.declared} {f.name}{f'[{f.count}]' if f.count else ''}"
        if f.dynamic:
            declaration = f"__{f.dynamic}_loc {f.declared}[] {f.name}"
        elif not f.size:  # what ends the record
            return Field(f.name, String(self.max_strlen), CtxBytes(f.offset, 0))
        return self._field(declaration, f.offset, f.size, f.signed, syscall)

    def _field(self, declaration: str, offset: int, size: int, signed: bool, syscall: bool) -> Field | None:
        if offset + size > MAX_RECORD or not size:
            return None
        located = _LOC.match(declaration)
        if located:
            return self._located(located, offset)
        found = _NAME.search(declaration)
        if not found:
            return None
        name, dims = found[1], found[2].strip()
        ctype = declaration[: found.start()]
        if dims:
            return Field(name, self._array(ctype, dims, size), CtxBytes(offset, size))
        kind, where = self._scalar(ctype, offset, size, signed, syscall)
        return Field(name, kind, where)

    def _located(self, m: re.Match[str], offset: int) -> Field:
        element = self._type(m[2], "kernel")
        if element == CHAR:
            kind: Type = String(self.max_strlen)
        else:  # the value is the address of the first element, inside the record
            kind = Pointer(element, "kernel")
        return Field(m[3], kind, DataLoc(offset, relative=m[1] == "rel"))

    def _array(self, ctype: str, dims: str, size: int) -> Type:
        element = self._type(ctype, "kernel")
        if element == CHAR and dims.count("[") == 1:
            return String(size)
        each = self._width(element)
        if not each or size % each:
            counted = re.fullmatch(r"\[(\d{1,6})\]", dims)
            count = int(counted[1]) if counted else 0
            if not count or size % count or size // count not in (1, 2, 4, 8):
                return Array(Int(1, signed=False), size)
            element, each = Int(size // count, signed=False), size // count
        return Array(element, size // each)

    def _scalar(self, ctype: str, offset: int, size: int, signed: bool, syscall: bool) -> tuple[Type, Location]:
        kind = self._type(ctype, "user" if syscall else "kernel")
        if isinstance(kind, Struct):
            return kind, CtxBytes(offset, size)
        if syscall and isinstance(kind, Int | Enum) and kind.size < size:
            # The record holds the whole register; the kernel looks at its low bytes only, the upper ones may be
            # anything
            return kind, CtxLoad(offset, kind.size)
        if isinstance(kind, Pointer) and size == kind.size:
            return kind, CtxLoad(offset, size)
        if kind == BOOL and size == 1:
            return kind, CtxLoad(offset, size)
        if isinstance(kind, Enum) and size in (1, 2, 4, 8):
            return Enum(kind.name, size, signed), CtxLoad(offset, size)
        if size not in (1, 2, 4, 8):
            return Array(Int(1, signed=False), size), CtxBytes(offset, size)
        return Int(size, signed), CtxLoad(offset, size)

    def _type(self, text: str, space: Space) -> Type:
        key = (text, space)
        if key not in self._types:
            self._types[key] = ctypes_text.parse(text, space, self.table)
        return self._types[key]

    def _width(self, t: Type) -> int:
        if isinstance(t, Int | Enum | Pointer | Bool):
            return width(t)
        if isinstance(t, Struct) and self.table is not None:
            layout = self.table.layout(t.name)
            return layout.size if layout else 0
        return 0
