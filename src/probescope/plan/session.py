"""Clauses for the entry and for the return of the same kernel functions, which one program can serve: kprobe sessions.

Half as many programs and links as one each, and the kernel looks at the function's two ends anyway. What stays apart:
functions with several clauses at their return, which would run in another order; sites that are not found at the same
places; and whoever asks for ``func_ip``, which such links answer otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probescope.ir.needs import Needs
from probescope.ir.program import Clause
from probescope.model.site import KprobeAttach

SESSION = "kprobe_session"

Functions = tuple[tuple[str, str], ...]


def sessions(clauses: Sequence[Clause], asked: Mapping[int, Needs]) -> dict[int, int]:
    """By the id of a clause at entries: that of the clause at the returns of the same functions, in the same order.
    ``asked``: what clauses need, by id."""
    returns: dict[Functions, list[int]] = {}
    clauses_at: dict[tuple[str, str], int] = {}
    for c in clauses:
        for place in {_place(s.attach) for s in c.sites if isinstance(s.attach, KprobeAttach) and s.attach.ret}:
            clauses_at[place] = clauses_at.get(place, 0) + 1
        if "func_ip" not in asked[c.id].context:
            returns.setdefault(functions(c, ret=True), []).append(c.id)
    out: dict[int, int] = {}
    for c in clauses:
        names = functions(c, ret=False)
        there = returns.get(names, ()) if names and "func_ip" not in asked[c.id].context else ()
        if there and there[0] not in out.values() and all(clauses_at[n] == 1 for n in names):
            out[c.id] = there[0]
    return out


def functions(clause: Clause, *, ret: bool) -> Functions:
    """(module, function) of every site, each once; empty if one of them is no whole function, or at its other end."""
    attaches = [s.attach for s in clause.sites]
    places = [_place(a) for a in attaches if isinstance(a, KprobeAttach) and a.symbol and not a.offset and a.ret == ret]
    return tuple(places) if len(places) == len(attaches) == len(set(places)) else ()


def _place(attach: KprobeAttach) -> tuple[str, str]:
    return attach.module, attach.symbol
