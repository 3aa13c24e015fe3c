"""Columns and rows are the same: random programs over random batches leave equal maps, records and errors."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.evaluate.columns.rows import Row
from probescope.evaluate.columns.runner import Firing, Runner
from probescope.evaluate.machine import Machine
from probescope.evaluate.store import MemoryStore
from tests.support.evaluate_random import RandomEvents, RandomProgram


def batches(rng, clauses):
    """Firings of every clause, in some batches."""
    out = []
    for _ in range(rng.randrange(1, 4)):
        places = [sorted(rng.sample(range(80), rng.randrange(0, 40))) for _ in range(clauses)]
        out.append([Firing(i, RandomEvents(rng, len(p), i), np.array(p, np.int64)) for i, p in enumerate(places)])
    return out


def by_columns(program, firings, cuts):
    said, store = [], MemoryStore(program)
    machine = Machine(program, store, lambda _, values: said.append(values))
    runner = Runner(program, machine, store, [c.id for c in program.clauses])
    for batch in firings:
        for low, high in zip([0, *cuts], [*cuts, 80], strict=True):
            runner.run(batch, low, high, lambda: False)
    return said, store, machine, runner


def by_rows(program, firings):
    said, store = [], MemoryStore(program)
    machine = Machine(program, store, lambda _, values: said.append(values))
    for batch in firings:
        rows = {f.clause: Row(f.events, np.arange(f.events.count)) for f in batch}
        todo = sorted((int(place), f.clause, i) for f in batch for i, place in enumerate(f.at))
        for _, clause, i in todo:
            rows[clause].i = i
            machine.run(clause, rows[clause])
    return said, store, machine


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 32))
def test_columns_and_rows_leave_the_same(seed):
    """Protects the replay and perf collectors: whichever way a clause runs, its result is that of the machine."""
    rng = random.Random(seed)
    program = RandomProgram(rng, rng.randrange(1, 4)).program
    firings = batches(rng, len(program.clauses))
    cuts = sorted(rng.sample(range(1, 80), rng.randrange(0, 3)))
    said, store, machine, _ = by_columns(program, firings, cuts)
    said_too, store_too, machine_too = by_rows(program, firings)
    for m in program.maps:
        assert store.state(m.name) == store_too.state(m.name)
    assert said == said_too
    assert machine.errors == machine_too.errors


def test_most_random_programs_run_in_columns():
    """The property above would hold of nothing if all ran a row at a time."""
    ways = []
    for seed in range(200):
        rng = random.Random(seed)
        program = RandomProgram(rng, 2).program
        ways += by_columns(program, [], [])[3].ways.values()
    assert sum(not w for w in ways) > len(ways) * 0.4


@pytest.mark.parametrize("stop", [0, 5, 33, 200])
def test_a_program_that_ends_itself_counts_what_was_until_then(stop):
    """Events after the one that asks for the end are not counted, in columns either."""
    from probescope.ir.program import Action, Clause, MapDecl, Program
    from probescope.ir.stmt import Emit, MapUpdate
    from probescope.model.types import Agg
    from tests.support.evaluate_random import SITES

    counts = Clause(0, SITES[:1], (MapUpdate("n", None),))
    says = Clause(1, SITES[1:2], (Emit(0),))
    after = Clause(2, SITES[2:3], (MapUpdate("m", None),))
    maps = (MapDecl("n", None, Agg("count")), MapDecl("m", None, Agg("count")))
    program = Program((counts, says, after), maps, (Action("exit"),))
    said, store = [], MemoryStore(program)
    machine = Machine(program, store, lambda _, values: said.append(values))
    runner = Runner(program, machine, store, [0, 1, 2])
    rng = random.Random(1)
    places = np.arange(50)
    firings = [Firing(i, RandomEvents(rng, 50, i), places) for i in range(3)]
    assert runner.run(firings, 0, 50, lambda: len(said) > stop) is (stop < 50)
    assert store.state("n") == {None: min(stop + 1, 50)}
    assert store.state("m") == ({None: min(stop, 50)} if stop else {})
