"""Call stacks: ``kstack``, ``ustack(perf, 5)``."""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.frozen import replace
from probescope.ir import expr as ir
from probescope.lang.bt import ast
from probescope.lang.bt.check_unstable import forbidden
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, constant, value
from probescope.model.types import Opaque

MODES = ("bpftrace", "perf", "raw", "build_id")
MAX_DEPTH = 1024
DEFAULT_DEPTH = 127


def stack(u: Unit, kind: str, mode: str, depth: int, span: Span) -> V:
    """A stack of the moment; an empty ``mode`` is the configured one, a ``depth`` of 0 the usual one."""
    mode = mode or u.program.settings.stack_mode
    if mode == "build_id" and kind == "kstack":
        u.warn("'build_id' stack mode can only be used for ustack. Falling back to 'raw' mode.", span)
        mode = "raw"
    t = Opaque("kstack" if kind == "kstack" else "ustack", mode, depth or DEFAULT_DEPTH)
    return value(ir.Stack(t, span=span))


def _stack(u: Unit, node: ast.Call) -> V:
    mode, limit = "", 0
    args = list(node.args)
    if args and isinstance(args[0], ast.Name):
        mode = args.pop(0).name  # type: ignore[attr-defined]
        if mode not in MODES:
            return u.error(f"Invalid stack mode: {mode}", node.args[0].span, "modes are " + ", ".join(MODES))
        if mode == "build_id" and node.function == "kstack":
            return u.error("'build_id' stack mode can only be used for ustack", node.span)
    elif len(args) == 2:
        return u.error("Expected stack mode as first argument", node.span, "modes are " + ", ".join(MODES))
    if args:
        v = u.expr(args[0])
        n = constant(v)
        if n is None or not n > 0:
            return NOTHING if not v.known else u.error(f"{node.function}: invalid limit value", node.span)
        if n > MAX_DEPTH:
            return u.error(f"{node.function}([int limit]): limit shouldn't exceed {MAX_DEPTH}, {n} given", node.span)
        limit = n
    return stack(u, node.function, mode, limit, node.span)


kstack_ = ustack_ = _stack


def dw_ustack_(u: Unit, node: ast.Call) -> V:
    return _stack(u, node) if unwound(u, node.span) else NOTHING


def dw_ustack_value(u: Unit, span: Span) -> V:
    """Without parentheses."""
    return stack(u, "ustack", "", 0, span) if unwound(u, span) else NOTHING


def unwound(u: Unit, span: Span) -> bool:
    """Has the program's user stacks walked by unwind tables, also where frame pointers would do. Reports why not."""
    if forbidden(u, "dw_ustack", span):
        return False
    env = u.program.env
    if not (env.pid or env.child or env.unwinds):
        u.error(
            "dw_ustack requires a target process",
            span,
            "name one with -p, -c or --dwarf-pid; ustack is unwound in the same way, in any process",
        )
        return False
    u.program.settings = replace(u.program.settings, unwind="always")
    return True
