"""Aggregations: ``@m = count()`` and its like are one more observation of a map's value."""

from __future__ import annotations

from probescope.ir import expr as ir
from probescope.ir.stmt import MapUpdate
from probescope.lang.bt import ast
from probescope.lang.bt.check_unstable import forbidden
from probescope.lang.bt.functions_args import lit_arg, str_lit
from probescope.lang.bt.lower_map import slot
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import cast
from probescope.lang.bt.types import UNKNOWN, is_flex, is_int, lint, settle
from probescope.lang.bt.types_text import family
from probescope.model.types import U64, Agg, Int

MAX_BUCKETS = 1000
MAX_INTERVALS = 1_000_000
CLOCK_MAP = "BPFTRACE_DUMMY_TS_MAP"
"""A variable of the environment: the map without keys that a tseries takes for its clock, in nanoseconds since the
epoch. For tests, whose output must not depend on when they run."""
_SERIES = ("sum", "min", "max", "avg")
_LAST = 5
"""tseries: the value observed last in each interval; the others are numbered by their place in
``model/aggregate.py``."""


def update(u: Unit, node: ast.Assign, call: ast.Call) -> None:
    assert isinstance(node.target, ast.Map | ast.MapItem)
    s = slot(u, node.target)
    args = _ARGS[call.function](u, call) if call.function in _ARGS else ()
    value, kind = (None, lint(8, False)) if call.function == "count" else _observed(u, call)
    if args is None or kind is None:
        return
    wrong = s.info.set_agg(Agg(call.function, kind, args))  # type: ignore[arg-type]
    if wrong:
        u.error(wrong, call.span)
        return
    s.info.read_by(u)
    agg = s.info.agg
    assert agg is not None
    if s.ok:
        e = None if value is None else cast(value, settle(agg.value))
        number = _interval(u, call, args) if call.function == "tseries" else None
        u.emit(MapUpdate(s.info.name, s.key, e, number, span=node.span))


def _interval(u: Unit, call: ast.Call, args: tuple[int, ...]) -> ir.Expr:
    """The number of the present interval of a tseries, counted from the epoch: each is shown with its time of day."""
    now: ir.Expr | None = ir.Context(U64, "nsecs", "realtime")
    clock = u.program.env.script.environment.get(CLOCK_MAP, "")
    if clock.startswith("@"):
        now = u.read(u.expr(ast.Map(call.span, clock[1:])), call.span)
    return ir.Binary(U64, "div", cast(now, U64) if now is not None else ir.Const(U64, 0), ir.Const(U64, args[0]))


def _observed(u: Unit, call: ast.Call) -> tuple[ir.Expr | None, Int | None]:
    """The observed integer, and the 64-bit type that its sign asks for."""
    v = u.expr(call.args[0])
    if v.type is UNKNOWN:
        return None, None
    if not is_int(v.type):
        u.error(f"{call.function}() only supports int arguments ({family(v.type)} provided)", call.span)
        return None, None
    e = u.read(v, call.args[0].span)
    if e is None:
        return None, None
    if call.function in ("hist", "lhist"):
        return e, lint(8, True)
    return e, lint(8, getattr(v.type, "signed", True), is_flex(v.type))


def _hist(u: Unit, call: ast.Call) -> tuple[int, ...] | None:
    bits = lit_arg(u, call, 1) if len(call.args) > 1 else 0
    if bits is not None and not 0 <= bits <= 5:
        u.error(f"hist: bits {bits} must be 0..5", call.span)
        return None
    return None if bits is None else (bits,)


def _lhist(u: Unit, call: ast.Call) -> tuple[int, ...] | None:
    least, most, step = (lit_arg(u, call, i) for i in (1, 2, 3))
    if least is None or most is None or step is None:
        return None
    if step < 1:
        u.error(f"lhist() step must be >= 1 ({step} provided)", call.span)
    elif least > most:
        u.error(f"lhist() min must be less than max (provided min {least} and max {most})", call.span)
    elif most - least < step:
        given = f"(provided step {step} for range {most - least})"
        u.error(f"lhist() step is too large for the given range {given}", call.span)
    elif (most - least) // step > MAX_BUCKETS:
        need = (most - least) // step
        u.error(f"lhist() too many buckets, must be <= {MAX_BUCKETS} (would need {need})", call.span)
    else:
        return least, most, step
    return None


def _tseries(u: Unit, call: ast.Call) -> tuple[int, ...] | None:
    if forbidden(u, "tseries", call.span):
        return None
    interval, count = lit_arg(u, call, 1), lit_arg(u, call, 2)
    inner = str_lit(u, call, 3) if len(call.args) > 3 else ""
    if interval is None or count is None or inner is None:
        return None
    if interval < 1:
        u.error(f"tseries() interval_ns must be >= 1 ({interval} provided)", call.span)
    elif not 1 <= count <= MAX_INTERVALS:
        u.error(f"tseries() num_intervals must be from 1 to {MAX_INTERVALS} ({count} provided)", call.span)
    elif inner and inner not in _SERIES:
        names = ", ".join(_SERIES)
        u.error(
            f'tseries() expects one of the following aggregation functions: {names} ("{inner}" provided)', call.span
        )
    else:
        return interval, count, _SERIES.index(inner) if inner else _LAST
    return None


_ARGS = {"hist": _hist, "lhist": _lhist, "tseries": _tseries}
