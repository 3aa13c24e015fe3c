"""Clauses as functions of columns: what they add to maps, for all rows at once.

    events ──► predicate ──► rows ──► statements, each over all rows that reach it ──► additions by map and key

Statements come one after the other, not event by event. That is the same where nothing but additions to aggregations
(and ``@x += n`` on integers) is done, and nothing of a map is read. ``ColumnClause`` raises ``NotColumns`` for the
rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from probescope.evaluate.columns import agg
from probescope.evaluate.columns.expr import ColumnCompiler, Events, NotColumns, View, placed
from probescope.evaluate.columns.values import Coded, Column, Packed, Rows, Values, constant, dtype_of
from probescope.frozen import dataclass, field
from probescope.ir import stmt as s
from probescope.ir.expr import Const, Expr, MapAdd
from probescope.ir.program import Clause, Program
from probescope.model.codec import zero
from probescope.model.types import Agg, Int, Type, is_scalar, wrap


@dataclass(slots=True)
class Additions:
    """What is to be merged into maps: ``states`` of aggregations, ``sums`` for integers. ``errors`` by kind;
    ``said``: records by action, as columns, and how many."""

    states: list[tuple[str, agg.States]] = field(default_factory=list)
    sums: list[tuple[str, agg.States]] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    said: list[tuple[int, list[Values], int]] = field(default_factory=list)


Do = Callable[[View, Additions], View]
"""Gives the rows that go on: fewer after a return."""


class ColumnClause:
    """``maps``: names of those it adds to. ``saying``: actions whose records may be columns."""

    def __init__(self, program: Program, clause: Clause, saying: frozenset[int] = frozenset()) -> None:
        self._saying = saying
        self._program = program
        self._compiler = ColumnCompiler()
        self._types = {v.name: v.type for v in clause.variables}
        self.maps: set[str] = set()
        self._predicate = None if clause.predicate is None else self._compiler.condition(clause.predicate)
        self._body = self._block(clause.body)

    def run(self, events: Events, rows: Rows, out: Additions) -> None:
        view = View(events, rows, {}, out.errors)
        if self._predicate is not None:
            view = view.some(self._predicate(view))
        if view.count:
            self._body(view, out)

    def _block(self, body: tuple[s.Stmt, ...]) -> Do:
        steps = [self._statement(x) for x in body]

        def run(view: View, out: Additions) -> View:
            for step in steps:
                if not view.count:
                    break
                view = step(view, out)
            return view

        return run

    def _statement(self, x: s.Stmt) -> Do:
        match x:
            case s.MapUpdate():
                return self._update(x)
            case s.Discard(value=MapAdd() as add):
                return self._add(add)
            case s.Discard(value=value):
                run = self._compiler.compile(value)

                def discard(view: View, out: Additions) -> View:
                    run(view)
                    return view

                return discard
            case s.Assign():
                return self._assign(x)
            case s.If():
                return self._if(x)
            case s.Emit() if x.action in self._saying:
                return self._say(x)
            case s.Return(value=None | Const()):
                return lambda view, _: view.some(np.zeros(view.count, np.bool_))
            case _:
                raise NotColumns(_WORDS.get(type(x).__name__, f"{type(x).__name__} is done for each event"))

    def _key(self, x: Expr | None) -> Callable[[View], Values | None]:
        return (lambda _: None) if x is None else self._compiler.compile(x)

    def _update(self, x: s.MapUpdate) -> Do:
        decl = self._program.map(x.map)
        if decl.kind in ("lruhash", "percpulruhash"):
            raise NotColumns(f"@{x.map} forgets keys, which depends on the order of events")
        assert isinstance(decl.value, Agg)
        make, key = agg.maker(decl.value), self._key(x.key)
        value = None if x.value is None else self._compiler.compile(x.value)
        kind = dtype_of(x.value.type) if x.value is not None else "u8"
        match x.weight:
            case None:
                weight = 1
            case Const(value=int() as n):
                weight = n
            case _:
                raise NotColumns("each event has a weight of its own")
        self.maps.add(x.map)

        def run(view: View, out: Additions) -> View:
            values = np.ones(view.count, np.uint64) if value is None else cast("Column", value(view)).astype(kind)
            out.states.append((x.map, agg.grouped(key(view), values, weight, make)))
            return view

        return run

    def _add(self, x: MapAdd) -> Do:
        decl = self._program.map(x.map)
        if decl.kind in ("lruhash", "percpulruhash"):
            raise NotColumns(f"@{x.map} forgets keys, which depends on the order of events")
        t = decl.value if isinstance(decl.value, Int) else Int(8, True)
        make, key, delta = agg.maker(Agg("sum", Int(8, t.signed))), self._key(x.key), self._compiler.compile(x.delta)
        self.maps.add(x.map)

        def run(view: View, out: Additions) -> View:
            sums = agg.grouped(key(view), cast("Column", delta(view)), 1, make)
            out.sums.append((x.map, [(k, wrap(v, t)) for k, v in sums]))
            return view

        return run

    def _say(self, x: s.Emit) -> Do:
        values = [self._compiler.compile(v) for v in x.values]

        def run(view: View, out: Additions) -> View:
            out.said.append((x.action, [v(view) for v in values], view.count))
            return view

        return run

    def _assign(self, x: s.Assign) -> Do:
        value, t = self._compiler.compile(x.value), self._types.get(x.name, x.value.type)

        def run(view: View, out: Additions) -> View:
            view.variables[x.name] = self._stored(view, x.name, value(view), t)
            return view

        return run

    @staticmethod
    def _stored(view: View, name: str, new: Values, t: Type) -> Values:
        if view.rows is None:
            return new
        held = view.variables.get(name)
        if held is None:
            held = constant(zero(t), t, view.events.count)
        if is_scalar(t):
            held = cast("Column", held).copy()  # another name may have the same column
        elif isinstance(held, Packed):
            held = _copied(held)
        return placed(held, view.rows, new)

    def _if(self, x: s.If) -> Do:
        cond, then, otherwise = self._compiler.condition(x.cond), self._block(x.then), self._block(x.otherwise)

        def run(view: View, out: Additions) -> View:
            holds = cond(view)
            yes, no = view.some(holds), view.some(~holds)
            after = then(yes, out).rows, otherwise(no, out).rows
            if after[0] is yes.rows and after[1] is no.rows:
                return view
            rows = np.union1d(cast("Column", after[0]), cast("Column", after[1]))
            return View(view.events, rows, view.variables, view.errors)

        return run


def _copied(v: Values) -> Values:
    match v:
        case Packed(items=items):
            return Packed(tuple(_copied(i) for i in items))
        case Coded():
            return v
        case _:
            return v.copy()


_WORDS = {
    "Emit": "it says something for each event",
    "MapSet": "it sets a key, which depends on the order of events",
    "While": "it has a loop",
    "ForRange": "it has a loop",
    "ForMap": "it goes over a map",
    "Effect": "it changes something",
}
