"""Functions one after the other, the program first: distances filled in, calls resolved, the stack of the chain
checked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from probescope.bpf import insn as i
from probescope.bpf.code import Code, Piece
from probescope.bpf.frame import STACK_LIMIT
from probescope.bpf.insn import Insn
from probescope.bpf.unit import Reloc
from probescope.diagnostics import Span
from probescope.errors import InternalError, LimitError

_FRAMES = 8  # MAX_CALL_FRAMES
_ROUND = 32


def link(pieces: Sequence[Piece], *, long_jumps: bool) -> Code:
    """``long_jumps``: the kernel has gotol. Raises LimitError: too many instructions, stack or frames."""
    pieces = _reachable(pieces)
    stack = _stack(pieces)
    starts: dict[str, int] = {}
    insns: list[Insn] = []
    relocs: list[Reloc] = []
    lines: list[tuple[int, Span]] = []
    calls: list[tuple[int, str]] = []
    for piece in pieces:
        base = starts[piece.function.name] = len(insns)
        body, moved = _resolve(piece, long_jumps=long_jumps)
        insns += body
        relocs += [Reloc(base + moved[r.insn], r.kind, r.name) for r in piece.relocs]
        lines += [(base + moved[at], span) for at, span in piece.lines]
        calls += [(base + moved[at], name) for at, name in piece.calls]
    for at, name in calls:
        op, dst, src, off, _ = insns[at]
        insns[at] = (op, dst, src, off, starts[name] - at - 1)
    if len(insns) > i.LONGEST:
        raise LimitError(
            f"{pieces[0].function.name} has {len(insns)} instructions, the kernel takes {i.LONGEST}",
            hints=("split the clause, or unroll fewer loops",),
        )
    functions = tuple((start, name) for name, start in starts.items())
    signatures = tuple((p.function.name, len(p.function.parameters)) for p in pieces)
    return Code(i.pack(insns), tuple(relocs), functions, tuple(lines), stack, signatures)


def _reachable(pieces: Sequence[Piece]) -> list[Piece]:
    """Without the functions that nobody calls: the verifier refuses them."""
    by_name = {p.function.name: p for p in pieces}
    wanted: set[str] = set()
    work = [pieces[0].function.name]
    while work:
        name = work.pop()
        if name not in wanted and name in by_name:
            wanted.add(name)
            work += [callee for _, callee in by_name[name].calls]
    return [p for p in pieces if p.function.name in wanted]


def _stack(pieces: Sequence[Piece]) -> int:
    """Bytes of the deepest chain of frames, each rounded up as the kernel does. Raises LimitError, InternalError on
    recursion."""
    by_name = {p.function.name: p for p in pieces}
    known: dict[str, tuple[int, int, tuple[str, ...]]] = {}
    active: set[str] = set()

    def deepest(name: str) -> tuple[int, int, tuple[str, ...]]:
        if name in known:
            return known[name]
        piece = by_name.get(name)
        if piece is None or name in active:
            raise InternalError(f"function {name} {'calls itself' if piece else 'is called but does not exist'}")
        active.add(name)
        below = [deepest(callee) for callee in dict.fromkeys(callee for _, callee in piece.calls)]
        active.remove(name)
        own = max(_ROUND, -(-piece.stack // _ROUND) * _ROUND)
        size, chain = max([(b[0], b[2]) for b in below], default=(0, ()))
        known[name] = own + size, 1 + max([b[1] for b in below], default=0), (f"{name} ({own})", *chain)
        return known[name]

    size, frames, chain = deepest(pieces[0].function.name)
    if frames > _FRAMES or (size > STACK_LIMIT and frames > 1):
        what = f"{size} bytes of stack" if size > STACK_LIMIT else f"{frames} frames"
        limit = STACK_LIMIT if size > STACK_LIMIT else _FRAMES
        raise LimitError(
            f"a chain of functions needs {what}, the kernel gives {limit}: {' -> '.join(chain)}",
            hints=("use fewer or smaller variables in loops, or shorter strings",),
        )
    return size


def _resolve(piece: Piece, *, long_jumps: bool) -> tuple[list[Insn], Sequence[int]]:
    """Fills in the distances of branches. Gives the instructions and where each one went."""
    insns = piece.insns
    far: set[int] = set()  # indices of branches that 16 bits do not reach
    while True:
        moved = _moved(insns, far)
        out_of_reach = {
            at
            for at, block in piece.branches
            if at not in far and not -0x8000 <= moved[piece.labels[block]] - moved[at] - 1 <= 0x7FFF
        }
        if not out_of_reach:
            break
        if not long_jumps:
            raise LimitError(
                f"{piece.function.name} is too long for this kernel's branches: {len(insns)} instructions",
                hints=("split the clause, or use a kernel from 6.6 on",),
            )
        far |= out_of_reach
    body = insns[:]
    inserts: list[tuple[int, list[Insn]]] = []
    for at, block in piece.branches:
        op, dst, src, _, imm = insns[at]
        distance = moved[piece.labels[block]] - moved[at] - 1
        if at not in far:
            body[at] = (op, dst, src, distance, imm)
        elif op == i.JA:
            body[at] = (i.GOTOL, 0, 0, 0, distance)
        else:  # taken: over the next one, to the long jump
            body[at] = (op, dst, src, 1, imm)
            inserts.append((at, [(i.JA, 0, 0, 1, 0), (i.GOTOL, 0, 0, 0, distance - 2)]))
    return _insert(body, inserts), moved


def _moved(insns: list[Insn], far: set[int]) -> Sequence[int]:
    """Where each index goes when far conditional branches become three instructions."""
    if not far:
        return range(len(insns) + 1)
    extra = sorted(at for at in far if insns[at][0] != i.JA)
    return [at + 2 * bisect_left(extra, at) for at in range(len(insns) + 1)]


def _insert(body: list[Insn], inserts: list[tuple[int, list[Insn]]]) -> list[Insn]:
    if not inserts:
        return body
    out: list[Insn] = []
    last = 0
    for at, more in sorted(inserts):
        out += body[last : at + 1]
        out += more
        last = at + 1
    return out + body[last:]
