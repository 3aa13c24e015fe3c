"""Clauses that run a row at a time, with what of their expressions can be worked out in columns done beforehand.

    @h[comm] = hist(nsecs - @last[tid])       for each batch: columns of comm, nsecs, tid
                                              for each row: their items, the map, the difference

An expression is done beforehand if it reads no map and no variable, and cannot fail: it may stand where no row goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from probescope.evaluate.columns.expr import ColumnCompiler, Events, NotColumns, View
from probescope.evaluate.columns.expr import Run as ColumnRun
from probescope.evaluate.columns.values import Column, listed
from probescope.evaluate.expr import ExprCompiler, Run
from probescope.evaluate.machine import Do, Machine
from probescope.ir import expr as e
from probescope.ir.program import Clause
from probescope.ir.walk import walk

_SAFE = (e.Const, e.Context, e.Field, e.Arg, e.Ret, e.Reg, e.Stack, e.Unary, e.Logic, e.Select, e.Pack, e.Item, e.Cast)


class Hoisting(ExprCompiler):
    """``columns`` grow while a clause is compiled; ``Row.hoisted`` has a list for each."""

    def __init__(self, machine: Machine, clause: int) -> None:
        super().__init__(machine, clause)
        self.columns: list[ColumnRun] = []
        self._maker = ColumnCompiler()
        self._known: dict[e.Expr, int] = {}

    def compile(self, x: e.Expr) -> Run:
        if isinstance(x, e.Const) or not all(map(_safe, walk([x]))):
            return super().compile(x)
        k = self._known.get(x)
        if k is None:
            try:
                run = self._maker.compile(x)
            except NotColumns:
                return super().compile(x)
            k = self._known[x] = len(self.columns)
            self.columns.append(run)
        return lambda f: f.event.hoisted[k][f.event.i]  # type: ignore[attr-defined]


def _safe(x: object) -> bool:
    if isinstance(x, e.Binary):
        return x.op not in ("div", "mod")
    return isinstance(x, (*_SAFE, e.Call))


class RowClause:
    """``predicate``: ``None`` for always, and where ``masked`` says that rows are chosen already."""

    def __init__(self, machine: Machine, clause: Clause, *, masked: bool) -> None:
        compiler = Hoisting(machine, clause.id)
        held = clause.predicate is None or masked
        self.predicate = None if held or clause.predicate is None else compiler.condition(clause.predicate)
        self.body: Do = machine.statements(compiler, clause.body)
        self._columns: Sequence[ColumnRun] = compiler.columns

    def hoisted(self, events: Events, rows: Column) -> list[list[object]]:
        view = View(events, rows, {}, {})
        return [listed(run(view)) for run in self._columns]
