"""Where each virtual register is alive, and what that asks of the real register it gets.

Operations are numbered from 1 in layout order. Operation i reads its operands at position 2i and writes its result at
2i+1; an operand that must survive the write (``late``) is read at 2i+1 too. Parameters are written at position 1.

    i=4   %7 = sub %5, %6       reads %5 at 8, %6 at 9 (the instruction is r = r - r', so r' may not be r), writes %7 at
    9

An interval is the range from a register's first to its last position, over every block where it is alive between. A
call destroys r0 to r5 at its position 2i: ``crosses`` says which registers are really alive there (not only within
whose interval it lies).
"""

from __future__ import annotations

from typing import Final

from probescope.bpf.lir import CHEAP, COMMUTATIVE, Block, Function, Op, Reg

USE, DEF, ANY = 0, 1, 2
"""How an operation touches a register: reads it from a real register, writes it, reads it from anywhere (call
arguments)."""

LATE, ANYWHERE, BASE = 1, 2, 4
"""Of an operand, as bits: needed until the result is written; any place will do; the base of a memory access, where a
stack slot's address needs no register."""
_EARLY, _EARLY_LATE, _ANY_LATE, _ANY = (0, 0), (0, LATE), (ANYWHERE, LATE), (ANYWHERE,) * 5
_BASE, _BASE_LATE, _CMPXCHG = (BASE, 0), (BASE | LATE, 0), (BASE, ANYWHERE, 0)

CALLS: Final = frozenset({"call", "kfunc", "local"})
_IN_PLACE: Final = frozenset({"mov", "alu", "neg", "sext", "swap"})
"""The instruction works on the register of its result: the operand is best there already."""


class Live:
    """Everything by register number. ``refs``: position << 2 | USE, DEF or ANY, from last to first. ``hint``: the real
    register that a later use wants, -1 for none; ``like``: the register whose place is worth having, or -1 - r for the
    real register r, -99 for none. ``block_starts``: position of the first operation of each block, then of the end.
    ``cheap``: what can be made again at any place."""

    __slots__ = (
        "block_starts",
        "calls",
        "cheap",
        "crosses",
        "end",
        "exchanges",
        "hint",
        "like",
        "not_r0",
        "refs",
        "start",
        "weight",
    )

    def __init__(self, regs: int) -> None:
        self.start = [-1] * regs
        self.end = [-1] * regs
        self.refs: list[list[int]] = [[] for _ in range(regs)]
        self.crosses = bytearray(regs)
        self.not_r0 = bytearray(regs)
        self.hint = [-1] * regs
        self.like = [-99] * regs
        self.weight = [0] * regs
        self.calls: list[int] = []
        self.exchanges: list[int] = []  # positions of cmpxchg, which wants r0 for itself
        self.block_starts: list[int] = []
        self.cheap: dict[Reg, Op] = {}


def analyse(function: Function) -> Live:
    """Linear but for the data flow between blocks, whose sets are bits of the registers that are alive across blocks
    only."""
    live = Live(function.regs)
    live.cheap = _cheap(function)
    flow = _Flow(function, live.cheap)
    position = 1
    for block in function.blocks:
        live.block_starts.append(2 * position)
        position += len(block.ops)
    live.block_starts.append(2 * position)
    depths = loop_depths(function)
    for i in range(len(function.blocks) - 1, -1, -1):
        _scan(function.blocks[i], live, flow, i, 8 ** min(depths[i], 5))
    for p in function.parameters:
        if live.end[p] >= 0:
            live.start[p] = 1
            live.refs[p].append(1 << 2 | DEF)
    for n, p in enumerate(function.parameters):
        if live.hint[p] < 0:
            live.hint[p] = n + 1
    _extend(live, flow)
    live.calls.reverse()
    live.exchanges.reverse()
    return live


def _cheap(function: Function) -> dict[Reg, Op]:
    """Registers written once, by something that costs next to nothing."""
    found: dict[Reg, Op] = {}
    written: set[Reg] = set(function.parameters)
    for op in function.ops():
        dst = op.dst
        if dst >= 0:
            if dst in written:
                found.pop(dst, None)
            elif op.kind in CHEAP:
                found[dst] = op
            written.add(dst)
    return found


def loop_depths(function: Function) -> list[int]:
    """How many backward branches jump over each block: loops are laid out as ranges."""
    number = {b: i for i, b in enumerate(function.blocks)}
    steps = [0] * (len(number) + 1)
    for i, block in enumerate(function.blocks):
        for t in block.targets:
            if number[t] <= i:
                steps[number[t]] += 1
                steps[i + 1] -= 1
    depths, depth = [], 0
    for step in steps[:-1]:
        depth += step
        depths.append(depth)
    return depths


class _Flow:
    """Live-in and live-out of each block (by index) as bits; ``regs`` gives the register of each bit."""

    def __init__(self, function: Function, cheap: dict[Reg, Op]) -> None:
        blocks = function.blocks
        exposed, written = [], []
        for block in blocks:
            e, w = _exposed(block, cheap)
            exposed.append(e)
            written.append(w)
        self.regs: list[Reg] = list(dict.fromkeys(r for e in exposed for r in e))
        self.bit = {r: 1 << i for i, r in enumerate(self.regs)}
        bit = self.bit
        gen = [sum(bit[r] for r in e) for e in exposed]
        kill = [sum(bit[r] for r in w if r in bit) for w in written]
        self.live_in = gen[:]
        self.live_out = [0] * len(blocks)
        self._solve(blocks, gen, kill)

    def _solve(self, blocks: list[Block], gen: list[int], kill: list[int]) -> None:
        number = {b: i for i, b in enumerate(blocks)}
        targets = [[number[t] for t in b.targets] for b in blocks]
        live_in, live_out = self.live_in, self.live_out
        backward = any(t <= i for i, ts in enumerate(targets) for t in ts)
        changed = True
        while changed:
            changed = False
            for i in range(len(blocks) - 1, -1, -1):
                out = 0
                for t in targets[i]:
                    out |= live_in[t]
                if out != live_out[i]:
                    live_out[i] = out
                    live_in[i] = gen[i] | (out & ~kill[i])
                    changed = backward  # without loops one pass from the end finds all

    def members(self, bits: int) -> list[Reg]:
        out = []
        while bits:
            low = bits & -bits
            out.append(self.regs[low.bit_length() - 1])
            bits ^= low
        return out


def _exposed(block: Block, cheap: dict[Reg, Op]) -> tuple[dict[Reg, None], set[Reg]]:
    """Registers read before they are written in the block (in order, for numbers that do not change from run to run),
    and written."""
    exposed: dict[Reg, None] = {}
    written: set[Reg] = set()
    for op in block.ops:
        for a in op.args:
            if a not in written and a not in cheap:
                exposed[a] = None
        if op.dst >= 0:
            written.add(op.dst)
    return exposed, written


def _scan(block: Block, live: Live, flow: _Flow, index: int, weight: int) -> None:
    """One block from its end to its start."""
    live_out = flow.live_out[index]
    bit = flow.bit
    after: dict[Reg, int] = {}  # position of the next read in this block; 0: the next touch is a write
    call = 0  # position of the next call in this block
    position = live.block_starts[index] + 2 * len(block.ops)
    starts, ends, refs, weights, crosses = live.start, live.end, live.refs, live.weight, live.crosses
    cheap = live.cheap
    for op in reversed(block.ops):
        position -= 2
        dst = op.dst
        if dst >= 0 and dst not in cheap:
            if call:
                n = after.get(dst, -1)
                if n > call or (n < 0 and bit.get(dst, 0) & live_out):
                    crosses[dst] = 1
            after[dst] = 0
            starts[dst] = position + 1
            if ends[dst] < 0:
                ends[dst] = position + 1
            refs[dst].append((position + 1) << 2 | DEF)
            weights[dst] += weight
        kind = op.kind
        if kind in CALLS:
            call = position
            live.calls.append(position)
        elif kind == "cmpxchg":
            live.exchanges.append(position)
        if not op.args:
            continue
        for a, role in zip(op.args, _roles(op, live, after), strict=False):
            at = position + (role & LATE)
            if a in cheap:
                if not role & ANYWHERE and not (role & BASE and cheap[a].kind == "slot"):
                    refs[a].append(at << 2 | USE)
                    weights[a] += weight
                continue
            if call:
                n = after.get(a, -1)
                if n > call or (n < 0 and bit.get(a, 0) & live_out):
                    crosses[a] = 1
            after[a] = position
            starts[a] = at
            ends[a] = max(ends[a], at)
            refs[a].append(at << 2 | (role & ANYWHERE))
            weights[a] += weight
    if call:
        through = flow.live_in[index]
        for r, n in after.items():
            if n <= call:
                through &= ~bit.get(r, 0)
        for r in flow.members(through):
            crosses[r] = 1


def _roles(op: Op, live: Live, after: dict[Reg, int]) -> tuple[int, ...]:
    """How each operand is read; notes on the way where it, or the result, would best be."""
    kind, args, dst = op.kind, op.args, op.dst
    if kind in _IN_PLACE:
        _like(live, after, dst, args[0])
        if len(args) == 2:
            return _two_operands(op, live)
        return _ANY if kind == "mov" and op.size == 64 else _EARLY
    if kind in CALLS:
        hint = live.hint
        for n, a in enumerate(args, 1):
            hint[a] = n
        if dst >= 0:
            live.like[dst] = -1
        return _ANY
    return _MEMORY[kind](op, live, after)


def _two_operands(op: Op, live: Live) -> tuple[int, ...]:
    a, b = op.args
    if a in live.cheap and b != op.dst:
        return _ANY_LATE  # made right in the register of the result
    return _EARLY if op.name in COMMUTATIVE or a == b else _EARLY_LATE


def _like(live: Live, after: dict[Reg, int], dst: Reg, source: Reg) -> None:
    if dst != source:
        live.like[dst] = source
        if live.hint[source] < 0 and after.get(source, -1) <= 0:
            live.hint[source] = live.hint[dst]


def _base(op: Op, live: Live, after: dict[Reg, int]) -> tuple[int, ...]:
    return _BASE


def _branch(op: Op, live: Live, after: dict[Reg, int]) -> tuple[int, ...]:
    return _EARLY


def _atomic(op: Op, live: Live, after: dict[Reg, int]) -> tuple[int, ...]:
    if op.dst < 0:
        return _BASE
    _like(live, after, op.dst, op.args[1])  # the register of the operand takes the old value
    return _BASE_LATE


def _cmpxchg(op: Op, live: Live, after: dict[Reg, int]) -> tuple[int, ...]:
    base, expected, new = op.args
    live.hint[expected] = 0
    live.not_r0[base] = live.not_r0[new] = 1
    if op.dst >= 0:
        live.like[op.dst] = -1
    return _CMPXCHG


def _exit(op: Op, live: Live, after: dict[Reg, int]) -> tuple[int, ...]:
    live.hint[op.args[0]] = 0
    return _ANY


_MEMORY = {
    "load": _base,
    "store": _base,
    "atomic": _atomic,
    "cmpxchg": _cmpxchg,
    "branch": _branch,
    "exit": _exit,
}


def _extend(live: Live, flow: _Flow) -> None:
    """Stretches intervals over the blocks that their registers are alive in without being touched."""
    starts, ends, block_starts = live.start, live.end, live.block_starts
    seen = 0
    for i, bits in enumerate(flow.live_in):
        for r in flow.members(bits & ~seen):
            starts[r] = min(starts[r], block_starts[i])
        seen |= bits
    seen = 0
    for i in range(len(flow.live_out) - 1, -1, -1):
        bits = flow.live_out[i]
        for r in flow.members(bits & ~seen):
            ends[r] = max(ends[r], block_starts[i + 1] - 1)
        seen |= bits
