"""Where the code of many processes lies in their files: all addresses of a batch at once.

Every address space with samples has a number of its own, and its pieces of executable memory one after the other in
one sorted array::

    keys    number << 48 | address where the piece begins        ascending
    ends    the same of its end      shifts   what makes a key of debuginfo.unwind_rows of it, if it is ruled
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from probescope.debuginfo.eh_rules import X86_64, Conventions
from probescope.debuginfo.elf import PT_LOAD, ElfFile
from probescope.debuginfo.symbolize import AddressSpace, Mapping
from probescope.debuginfo.unwind_rows import WINDOW_BITS, Rows
from probescope.errors import ElfError

if TYPE_CHECKING:
    import numpy as np

    from probescope.debuginfo.eh_index import FrameIndex

    Column = np.ndarray[Any, Any]

ADDRESS_BITS = 48
MOST_SPACES = 1 << 64 - ADDRESS_BITS - 1
NO_RULE = 1
"""The number of the rule of what is not known (``unwind_rows.Rules``)."""
SEEN_BITS = 16
_ODD = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1

Piece = tuple[int, int, int, bool]
"""Start, end, shift; whether rules are known of it."""
Files = Callable[[Mapping], "tuple[ElfFile, FrameIndex] | None"]
"""The file of a mapping with its unwind information, if it is here and is the one that was recorded."""


class Grounds:
    """``spaces`` is a list that grows: address spaces are named by their index in it."""

    def __init__(self, spaces: Sequence[AddressSpace], files: Files, machine: Conventions = X86_64) -> None:
        import numpy as np

        self.machine = machine
        self.rows = Rows(machine)
        self._spaces, self._files = spaces, files
        self._numbers: dict[int, int] = {}
        self._pieces: dict[int, tuple[Mapping, list[Piece]]] = {}  # by the mapping's identity
        self._windows: dict[int, tuple[ElfFile, int]] = {}  # by the file's identity
        self._keys: Column = np.zeros(0, np.uint64)
        self._ends: Column = np.zeros(0, np.uint64)
        self._shifts: Column = np.zeros(0, np.uint64)
        self._ruled: Column = np.zeros(0, np.bool_)
        self.generation = 0
        """Of what ``bases`` gives: with another one nothing of before means anything."""
        self._forget()

    def _forget(self) -> None:
        import numpy as np

        self.generation += 1
        self._seen = np.full(1 << SEEN_BITS, _MASK, np.uint64)  # no key: addresses end before
        self._seen_rules = np.zeros(1 << SEEN_BITS, np.int32)

    def bases(self, spaces: Column) -> Column:
        """For each event's space its number, shifted to where keys have it, u8."""
        import numpy as np

        different, inverse = np.unique(spaces, return_inverse=True)
        fresh = [s for s in different.tolist() if s not in self._numbers]
        if len(self._numbers) + len(fresh) > MOST_SPACES:
            self._numbers, fresh = {}, different.tolist()
            self._keys = self._ends = self._shifts = np.zeros(0, np.uint64)
            self._ruled = np.zeros(0, np.bool_)
            self._forget()
        if fresh:
            self._add(fresh)
        found = np.array([self._numbers[s] for s in different.tolist()], np.uint64) << np.uint64(ADDRESS_BITS)
        return found[inverse]

    def _add(self, spaces: list[int]) -> None:
        import numpy as np

        pieces: list[Piece] = []
        for space in spaces:
            number = self._numbers[space] = len(self._numbers)
            base = number << ADDRESS_BITS
            own = self._of_space(self._spaces[space]) if space >= 0 else []
            pieces += [(base + lo, base + hi, shift - base & _MASK, ruled) for lo, hi, shift, ruled in own]
        if pieces:
            keys, ends, shifts, ruled = (np.array(c, np.uint64) for c in zip(*pieces, strict=True))
            self._keys = np.concatenate((self._keys, keys))
            self._ends = np.concatenate((self._ends, ends))
            self._shifts = np.concatenate((self._shifts, shifts))
            self._ruled = np.concatenate((self._ruled, ruled.astype(np.bool_)))

    def rules(self, bases: Column, addresses: Column) -> Column:
        """The number of the rule at each address of a space, i4. Few addresses are met again and again: most are found
        in ``_seen``, by a hash of one multiplication."""
        import numpy as np

        keys = bases + addresses
        if not len(keys) or int(addresses.max()) >> ADDRESS_BITS:
            return self._looked_up(keys, addresses)
        slots = (keys * np.uint64(_ODD)) >> np.uint64(64 - SEEN_BITS)
        out: Column = self._seen_rules[slots]
        new = np.flatnonzero(self._seen[slots] != keys)
        if len(new):
            out[new] = found = self._looked_up(keys[new], addresses[new])
            self._seen[slots[new]], self._seen_rules[slots[new]] = keys[new], found
        return out

    def _looked_up(self, keys: Column, addresses: Column) -> Column:
        import numpy as np

        if not len(self._keys):
            return np.full(len(addresses), NO_RULE, np.int32)
        at = np.searchsorted(self._keys, keys, "right") - 1
        found = (at >= 0) & (keys < self._ends[at]) & self._ruled[at] & (addresses >> np.uint64(ADDRESS_BITS) == 0)
        out = np.full(len(addresses), NO_RULE, np.int32)
        some = np.flatnonzero(found)
        if len(some):
            out[some] = self.rows.find(keys[some] + self._shifts[at[some]])
        return out

    def executable(self, bases: Column, addresses: Column) -> Column:
        """Which addresses lie in memory of their space that was mapped to be executed."""
        import numpy as np

        if not len(self._keys):
            return np.zeros(len(addresses), np.bool_)
        keys = bases + addresses
        at = np.searchsorted(self._keys, keys, "right") - 1
        inside: Column = (at >= 0) & (keys < self._ends[at]) & (addresses >> np.uint64(ADDRESS_BITS) == 0)
        return inside

    def word(self, space: int, address: int) -> int | None:
        """Eight bytes of the file that is mapped at an address: constants lie among code."""
        m = self._spaces[space].find(address) if space >= 0 else None
        found = self._files(m) if m is not None else None
        if m is None or found is None or address + 8 > m.end:
            return None
        try:
            return int.from_bytes(found[0].source.read(address - m.start + m.offset, 8), "little")
        except ElfError:
            return None

    # --- pieces

    def _of_space(self, space: AddressSpace) -> list[Piece]:
        out: list[Piece] = []
        for start, end, m in space.stretches():
            for lo, hi, shift, ruled in self._of_mapping(m):
                if lo < end and start < hi <= 1 << ADDRESS_BITS:
                    out.append((max(lo, start), min(hi, end), shift, ruled))
        return sorted(out)

    def _of_mapping(self, m: Mapping) -> list[Piece]:
        known = self._pieces.get(id(m))
        if known is None:
            known = self._pieces[id(m)] = (m, self._read(m))  # the mapping is kept, and with it its identity
        return known[1]

    def _read(self, m: Mapping) -> list[Piece]:
        if not getattr(m, "executable", True):
            return []
        found = self._files(m)
        window = self._window(*found) if found is not None else None
        if found is None or window is None:
            return [(m.start, m.end, 0, False)]
        try:
            segments = [s for s in found[0].segments() if s.type == PT_LOAD]
        except ElfError:
            segments = []
        out: list[Piece] = []
        for s in segments:
            begin = m.start + s.offset - m.offset
            lo, hi = max(begin, m.start), min(begin + s.filesz, m.end)
            if lo < hi and s.vaddr + s.filesz < 1 << WINDOW_BITS:
                out.append((lo, hi, window + s.vaddr - begin, True))
        return out

    def _window(self, elf: ElfFile, index: FrameIndex) -> int | None:
        known = self._windows.get(id(elf))
        if known is None:
            window = self.rows.window(index)
            if window is None:
                return None
            known = self._windows[id(elf)] = (elf, window)
        return known[1]
