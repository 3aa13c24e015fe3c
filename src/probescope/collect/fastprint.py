"""printf in lumps: one compiled pass over records of one action.

For integers, booleans, and strings, C's conversions are Python's own ``%`` on a tuple, once integers are cut to the
width that the conversion says. Each record is unpacked by one ``struct`` call and formatted by one ``%``; what a
value needs before that (cut at the first NUL, wrap to 32 bits) is decided once, when the printer is made.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from probescope.ir.program import Action
from probescope.kernel.records import Records
from probescope.model.abi import RECORD_HEADER, RecordLayout, align_up, has_tail, size_align
from probescope.model.format import Conv
from probescope.model.types import Int, String, Type

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_BITS = {"hh": 8, "h": 16, "l": 64, "ll": 64, "j": 64, "z": 64, "t": 64, "q": 64, "L": 64}
_LENGTH = 0x3FFFFFFF

Fix = Callable[[Any], Any]


class Printer:
    """``run`` formats records from an index on, for as long as they are of its action."""

    def __init__(
        self, template: str, unpack: struct.Struct, fixes: list[tuple[int, Fix]], tail: int, fixed: int
    ) -> None:
        self._template = template
        self._unpack = unpack.unpack_from
        self._size = unpack.size
        self._fixes = fixes
        self._tail = tail  # index of the value that lies in the tail, -1 for none
        self._fixed = fixed

    def run(self, records: Records, at: int, action: int) -> tuple[list[str], int]:
        data, offsets = records.data, records.offsets
        unpack, template, fixes, tail = self._unpack, self._template, self._fixes, self._tail
        out: list[str] = []
        add = out.append
        start, count, fixed = at, len(offsets), self._fixed
        last = len(data) - self._size  # where the last record of this action can begin: others may be shorter
        while at < count:
            where = offsets[at]
            if where > last:
                break
            kind, *values = unpack(data, where)
            if kind != action:
                break
            if tail >= 0:
                begin = where + fixed
                values[tail] = data[begin : begin + values[tail]]
            for i, fix in fixes:
                values[i] = fix(values[i])
            add(template % tuple(values))
            at += 1
        return out, at - start


def printer(action: Action, layout: RecordLayout, mark: str) -> Printer | None:
    """A printer for the action, or ``None`` where its values need more than their own bytes. ``mark`` is put behind
    texts that were cut."""
    if action.kind != "printf" or action.format is None or len(layout.tails) > 1:
        return None
    template = ["%%" if p == "%" else p.replace("%", "%%") if isinstance(p, str) else "" for p in action.format.parts]
    codes, at = ["=I4x"], RECORD_HEADER
    fixes: list[tuple[int, Fix]] = []
    index = 0
    for place, part in enumerate(action.format.parts):
        if isinstance(part, str):
            continue
        t = layout.types[index]
        made = _conversion(part, t, mark)
        if made is None:
            return None
        code, text, fix = made
        start = layout.offsets[index]
        codes.append(f"{start - at}x{code}" if start > at else code)
        at = start + (4 if has_tail(t) else size_align(t)[0])
        template[place] = text
        if fix is not None:
            fixes.append((index, fix))
        index += 1
    tail = layout.tails[0] if layout.tails else -1
    return Printer("".join(template), struct.Struct("".join(codes)), fixes, tail, align_up(layout.fixed, 8))


def _conversion(c: Conv, t: Type, mark: str) -> tuple[str, str, Fix | None] | None:
    """Struct code, Python conversion and what to do to the value first; ``None``: not here."""
    if isinstance(t, String) and c.kind == "s":
        precision = f".{c.precision}" if c.precision >= 0 else ""
        width = str(c.width) if c.width >= 0 else ""
        code = "I" if has_tail(t) else f"{t.size}s"
        return code, f"%{'-' if '-' in c.flags else ''}{width}{precision}s", _text(t.size, mark)
    if isinstance(t, Int) and c.kind in "diuxXo" and not set(c.flags) & {"'", "#"} and c.precision < 0:
        return _integer(c, t)
    return None


def _integer(c: Conv, t: Int) -> tuple[str, str, Fix | None]:
    bits = _BITS.get(c.length, 32)
    code = _CODES[t.size]
    wants_sign = c.kind in "di"
    code = code.lower() if t.signed else code
    width = str(c.width) if c.width >= 0 else ""
    flags = "".join(f for f in c.flags if f in ("-0+ " if wants_sign else "-0"))
    kind = {"i": "d", "u": "d"}.get(c.kind, c.kind)
    return code, f"%{flags}{width}{kind}", _wrapper(bits, signed=wants_sign, of=t)


def _wrapper(bits: int, *, signed: bool, of: Int) -> Fix | None:
    """Cuts to ``bits`` where the type's own values may not fit; ``None`` where they always do."""
    own = of.size * 8
    if own <= bits and signed == of.signed:
        return None
    if own < bits and signed and not of.signed:
        return None
    mask, half = (1 << bits) - 1, 1 << (bits - 1)
    if signed:
        return lambda v: ((v & mask) ^ half) - half
    return lambda v: v & mask


def _text(size: int, mark: str) -> Fix:
    """Up to the first NUL; a text without one that fills its place was cut."""

    def text(v: bytes) -> str:
        end = v.find(0)
        if end >= 0:
            return v[:end].decode("utf-8", "surrogateescape")
        return v.decode("utf-8", "surrogateescape") + (mark if len(v) == size else "")

    return text
