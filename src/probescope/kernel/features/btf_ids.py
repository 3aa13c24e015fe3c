"""Type ids in the kernel's own BTF, by name: just enough of the format to walk over it. ``debuginfo`` has the real
reader.

    header   u16 magic 0xeb9f, u8 version, u8 flags, u32 hdr_len, type_off, type_len, str_off, str_len
    type     u32 name_off, u32 info (kind in bits 24-28, vlen in 0-15), u32 size or type, then what the kind adds

Source: Documentation/bpf/btf.rst.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from probescope.kernel.features.answer import No
from probescope.kernel.host import host
from probescope.kernel.machine import btf_bytes

TYPEDEF = 8
FUNC = 12
VAR = 14

# words that follow the first three, by kind: a fixed number, and so many for each of vlen
_FIXED = (0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0)
_EACH = (0, 0, 0, 0, 3, 3, 2, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 0, 0, 3)


class Index:
    """Which names the strings hold, and ids of functions, typedefs and variables by the offset of their name."""

    def __init__(self, data: bytes) -> None:
        magic, _, _, header, type_off, type_len, str_off, str_len = struct.unpack_from("=HBBIIIII", data)
        if magic != 0xEB9F or header + max(type_off + type_len, str_off + str_len) > len(data) or type_len % 4:
            raise No("the kernel's BTF cannot be read")
        self.strings = data[header + str_off : header + str_off + str_len]
        self._words = memoryview(data)[header + type_off : header + type_off + type_len].cast("I")
        self._ids: dict[tuple[int, int], int] = {}

    def find(self, name: str, kind: int) -> int:
        offset = self.strings.find(b"\0" + name.encode() + b"\0") + 1
        if not offset:
            return 0
        if not self._ids:
            self._walk()
        return self._ids.get((offset, kind), 0)

    def _walk(self) -> None:
        words, ids, wanted = self._words, self._ids, (TYPEDEF, FUNC, VAR)
        steps = [(3 + f, e) for f, e in zip(_FIXED, _EACH, strict=True)]
        at, number, end = 0, 1, len(words) - 2
        while at < end:
            info = words[at + 1]
            kind = info >> 24 & 31
            if kind >= len(steps):  # a kind from the future: what follows cannot be found
                return
            if kind in wanted:
                ids.setdefault((words[at], kind), number)
            fixed, each = steps[kind]
            at += fixed + each * (info & 0xFFFF) if each else fixed
            number += 1


def type_id(name: str, kind: int) -> int:
    """The id, or 0 if the kernel's BTF has no such type. Raises No where there is no BTF."""
    cache = host().cache
    finder: Callable[[str, int], int] | None = cache.get("btf_finder")
    if finder is None:
        try:
            finder = Index(btf_bytes()).find
        except OSError as e:
            raise No("the kernel has no BTF (/sys/kernel/btf/vmlinux)", e.errno or 0) from None
        cache["btf_finder"] = finder
    return finder(name, kind)
