"""The parts of a BTF blob (drawn in ``btf``): its header, its strings, and the index of where each type starts."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from probescope.errors import BtfError

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT = range(1, 12)
FUNC, FUNC_PROTO, VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(12, 20)

MAGIC = 0xEB9F
MAX_BYTES = 1 << 28

# kind -> (words of a record without elements, words per element)
KINDS: Mapping[int, tuple[int, int]] = {
    **dict.fromkeys((PTR, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FLOAT, TYPE_TAG), (3, 0)),
    **dict.fromkeys((INT, VAR, DECL_TAG), (4, 0)),
    ARRAY: (6, 0),
    STRUCT: (3, 3),  # name_off, type, offset
    UNION: (3, 3),
    ENUM: (3, 2),  # name_off, value
    FUNC_PROTO: (3, 2),  # name_off, type
    DATASEC: (3, 3),  # type, offset, size
    ENUM64: (3, 3),  # name_off, low, high
}


class Index(NamedTuple):
    """Where the types are. ``starts``: word offset of each, in order of ids. ``groups``: the same offsets by kind."""

    starts: Sequence[int]
    groups: dict[int, Sequence[int]]


class Haystack(Protocol):
    """bytes or an mmap: what can be searched and cut without a copy of the whole."""

    def find(self, sub: bytes, start: int, end: int, /) -> int: ...

    def __getitem__(self, place: slice, /) -> bytes: ...


class Strings:
    """The string section, in place. Each string ends with NUL, and so does the section."""

    __slots__ = ("_data", "_end", "_start")

    def __init__(self, data: Haystack, start: int, size: int, name: str) -> None:
        if not size or data[start + size - 1 : start + size] != b"\0":
            raise BtfError("malformed BTF: the strings do not end", file=name, section="strings")
        self._data, self._start, self._end = data, start, start + size

    def __len__(self) -> int:
        return self._end - self._start

    def find(self, raw: bytes) -> int:
        at = self._data.find(raw, self._start, self._end)
        return at - self._start if at >= 0 else -1

    def get(self, offset: int) -> str:
        """The string at an offset that lies inside."""
        start = self._start + offset
        return self._data[start : self._data.find(b"\0", start, self._end)].decode("utf-8", "replace")

    def piece(self, offset: int, size: int) -> bytes:
        return self._data[self._start + offset : min(self._start + offset + size, self._end)]


class Header(NamedTuple):
    """Offsets and lengths in bytes from the start of the blob."""

    little: bool
    types: int
    types_len: int
    strings: int
    strings_len: int

    def strings_of(self, data: Haystack, name: str) -> Strings:
        return Strings(data, self.strings, self.strings_len, name)

    def words_of(self, data: memoryview[int]) -> memoryview[int]:
        types = data[self.types : self.types + self.types_len]
        if self.little == (sys.byteorder == "little"):
            return types.cast("I")
        swapped = array("I", types.tobytes())
        swapped.byteswap()
        return memoryview(swapped)


def parse_header(data: bytes, size: int, name: str) -> Header:
    """``data`` holds at least the first 24 of ``size`` bytes."""
    if len(data) < 24:
        raise BtfError("malformed BTF: cut header", file=name, offset=len(data))
    if size > MAX_BYTES:
        raise BtfError(f"{size} bytes of BTF are more than the {MAX_BYTES} that are read", file=name)
    order = "<" if data[:2] == MAGIC.to_bytes(2, "little") else ">"
    magic, version, _, hdr_len, type_off, type_len, str_off, str_len = struct.unpack_from(order + "HBBIIIII", data)
    if magic != MAGIC or version != 1:
        raise BtfError("not BTF, or of an unknown version", file=name, offset=0)
    types, strings = hdr_len + type_off, hdr_len + str_off
    if hdr_len < 24 or type_len % 4 or types + type_len > size or strings + str_len > size:
        raise BtfError("malformed BTF: sections outside the data", file=name, offset=4)
    return Header(order == "<", types, type_len, strings, str_len)


class _Steps(dict[int, tuple[Callable[[int], None], int]]):
    """info word -> (what takes the position of such a type, words to the next type). A BTF has only a few hundred
    different info words, so that walking over a type is one look-up."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[int, list[int]] = {}

    def __missing__(self, info: int) -> tuple[Callable[[int], None], int]:
        kind = (info >> 24) & 31
        if kind not in KINDS:
            raise BtfError(f"malformed BTF: unknown kind {kind}")
        fixed, each = KINDS[kind]
        found = self[info] = (self.groups.setdefault(kind, []).append, fixed + each * (info & 0xFFFF))
        return found


def build_index(words: memoryview[int], name: str = "BTF") -> Index:
    """One pass over the types. Raises BtfError where a type is of an unknown kind or does not end with the section."""
    steps = _Steps()
    infos, end, at = words[1:], len(words), 0
    try:
        while True:
            put, step = steps[infos[at]]
            put(at)
            at += step
    except IndexError:
        pass
    except BtfError as e:
        raise BtfError(e.what, file=name, section="types", offset=at * 4) from e
    if at != end:
        raise BtfError("malformed BTF: the last type is cut", file=name, section="types", offset=at * 4)
    starts: list[int] = []
    for rows in steps.groups.values():
        starts += rows
    starts.sort()
    return Index(array("I", starts), {k: array("I", rows) for k, rows in steps.groups.items()})
