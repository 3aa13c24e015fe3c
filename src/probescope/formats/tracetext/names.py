"""Functions that a text names: addresses for their names, since records hold numbers.

Where the text has an address it is that one. Others get addresses of their own, a megabyte apart, in a part of memory
where no kernel is.
"""

from __future__ import annotations

import re

from probescope.formats.tracing.symbols import Symbols

BASE, STEP = 0xFFFF_1000_0000_0000, 1 << 20
MOST = 1 << 20
_FRAME = re.compile(
    r"(?P<name>[^\s<(]{1,512}?)(?:\+0x(?P<offset>[0-9a-f]{1,16})(?:/0x[0-9a-f]{1,16})?)?(?: (?P<module>\[[\w-]+\]))?"
    r"(?:\s+[<(](?P<address>[0-9a-f]{1,16})[>)])?$"
)


class Names(Symbols):
    """Satisfies what ``Symbols`` of a recording is asked for, of functions that have been met. ``full``: there were
    more than are kept."""

    def __init__(self) -> None:
        super().__init__()
        self._functions: dict[str, int] = {}
        self._at: dict[int, tuple[str, int]] = {}
        self._known: dict[str, int] = {}
        self.full = False

    def frame(self, text: str) -> int:
        """The address of ``name+0x12/0x34 [module] <address>``, of a name alone, or of an address alone."""
        found = self._known.get(text)
        if found is None:
            found = self._frame(text)
            if len(self._known) < MOST:
                self._known[text] = found
        return found

    def _frame(self, text: str) -> int:
        if not text:
            return 0
        match = _FRAME.match(text)
        if match is None:
            return self._function(text[:512])
        name, offset = match["name"], int(match["offset"] or "0", 16)
        module = f" {match['module']}" if match["module"] else ""
        if re.fullmatch(r"(?:0x)?[0-9a-f]{8,16}", name) and not offset:
            return int(name, 16)
        if match["address"]:
            address = int(match["address"], 16)
            if len(self._at) < MOST:
                self._at[address] = (name + module, max(0, address - offset))
            return address
        return self._function(name + module) + (offset if offset < STEP else 0)

    def _function(self, name: str) -> int:
        found = self._functions.get(name)
        if found is None:
            if len(self._functions) >= MOST:
                self.full = True
                return 0
            found = self._functions[name] = BASE + STEP * len(self._functions)
            self._at[found] = (name, found)
        return found

    def name(self, address: int) -> tuple[str, int] | None:
        found = self._at.get(address)
        if found is None and address >= BASE:
            found = self._at.get(BASE + (address - BASE) // STEP * STEP)
        return found

    def address(self, name: str) -> int:
        return self._functions.get(name, 0)
