"""printf in lumps: one compiled pass over records of one action.

For integers, booleans, and strings, C's conversions are Python's own ``%`` on a tuple, once integers are cut to the
width that the conversion says. What each value needs before that (cut at the first NUL, wrap to 32 bits) is decided
once, when the printer is made, and written down as the source of two functions:

    rows      records of one size, one behind the other: unpacked and formatted by one list comprehension
    loop      records of any size, as long as they are of this action; texts that lie in their tails
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
from probescope.model.visible import unchanged

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_BITS = {"hh": 8, "h": 16, "l": 64, "ll": 64, "j": 64, "z": 64, "t": 64, "q": 64, "L": 64}
_MOST_TEXTS = 4096

_SOURCE = """
def rows(cells):
    return [template % ({values}) for [{names}] in cells]

def loop(data, offsets, at, last, unpack, action):
    out = []
    add = out.append
    for i in range(at, len(offsets)):
        where = offsets[i]
        if where > last:
            break
        kind, {names} = unpack(data, where)
        if kind != action:
            break
        {tail}
        add(template % ({values}))
    return out
"""


class Texts(dict[bytes, str]):
    """Bytes as they lie in records -> text up to the first NUL, remembered. One without a NUL that fills its place was
    cut: it gets the mark. ``clean`` as in finish.py."""

    def __init__(self, size: int, mark: str, clean: Callable[[str], str] = unchanged) -> None:
        super().__init__()
        self._clean = clean
        self._size = size
        self._mark = mark

    def __missing__(self, raw: bytes) -> str:
        if len(self) >= _MOST_TEXTS:
            self.clear()
        end = raw.find(0)
        text = self._clean((raw if end < 0 else raw[:end]).decode("utf-8", "surrogateescape"))
        found = self[raw] = text + self._mark if end < 0 and len(raw) == self._size else text
        return found


class Printer:
    """``run`` formats records from an index on, for as long as they are of its action."""

    def __init__(self, template: str, codes: str, values: list[str], texts: dict[str, Texts], tail: str) -> None:
        names = "".join(f"v{i}, " for i in range(len(values)))
        filled = {"names": names, "values": "".join(f"{v}, " for v in values), "tail": tail or "pass"}
        scope: dict[str, Any] = {"template": template, **texts}
        exec(_SOURCE.format(**filled), scope)
        self._rows: Callable[[Any], list[str]] = scope["rows"]
        self._loop: Callable[..., list[str]] = scope["loop"]
        self._codes = codes
        self._unpack = struct.Struct(f"=I4x{codes}")
        self._tail = bool(tail)
        self._cells: dict[tuple[int, int], struct.Struct] = {}

    def run(self, records: Records, at: int, action: int) -> tuple[list[str], int]:
        if records.stride and not self._tail:
            out = self._run_rows(records, at, action)
        else:
            last = len(records.data) - self._unpack.size  # where the last one can begin: others may be shorter
            out = self._loop(records.data, records.offsets, at, last, self._unpack.unpack_from, action)
        return out, len(out)

    def _run_rows(self, records: Records, at: int, action: int) -> list[str]:
        """Rows of ``stride`` bytes, each with what lies before its payload."""
        stride, before = records.stride, records.length_at
        if stride < before + self._unpack.size:
            return []  # smaller than those of this action
        start = records.offsets[at] - before
        rest = memoryview(records.data)[start : start + (len(records.data) - start) // stride * stride]
        count = _alike(rest, before, stride, action)
        return self._rows(self._struct(before, stride).iter_unpack(rest[: count * stride]))

    def _struct(self, before: int, stride: int) -> struct.Struct:
        key = (before, stride)
        if key not in self._cells:
            after = stride - before - self._unpack.size
            self._cells[key] = struct.Struct(f"={before + RECORD_HEADER}x{self._codes}{after}x")
        return self._cells[key]


def _alike(rows: memoryview, before: int, stride: int, action: int) -> int:
    """How many rows from the first on are of one action. Looks at more and more at a time: where actions take turns,
    each call must cost little."""
    if stride % 4 or before % 4:
        return 1 if struct.unpack_from("=I", rows, before)[0] == action else 0
    column = rows.cast("I")[before // 4 :: stride // 4]
    count, chunk = 0, 4
    while count < len(column):
        kinds = column[count : count + chunk].tolist()
        alike = kinds.count(action)
        if alike < len(kinds):
            return count + next(i for i, kind in enumerate(kinds) if kind != action)
        count, chunk = count + alike, chunk * 4
    return count


def printer(action: Action, layout: RecordLayout, mark: str, clean: Callable[[str], str] = unchanged) -> Printer | None:
    """A printer for the action, or ``None`` where its values need more than their own bytes. ``mark`` is put behind
    texts that were cut."""
    if action.kind != "printf" or action.format is None:
        return None
    template = ["%%" if p == "%" else p.replace("%", "%%") if isinstance(p, str) else "" for p in action.format.parts]
    codes, at = [], RECORD_HEADER
    values: list[str] = []
    texts: dict[str, Texts] = {}
    for place, part in enumerate(action.format.parts):
        if isinstance(part, str):
            continue
        i = len(values)
        t = layout.types[i]
        made = _conversion(part, t, f"v{i}")
        if made is None:
            return None
        code, template[place], value = made
        if isinstance(t, String):
            texts[f"t{i}"] = Texts(t.size, mark, clean)
            value = f"t{i}[{value}]"
        start = layout.offsets[i]
        codes.append(f"{start - at}x{code}" if start > at else code)
        at = start + (4 if has_tail(t) else size_align(t)[0])
        values.append(value)
    return Printer("".join(template), "".join(codes), values, texts, _tails(layout))


def _tails(layout: RecordLayout) -> str:
    """Source that puts the texts in the places of their lengths: they follow each other behind the fixed part."""
    steps = [f"end = where + {align_up(layout.fixed, 8)}"] if layout.tails else []
    for i in layout.tails:
        steps += ["begin = end", f"end += v{i}", f"v{i} = data[begin:end]"]
    return "; ".join(steps)


def _conversion(c: Conv, t: Type, name: str) -> tuple[str, str, str] | None:
    """Struct code, Python conversion, and the value's expression in ``name``; ``None``: not here."""
    if isinstance(t, String) and c.kind == "s":
        precision = f".{c.precision}" if c.precision >= 0 else ""
        width = str(c.width) if c.width >= 0 else ""
        code = "I" if has_tail(t) else f"{t.size}s"
        return code, f"%{'-' if '-' in c.flags else ''}{width}{precision}s", name
    if isinstance(t, Int) and c.kind in "diuxXo" and not set(c.flags) & {"'", "#"} and c.precision < 0:
        return _integer(c, t, name)
    return None


def _integer(c: Conv, t: Int, name: str) -> tuple[str, str, str]:
    bits = _BITS.get(c.length, 32)
    code = _CODES[t.size]
    wants_sign = c.kind in "di"
    code = code.lower() if t.signed else code
    width = str(c.width) if c.width >= 0 else ""
    flags = "".join(f for f in c.flags if f in ("-0+ " if wants_sign else "-0"))
    kind = {"i": "d", "u": "d"}.get(c.kind, c.kind)
    return code, f"%{flags}{width}{kind}", _wrapped(name, bits, signed=wants_sign, of=t)


def _wrapped(name: str, bits: int, *, signed: bool, of: Int) -> str:
    """Cut to ``bits`` where the type's own values may not fit."""
    own = of.size * 8
    if (own <= bits and signed == of.signed) or (own < bits and signed and not of.signed):
        return name
    mask, half = (1 << bits) - 1, 1 << (bits - 1)
    return f"(({name} & {mask}) ^ {half}) - {half}" if signed else f"{name} & {mask}"
