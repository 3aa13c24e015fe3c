"""BTF, the kernel's type format: the raw type graph of vmlinux, of a module (split BTF) or of an ELF section.

    0      2    3      4        8         12        16       20
    magic  ver  flags  hdr_len  type_off  type_len  str_off  str_len     then the types, then the strings

    btf_type   0         4                       8
               name_off  info: vlen 0-15,        size or type     then words by kind, see KINDS
                         kind 24-28, kflag 31

Everything is 32-bit words, so the types are walked as a memoryview of u32: 126,000 types in about 15 ms. A cache of
that walk (``btf_cache``) makes it less than one. Ids count from 1; 0 is void. A module's ids and string offsets go on
where those of vmlinux end.

Source: Documentation/bpf/btf.rst and include/uapi/linux/btf.h of Linux 6.18.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import NamedTuple

from probescope.debuginfo.btf_blob import ENUM, Index, Strings, build_index, parse_header
from probescope.errors import BtfError


class Raw(NamedTuple):
    """The fixed part of one type. ``third`` is the size or the type referred to; ``at`` where its elements start."""

    kind: int
    name_off: int
    vlen: int
    kflag: bool
    third: int
    at: int


class RawMember(NamedTuple):
    """``bit_offset`` from the start of the struct; ``bit_size`` 0: not a bit field."""

    name: str
    type: int
    bit_offset: int
    bit_size: int


VOID_RAW = Raw(0, 0, 0, False, 0, 0)


class Btf:
    """One BTF blob. ``words`` are its types, ``strings`` its names; ``base`` is vmlinux for a module.

    Raises BtfError if the chain of its types is malformed. Made by ``Btf.parse`` or ``btf_cache.load``.
    """

    def __init__(
        self,
        words: memoryview[int],
        strings: Strings,
        base: Btf | None = None,
        *,
        name: str = "BTF",
        index: Index | None = None,
    ) -> None:
        self.name = name
        self.base = base
        self.words = words
        self._strings = strings
        self.first_id: int = base.end_id if base else 1
        self._first_string: int = base.string_end if base else 0
        self.string_end: int = self._first_string + len(strings)
        self.index = index or build_index(self.words, name)
        self.end_id: int = self.first_id + len(self.index.starts)
        self._name_offsets: dict[int, array[int]] = {}
        self._found: dict[tuple[str, int], int] = {}
        self._offsets: dict[str, int] = {}

    @staticmethod
    def parse(data: bytes, base: Btf | None = None, *, name: str = "BTF") -> Btf:
        """From the bytes of a whole blob, such as an ELF section .BTF."""
        header = parse_header(data, len(data), name)
        return Btf(header.words_of(memoryview(data)), header.strings_of(data, name), base, name=name)

    def error(self, what: str, type_id: int = -1) -> BtfError:
        at = f" (type {type_id})" if type_id >= 0 else ""
        return BtfError(f"malformed BTF: {what}{at}", file=self.name)

    # --- one type -----------------------------------------------------------------------------------------------------

    def raw(self, type_id: int) -> Raw:
        home = self._home(type_id)
        if home is None:
            return VOID_RAW
        at = home.index.starts[type_id - home.first_id]
        w = home.words
        info = w[at + 1]
        return Raw((info >> 24) & 31, w[at], info & 0xFFFF, bool(info >> 31), w[at + 2], at + 3)

    def _home(self, type_id: int) -> Btf | None:
        """The blob that has the type; ``None`` for void."""
        if self.first_id <= type_id < self.end_id:
            return self
        if type_id == 0:
            return None
        if self.base is None or not 0 < type_id < self.first_id:
            raise self.error("a type that is not there", type_id)
        return self.base._home(type_id)

    def _elements(self, type_id: int, raw: Raw, width: int) -> list[tuple[int, ...]]:
        home = self._home(type_id)
        assert home is not None  # void has no elements
        flat = home.words[raw.at : raw.at + raw.vlen * width].tolist()
        return list(zip(*[iter(flat)] * width, strict=True))

    def name_of(self, type_id: int) -> str:
        return self.string(self.raw(type_id).name_off)

    def members(self, type_id: int) -> list[RawMember]:
        """Of a struct or union. With kflag the offset word is bit field size << 24 | bit offset."""
        raw = self.raw(type_id)
        rows = self._elements(type_id, raw, 3)
        if raw.kflag:
            return [RawMember(self.string(n), t, off & 0xFFFFFF, off >> 24) for n, t, off in rows]
        return [RawMember(self.string(n), t, off, 0) for n, t, off in rows]

    def params(self, type_id: int) -> list[tuple[str, int]]:
        """(name, type) of a FUNC_PROTO; a last one of ("", 0) stands for the dots of a variadic function."""
        return [(self.string(n), t) for n, t in self._elements(type_id, self.raw(type_id), 2)]

    def element_of(self, type_id: int) -> tuple[int, int]:
        """(element type, count)."""
        home = self._home(type_id)
        assert home is not None
        at = self.raw(type_id).at
        return home.words[at], home.words[at + 2]

    def int_encoding(self, type_id: int) -> tuple[int, int, int]:
        """(flags: 1 signed, 2 char, 4 bool; bit offset; bits) of an INT."""
        home = self._home(type_id)
        assert home is not None
        word = home.words[self.raw(type_id).at]
        return (word >> 24) & 15, (word >> 16) & 255, word & 255

    def enumerators(self, type_id: int) -> list[tuple[str, int]]:
        """Names and values; kflag says signed."""
        raw = self.raw(type_id)
        if raw.kind == ENUM:
            pairs = [(n, v) for n, v in self._elements(type_id, raw, 2)]
            bits = 32
        else:
            pairs = [(n, low | high << 32) for n, low, high in self._elements(type_id, raw, 3)]
            bits = 64
        if raw.kflag:
            pairs = [(n, v - (1 << bits) if v >> (bits - 1) else v) for n, v in pairs]
        return [(self.string(n), v) for n, v in pairs]

    # --- by name ------------------------------------------------------------------------------------------------------

    def find(self, name: str, *kinds: int) -> int:
        """Id of the first type of that name and of one of the kinds, tried in order; 0 if there is none."""
        return next((found for kind in kinds if (found := self._find(name, kind))), 0)

    def _find(self, name: str, kind: int) -> int:
        key = (name, kind)
        found = self._found.get(key)
        if found is None:
            offset = self.string_offset(name)
            found = self._found[key] = self._find_offset(offset, kind) if offset else 0
        return found or (self.base._find(name, kind) if self.base else 0)

    def _find_offset(self, offset: int, kind: int) -> int:
        try:
            at = self.index.groups[kind][self.name_offsets(kind).index(offset)]
        except (KeyError, ValueError):
            return 0
        return self.first_id + bisect_left(self.index.starts, at)

    def string_offset(self, name: str) -> int:
        """Where a string stands; 0 if nowhere. Strings of BTF are not shared by tails."""
        found = self._offsets.get(name)
        if found is None:
            found = self._offsets[name] = self._search(name)
        return found

    def _search(self, name: str) -> int:
        raw = b"\0" + name.encode("utf-8", "replace") + b"\0"
        at = self._strings.find(raw)
        if at >= 0:
            return at + 1 + self._first_string
        if self.base is None:
            return 0
        if self._strings.get(0) == name:  # a module's strings need no empty one before them
            return self._first_string
        return self.base.string_offset(name)

    def string(self, offset: int) -> str:
        if offset < self._first_string and self.base is not None:
            return self.base.string(offset)
        start = offset - self._first_string
        if start >= len(self._strings):
            raise self.error(f"string offset {offset:#x} is outside")
        return self._strings.get(start)

    # --- many ---------------------------------------------------------------------------------------------------------

    def ids(self, *kinds: int) -> list[int]:
        """Ids of this blob's own types of some kinds, by kind and then in order."""
        starts, groups = self.index
        return [self.first_id + bisect_left(starts, at) for k in kinds for at in groups.get(k, ())]

    def names(self, *kinds: int) -> list[str]:
        """Names of this blob's own types of some kinds, without the empty ones, by kind and then in order."""
        return [self.string(n) for kind in kinds for n in self.name_offsets(kind) if n]

    def name_offsets(self, kind: int) -> array[int]:
        """name_off of each type of a kind, in the order of ``index.groups``."""
        found = self._name_offsets.get(kind)
        if found is None:
            words = self.words
            found = self._name_offsets[kind] = array("I", [words[p] for p in self.index.groups.get(kind, ())])
        return found
