"""Loops whose turns can be counted beforehand and that only calculate.

The verifier walks such a loop in one straight line, so that thousands of turns cost it little, and the loop is a few
instructions in the program itself: a fifth of the time that a callback takes, or a test of ``may_goto`` each turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.walk import Node, walk
from probescope.model.types import is_scalar, wrap

PLAIN_NODES = 30_000
"""Turns times the weight of the body up to which a loop that only calculates is walked through by the verifier, which
gives up at a million instructions in all."""


def plain(body: Sequence[s.Stmt]) -> bool:
    """Whether statements only calculate: no way through them but one, and nothing but numbers."""
    return all(isinstance(st, s.Assign) and all(_plain(n) for n in walk([st.value])) for st in body)


def _plain(n: Node) -> bool:
    if not (isinstance(n, x.Expr) and is_scalar(n.type)):
        return False
    match n:
        case x.Const() | x.Local() | x.Field() | x.Cast():
            return True
        case x.Unary(op="neg" | "inv"):
            return True
        case x.Binary(op="add" | "sub" | "mul" | "and" | "or" | "xor"):
            return True
        case x.Binary(op="div" | "mod" | "shl" | "shr", b=x.Const(value=int(by))):
            return by != 0
        case _:
            return False


def known_after(st: s.Stmt, known: Mapping[str, int]) -> dict[str, int]:
    """Which variables hold which numbers after a statement."""
    changed = {n.name for n in walk([st]) if isinstance(n, s.Assign | s.ForRange)}
    out = {name: value for name, value in known.items() if name not in changed}
    match st:
        case s.Assign(name=name, value=x.Const(value=int(value), type=t)) if is_scalar(t):
            out[name] = wrap(value, t)
        case _:
            pass
    return out


def while_turns(loop: s.While, known: Mapping[str, int]) -> int | None:
    """How often ``while (variable < constant)`` turns, its variable growing by a constant once a turn; ``None`` if
    that cannot be told."""
    match loop.cond:
        case x.Binary(op="lt" | "le" | "ne" as op, a=x.Local(name=name, type=t), b=x.Const(value=int(end))):
            pass
        case _:
            return None
    steps = [st.value for st in loop.body if isinstance(st, s.Assign) and st.name == name]
    if name not in known or len(steps) != 1 or not plain(loop.body):
        return None
    step = _step(steps[0], name)
    first, last = known[name], wrap(end, t) + (op == "le")
    if step is None or step <= 0 or (op == "ne" and (last - first) % step):
        return None
    count = -((first - last) // step)
    fits = wrap(first + count * step, t) == first + count * step  # it never wraps around on its way
    return count if fits and count > 0 else None


def _step(value: x.Expr, name: str) -> int | None:
    match value:
        case x.Binary(op="add", a=x.Local(name=same), b=x.Const(value=int(by))) if same == name:
            return by
        case _:
            return None
