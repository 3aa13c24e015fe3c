"""Symbol tables of ELF files, as columns: a table of 100,000 symbols answers its first question in milliseconds.

    Elf64_Sym   0        4        5         6         8         16
                st_name  st_info  st_other  st_shndx  st_value  st_size
    Elf32_Sym   0        4        8         12        13        14
                st_name  st_value st_size   st_info   st_other  st_shndx

Source: gABI chapter 4 "Symbol Table". A column is a strided view over the table's bytes: no row is decoded unasked.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import NamedTuple

from probescope.errors import ElfError

MAX_SYMBOLS = 1 << 23
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE, STT_COMMON, STT_TLS, STT_GNU_IFUNC = 0, 1, 2, 3, 4, 5, 6, 10
STB_LOCAL, STB_GLOBAL, STB_WEAK, STB_GNU_UNIQUE = 0, 1, 2, 10
SHN_UNDEF, SHN_LORESERVE = 0, 0xFF00

_CODES = (STT_FUNC, STT_GNU_IFUNC)
_BIND_RANK = {STB_GLOBAL: 0, STB_GNU_UNIQUE: 0, STB_WEAK: 1, STB_LOCAL: 2}
_CODE = bytes(info & 15 in _CODES for info in range(256))
_UNTYPED = bytes(info & 15 == STT_NOTYPE for info in range(256))
_NESTING = 32  # how many earlier symbols are looked at for one that still covers an address

# (struct code, offset, stride) of each column
_COLUMNS: dict[int, dict[str, tuple[str, int, int]]] = {
    64: {
        "name": ("I", 0, 24),
        "info": ("B", 4, 24),
        "section": ("H", 6, 24),
        "value": ("Q", 8, 24),
        "size": ("Q", 16, 24),
    },
    32: {
        "name": ("I", 0, 16),
        "value": ("I", 4, 16),
        "size": ("I", 8, 16),
        "info": ("B", 12, 16),
        "section": ("H", 14, 16),
    },
}
_WIDTH = {"B": 1, "H": 2, "I": 4, "Q": 8}


class Symbol(NamedTuple):
    """``name`` without its version; ``address`` a virtual address of the file; ``size`` in bytes, 0 if unknown."""

    name: str
    address: int
    size: int
    type: int
    bind: int
    section: int

    @property
    def is_function(self) -> bool:
        return self.type in _CODES

    @property
    def is_defined(self) -> bool:
        return self.section != SHN_UNDEF


class SymbolTable:
    """One .symtab or .dynsym. ``text``: numbers of executable sections, labels without a type count only there."""

    def __init__(
        self,
        data: bytes,
        strings: bytes,
        bits: int = 64,
        little: bool = True,
        text: frozenset[int] = frozenset(),
        where: str = "",
    ) -> None:
        self._entry = 24 if bits == 64 else 16
        self._count = len(data) // self._entry
        if self._count > MAX_SYMBOLS:
            raise ElfError(f"{self._count} symbols are more than the {MAX_SYMBOLS} that are read", file=where)
        self._data = data[: self._count * self._entry]
        self._strings = strings
        self._bits, self._swap, self._text = bits, little != (sys.byteorder == "little"), text
        self._columns: dict[str, Sequence[int]] = {}
        self._starts: list[int] | None = None
        self._order: list[int] = []
        self._names: list[str] | None = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: int) -> Symbol:
        info = self._column("info")[i]
        return Symbol(
            self.name(i),
            self._column("value")[i],
            self._column("size")[i],
            info & 15,
            info >> 4,
            self._column("section")[i],
        )

    def __iter__(self) -> Iterator[Symbol]:
        return (self[i] for i in range(self._count))

    def name(self, i: int) -> str:
        return _strip_version(self.full_name(i))

    def full_name(self, i: int) -> str:
        """With its version: ``memcpy@@GLIBC_2.14``, where the table has it so."""
        start = self._column("name")[i]
        end = self._strings.find(b"\0", start)
        return self._strings[start : end if end >= 0 else len(self._strings)].decode("utf-8", "replace")

    def _column(self, name: str) -> Sequence[int]:
        found = self._columns.get(name)
        if found is None:
            code, offset, stride = _COLUMNS[self._bits][name]
            width = _WIDTH[code]
            data = self._data
            if self._swap and width > 1:
                data = _swapped(self._data, code)
            column = _view(data, code)[offset // width :: stride // width]
            found = self._columns[name] = bytes(column) if width == 1 else column.tolist()
        return found

    def _rows(self, table: bytes) -> list[int]:
        """Numbers of the symbols whose st_info ``table`` maps to 1."""
        return list(compress(range(self._count), bytes(self._column("info")).translate(table)))

    # --- by name ------------------------------------------------------------------------------------------------------

    def find_all(self, name: str) -> list[Symbol]:
        """Every symbol of that name, whatever its version; the undefined ones too."""
        starts = _occurrences(self._strings, name.encode("utf-8", "replace"))
        if not starts:
            return []
        return [self[i] for i, start in enumerate(self._column("name")) if start in starts]

    def find(self, name: str) -> Symbol | None:
        """The best defined symbol of that name: a function before data, global before weak before local."""
        return best(self.find_all(name))

    def match(self, glob: str, *, functions: bool = True) -> list[Symbol]:
        """Defined symbols whose name matches ``*``, ``?``, ``[...]``, in table order; by default only functions."""
        accepts = glob_matcher(glob)
        names = self._all_names()
        section = self._column("section")
        wanted = self._rows(_CODE) if functions else range(self._count)
        return [self[i] for i in wanted if section[i] and names[i] and accepts(names[i])]

    def _all_names(self) -> list[str]:
        if self._names is None:
            strings = self._strings + b"\0"
            if strings.isascii():  # one decode instead of one per name
                text = strings.decode("ascii")
                find, last = text.find, len(text)
                names = [text[s : find("\0", s)] if s < last else "" for s in self._column("name")]
                self._names = [_strip_version(n) if "@" in n else n for n in names] if "@" in text else names
            else:
                self._names = [self.name(i) for i in range(self._count)]
        return self._names

    # --- by address ---------------------------------------------------------------------------------------------------

    def at(self, address: int) -> Symbol | None:
        """The function (or label in code) that covers a virtual address.

        A symbol without a size reaches to the next one. Of several that cover the address the one that starts last
        wins, and of aliases the best named (global before weak before local, fewest leading underscores).
        """
        return min((self[i] for i in self.covering(address)), key=alias_rank, default=None)

    def covering(self, address: int) -> list[int]:
        """Rows of the symbols that ``at`` chooses from: all with the same start."""
        starts = self._index()
        size = self._column("size")
        at = bisect_right(starts, address)
        for k in range(at - 1, max(-1, at - 1 - _NESTING), -1):
            i, start = self._order[k], starts[k]
            if address < start + size[i] or (size[i] == 0 and k == at - 1):
                same = [self._order[j] for j in range(k, max(-1, k - _NESTING), -1) if starts[j] == start]
                return [j for j in same if address < start + size[j]] or same
        return []

    def extents(self) -> Iterator[tuple[int, int]]:
        """Start and size (0: up to the next one) of all that ``covering`` knows, in rising order."""
        starts, size = self._index(), self._column("size")
        return ((start, size[i]) for start, i in zip(starts, self._order, strict=True))

    def _index(self) -> list[int]:
        """Starts of all functions, and of untyped names that lie in code: what assembly leaves (but no mapping symbols
        such as $x)."""
        if self._starts is None:
            value, section, text = self._column("value"), self._column("section"), self._text
            rows = [i for i in self._rows(_CODE) if 0 < section[i] < SHN_LORESERVE]
            rows += [i for i in self._rows(_UNTYPED) if section[i] in text and self._is_label(i)]
            rows.sort(key=value.__getitem__)
            self._order = rows
            self._starts = [value[i] for i in rows]
        return self._starts

    def _is_label(self, i: int) -> bool:
        start = self._column("name")[i]
        return self._strings[start : start + 1] not in (b"$", b"\0", b"") and self._strings[start : start + 2] != b".L"


class SymbolSet:
    """Several tables of one file, asked in turn: what the first knows best wins."""

    def __init__(self, tables: Sequence[SymbolTable]) -> None:
        self.tables = tuple(tables)

    def __len__(self) -> int:
        return sum(map(len, self.tables))

    def __iter__(self) -> Iterator[Symbol]:
        return (s for t in self.tables for s in t)

    def find(self, name: str) -> Symbol | None:
        return best(self.find_all(name))

    def find_all(self, name: str) -> list[Symbol]:
        return [s for t in self.tables for s in t.find_all(name)]

    def match(self, glob: str, *, functions: bool = True) -> list[Symbol]:
        """Each name at each address once."""
        seen: dict[tuple[str, int], Symbol] = {}
        for t in self.tables:
            for s in t.match(glob, functions=functions):
                seen.setdefault((s.name, s.address), s)
        return list(seen.values())

    def at(self, address: int) -> Symbol | None:
        found = [s for s in (t.at(address) for t in self.tables) if s is not None]
        sized = [s for s in found if s.size]
        return max(sized or found, key=lambda s: s.address, default=None)


def best(symbols: Iterable[Symbol]) -> Symbol | None:
    defined = [s for s in symbols if s.is_defined]
    return min(defined, key=lambda s: (not s.is_function, _BIND_RANK.get(s.bind, 3)), default=None)


def glob_matcher(glob: str) -> Callable[[str], object]:
    """True-ish for the names that a shell pattern matches. Stars alone need no regular expression, and are the most
    frequent: half a million names are compared in a tenth of a second."""
    if "[" in glob or "?" in glob:
        import fnmatch
        import re

        return re.compile(fnmatch.translate(glob)).match
    first, *rest = glob.split("*")
    if not rest:
        return glob.__eq__
    *middle, last = rest

    def accepts(name: str) -> bool:
        at, end = len(first), len(name) - len(last)
        if end < at or not name.startswith(first) or not name.endswith(last):
            return False
        for piece in middle:
            at = name.find(piece, at, end)
            if at < 0:
                return False
            at += len(piece)
        return True

    return accepts


def alias_rank(s: Symbol) -> tuple[int, int, int]:
    """The least stands for all symbols of one address."""
    return (s.size == 0, _BIND_RANK.get(s.bind, 3), len(s.name) - len(s.name.lstrip("_")))


def _strip_version(name: str) -> str:
    """``memcpy@@GLIBC_2.14`` -> ``memcpy``. A name that starts with @ is kept as it is."""
    cut = name.find("@", 1)
    return name if cut < 0 else name[:cut]


def _swapped(data: bytes, code: str) -> bytes:
    from array import array

    column = array(code, data)
    column.byteswap()
    return column.tobytes()


def _view(data: bytes, code: str) -> memoryview[int]:
    return memoryview(data).cast(code)  # type: ignore[call-overload, no-any-return] # pyright: ignore[reportArgumentType, reportCallIssue]


def _occurrences(strings: bytes, name: bytes) -> set[int]:
    """Where a name stands in a string table, also as the tail of a longer one: linkers share tails."""
    out: set[int] = set()
    for end in (b"\0", b"@"):
        needle = name + end
        at = strings.find(needle)
        while at >= 0:
            out.add(at)
            at = strings.find(needle, at + 1)
    return out
