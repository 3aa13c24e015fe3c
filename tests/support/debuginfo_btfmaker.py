"""Writes BTF blobs for tests of readers, one type a call; ids are returned, counted from 1 (or on from a base).

b = BtfMaker()
i = b.int("int", 4, signed=True)
b.struct("point", 8, [("x", i, 0), ("y", i, 32)])
data = b.build()
"""

from __future__ import annotations

import struct
from collections.abc import Sequence


class BtfMaker:
    def __init__(self, *, little: bool = True, first_id: int = 1, first_string: int = 0) -> None:
        self._order = "<" if little else ">"
        self.types = b""
        self.strings = b"" if first_string else b"\0"
        self._first_string = first_string
        self._known: dict[str, int] = {"": 0}
        self._next = first_id

    def name(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._first_string + len(self.strings)
            self.strings += text.encode() + b"\0"
        return self._known[text]

    def raw(self, kind: int, name: str, third: int, words: Sequence[int] = (), *, vlen: int = 0, kflag: int = 0) -> int:
        info = kind << 24 | vlen | kflag << 31
        self.types += struct.pack(f"{self._order}{3 + len(words)}I", self.name(name), info, third, *words)
        self._next += 1
        return self._next - 1

    def int(self, name: str, size: int, *, signed: bool = False, flags: int = 0, bits: int = 0, offset: int = 0) -> int:
        return self.raw(1, name, size, [(int(signed) | flags) << 24 | offset << 16 | (bits or 8 * size)])

    def ptr(self, target: int) -> int:
        return self.raw(2, "", target)

    def array(self, element: int, count: int, index: int = 1) -> int:
        return self.raw(3, "", 0, [element, index, count])

    def struct(
        self, name: str, size: int, members: Sequence[tuple[str, int, int]], *, kflag: int = 0, union: bool = False
    ) -> int:
        words = [w for n, t, off in members for w in (self.name(n), t, off)]
        return self.raw(5 if union else 4, name, size, words, vlen=len(members), kflag=kflag)

    def enum(self, name: str, values: Sequence[tuple[str, int]], *, size: int = 4, signed: bool = False) -> int:
        words = [w for n, v in values for w in (self.name(n), v & 0xFFFFFFFF)]
        return self.raw(6, name, size, words, vlen=len(values), kflag=int(signed))

    def enum64(self, name: str, values: Sequence[tuple[str, int]], *, signed: bool = False) -> int:
        words = [w for n, v in values for w in (self.name(n), v & 0xFFFFFFFF, v >> 32 & 0xFFFFFFFF)]
        return self.raw(19, name, 8, words, vlen=len(values), kflag=int(signed))

    def fwd(self, name: str, *, union: bool = False) -> int:
        return self.raw(7, name, 0, kflag=int(union))

    def typedef(self, name: str, target: int) -> int:
        return self.raw(8, name, target)

    def const(self, target: int) -> int:
        return self.raw(10, "", target)

    def tag(self, name: str, target: int) -> int:
        return self.raw(18, name, target)

    def decl_tag(self, name: str, target: int, index: int = 0xFFFFFFFF) -> int:
        return self.raw(17, name, target, [index])

    def proto(self, result: int, params: Sequence[tuple[str, int]]) -> int:
        words = [w for n, t in params for w in (self.name(n), t)]
        return self.raw(13, "", result, words, vlen=len(params))

    def func(self, name: str, proto: int) -> int:
        return self.raw(12, name, proto, vlen=1)

    def build(self) -> bytes:
        head = struct.pack(
            self._order + "HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(self.types), len(self.types), len(self.strings)
        )
        return head + self.types + self.strings
