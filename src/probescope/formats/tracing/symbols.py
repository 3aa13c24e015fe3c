r"""What a recording knows of its kernel's addresses: functions, and the formats of binary printk.

    ffffffff81000000 T startup_64              kallsyms
    ffffffffc0a01000 t nf_hook\t[nf_tables]
    0xffffffff82a3b2c0 : "cpu %d idle\n"       printk_formats

Source: kernel/kallsyms.c, kernel/trace/trace_printk.c. Texts are bounded, and lines that make no sense left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from probescope.formats.tracing.lexer import unescaped
from probescope.frozen import dataclass

MOST_SYMBOLS = 1 << 22
MOST_FORMATS = 1 << 18
MOST_KEPT = 1 << 16
#: Without absolute ones: x86 has places of per-CPU variables among them, and 0x7fffffff would be such a function.
SYMBOL = re.compile(r"^([0-9a-fA-F]{1,16})[ \t]+[^\sAa][ \t]+(\S{1,512})(?:[ \t]+(\[[^\]\n]{1,64}\]))?", re.MULTILINE)
_FORMAT = re.compile(r'^(?:0x)?([0-9a-fA-F]{1,16})[ \t]*:[ \t]*"(.*)"[ \t]*$', re.MULTILINE)


class Symbols:
    """``name(address)``: (function, its start), or None. Parsed when first asked."""

    def __init__(self, kallsyms: str = "") -> None:
        self._text = kallsyms
        self._starts: list[int] | None = None
        self._names: list[str] = []
        self._addresses: dict[str, int] = {}

    def _load(self) -> list[int]:
        if self._starts is None:
            found: list[tuple[int, str]] = []
            for address, name, module in SYMBOL.findall(self._text):
                if name[0] != "$" and len(found) < MOST_SYMBOLS:  # ARM's mapping symbols name no functions
                    found.append((int(address, 16), f"{name} {module}" if module else name))
            found.sort(key=lambda pair: pair[0])
            self._text = ""
            self._starts, self._names = [a for a, _ in found], [n for _, n in found]
        return self._starts

    def name(self, address: int) -> tuple[str, int] | None:
        """The last function that begins at or below ``address``; none above the last one, whose end is not known."""
        starts = self._load()
        at = bisect_right(starts, address) - 1
        if at < 0 or not starts[at] or (at == len(starts) - 1 and address != starts[at]):
            return None
        first = at
        while first and starts[first - 1] == starts[at]:
            first -= 1
        return self._names[first], starts[at]

    def address(self, name: str) -> int:
        """Of a symbol by name, 0 if it is not there."""
        if not self._addresses:
            self._addresses = {n: a for a, n in zip(self._load(), self._names, strict=True)}
        return self._addresses.get(name, 0)


class PrintkFormats:
    """Formats of binary printk by their address."""

    def __init__(self, text: str = "") -> None:
        self._text = text
        self._formats: dict[int, str] | None = None

    def __bool__(self) -> bool:
        return bool(self._formats or self._text)

    def get(self, address: int) -> str | None:
        if self._formats is None:
            pairs = _FORMAT.findall(self._text)[:MOST_FORMATS]
            self._formats = {int(a, 16): _shortened(unescaped(f)) for a, f in pairs}
            self._text = ""
        return self._formats.get(address)


def _shortened(text: str) -> str:
    """A line's end is the line's end."""
    return text.removesuffix("\n")


@dataclass(frozen=True, slots=True)
class Forms:
    """Of functions. ``parent``: who called it; ``indent``: by callers seen before; ``offset``: how far in it; ``tail``:
    a graph's closing brace says what it closes; ``depth``: of each of a graph's lines."""

    parent: bool = False
    indent: bool = True
    offset: bool = False
    tail: bool = False
    depth: bool = False


USUAL = Forms()


class Context:
    """What the text of an event depends on, besides its record. ``comms``: names of threads by id. ``resolve``: for
    addresses that ``symbols`` has no function for, what it would say of them, where somebody else knows."""

    def __init__(
        self,
        big: bool = False,
        long_size: int = 8,
        symbols: Symbols | None = None,
        printk: PrintkFormats | None = None,
        comms: dict[int, str] | None = None,
        resolve: Callable[[int], tuple[str, int] | None] | None = None,
    ) -> None:
        self.big = big
        self.long_size = long_size
        self.symbols = symbols or Symbols()
        self.printk = printk or PrintkFormats()
        self.comms = {} if comms is None else comms
        self.resolve = resolve
        self.forms = USUAL
        self._functions: dict[int, tuple[str, int] | None] = {}

    def function(self, address: int) -> tuple[str, int] | None:
        """As ``Symbols.name``; asked again, it does not search again."""
        if address not in self._functions:
            if len(self._functions) >= MOST_KEPT:
                self._functions.clear()
            found = self.symbols.name(address)
            self._functions[address] = self.resolve(address) if found is None and self.resolve else found
        return self._functions[address]

    def plain(self, address: int) -> tuple[str, int] | None:
        """The same without its module, which trace-cmd does not print (libtraceevent 1.7 and 1.8)."""
        found = self.function(address)
        return (found[0].partition(" ")[0], found[1]) if found is not None else None
