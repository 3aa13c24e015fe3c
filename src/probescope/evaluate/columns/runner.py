"""The clauses of a program over batches of events: in columns where that is the same, a row at a time where it is not.

Clauses that run in columns add to maps that no other clause of the events looks at, so that it does not matter which of
the two ways goes first. Rows go first: they may end the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from probescope.evaluate.columns.clause import Additions, ColumnClause
from probescope.evaluate.columns.expr import ColumnCompiler, Events, NotColumns, View
from probescope.evaluate.columns.hoist import RowClause
from probescope.evaluate.columns.rows import Row
from probescope.evaluate.columns.values import Column, Values
from probescope.evaluate.machine import Machine
from probescope.evaluate.store import MemoryStore
from probescope.evaluate.world import Frame
from probescope.frozen import dataclass
from probescope.ir.needs import needs
from probescope.ir.program import Clause, Program

Say = Callable[[int, Sequence[Values], int], None]
"""Takes the index of an action, its values, a row for each record, and how many there are."""


@dataclass(frozen=True, slots=True, eq=False)
class Firing:
    """A clause and the events of a batch that fire it; ``at``: the place of each in the batch, ascending."""

    clause: int
    events: Events
    at: Column

    def rows(self, low: int, high: int) -> Column:
        """Those at places from ``low`` on, before ``high``."""
        first, last = np.searchsorted(self.at, (low, high)).tolist()
        return np.arange(first, last)


class Runner:
    """``ways``: for each clause, why it runs a row at a time; empty for those that run in columns."""

    def __init__(self, program: Program, machine: Machine, store: MemoryStore, clauses: Sequence[int]) -> None:
        self._machine = machine
        self._store = store
        self._order = {c.id: n for n, c in enumerate(program.clauses)}
        mine = [c for c in program.clauses if c.id in set(clauses)]
        self._program, self._clauses = program, mine
        self._by_id = {c.id: c for c in mine}
        self._say: Say | None = None
        self._compile(frozenset())

    def _compile(self, saying: frozenset[int]) -> None:
        self.ways, self._columns = ways(self._program, self._clauses, saying)
        self._masks = {c.id: _mask(c) for c in self._clauses if self.ways[c.id]}
        self._rows: dict[int, RowClause] = {}

    def columnar(self, saying: frozenset[int], say: Say) -> None:
        """From now on records of these actions may come as columns, to ``say``."""
        self._say = say
        self._compile(saying)

    def run(self, firings: Sequence[Firing], low: int, high: int, over: Callable[[], bool]) -> bool:
        """Events at places from ``low`` on, before ``high``. Stops after the one that makes ``over`` true; whether it
        did."""
        single = [f for f in firings if f.clause not in self._columns]
        ended = self._by_rows(single, low, high, over) if single else None
        together = [f for f in firings if f.clause in self._columns]
        if ended is not None:
            place, order = ended
            self._by_columns([f for f in together if self._order[f.clause] < order], low, place + 1)
            self._by_columns([f for f in together if self._order[f.clause] > order], low, place)
            return True
        self._by_columns(together, low, high)
        return False

    # --- columns

    def _by_columns(self, firings: Sequence[Firing], low: int, high: int) -> None:
        done: list[tuple[int, Additions]] = []
        for f in firings:
            rows = f.rows(low, high)
            if len(rows):
                out = Additions()
                self._columns[f.clause].run(f.events, None if len(rows) == f.events.count else rows, out)
                done.append((f.clause, out))
        if not self._fits([out for _, out in done]):
            self._by_rows(firings, low, high, lambda: False)  # which keys find room depends on the order of events
            return
        for clause, out in done:
            for said in out.said:
                assert self._say is not None
                self._say(*said)
            for name, states in out.states:
                for key, state in states:
                    self._store.merge(name, key, state)
            for name, sums in out.sums:
                for key, delta in sums:
                    self._store.add(name, key, delta)
            for kind, count in out.errors.items():
                found = self._machine.errors
                found[kind, clause] = found.get((kind, clause), 0) + count

    def _fits(self, found: Sequence[Additions]) -> bool:
        keys: dict[str, set[object]] = {}
        for out in found:
            for name, states in (*out.states, *out.sums):
                keys.setdefault(name, set()).update(key for key, _ in states)
        return all(self._store.fits(name, some) for name, some in keys.items())

    # --- rows

    def _by_rows(
        self, firings: Sequence[Firing], low: int, high: int, over: Callable[[], bool]
    ) -> tuple[int, int] | None:
        """Place and clause's number where it ended, if it did."""
        chosen = [(f, self._chosen(f, low, high)) for f in firings]
        chosen = [(f, rows) for f, rows in chosen if len(rows)]
        if not chosen:
            return None
        runs = [self._run(f, rows) for f, rows in chosen]
        for place, which, i in _in_order(chosen, self._order):
            runs[which](i)
            if over():
                return place, self._order[chosen[which][0].clause]
        return None

    def _chosen(self, f: Firing, low: int, high: int) -> Column:
        """The rows whose predicate holds, where that can be told from columns; else all."""
        rows, mask = f.rows(low, high), self._masks.get(f.clause)
        if mask is None or not len(rows):
            return rows
        errors: dict[str, int] = {}
        kept = rows[mask(View(f.events, rows, {}, errors))]
        for kind, count in errors.items():
            found = self._machine.errors
            found[kind, f.clause] = found.get((kind, f.clause), 0) + count
        return kept

    def _run(self, f: Firing, rows: Column) -> Callable[[int], None]:
        compiled = self._rows.get(f.clause)
        if compiled is None:
            clause, masked = self._by_id[f.clause], self._masks.get(f.clause) is not None
            compiled = self._rows[f.clause] = RowClause(self._machine, clause, masked=masked)
        predicate, body = compiled.predicate, compiled.body
        event, errors = Row(f.events, rows, compiled.hoisted(f.events, rows)), self._machine.errors

        def run(i: int) -> None:
            event.i = i
            frame = Frame(event, errors, {})
            if predicate is None or predicate(frame):
                body(frame)

        return run


def _in_order(chosen: Sequence[tuple[Firing, Column]], order: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
    """(place, which of ``chosen``, number of its row), by place; at one place in the order of the script."""
    if len(chosen) == 1:
        f, rows = chosen[0]
        for i, place in enumerate(f.at[rows].tolist()):
            yield place, 0, i
        return
    place = np.concatenate([f.at[rows] for f, rows in chosen])
    number = np.repeat([order[f.clause] for f, _ in chosen], [len(rows) for _, rows in chosen])
    which = np.repeat(np.arange(len(chosen)), [len(rows) for _, rows in chosen])
    row = np.concatenate([np.arange(len(rows)) for _, rows in chosen])
    by = np.lexsort((number, place))
    yield from zip(place[by].tolist(), which[by].tolist(), row[by].tolist(), strict=True)


def _mask(clause: Clause) -> Callable[[View], Column] | None:
    """A predicate as a mask, if it can be one."""
    if clause.predicate is None:
        return None
    try:
        return ColumnCompiler().condition(clause.predicate)
    except NotColumns:
        return None


# --- which way


def ways(
    program: Program, clauses: Sequence[Clause], saying: frozenset[int] = frozenset()
) -> tuple[dict[int, str], dict[int, ColumnClause]]:
    """Why each clause has to run a row at a time, empty for those that need not; and these, compiled."""
    reasons: dict[int, str] = {}
    compiled: dict[int, ColumnClause] = {}
    for clause in clauses:
        try:
            compiled[clause.id] = ColumnClause(program, clause, saying)
            reasons[clause.id] = ""
        except NotColumns as e:
            reasons[clause.id] = str(e)
    single = [c for c in clauses if reasons[c.id]]
    while single:
        used = {name: c for c in single for name in touched(program, c)}
        found = [c for c in clauses if c.id in compiled and compiled[c.id].maps & used.keys()]
        for c in found:
            name = min(compiled.pop(c.id).maps & used.keys())
            reasons[c.id] = f"@{name} is also used by a clause that takes one event after the other"
        single = found
    return reasons, compiled


def by_rows(program: Program, clauses: Sequence[Clause]) -> dict[int, str]:
    """Of ``ways`` the reasons alone."""
    return ways(program, clauses)[0]


def touched(program: Program, clause: Clause) -> set[str]:
    """The maps that a clause looks at, changes or has printed."""
    n = needs(clause)
    printed = {program.actions[i].map for i in n.actions if program.actions[i].kind in _OF_MAPS}
    return {*n.maps_read, *n.maps_written, *n.maps_updated, *printed}


_OF_MAPS = frozenset({"print_map", "print_item", "clear", "zero"})
