"""Types of Go: strings, slices, interfaces, maps, channels, as the compiler's debug information has them.

    string  { str *uint8, len int }      []T  { array *T, len int, cap int }      map  a pointer to a table with a count
    error   { tab *itab, data }          interface {}  { _type *_type, data }     itab: { inter, _type, hash, fun }

Source: the Go runtime's runtime2.go (iface, eface, itab), map.go (hmap), chan.go (hchan).
"""

from __future__ import annotations

from probescope.debuginfo.values.shapes import Counted, Interface, Sequence, Shape, Text
from probescope.debuginfo.values.vtypes import VType

WORD = 8


def recognise(t: VType) -> Shape | None:
    if t.kind == "pointer":
        return _table(t)
    if t.kind != "struct" or t.die is None:
        return None
    name = t.die.name
    if name == "string":
        return _text(t)
    if name.startswith("[]"):
        return _slice(t)
    data = t.member("data")
    if data is not None and t.size == 2 * WORD:
        if t.member("tab") is not None:
            return Interface(0, data.offset, table=WORD)
        if t.member("_type") is not None:
            return Interface(0, data.offset)
    return None


def _text(t: VType) -> Shape | None:
    data, length = t.member("str"), t.member("len")
    return Text(data.offset, length.offset) if data is not None and length is not None else None


def _slice(t: VType) -> Shape | None:
    data, length = t.member("array"), t.member("len")
    if data is None or length is None:
        return None
    return Sequence(data.offset, length.offset, data.type.target, open="[", close="]")


def _table(t: VType) -> Shape | None:
    """Maps are pointers to ``hash<K, V>``, with the swiss tables of Go 1.24 to ``map<K, V>``; channels to
    ``hchan<T>``."""
    target = t.target
    if target.kind != "struct" or target.die is None:
        return None
    name = target.die.name
    for start, member in (("hash<", "count"), ("map<", "used"), ("hchan<", "qcount")):
        found = target.member(member) if name.startswith(start) else None
        if found is not None:
            shown = "chan" if start == "hchan<" else "map"
            return Counted(0, found.offset, shown, found.type.size)
    return None
