"""Moves between registers that happen at once: arguments into r1 to r5, parameters to where they live."""

from __future__ import annotations


def parallel_moves(moves: dict[int, int], free: int) -> list[tuple[int, int]]:
    """Moves (to: from) that happen at once, as a sequence; ``free`` is a register that may be overwritten, for rings of
    moves."""
    pending = {to: source for to, source in moves.items() if to != source}
    out: list[tuple[int, int]] = []
    while pending:
        sources = set(pending.values())
        ready = [to for to in pending if to not in sources]
        out += [(to, pending.pop(to)) for to in ready]
        if not ready:  # only rings are left: open one
            first = next(iter(pending))
            out.append((free, first))
            pending = {to: free if source == first else source for to, source in pending.items()}
    return out
