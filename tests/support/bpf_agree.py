"""Holds compiled programs against their meaning: what the kernel does with one is what evaluate/ says.

Maps, records in their order, and counted errors must be equal after a program was fired with a few argument lists.
"""

from __future__ import annotations

import ctypes
import random

from bpf_object import load
from ir_random import memory, random_program, random_runs

from probescope.evaluate.machine import Machine
from probescope.evaluate.store import MemoryStore
from probescope.evaluate.world import Blank
from probescope.ir import expr as x
from probescope.ir.walk import clause_nodes

MEMORY = memory()
BUFFER = ctypes.create_string_buffer(MEMORY, len(MEMORY))
BASE = ctypes.addressof(BUFFER)
RUNS = 6


class Fired(Blank):
    """The same arguments and memory as the kernel sees."""

    def __init__(self, args):
        self.args = args

    def argument(self, index):
        return self.args[index] & ((1 << 64) - 1)

    def read(self, space, address, size):
        at = address - BASE
        return MEMORY[at : at + size] if 0 <= at < len(MEMORY) else None


def evaluated(program, runs):
    """(maps, records, errors) as they are meant."""
    records = []
    store = MemoryStore(program)
    machine = Machine(program, store, lambda action, values: records.append((action, values)))
    for args in runs:
        machine.run(0, Fired(args))
    errors = {}
    for (kind, _), n in machine.errors.items():
        errors[kind] = errors.get(kind, 0) + n
    return {m.name: store.state(m.name) for m in program.maps}, records, errors


def compiled(program, runs, features):
    with load(program, features, ring=1 << 20) as loaded:
        for args in runs:
            loaded.run(*args)
        records = loaded.records() if loaded.ring else []
        return {m.name: loaded.map(m.name) for m in program.maps}, records, loaded.counters()


def reads_whole_arrays(program):
    """An element of an array in memory is read alone, and not at all if the index is out of range: the evaluator, which
    reads the whole array, may count a failure more."""
    return any(isinstance(n, x.Index) and isinstance(n.x, x.Load) for n in clause_nodes(program.clauses[0]))


def agree(seed, features):
    """Asserts it of one random program."""
    rng = random.Random(seed)
    program = random_program(rng, 4 + seed % 12)
    runs = random_runs(rng, BASE, RUNS)
    maps, records, errors = evaluated(program, runs)
    got_maps, got_records, got_errors = compiled(program, runs, features)
    assert got_maps == maps
    assert got_records == records
    if reads_whole_arrays(program):
        errors.pop("read", 0)
        got_errors.pop("read", 0)
    assert got_errors == errors
