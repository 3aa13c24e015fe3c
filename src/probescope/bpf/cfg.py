"""The shape of a function: which blocks follow which; taking out what is unreachable, empty or needlessly split;
layout."""

from __future__ import annotations

from probescope.bpf.lir import Block, Function, Op


def predecessors(function: Function) -> dict[Block, int]:
    """How many branch edges lead to each block (the entry has one more: the call)."""
    count = dict.fromkeys(function.blocks, 0)
    count[function.blocks[0]] = 1
    for block in function.blocks:
        for t in block.targets:
            count[t] += 1
    return count


def simplify(function: Function) -> None:
    """Threads jumps to jumps, drops unreachable blocks, joins blocks. In place, linear."""
    _thread(function)
    _drop_unreachable(function)
    _join(function)


def layout(function: Function) -> list[int]:
    """The order in which blocks are emitted, as indices: cold ones last. Registers and stack are given out in the order
    of the function itself: there a cold block lies between what comes before and after it, which keeps intervals
    short."""
    blocks = function.blocks
    cold = [n for n, b in enumerate(blocks) if b.cold and n]
    return [n for n, b in enumerate(blocks) if not b.cold or not n] + cold


def _thread(function: Function) -> None:
    """A branch to a block that only jumps goes to where that jumps; a branch with one target is a jump."""
    final: dict[Block, Block] = {}
    for block in function.blocks:
        if len(block.ops) == 1 and block.ops[0].kind == "jump":
            final[block] = block.ops[0].targets[0]
    for block in function.blocks:
        last = block.ops[-1]
        if not last.targets:
            continue
        if final:
            last.targets = tuple(_follow(final, t) for t in last.targets)
        if last.kind == "branch" and last.targets[0] is last.targets[1]:
            block.ops[-1] = Op("jump", targets=last.targets[:1], span=last.span)


def _follow(final: dict[Block, Block], block: Block) -> Block:
    path: list[Block] = []
    while block in final and len(path) < len(final):  # a loop of empty blocks never ends: stop anywhere in it
        path.append(block)
        block = final[block]
    for b in path:
        if b is not block:
            final[b] = block
    return block


def _drop_unreachable(function: Function) -> None:
    entry = function.blocks[0]
    seen = {entry}
    work = [entry]
    while work:
        for t in work.pop().targets:
            if t not in seen:
                seen.add(t)
                work.append(t)
    if len(seen) != len(function.blocks):
        function.blocks = [b for b in function.blocks if b in seen]


def _join(function: Function) -> None:
    """A block that is entered from one place only, by a jump, continues the block it is entered from."""
    count = predecessors(function)
    gone: set[Block] = set()
    for block in function.blocks:
        if block in gone:
            continue
        ops = block.ops
        while ops[-1].kind == "jump":
            target = ops[-1].targets[0]
            if count[target] != 1 or target is block or target.cold > block.cold:
                break
            ops.pop()
            ops.extend(target.ops)
            gone.add(target)
    if gone:
        function.blocks = [b for b in function.blocks if b not in gone]
