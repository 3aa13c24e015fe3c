"""Fields to raw records, as formats/tracing reads them back: of layouts that are the kernel's own, or made here.

    u16 type  u8 flags  u8 preempt count  s32 pid | the event's own fields | u32 text | dynamic fields' data, the text

Every record of a tracepoint ends with the text that it came from, so that it is printed as it was. Layouts are those of
a 64-bit little-endian machine.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from probescope.formats.tracetext import pairs
from probescope.model.recording import EventType, RawField

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probescope.formats.tracetext.names import Names

LONGEST = 1 << 14  # bytes of a text in a record
COMMON = (
    RawField("common_type", "unsigned short", 0, 2, False),
    RawField("common_flags", "unsigned char", 2, 1, False),
    RawField("common_preempt_count", "unsigned char", 3, 1, False),
    RawField("common_pid", "int", 4, 4, True),
)
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_TRUTH = {"true": 1, "false": 0, "yes": 1, "no": 0}
_LONG, _INT, _U64 = ("unsigned long", 8, False), ("int", 4, True), ("unsigned long long", 8, False)
#: Events of ftrace itself, without print formats: their texts are made by what formats/tracing knows of them.
SPECIAL: dict[str, tuple[tuple[str, tuple[str, int, bool]], ...]] = {
    "ftrace:function": (("ip", _LONG), ("parent_ip", _LONG)),
    "ftrace:print": (("ip", _LONG), ("buf", ("char", 0, True))),
    "ftrace:kernel_stack": (("size", _INT), ("caller", ("unsigned long", 0, False))),
    "ftrace:user_stack": (("tgid", ("unsigned int", 4, False)), ("caller", ("unsigned long", 0, False))),
    "ftrace:funcgraph_entry": (("func", _LONG), ("depth", _INT), ("retaddr", _LONG)),
    "ftrace:funcgraph_exit": (
        *(("func", _LONG), ("depth", _INT), ("overrun", ("unsigned int", 4, False))),
        *(("calltime", _U64), ("rettime", _U64), ("retval", _LONG)),
    ),
}
_PRINTED = {"ftrace:print": '"%ps: %s", (void *)REC->ip, REC->buf'}


class Layout:
    """``event``: as it is read back. ``record`` takes values by field: numbers, texts of numbers and of names."""

    def __init__(self, event: EventType, names: Names) -> None:
        self.event = event
        self._names = names
        own = sorted((f for f in event.fields if not f.name.startswith("common_")), key=lambda f: f.offset)
        self._tail = next((f for f in own if not f.size), None)
        self._fields = _apart([f for f in own if f.size])
        self._codes = [_code(f) for f in self._fields]
        self._fixed, layout = 8, "<HBBi"
        for f, code in zip(self._fields, self._codes, strict=True):
            layout += f"{f.offset - self._fixed}x{code}"
            self._fixed = f.offset + f.size
        if self._tail is not None:
            layout += f"{max(0, self._tail.offset - self._fixed)}x"
        self._struct = struct.Struct(layout)

    def record(self, flags: int, count: int, tid: int, values: Mapping[str, Any]) -> tuple[bytes, int]:
        """A raw record, and how many values could not be put into it."""
        packed: list[int | bytes] = []
        behind, failed = b"", 0
        for f, code in zip(self._fields, self._codes, strict=True):
            value = values.get(f.name)
            if f.dynamic:
                data = _bytes(value)[:LONGEST] + b"\0"
                at = self._struct.size + len(behind) - (f.offset + f.size if f.dynamic == "rel" else 0)
                packed.append(len(data) << 16 | at if f.size == 4 else at)
                behind += data
            elif code.endswith("s"):
                packed.append(_bytes(value) if f.declared.endswith("char") else self._array(f, values))
            else:
                number = 0 if value is None else self._number(value, f)
                failed += number is None
                packed.append((number or 0) & ((1 << 8 * f.size) - 1))
        kind = self.event.id & 0xFFFF
        return self._struct.pack(kind, flags & 0xFF, count & 0xFF, tid, *packed) + behind + self._end(values), failed

    def _end(self, values: Mapping[str, Any]) -> bytes:
        if self._tail is None:
            return b""
        value = values.get(self._tail.name)
        if isinstance(value, list):
            return b"".join(struct.pack("<Q", self._names.frame(v)) for v in value)
        return _bytes(value)[:LONGEST] + b"\0"

    def _number(self, value: Any, f: RawField) -> int | None:
        if isinstance(value, int) or not value:
            return value or 0
        if value in _TRUTH:
            return _TRUTH[value]
        found = pairs.number(value)
        if found is None and f.size == 8 and not f.signed:  # a pointer: hexadecimal, or a function by its name
            found = pairs.address(value)
            if found is None and value and value[0] not in "(0123456789":
                found = self._names.frame(value)
        return found

    def _array(self, f: RawField, values: Mapping[str, Any]) -> bytes:
        size = f.size // f.count if f.count else 0
        if size not in _CODES:
            return b""
        some = [self._number(values.get(f"{f.name}[{i}]", 0), f) or 0 for i in range(f.count)]
        return b"".join((n & (1 << 8 * size) - 1).to_bytes(size, "little") for n in some)


def _bytes(value: Any) -> bytes:
    return str(value).encode("utf-8", "surrogateescape").replace(b"\0", b" ") if value is not None else b""


def _code(f: RawField) -> str:
    if f.dynamic or (not f.count and f.size in _CODES):
        return _CODES.get(f.size, f"{f.size}s")
    return f"{f.size}s"


def _apart(fields: list[RawField]) -> list[RawField]:
    """Fields that do not overlap, in order."""
    out: list[RawField] = []
    end = 8
    for f in fields:
        if f.offset >= end and (not f.dynamic or f.size == 4):
            out.append(f)
            end = f.offset + f.size
    return out


def known(event: EventType, number: int) -> EventType:
    """An event as a kernel describes it, with its text."""
    fields = tuple(f for f in event.fields if f.size or f.name.startswith("common_"))
    return _with_text(event.name, number, fields)


def made(name: str, number: int, kinds: Mapping[str, str]) -> EventType:
    """An event of fields that its texts have: ``int``, ``hex`` or ``text`` each."""
    fields, at = list(COMMON), 8
    for field, kind in kinds.items():
        if kind == "text":
            fields.append(RawField(field, "char", at, 4, True, 0, "data"))
        else:
            fields.append(RawField(field, "s64" if kind == "int" else "u64", -(-at // 8) * 8, 8, kind == "int"))
        at = fields[-1].offset + fields[-1].size
    return _with_text(name, number, tuple(fields))


def special(name: str, number: int, seen: frozenset[str]) -> EventType:
    """One of ftrace's own. ``seen``: the fields that any of them has; others are left out at their end."""
    fields, at = list(COMMON), 8
    for field, (declared, size, signed) in SPECIAL[name]:
        if field in {"retval", "retaddr"} and field not in seen:
            continue
        step = size or (1 if declared == "char" else 8)
        at = -(-at // step) * step
        fields.append(RawField(field, declared, at, size, signed))
        at += size
    return EventType(name, number, tuple(fields), _PRINTED.get(name, ""))


def _with_text(name: str, number: int, fields: tuple[RawField, ...]) -> EventType:
    taken = {f.name for f in fields}
    field = "text" if "text" not in taken else "text_"
    at = -(-max((f.offset + f.size for f in fields), default=8) // 4) * 4
    text = RawField(field, "char", max(at, 8), 4, True, 0, "data")
    return EventType(name, number, (*fields, text), f'"%s", __get_str({field})')


def text_field(event: EventType) -> str:
    return event.fields[-1].name
