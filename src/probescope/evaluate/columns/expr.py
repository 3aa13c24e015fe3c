"""Expressions turned into functions of whole columns, once: ``View -> Values``.

What is pure and has no arithmetic on columns of its own (texts, addresses, tuples) is worked out once for each
different row, by the machine's own functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

import numpy as np

from probescope.evaluate import arithmetic as ops
from probescope.evaluate.columns import number
from probescope.evaluate.columns.values import (
    Coded,
    Column,
    Packed,
    Rows,
    Values,
    constant,
    dtype_of,
    groups,
    listed,
    take,
)
from probescope.evaluate.expr import caster
from probescope.evaluate.intrinsics import PURE
from probescope.ir import expr as e
from probescope.model.abi import item_types
from probescope.model.codec import zero
from probescope.model.types import Array, Bool, Opaque, Record, String, Tuple, Type, is_scalar

Run = Callable[["View"], Values]


class NotColumns(Exception):
    """What stands in the way of columns, in words."""


class Events(Protocol):
    """Events of one kind that a batch holds, as columns of ``count`` items; ``site``: number of the site they fire."""

    @property
    def count(self) -> int: ...
    @property
    def site(self) -> int: ...
    def context(self, name: str, arg: str) -> Values: ...
    def field(self, name: str, type_: Type) -> Values: ...
    def element(self, name: str, type_: Array, index: int) -> Column:
        """One of a field that is an array of numbers; ``index`` is in it."""
        ...

    def stack(self, type_: Opaque) -> Values: ...
    def spaces(self) -> Column:
        """Whose memory addresses of a program are in; -1 where it is not known."""
        ...

    def register(self, name: str) -> Values: ...
    def argument(self, index: int) -> Values: ...
    def returned(self) -> Values: ...


class View:
    """Some rows of the events, and what is known of them: scratch variables (columns of all events), counted errors by
    kind."""

    __slots__ = ("errors", "events", "rows", "variables")

    def __init__(self, events: Events, rows: Rows, variables: dict[str, Values], errors: dict[str, int]) -> None:
        self.events, self.rows, self.variables, self.errors = events, rows, variables, errors

    @property
    def count(self) -> int:
        return self.events.count if self.rows is None else len(self.rows)

    def some(self, which: Column) -> View:
        """``which``: a mask of this view's rows."""
        rows = np.flatnonzero(which) if self.rows is None else self.rows[which]
        return View(self.events, rows, self.variables, self.errors)

    def miss(self, kind: str, count: int) -> None:
        if count:
            self.errors[kind] = self.errors.get(kind, 0) + count


class ColumnCompiler:
    """Raises ``NotColumns`` for what has to be done a row at a time."""

    def compile(self, x: e.Expr) -> Run:
        make = getattr(self, "_" + type(x).__name__.lower(), None)
        if make is None:
            raise NotColumns(_WORDS.get(type(x).__name__, f"{type(x).__name__} is evaluated for each event"))
        return make(x)  # type: ignore[no-any-return]

    def condition(self, x: e.Expr) -> Callable[[View], Column]:
        """A mask."""
        run, t = self.compile(x), x.type
        if isinstance(t, Bool):
            return cast("Callable[[View], Column]", run)
        if is_scalar(t):
            return lambda v: cast("Column", run(v)) != 0
        return lambda v: cast("Column", applied(lambda a: ops.truth(a[0], t), [run(v)], v.count, Bool()))

    # --- values

    def _const(self, x: e.Const) -> Run:
        value, t = x.value, x.type
        return lambda v: constant(bool(value) if isinstance(t, Bool) else value, t, v.count)

    def _local(self, x: e.Local) -> Run:
        name, unset, t = x.name, zero(x.type), x.type

        def run(v: View) -> Values:
            held = v.variables.get(name)
            return constant(unset, t, v.count) if held is None else take(held, v.rows)

        return run

    def _unary(self, x: e.Unary) -> Run:
        if x.op == "not":
            held = self.condition(x.x)
            return lambda v: ~held(v)
        run = self.compile(x.x)
        if x.op == "neg":
            return lambda v: cast("Column", 0 - cast("Column", run(v)))
        return lambda v: ~cast("Column", run(v))

    def _binary(self, x: e.Binary) -> Run:
        a, b = self.compile(x.a), self.compile(x.b)
        if x.op in e.COMPARISON:
            return self._comparison(x, a, b)
        apply, kind = number.arithmetic(x.op, x.type), dtype_of(x.type)
        if x.op in ("shl", "shr"):
            return lambda v: apply(cast("Column", a(v)), cast("Column", b(v)))
        if x.op in ("div", "mod"):
            return _counted(apply, a, b)
        # the other operand of an address is a distance, with a sign
        return lambda v: apply(
            cast("Column", a(v)).astype(kind, copy=False), cast("Column", b(v)).astype(kind, copy=False)
        )

    def _comparison(self, x: e.Binary, a: Run, b: Run) -> Run:
        if is_scalar(x.a.type) and is_scalar(x.b.type):
            compare = number.COMPARE[x.op]
            return lambda v: compare(cast("Column", a(v)), cast("Column", b(v)))
        same = ops.comparison(x.op)
        if isinstance(x.a.type, String):
            return lambda v: applied(lambda p: same(ops.text(p[0]), ops.text(p[1])), [a(v), b(v)], v.count, Bool())
        return lambda v: applied(lambda p: same(p[0], p[1]), [a(v), b(v)], v.count, Bool())

    def _logic(self, x: e.Logic) -> Run:
        """The second is looked at only where it matters: what it counts as an error must have happened."""
        a, b, want = self.condition(x.a), self.condition(x.b), x.op == "and"

        def run(v: View) -> Values:
            out = a(v).copy()
            open_ = out if want else ~out
            if open_.all():
                return b(v)
            if open_.any():
                out[np.flatnonzero(open_)] = b(v.some(open_))
            return out

        return run

    def _select(self, x: e.Select) -> Run:
        cond, a, b, t = self.condition(x.cond), self.compile(x.a), self.compile(x.b), x.type

        def run(v: View) -> Values:
            holds = cond(v)
            out = constant(zero(t), t, v.count)
            for mask, one in ((holds, a), (~holds, b)):
                out = placed(out, np.flatnonzero(mask), one(v.some(mask)))
            return out

        return run

    def _pack(self, x: e.Pack) -> Run:
        if not isinstance(x.type, Tuple | Record):
            raise NotColumns("arrays are made for each event")
        items = [self.compile(i) for i in x.items]
        return lambda v: Packed(tuple(i(v) for i in items))

    def _item(self, x: e.Item) -> Run:
        run, i, t = self.compile(x.x), x.index, x.type

        def item(v: View) -> Values:
            whole = run(v)
            if isinstance(whole, Packed):
                return whole.items[i]
            return applied(lambda p: p[0][i], [whole], v.count, t)

        return item

    def _index(self, x: e.Index) -> Run:
        t = x.x.type
        if not (isinstance(t, Array) and is_scalar(t.element)):
            raise NotColumns("bytes of texts are read for each event")
        limit = t.count
        match x.x, x.index:
            case e.Field(name=name), e.Const(value=int() as n) if 0 <= n < limit:
                return lambda v: take(v.events.element(name, t, n), v.rows)
            case _:
                whole, index = self.compile(x.x), self.compile(x.index)

        def run(v: View) -> Values:
            items, i = as_matrix(whole(v), t), cast("Column", index(v))
            fine = (i >= 0) & (i < limit)
            v.miss("bounds", int(np.count_nonzero(~fine)))
            found = items[np.arange(v.count), np.where(fine, i, 0).astype(np.int64)]
            return np.where(fine, found, found.dtype.type(0))

        return run

    def _cast(self, x: e.Cast) -> Run:
        run = self.compile(x.x)
        return lambda v: converted(run(v), x.x.type, x.type, v.count)

    # --- needs

    def _context(self, x: e.Context) -> Run:
        name, arg, t = x.name, x.arg, x.type
        if name in ("probe", "func"):
            return lambda v: Coded(np.zeros(v.count, np.int64), [v.events.site])
        if name == "rand":
            raise NotColumns("rand is another number for each event")
        if is_scalar(t):
            kind = dtype_of(t)
            return lambda v: take(cast("Column", v.events.context(name, arg)).astype(kind, copy=False), v.rows)
        return lambda v: take(v.events.context(name, arg), v.rows)

    def _field(self, x: e.Field) -> Run:
        name, t = x.name, x.type
        return lambda v: take(v.events.field(name, t), v.rows)

    def _arg(self, x: e.Arg) -> Run:
        return self._register_of(x, lambda v: v.events.argument(x.index))

    def _ret(self, x: e.Ret) -> Run:
        return self._register_of(x, lambda v: v.events.returned())

    def _reg(self, x: e.Reg) -> Run:
        return self._register_of(x, lambda v: v.events.register(x.name))

    def _register_of(self, x: e.Expr, read: Run) -> Run:
        if not is_scalar(x.type):
            raise NotColumns("what is wider than a register is read for each event")
        return lambda v: take(number.cast(cast("Column", read(v)), x.type), v.rows)

    def _stack(self, x: e.Stack) -> Run:
        t = x.type
        if not isinstance(t, Opaque):
            raise TypeError("a stack is opaque")
        return lambda v: take(v.events.stack(t), v.rows)

    def _call(self, x: e.Call) -> Run:
        pure = PURE.get(x.name)
        if pure is None:
            raise NotColumns(f"{x.name} is asked of each event")
        args, t = [self.compile(a) for a in x.args], x.type
        return lambda v: applied(lambda p: pure(x, p), [a(v) for a in args], v.count, t)


_WORDS = {
    "MapGet": "it reads a map, which holds what earlier events left",
    "MapPart": "it reads a map, which holds what earlier events left",
    "MapHas": "it reads a map, which holds what earlier events left",
    "MapLen": "it reads a map, which holds what earlier events left",
    "MapDelete": "it deletes keys, which depends on the order of events",
    "MapAdd": "it reads a map, which holds what earlier events left",
    "Block": "it has a block of statements for a value",
    "Part": "members of structs are read for each event",
}


def _counted(apply: number.Binary, a: Run, b: Run) -> Run:
    def run(v: View) -> Values:
        x, y = cast("Column", a(v)), cast("Column", b(v))
        v.miss("div0", int(np.count_nonzero(y == 0)))
        return apply(x, y)

    return run


def converted(values: Values, of: Type, to: Type, count: int) -> Values:
    if of == to:
        return values
    if is_scalar(of) and is_scalar(to):
        return number.cast(cast("Column", values), to)
    if isinstance(values, Packed) and isinstance(to, Tuple | Record) and isinstance(of, Tuple | Record):
        parts = zip(values.items, item_types(of), item_types(to), strict=True)
        return Packed(tuple(converted(v, a, b, count) for v, a, b in parts))
    change = caster(of, to)
    return applied(lambda p: change(p[0]), [values], count, to)


def applied(function: Callable[[tuple[Any, ...]], Any], args: Sequence[Values], count: int, t: Type) -> Values:
    """A pure function, called once for each different row of its arguments."""
    if not args or not count:
        return constant(function(()) if not args else zero(t), t, count)
    found = groups(Packed(tuple(args)), count)
    rows = found.firsts()
    results = [function(p) for p in zip(*(listed(take(a, rows)) for a in args), strict=True)]
    place = np.zeros(found.size, np.int64)
    place[found.code[rows]] = np.arange(len(rows))
    code = place[found.code]
    if is_scalar(t):
        return np.array(results, dtype_of(t))[code]
    return Coded(code, results)


def as_matrix(v: Values, t: Array) -> Column:
    """A row of numbers for each event."""
    if isinstance(v, Coded):
        return np.array(v.values, dtype_of(t.element)).reshape(len(v.values), t.count)[v.codes]
    return cast("Column", v)


def placed(out: Values, rows: Column, some: Values) -> Values:
    """``some`` values put into ``rows`` of others; the result may be ``out`` itself, changed."""
    match out, some:
        case Coded(), np.ndarray():
            return placed(out, rows, Coded(np.arange(len(some)), listed(some)))
        case Coded(), Coded():
            codes = out.codes.copy()
            codes[rows] = some.codes + len(out.values)
            return Coded(codes, [*out.values, *some.values])
        case Packed(), Packed():
            return Packed(tuple(placed(a, rows, b) for a, b in zip(out.items, some.items, strict=True)))
        case _:
            column = cast("Column", out)
            column[rows] = cast("Column", some)
            return column
