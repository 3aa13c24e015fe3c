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

from probescope.bpf.lir import Block, Function, Reg
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
    for item in items:
        while ending and ending[0][0] < item.start:
            taken &= ~heapq.heappop(ending)[1]
        at = _first_gap(taken, item.cells)
        bits = ((1 << item.cells) - 1) << at
        taken |= bits
        heapq.heappush(ending, (item.end, bits))
        top = max(top, at + item.cells)
        if item.slot >= 0:
            slots[item.slot] = -_CELL * (at + item.cells)
        else:
            spills[item.reg] = -_CELL * (at + 1)
    if top * _CELL + reserved > STACK_LIMIT:
        raise _too_large(function, items, top * _CELL + reserved)
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


def _scopes(function: Function, scoped: set[int], block_starts: list[int]) -> dict[int, tuple[int, int]]:
    """First and last position at which each slot may be in use, by data flow from ``begin`` forward."""
    number = {b: i for i, b in enumerate(function.blocks)}
    targets = [[number[t] for t in b.targets] for b in function.blocks]
    open_in = [0] * len(targets)
    times: dict[int, tuple[int, int]] = {}
    work = deque(range(len(targets)))
    while work:
        i = work.popleft()
        out = _through(function.blocks[i], open_in[i], scoped, block_starts[i], times)
        for t in targets[i]:
            if out & ~open_in[t]:
                open_in[t] |= out
                work.append(t)
    return times


def _through(block: Block, is_open: int, scoped: set[int], position: int, times: dict[int, tuple[int, int]]) -> int:
    """Follows the marks through a block, noting the times; gives what is open at its end, as bits by slot."""

    def note(slot: int, first: int, last: int) -> None:
        old = times.get(slot, (first, last))
        times[slot] = (min(old[0], first), max(old[1], last))

    opened = {s: position for s in scoped if is_open >> s & 1}
    for op in block.ops:
        if op.kind == "begin" and op.imm in scoped:
            opened.setdefault(op.imm, position)
        elif op.kind == "end" and op.imm in opened:
            note(op.imm, opened.pop(op.imm), position + 1)
        position += 2
    for slot, start in opened.items():
        note(slot, start, position - 1)
    return sum(1 << s for s in opened)


def _too_large(function: Function, items: list[_Item], size: int) -> LimitError:
    names = {s.index: s.name or f"slot {s.index}" for s in function.slots}
    largest = sorted((i for i in items if i.slot >= 0), key=lambda i: -i.cells)[:5]
    listed = ", ".join(f"{names[i.slot]} ({i.cells * _CELL})" for i in largest)
    spilled = sum(1 for i in items if i.slot < 0)
    return LimitError(
        f"{function.name} needs {size} bytes of stack, the kernel gives {STACK_LIMIT}: {listed or 'no slots'}"
        + (f", and {spilled} values in {spilled * _CELL} bytes" if spilled else ""),
        hints=("use shorter strings, smaller keys or fewer variables at a time",),
    )
