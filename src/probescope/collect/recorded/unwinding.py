"""Stacks of user registers and dumped stack bytes (perf record --call-graph dwarf), put behind what was recorded of the
kernel's: from there on they are stacks like any others.

    registers, stack_dumps  ──► lanes.Walk ──► kernel's frames, mark of the user's context, user's frames

x86-64 and AArch64 are unwound, whatever machine this is, and only processes of 64 bits; of others the instruction
pointer is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.grounds import Files, Grounds
from probescope.collect.recorded.lanes import Dumps, Walk, Walked
from probescope.collect.recorded.past import Registers
from probescope.debuginfo.eh_rules import MACHINES, X86_64
from probescope.frozen import replace
from probescope.model.recording import EventBatch, Ragged, Recording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from probescope.collect.recorded.quick import Quick
    from probescope.debuginfo.symbolize import AddressSpace

    Column = np.ndarray[Any, Any]

_DWARF = {
    "x86_64": (0, 3, 2, 1, 4, 5, 6, 7, 16, -1, -1, -1, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15),
    "aarch64": tuple(range(33)),
}
"""Numbers that DWARF gives the registers of enum perf_event_x86_regs and enum perf_event_arm_regs
(arch/x86/include/uapi/asm/perf_regs.h, arch/arm64/include/uapi/asm/perf_regs.h)."""
LANES = 1 << 13
"""Stacks that are walked at once: so many that their columns stay near the processor."""
_WIDE = 2  # PERF_SAMPLE_REGS_ABI_64


class Unwinder:
    """``cut``: stacks that are longer than what was recorded of them."""

    def __init__(self, recording: Recording, spaces: Sequence[AddressSpace], files: Files) -> None:
        self._recording, self._spaces, self._files = recording, spaces, files
        self._known: Grounds | None = None
        self._quick: Quick | None = None
        self.cut = 0
        self.unwound = 0

    @property
    def _grounds(self) -> Grounds:
        """A pipe tells of its machine before its first samples, not earlier."""
        if self._known is None:
            name = {"arm64": "aarch64"}.get(self._recording.machine.arch, self._recording.machine.arch)
            self._known = Grounds(self._spaces, self._files, MACHINES.get(name, X86_64))
        return self._known

    @property
    def _quickly(self) -> Quick:
        from probescope.collect.recorded.quick import Quick

        if self._quick is None:
            self._quick = Quick(self._grounds)
        return self._quick

    def batch(self, batch: EventBatch, spaces: Column) -> EventBatch:
        """The batch with whole stacks; ``spaces``: index of each event's address space."""
        import numpy as np

        dumps = batch.stack_dumps
        if batch.registers is None or dumps is None or self._recording.machine.big_endian:
            return batch
        some = np.flatnonzero((dumps.size >= 8) & (batch.registers.size > 0))
        count = np.zeros(batch.count, np.int64)
        pieces: list[tuple[Column, Column]] = []
        for kind in np.unique(batch.event[some]).tolist():
            which = some[batch.event[some] == kind]
            mask = self._recording.events[kind].registers
            which = which[batch.registers.size[which] == mask.bit_count()]
            machine = self._grounds.machine
            numbers = registers_of(mask, machine.name)
            if not len(which) or not numbers.keys() >= {machine.ip, machine.stack, machine.frame}:
                continue
            for lanes, walked in self._walked(batch, which, spaces, numbers):
                count[lanes] = walked.count
                pieces.append((lanes, walked.frames))
        return replace(batch, stacks=_joined(batch, count, pieces)) if pieces else batch

    def _walked(
        self, batch: EventBatch, which: Column, spaces: Column, numbers: dict[int, int]
    ) -> Iterator[tuple[Column, Walked]]:
        """Of some events at once; which ones."""
        import numpy as np

        registers, bytes_ = batch.registers, batch.stack_dumps
        assert registers is not None
        assert bytes_ is not None
        words = bytes_.values[: len(bytes_.values) // 8 * 8].view(np.uint64)
        abi = batch.numbers.get("regs_abi")
        source = bytes_.source() if bytes_.source is not None and self._quickly.there else None
        for begin in range(0, len(which), LANES):
            some = which[begin : begin + LANES]
            wide = abi[some] == _WIDE if abi is not None else np.ones(len(some), np.bool_)
            first = Registers(registers.values, registers.start[some], numbers)
            size = np.where(wide, bytes_.size[some], 0).astype(np.uint64)
            start = (bytes_.start[some] >> 3).astype(np.uint64)
            dumps = Dumps(words, start, size, first.column(self._grounds.machine.stack))
            self.unwound += len(some)
            where = np.where(wide, spaces[some], -1)
            if source is not None:
                pieces, rest = self._quickly.walk(*source, dumps, first, where)
                for which_of, walked in pieces:
                    self.cut += walked.cut
                    yield some[which_of], walked
                if not len(rest):
                    continue
                some, where, dumps, first = some[rest], where[rest], dumps.only(rest), first.only(rest)
            walked = Walk(self._grounds, dumps, first, where).run()
            self.cut += walked.cut
            yield some, walked


def registers_of(mask: int, machine: str = "x86_64") -> dict[int, int]:
    """DWARF's number of each register in a mask of a machine's, and its place among those of the mask."""
    bits, known = [b for b in range(64) if mask >> b & 1], _DWARF[machine]
    if any(b >= len(known) for b in bits):
        return {}
    return {known[b]: place for place, b in enumerate(bits) if known[b] >= 0}


def _joined(batch: EventBatch, count: Column, pieces: list[tuple[Column, Column]]) -> Ragged:
    """Recorded frames, and behind them the mark and ``count`` unwound ones of each event. What was unwound stays where
    it is, unless something was recorded before it."""
    import numpy as np

    old = batch.stacks
    before = old.size.astype(np.int64) if old is not None else np.zeros(batch.count, np.int64)
    size = count + (count > 0)
    start = np.zeros(batch.count, np.int64)
    at = 0
    for which, frames in pieces:
        start[which] = at + np.cumsum(size[which]) - size[which]
        at += len(frames)
    values = [frames for _, frames in pieces]
    mixed = np.flatnonzero(before)
    if old is not None and len(mixed):
        head, tail = before[mixed], size[mixed]
        unwound = np.concatenate(values)
        whole = np.zeros(int(head.sum() + tail.sum()), np.uint64)
        begins = np.cumsum(head + tail) - head - tail
        place = spread(head)
        whole[np.repeat(begins, head) + place] = old.values[np.repeat(old.start[mixed].astype(np.int64), head) + place]
        place = spread(tail)
        whole[np.repeat(begins + head, tail) + place] = unwound[np.repeat(start[mixed], tail) + place]
        start[mixed], size[mixed] = at + begins, head + tail
        values = [unwound, whole]
    return Ragged(np.concatenate(values), start, size)


def spread(sizes: Column) -> Column:
    """0, 1, ... up to each size, one after the other."""
    import numpy as np

    ends = np.cumsum(sizes)
    out: Column = np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64) - np.repeat(ends - sizes, sizes)
    return out
