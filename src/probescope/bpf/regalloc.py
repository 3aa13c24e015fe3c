"""Gives virtual registers real ones: linear scan over intervals, with splitting.

An interval that crosses a call may only be in r6 to r9; any other prefers r0 to r5. Where none is free, the interval
whose uses are fewest for its length gives way: its register now lives in a stack slot (or is made again where needed,
if cheap), and what is left of it becomes shorter intervals: one for each stretch of a block without calls, and if even
these find no place, one for each operation. Those always find one: an operation needs three at most.

What has a home in memory is stored after each write and loaded before a read unless the register still holds it
(``emit.py`` keeps track), so no moves are needed between blocks. A spilled register is always a whole aligned slot: the
verifier keeps what it knows of pointers and ranges through such spills.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right

from probescope.bpf.lir import Function, Reg
from probescope.bpf.liveness import ANY, USE, Live, analyse
from probescope.errors import InternalError

CALLER_SAVED = 0b0000111111  # r0-r5
CALLEE_SAVED = 0b1111000000  # r6-r9
ANY_REG = CALLER_SAVED | CALLEE_SAVED
_NOT_R0 = ANY_REG & ~1

# r1 to r4 are where arguments are wanted: others take the ends first. r6 to r9 cost the program a push and a pop each.
_ORDER = (0, 5, 4, 3, 2, 1, 6, 7, 8, 9)

_WHOLE, _STRETCH, _SINGLE = 0, 1, 2


class Interval:
    """A register ``reg`` wants a real one from ``start`` to ``end``; ``mask``: which may be."""

    __slots__ = ("end", "level", "mask", "place", "reg", "start")

    def __init__(self, reg: Reg, start: int, end: int, mask: int, level: int) -> None:
        self.reg = reg
        self.start = start
        self.end = end
        self.mask = mask
        self.level = level
        self.place = -1


class Allocation:
    """``place``: the real register of each virtual one that has one for life, else -1. ``pieces``: of the others, where
    they are in a register: (start, end, real register), ascending. ``spilled``: those that need a stack slot."""

    __slots__ = ("live", "pieces", "place", "spilled")

    def __init__(self, live: Live, regs: int) -> None:
        self.live = live
        self.place = [-1] * regs
        self.pieces: dict[Reg, list[tuple[int, int, int]]] = {}
        self.spilled: list[Reg] = []

    def at(self, reg: Reg, position: int) -> int:
        """The real register of ``reg`` at a position, -1 if it is in none."""
        place = self.place[reg]
        if place >= 0:
            return place
        for start, end, piece in self.pieces.get(reg, ()):
            if start <= position <= end:
                return piece
        return -1


def allocate(function: Function) -> Allocation:
    return _Scan(function).run()


class _Scan:
    def __init__(self, function: Function) -> None:
        self.live = analyse(function)
        self.result = Allocation(self.live, function.regs)
        self.regs: list[Interval | None] = [None] * 10
        self.queue: list[tuple[int, int, Interval]] = []
        self.count = 0  # orders equal starts: results do not depend on addresses

    def run(self) -> Allocation:
        live = self.live
        for r in live.cheap:
            self._requeue(r, 0, _STRETCH)
        ends = live.end
        for n, start in enumerate(live.start):
            if ends[n] >= 0:
                mask = self._mask(Reg(n), start, ends[n])
                self._push(Interval(Reg(n), start, ends[n], mask & CALLEE_SAVED if live.crosses[n] else mask, _WHOLE))
        queue, regs = self.queue, self.regs
        while queue:
            start, _, cur = heapq.heappop(queue)
            free = 0
            for n, holder in enumerate(regs):
                if holder is None:
                    free |= 1 << n
                elif holder.end < start:
                    self._retire(holder)
                    regs[n] = None
                    free |= 1 << n
            free &= cur.mask
            if free:
                self._take(cur, self._choose(cur, free))
            else:
                self._make_room(cur)
        for holder in regs:
            if holder is not None:
                self._retire(holder)
        for pieces in self.result.pieces.values():
            pieces.sort()
        return self.result

    def _push(self, interval: Interval) -> None:
        self.count += 1
        heapq.heappush(self.queue, (interval.start, self.count, interval))

    def _mask(self, r: Reg, start: int, end: int) -> int:
        """Which real registers an interval may have, calls apart."""
        exchanges = self.live.exchanges
        if self.live.not_r0[r]:
            return _NOT_R0
        if exchanges:
            # r0 belongs to a cmpxchg from its reads to its write; only what it expects may come there in it
            n = bisect_left(exchanges, start)
            if n < len(exchanges) and exchanges[n] < end:
                return _NOT_R0
        return ANY_REG

    def _take(self, cur: Interval, n: int) -> None:
        cur.place = n
        self.regs[n] = cur

    def _retire(self, holder: Interval) -> None:
        if holder.level == _WHOLE:
            self.result.place[holder.reg] = holder.place
        else:
            self._piece(holder, holder.end)

    def _piece(self, holder: Interval, end: int) -> None:
        self.result.pieces.setdefault(holder.reg, []).append((holder.start, end, holder.place))

    def _choose(self, cur: Interval, free: int) -> int:
        live, r = self.live, cur.reg
        hint = live.hint[r]
        if hint >= 0 and free >> hint & 1:
            return hint
        like = live.like[r]
        if like != -99:
            n = -1 - like if like < 0 else self._place_of(Reg(like), cur.start)
            if n >= 0 and free >> n & 1:
                return n
        for n in _ORDER:
            if free >> n & 1:
                return n
        raise AssertionError  # free is not empty

    def _place_of(self, r: Reg, position: int) -> int:
        """Where an operand of the operation that writes at ``position`` was read."""
        for holder in self.regs:
            if holder is not None and holder.reg == r:
                return holder.place
        return self.result.at(r, position - 1)

    # --- too few registers --------------------------------------------------------------------------------------------

    def _make_room(self, cur: Interval) -> None:
        """Splits the cheapest to lose: one of those in registers that ``cur`` could use, or ``cur`` itself."""
        best, cost = cur, self._cost(cur)
        for n in range(10):
            holder = self.regs[n]
            if holder is None or not cur.mask >> n & 1 or holder.level == _SINGLE:
                continue
            other = self._cost(holder)
            if other < cost and not self._needed_late(holder.reg, cur.start):
                best, cost = holder, other
        if best is cur:
            self._spill(cur.reg)
            self._split(cur, cur.start)
            return
        n = best.place
        self._spill(best.reg)
        if best.start < cur.start:
            self._piece(best, cur.start - 1)
        self._split(best, cur.start)
        self._take(cur, n)

    def _cost(self, interval: Interval) -> float:
        if interval.level == _SINGLE:
            return float("inf")
        weight = self.live.weight[interval.reg] / (interval.end - interval.start + 1)
        return weight / 2 if interval.reg in self.live.cheap else weight

    def _needed_late(self, r: Reg, position: int) -> bool:
        """Whether the operation that writes at ``position`` still needs it then: too late to load it into another
        register."""
        if not position & 1:
            return False
        refs = self.live.refs[r]
        key = position << 2 | USE
        n = bisect_left(refs, -key, key=lambda x: -x)
        return n < len(refs) and refs[n] == key

    def _spill(self, r: Reg) -> None:
        if r not in self.live.cheap and r not in self.result.pieces:
            self.result.pieces[r] = []
            self.result.spilled.append(r)

    def _split(self, interval: Interval, start: int) -> None:
        """What is left of an interval, from ``start`` on, in smaller ones."""
        level = interval.level + 1
        if level > _SINGLE:
            raise InternalError(f"no register for %{interval.reg} at position {start}")
        self._requeue(interval.reg, start, level, interval.end)

    def _requeue(self, r: Reg, start: int, level: int, end: int = 1 << 62) -> None:
        """Queues intervals for the touches of ``r`` within a range: by stretches without calls, or one for each
        operation."""
        first = last = -1
        stretch: object = None
        for ref in reversed(self.live.refs[r]):
            position = ref >> 2
            if position < start or position > end or ref & 3 == ANY:
                continue
            key = position >> 1 if level == _SINGLE else self._stretch(position)
            if key != stretch:
                self._piece_wanted(r, first, last, level)
                first, stretch = position if ref & 3 else position & ~1, key
            last = position
        self._piece_wanted(r, first, last, level)

    def _piece_wanted(self, r: Reg, first: int, last: int, level: int) -> None:
        if first >= 0:
            self._push(Interval(r, first, last, self._mask(r, first, last), level))

    def _stretch(self, position: int) -> tuple[int, int]:
        live = self.live
        return bisect_right(live.block_starts, position), bisect_left(live.calls, position)
