"""Many stacks walked at once: each is a lane, and all lanes take a step together.

    dumps  [ bytes from the stack pointer on ] of each lane, in one array
    step   address -> rule (``grounds``) -> CFA -> return address at CFA - 8, frame pointer where the rule says
           AArch64: the return address in its register, if the innermost function has not saved it
           no rule -> the frame pointer, if it points into the dump and leads to code
           a rule that fits in no column -> that lane alone (debuginfo.eh_evaluate)

Only the stack and frame pointers go along. What the other registers held is worked out for the rare lane that needs it,
from the steps that it has taken.

A frame's address is what was looked up: of callers, one before the address that they return to, as perf shows it. A
frame that a signal interrupted, and the signal's trampoline, are shown as they are.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.past import Past, Registers, Step
from probescope.debuginfo import eh_evaluate
from probescope.debuginfo.unwind_rows import AT, GAP, LEAF, NEAR, ODD, PLT, SIGNAL
from probescope.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.grounds import Grounds
    from probescope.debuginfo.unwind_rows import Columns

    Column = np.ndarray[Any, Any]

DEPTH = 127
"""Frames of a stack (perf's own limit)."""
USER = (1 << 64) - 512
"""PERF_CONTEXT_USER: the mark before frames of the user's context."""
MOST_ODD = 1 << 16
"""Steps of stacks that are walked at once by rules that fit in no column."""
_EIGHT = 8


@dataclass(frozen=True, slots=True, eq=False)
class Dumps:
    """Bytes of stacks: lane ``i`` has ``size[i]`` from ``low[i]`` (its stack pointer) on, at word ``start[i]`` of
    ``words``. All u8."""

    words: Column
    start: Column
    size: Column
    low: Column

    def only(self, which: Column) -> Dumps:
        return Dumps(self.words, self.start[which], self.size[which], self.low[which])

    def read(self, addresses: Column) -> tuple[Column, Column]:
        """The word at an address of each lane, and which of them are in the dump; 0 where they are not."""
        import numpy as np

        offset = addresses - self.low
        inside = offset + np.uint64(_EIGHT) <= self.size
        inside &= offset < self.size  # the sum may have wrapped
        all_inside = bool(inside.all())
        if not all_inside:
            offset[~inside] = 0
        at = offset >> np.uint64(3)
        at += self.start
        values = self.words.take(at, mode="clip")
        odd = np.bitwise_or.reduce(offset) & np.uint64(7) if len(offset) else 0
        if odd:
            some = np.flatnonzero(offset & np.uint64(7))
            shift = (offset[some] & np.uint64(7)) << np.uint64(3)
            above = self.words.take(at[some] + np.uint64(1), mode="clip")
            values[some] = values[some] >> shift | above << (np.uint64(64) - shift)
        if not all_inside:
            values[~inside] = 0
        return values, inside

    def word(self, lane: int, address: int) -> int | None:
        """The same for one lane."""
        offset = address - int(self.low[lane])
        if not 0 <= offset <= int(self.size[lane]) - _EIGHT:
            return None
        at = int(self.start[lane]) + (offset >> 3)
        if not offset & 7:
            return int(self.words[at])
        shift = (offset & 7) << 3
        return (int(self.words[at]) | int(self.words[at + 1]) << 64) >> shift & (1 << 64) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Walked:
    """``count``: frames of each lane, at least one; ``frames``: all of them, innermost first, lane after lane, the mark
    ``USER`` before those of each. ``cut``: stacks whose outer part lies behind the end of their dump."""

    count: Column
    frames: Column
    cut: int


class Walk:
    """``spaces``: indices of address spaces."""

    def __init__(self, grounds: Grounds, dumps: Dumps, registers: Registers, spaces: Column) -> None:
        self._grounds, self._dumps, self._registers, self._spaces = grounds, dumps, registers, spaces
        self._machine = grounds.machine
        self._past = Past(registers, grounds.rows.rules.rules, self._word, self._machine)
        self._cut = self._odd = 0
        self._active = dumps

    def run(self) -> Walked:
        import numpy as np

        n = len(self._spaces)
        bases = self._grounds.bases(self._spaces)
        lanes: Column = np.arange(n)
        m = self._machine
        ip, sp, fp = map(self._registers.column, (m.ip, m.stack, m.frame))
        before: Column = np.zeros(n, np.uint64)
        shown: list[tuple[Column, Column]] = []
        while len(lanes) and len(shown) < DEPTH:
            rules = self._grounds.rules(bases, ip - before)
            columns = self._grounds.rows.rules.columns()
            signal = columns.signal[rules]
            shown.append((lanes, ip - np.where(signal, np.uint64(0), before)))
            going, ip, sp, fp = self._step(columns, lanes, rules, bases, len(shown) - 1, (ip, sp, fp))
            before = np.where(signal, np.uint64(0), np.uint64(1))
            if not going.all():
                lanes, ip, sp, fp, before, bases = (c[going] for c in (lanes, ip, sp, fp, before, bases))
                self._active = self._active.only(going)
        return Walked(*_laid_out(n, shown), self._cut)

    def _word(self, lane: int, address: int) -> int | None:
        found = self._dumps.word(lane, address)
        return self._grounds.word(int(self._spaces[lane]), address) if found is None else found

    def _step(
        self, columns: Columns, lanes: Column, rules: Column, bases: Column, k: int, now: tuple[Column, Column, Column]
    ) -> tuple[Column, Column, Column, Column]:
        """Which lanes have a caller, and its registers."""
        import numpy as np

        ip, sp, fp = now
        kind, saved = columns.kind[rules], columns.saved[rules]
        cfa = np.where(columns.by_frame[rules], fp, sp) + columns.number[rules]
        plain = kind == NEAR
        jumps = np.flatnonzero(kind == PLT)
        if len(jumps):
            pushed = (ip[jumps] & np.uint64(15)) >= columns.number[rules[jumps]]
            cfa[jumps], plain[jumps] = sp[jumps] + np.where(pushed, np.uint64(16), np.uint64(8)), True
        behind = np.flatnonzero((kind == AT) | (kind == SIGNAL))
        if len(behind):
            cfa[behind], plain[behind] = self._active.only(behind).read(cfa[behind])
            beside = np.where(kind == SIGNAL, sp, cfa)
        else:
            beside = cfa
        caller, good = self._active.read(beside + columns.back[rules])
        self._cut += int((plain & ~good).sum())
        good &= plain
        if self._machine.link >= 0:
            self._linked(kind, k, (good, caller))
        frame = fp
        kept = np.flatnonzero(saved)
        if len(kept):
            frame = fp.copy()
            frame[kept] = self._active.only(kept).read(beside[kept] + saved[kept])[0]
        step = Step(lanes, rules, kind, ip, sp, fp, cfa)
        self._past.add(step)
        if not good.all():
            frame = frame.copy()
            self._by_frame(np.flatnonzero(kind <= GAP), step, bases, (good, caller, frame))
            self._one_by_one(np.flatnonzero(kind == ODD), k, step, (good, caller, frame))
        return good & (caller != 0), caller, cfa, frame

    def _linked(self, kind: Column, k: int, out: tuple[Column, Column]) -> None:
        """Return addresses have a register: of the innermost function it is not saved yet, or not any more. Those in
        memory may be signed."""
        import numpy as np

        good, caller = out
        leaf = np.flatnonzero(kind == LEAF)
        if k == 0 and len(leaf) and self._registers.has(self._machine.link):
            caller[leaf] = self._registers.column(self._machine.link)[leaf]
            good[leaf] = True
        caller &= np.uint64(self._machine.mask)

    def _by_frame(self, at: Column, step: Step, bases: Column, out: tuple[Column, Column, Column]) -> None:
        """Code without rules: of a JIT compiler, assembly, or a file that is not here. Many keep a frame pointer; what
        does not lead to code is none."""
        import numpy as np

        if not len(at):
            return
        good, caller, frame = out
        pointer, dumps = step.fp[at], self._active.only(at)
        caller[at], found = dumps.read(pointer + np.uint64(_EIGHT))
        caller[at] &= np.uint64(self._machine.mask)
        frame[at] = dumps.read(pointer)[0]
        step.cfa[at] = pointer + np.uint64(16)
        good[at] = found & (pointer >= step.sp[at]) & self._grounds.executable(bases[at], caller[at] - np.uint64(1))

    def _one_by_one(self, at: Column, k: int, step: Step, out: tuple[Column, Column, Column]) -> None:
        good, caller, frame = out
        known = self._grounds.rows.rules.rules
        self._odd += len(at)
        for i in at.tolist() if self._odd <= MOST_ODD else ():
            lane = int(step.lanes[i])
            try:
                rule = known[int(step.rules[i])]
                get, word = partial(self._past.register, lane, k), partial(self._word, lane)
                found = eh_evaluate.step(rule, get, word, self._machine)
            except eh_evaluate.Unknown:
                continue
            good[i], caller[i], step.cfa[i], frame[i] = True, found.ip, found.sp, found.frame or 0


def _laid_out(count: int, shown: list[tuple[Column, Column]]) -> tuple[Column, Column]:
    """Frames step by step -> lane by lane, behind the mark of each."""
    import numpy as np

    depth = np.zeros(count, np.int64)
    for lanes, _ in shown:
        depth[lanes] += 1
    begins = np.cumsum(depth + 1) - depth
    frames = np.full(int(depth.sum()) + count, USER, np.uint64)
    for k, (lanes, addresses) in enumerate(shown):
        frames[begins[lanes] + k] = addresses
    return depth, frames
