"""The stack frame: a place for each slot and each spilled register, shared by those that are never needed at the same
time.

The kernel gives a program 512 bytes below r10, and the frames of a chain of calls, each rounded up to 32, must fit into
these 512 together (MAX_BPF_STACK, check_max_stack_depth in kernel/bpf/verifier.c). Here the frame is 64 cells of 8
bytes, numbered downwards: cell 0 is r10-8. Everything gets whole cells, so a spilled pointer is always aligned.

The time that a slot is needed: from each ``begin`` over all paths to ``end``; without both marks the whole function.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator

from probescope.bpf.lir import Function, Reg
from probescope.bpf.regalloc import Allocation
from probescope.errors import LimitError
from probescope.frozen import dataclass

STACK_LIMIT = 512
_FOREVER = (0, 1 << 62)
_CELL = 8


@dataclass(frozen=True, slots=True)
class Frame:
    """``slots`` and ``spills``: offset from r10 of the lowest byte (negative). ``size``: bytes of the frame, a multiple
    of 8."""

    slots: dict[int, int]
    spills: dict[Reg, int]
    size: int


@dataclass(frozen=True, slots=True)
class _Item:
    start: int
    end: int
    cells: int
    slot: int = -1
    reg: Reg = Reg(-1)


def lay_out(function: Function, allocation: Allocation, reserved: int = 0) -> Frame:
    """``reserved``: bytes that the kernel itself takes out of the frame (may_goto). Raises LimitError."""
    items = _slot_items(function, allocation.live.block_starts)
    live = allocation.live
    items += [_Item(live.start[r], live.end[r], 1, reg=r) for r in allocation.spilled]
    items.sort(key=lambda i: (i.start, -i.cells, i.slot, i.reg))
    slots: dict[int, int] = {}
    spills: dict[Reg, int] = {}
    taken = top = 0  # bits of the cells in use; the greatest cell ever used, plus one
    ending: list[tuple[int, int]] = []
    tallest = None
    for item in items:
        while ending and ending[0][0] < item.start:
            taken &= ~heapq.heappop(ending)[1]
        at = _first_gap(taken, item.cells)
        bits = ((1 << item.cells) - 1) << at
        taken |= bits
        heapq.heappush(ending, (item.end, bits))
        if at + item.cells > top:
            top, tallest = at + item.cells, item
        if item.slot >= 0:
            slots[item.slot] = -_CELL * (at + item.cells)
        else:
            spills[item.reg] = -_CELL * (at + 1)
    if tallest and top * _CELL + reserved > STACK_LIMIT:
        alive = [i for i in items if i.start <= tallest.start <= i.end]
        raise _too_large(function, alive, top * _CELL + reserved)
    return Frame(slots, spills, top * _CELL)


def _first_gap(taken: int, cells: int) -> int:
    """The first of ``cells`` free cells in a row: a run of zero bits."""
    want = (1 << cells) - 1
    at = 0
    while taken >> at & want:
        overlap = taken >> at & want
        at += overlap.bit_length()  # past the highest taken cell of the window
    return at


def _slot_items(function: Function, block_starts: list[int]) -> list[_Item]:
    used: set[int] = set()
    begun: set[int] = set()
    ended: set[int] = set()
    for op in function.ops():
        if op.kind == "slot":
            used.add(op.imm)
        elif op.kind == "begin":
            begun.add(op.imm)
        elif op.kind == "end":
            ended.add(op.imm)
    scoped = used & begun & ended
    times = _scopes(function, scoped, block_starts) if scoped else {}
    cells = {s.index: max(1, (s.size + _CELL - 1) // _CELL) for s in function.slots}
    return [_Item(*times.get(i, _FOREVER), cells[i], slot=i) for i in sorted(used)]


def _scopes(function: Function, scoped: set[int], starts: list[int]) -> dict[int, tuple[int, int]]:
    """First and last position at which each slot may be in use, by data flow from ``begin`` forward."""
    open_in, open_out = _open_slots(function, scoped)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    seen = 0
    for n, block in enumerate(function.blocks):
        for slot in _bits(open_in[n] & ~seen):
            first.setdefault(slot, starts[n])
        seen |= open_in[n]
        for at, op in enumerate(block.ops):
            if op.kind == "begin":
                first.setdefault(op.imm, starts[n] + 2 * at)
            elif op.kind == "end":
                last[op.imm] = starts[n] + 2 * at + 1
    seen = 0
    for n in range(len(function.blocks) - 1, -1, -1):
        for slot in _bits(open_out[n] & ~seen):
            last[slot] = max(last.get(slot, 0), starts[n + 1] - 1)
        seen |= open_out[n]
    return {slot: (first[slot], last[slot]) for slot in scoped if slot in first and slot in last}


def _open_slots(function: Function, scoped: set[int]) -> tuple[list[int], list[int]]:
    """The slots that may be in use at the start and at the end of each block, as bits."""
    number = {b: n for n, b in enumerate(function.blocks)}
    targets = [[number[t] for t in b.targets] for b in function.blocks]
    opens, closes = [0] * len(targets), [0] * len(targets)
    for n, block in enumerate(function.blocks):
        for op in block.ops:
            if op.kind in {"begin", "end"} and op.imm in scoped:
                bit = 1 << op.imm
                here, other = (opens, closes) if op.kind == "begin" else (closes, opens)
                here[n] |= bit
                other[n] &= ~bit
    open_in, open_out = [0] * len(targets), opens[:]
    work = deque(range(len(targets)))
    while work:
        n = work.popleft()
        open_out[n] = opens[n] | (open_in[n] & ~closes[n])
        for t in targets[n]:
            if open_out[n] & ~open_in[t]:
                open_in[t] |= open_out[n]
                work.append(t)
    return open_in, open_out


def _bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def _too_large(function: Function, alive: list[_Item], size: int) -> LimitError:
    """``alive``: what wants a place at the same time."""
    names = {s.index: s.name or f"slot {s.index}" for s in function.slots}
    slots = sorted((i for i in alive if i.slot >= 0), key=lambda i: (-i.cells, i.slot))
    listed = ", ".join(f"{names[i.slot]} ({i.cells * _CELL})" for i in slots[:5])
    spilled = len(alive) - len(slots)
    return LimitError(
        f"{function.name} needs {size} bytes of stack at a time, the kernel gives {STACK_LIMIT}: {listed or 'no slots'}"
        + (f", and {spilled} values in {spilled * _CELL} bytes" if spilled else ""),
        hints=("use shorter strings, smaller keys or fewer variables at a time",),
    )
