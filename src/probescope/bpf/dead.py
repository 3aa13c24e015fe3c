"""Takes out operations whose results nobody reads, and copies that only move a result into a variable. Linear."""

from __future__ import annotations

from probescope.bpf.lir import NONE, Block, Function, Op, Reg, overwrites

_WITHOUT_RESULT = {"fetch_add": "add", "fetch_or": "or", "fetch_and": "and", "fetch_xor": "xor"}
_DEAD = "dead"


def remove_dead(function: Function) -> list[int]:
    """Drops dead operations in place. Gives how often each register is read afterwards."""
    uses = [0] * function.regs
    defs: list[list[Op]] = [[] for _ in range(function.regs)]
    for op in function.ops():
        for a in op.args:
            uses[a] += 1
        if op.dst >= 0:
            defs[op.dst].append(op)
    work = [v for v in range(function.regs) if not uses[v] and defs[v]]
    found = bool(work)
    while work:
        for op in defs[work.pop()]:
            _drop(op, uses, work)
    if found:
        for block in function.blocks:
            block.ops = [op for op in block.ops if op.kind != _DEAD]
    return uses


def _drop(op: Op, uses: list[int], work: list[int]) -> None:
    if op.pure:
        op.kind = _DEAD
        for a in op.args:
            uses[a] -= 1
            if not uses[a]:
                work.append(a)
    elif op.kind in {"call", "kfunc", "local"}:
        op.dst = NONE
    elif op.kind == "atomic" and op.name in _WITHOUT_RESULT:
        op.name, op.dst = _WITHOUT_RESULT[op.name], NONE


def coalesce(function: Function, uses: list[int]) -> None:
    """``%t = ...; %x = mov %t``, with %t read there only, becomes ``%x = ...`` where %x is not touched between the
    two."""
    defs = [0] * function.regs
    for op in function.ops():
        if op.dst >= 0:
            defs[op.dst] += 1
    for p in function.parameters:
        defs[p] += 1
    for block in function.blocks:
        _coalesce_block(block, uses, defs)


def _coalesce_block(block: Block, uses: list[int], defs: list[int]) -> None:
    made: dict[Reg, int] = {}  # register -> index of the operation of this block that wrote it last
    touched: dict[Reg, int] = {}
    ops = block.ops
    kept: list[Op] = []
    for op in ops:
        i = len(kept)
        if op.kind == "mov" and op.size == 64:
            source, variable = op.args[0], op.dst
            if source == variable:
                continue
            at = made.get(source, -1)
            single = at >= 0 and uses[source] == 1 and defs[source] == 1
            if single and touched.get(variable, -1) <= at and not overwrites(kept[at], variable):
                kept[at].dst = variable
                made[variable] = touched[variable] = at
                continue
        for a in op.args:
            touched[a] = i
        if op.dst >= 0:
            made[op.dst] = touched[op.dst] = i
        kept.append(op)
    block.ops = kept
