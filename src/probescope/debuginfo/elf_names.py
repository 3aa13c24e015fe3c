"""Names of a file's functions as perf chooses them.

Of several names at one address: one with a size; then one that is not weak; then a global one; then the one with fewest
leading underscores; then the longest; then the one that its table has first. Names keep their version.

Source: what perf 6.1 and later print, and the comments of choose_best_symbol() in tools/perf/util/symbol.c.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_plt import Plt, quiet_plt
from probescope.debuginfo.elf_symbols import STB_GLOBAL, STB_WEAK, SymbolTable

Named = tuple[str, int]
"""The name and the virtual address where it starts."""


class FunctionNames:
    """``tables``: the best one first. Methods raise ElfError where a table is malformed."""

    def __init__(self, elf: ElfFile, tables: Sequence[SymbolTable]) -> None:
        self._elf, self._tables = elf, tuple(tables)
        self._plt: Plt | None = None

    def at(self, address: int) -> Named | None:
        """The function that covers a virtual address."""
        plt = self.plt
        if plt.covers(address):
            i = bisect_right(plt.stubs, (address, 1 << 64, "")) - 1
            found = plt.stubs[i] if i >= 0 else None
            return (found.name, found.address) if found and address < found.address + found.size else None
        return self._in_tables(address)

    @property
    def plt(self) -> Plt:
        if self._plt is None:
            self._plt = quiet_plt(self._elf, self._name)
        return self._plt

    def _name(self, address: int) -> str:
        found = self._in_tables(address)
        return found[0].partition("@")[0] if found and found[1] == address else ""

    def _in_tables(self, address: int) -> Named | None:
        best: tuple[bool, int] | None = None
        out: Named | None = None
        for table in self._tables:
            rows = table.covering(address)
            if not rows:
                continue
            row = chosen(table, rows)
            symbol = table[row]
            place = (symbol.size > 0, symbol.address)
            if best is None or place > best:
                best, out = place, (table.full_name(row), symbol.address)
        return out


def chosen(table: SymbolTable, rows: list[int]) -> int:
    """Of several rows with one address. Without sizes the last one reaches to the next symbol, the others nowhere."""
    if not any(table[i].size for i in rows):
        return max(rows)
    return min(sorted(rows), key=lambda i: rank(table, i))


def rank(table: SymbolTable, i: int) -> tuple[bool, bool, bool, int, int]:
    """The least of those with one address is chosen."""
    symbol, name = table[i], table.full_name(i)
    underscores = len(name) - len(name.lstrip("_"))
    return symbol.size == 0, symbol.bind == STB_WEAK, symbol.bind != STB_GLOBAL, underscores, -len(name)
