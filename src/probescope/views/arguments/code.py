"""A file's code as ``debuginfo.guess_args`` walks it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

from probescope.debuginfo.elf import SHF_EXECINSTR, SHT_NOBITS
from probescope.debuginfo.guess_args import Code

if TYPE_CHECKING:
    from probescope.debuginfo.binary import Binary

MAX_FUNCTION = 1 << 18
"""Bytes of a function that are handed out at once."""
SHF_ALLOC = 2


class BinaryCode:
    """Raises ElfError where the file is malformed."""

    def __init__(self, binary: Binary) -> None:
        elf = binary.elf
        wanted = SHF_ALLOC | SHF_EXECINSTR
        sections = [s for s in elf.sections() if s.flags & wanted == wanted and s.type != SHT_NOBITS]
        self._spans = sorted((s.address, elf.section_data(s)) for s in sections)
        self._names: dict[int, str] = {}
        for f in binary.functions():
            self._names.setdefault(f.address, f.name)
        self._starts = sorted(self._names)
        self._calls: dict[int, list[int]] | None = None

    def code(self) -> Code:
        return Code(self._read, self._name, self._callers)

    def _read(self, address: int) -> bytes:
        for start, data in self._spans:
            if start <= address < start + len(data):
                return data[address - start : address - start + MAX_FUNCTION]
        return b""

    def _name(self, address: int) -> str:
        return self._names.get(address, "")

    def _callers(self, address: int) -> list[tuple[int, int]]:
        if self._calls is None:
            self._calls = self._all_calls()
        out = []
        for place in self._calls.get(address, ()):
            i = bisect_right(self._starts, place) - 1
            if i >= 0:
                out.append((self._starts[i], place))
        return out

    def _all_calls(self) -> dict[int, list[int]]:
        """Places of ``call rel32`` (e8) to functions that have names, by function."""
        import numpy as np

        known = np.array(self._starts, np.uint64)
        out: dict[int, list[int]] = defaultdict(list)
        for start, data in self._spans:
            if len(data) < 5:
                continue
            part = np.frombuffer(data, np.uint8)
            words: np.ndarray[tuple[int], np.dtype[np.int32]] = np.ndarray((len(data) - 3,), "<i4", data, 0, (1,))
            at = np.flatnonzero(part[:-4] == 0xE8)
            target = (at + 5 + words[at + 1].astype(np.int64)).view(np.uint64) + np.uint64(start)
            called = np.isin(target, known)
            for place, function in zip(at[called].tolist(), target[called].tolist(), strict=True):
                out[function].append(place + start)
        return out
