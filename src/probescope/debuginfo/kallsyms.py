"""Kernel symbols from the text of /proc/kallsyms, 120,000 lines and more, searched where they lie.

    ffffffff81000000 T _stext                           the kernel's own, in the order of addresses
    ...
    ffffffffc0201000 t foo_init<TAB>[foo]               modules, then trampolines and BPF programs, in any order
    ffffffffc0382004 t bpf_prog_6deef7357e7b4530<TAB>[bpf]

An address is found by bisection over the bytes: a fixed-width hexadecimal number starts each line. Only the part with
modules is cut into lines. Without privileges (kptr_restrict) every address reads as zero.

Source: kernel/kallsyms.c, s_show.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

_HEX = 16
_MAX_REACH = 1 << 20
"""Bytes that the last symbol before a hole may reach; beyond that an address has no name."""
_BUILTIN, _PAGE = "__builtin__", 1 << 12
"""Pseudo-modules of ftrace's trampolines and of kprobes' copies of instructions; each symbol is of a page at most. What
is further on is another's: the trampolines of BPF programs lie there, and are gone when their program is."""
_SPOTS = 256


class KernelSymbol(NamedTuple):
    """``module`` is empty for the kernel itself; ``kind`` the letter of nm: ``t`` and ``T`` are code."""

    address: int
    name: str
    kind: str
    module: str


class Kallsyms:
    """Symbols by address and by name. ``text`` is what /proc/kallsyms reads as; 32-bit kernels (eight digits) too."""

    def __init__(self, text: bytes) -> None:
        self._text = text if text.endswith(b"\n") or not text else text + b"\n"
        self._width = max(self._text.find(b" "), 0)
        tab = self._text.find(b"\t[")
        self._core = len(self._text) if tab < 0 else self._text.rfind(b"\n", 0, tab) + 1
        self._lines: list[bytes] | None = None
        self._sorted = self._looks_sorted()

    @property
    def restricted(self) -> bool:
        """Whether addresses are hidden: all of some hundred lines show zero."""
        zero = b"0" * self._width + b" "
        return not self._text or all(self._text.startswith(zero, at) for at in self._spots(len(self._text)))

    def _spots(self, end: int) -> Iterator[int]:
        """Starts of lines, evenly spread."""
        step = max(end // _SPOTS, 1)
        for at in range(0, end, step):
            start = self._text.rfind(b"\n", 0, at) + 1
            yield start

    def _looks_sorted(self) -> bool:
        width = self._width
        spots = [self._text[at : at + width] for at in self._spots(self._core)]
        return width in (8, _HEX) and all(a <= b for a, b in pairwise(spots))

    # --- by address ---------------------------------------------------------------------------------------------------

    def lookup(self, address: int, *, last: bool = False) -> tuple[str, int, str] | None:
        """(name, offset in bytes from its start, module); ``None`` where no symbol is near enough below.

        Of aliases the first listed is taken, as the kernel's own %pS does; or the ``last``, as perf does: it takes a
        symbol's end to be where the next one starts, and prefers what is longer than nothing."""
        found = self.symbol_at(address)
        if last and found is not None:
            found = self._last_alias(found)
        return None if found is None else (found.name, address - found.address, found.module)

    def symbol_at(self, address: int) -> KernelSymbol | None:
        if not self._width or address < 0 or address >> (4 * self._width):
            return None
        key = b"%0*x" % (self._width, address)
        candidates = [line for line in (self._in_core(key), self._in_modules(key)) if line]
        found = _parse(max(candidates, key=lambda line: line[: self._width]), self._width) if candidates else None
        if found is None or found.address == 0:
            return None
        reach = _PAGE - 1 if found.module.startswith(_BUILTIN) else _MAX_REACH
        if address - found.address > reach:
            return None
        return found

    def _in_core(self, key: bytes) -> bytes:
        """The line of the first symbol at the greatest address that is not above ``key``."""
        if not self._sorted:
            return b""  # every line is in the sorted list then
        text, width, low, high = self._text, self._width, 0, self._core
        while low < high:  # low: a line's start, everything before it is <= key; high: a line's start or the end
            middle = text.rfind(b"\n", low, (low + high) // 2) + 1 or low
            if text[middle : middle + width] <= key:
                low = text.find(b"\n", middle) + 1
            else:
                high = middle
        if not low:
            return b""
        start = text.rfind(b"\n", 0, low - 1) + 1
        return text[self._first_alias(start) : low - 1].split(b"\n", 1)[0]

    def _first_alias(self, start: int) -> int:
        text, width = self._text, self._width
        address = text[start : start + width]
        for _ in range(1000):
            before = text.rfind(b"\n", 0, max(start - 1, 0)) + 1
            if start == 0 or text[before : before + width] != address:
                break
            start = before
        return start

    def _last_alias(self, found: KernelSymbol) -> KernelSymbol:
        """Of code and data with the address of a symbol."""
        prefix = b"%0*x " % (self._width, found.address)
        if not self._sorted or found.module:
            return found
        at = self._first_line(prefix[:-1])
        for _ in range(1000):
            if at < 0 or not self._text.startswith(prefix, at):
                break
            end = self._text.find(b"\n", at)
            symbol = _parse(self._text[at:end], self._width)
            if symbol is not None and symbol.kind.upper() in "TWDB":
                found = symbol
            at = end + 1
        return found

    def _first_line(self, key: bytes) -> int:
        """Where the first line in order begins whose address is not below ``key``."""
        text, width, low, high = self._text, self._width, 0, self._core
        while low < high:  # both starts of lines, or the end
            middle = text.rfind(b"\n", low, (low + high) // 2) + 1 or low
            if text[middle : middle + width] < key:
                low = text.find(b"\n", middle) + 1
            else:
                high = middle
        return low

    def _in_modules(self, key: bytes) -> bytes:
        lines = self._loose_lines()
        at = bisect_right(lines, key + b"\x7f")
        if not at:
            return b""
        address = lines[at - 1][: self._width]
        while at > 1 and lines[at - 2].startswith(address):
            at -= 1
        return lines[at - 1]

    def _loose_lines(self) -> list[bytes]:
        """What is not known to be in order, put in order."""
        if self._lines is None:
            width = self._width
            start = self._core if self._sorted else 0
            self._lines = sorted(self._text[start:].splitlines(), key=lambda line: line[:width])
        return self._lines

    # --- by name ------------------------------------------------------------------------------------------------------

    def address(self, name: str, module: str = "") -> int | None:
        """The address of the first symbol of that name, in one module if given."""
        return next((s.address for s in self.find(name) if not module or s.module == module), None)

    def find(self, name: str) -> list[KernelSymbol]:
        """Every symbol of that name: static functions of different files may share one."""
        raw = b" " + name.encode("utf-8", "replace")
        out = []
        for end in (b"\n", b"\t"):
            at = self._text.find(raw + end) if name else -1
            while at >= 0:
                start = self._text.rfind(b"\n", 0, at) + 1
                symbol = _parse(self._text[start : self._text.find(b"\n", at)], self._width)
                out += [symbol] if symbol is not None and symbol.name == name else []
                at = self._text.find(raw + end, at + 1)
        return out

    def symbols(self, keep: Callable[[KernelSymbol], bool] | None = None) -> Iterator[KernelSymbol]:
        """All, in the order of the text; malformed lines are left out."""
        for line in self._text.splitlines():
            symbol = _parse(line, self._width)
            if symbol is not None and (keep is None or keep(symbol)):
                yield symbol

    def functions(self) -> list[str]:
        """Names of code symbols, in the order of the text."""
        out = []
        for line in self._text.decode("utf-8", "replace").split("\n"):
            parts = line.split(None, 3)
            if len(parts) >= 3 and parts[1] in "tTwW":
                out.append(parts[2])
        return out


def _parse(line: bytes, width: int) -> KernelSymbol | None:
    """``ADDRESS KIND NAME``, and for modules a tab and ``[MODULE]``."""
    parts = line.decode("utf-8", "replace").split(None, 3)
    if len(parts) < 3 or len(parts[0]) != width:
        return None
    try:
        address = int(parts[0], 16)
    except ValueError:
        return None
    module = parts[3].strip("[]") if len(parts) > 3 else ""
    return KernelSymbol(address, parts[2], parts[1][:1], module)
