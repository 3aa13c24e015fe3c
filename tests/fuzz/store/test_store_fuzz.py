"""Stores of damaged recordings: a typed error, or tables of what is left; never another error."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from formats_tracemaker import Maker
from store_fakes import KINDS, Event, Fake

from probescope.errors import ProbescopeError
from probescope.store.build.builder import Builder
from probescope.store.duck import connect
from probescope.store.making import make

ROUNDS = 25


@pytest.mark.parametrize("version", [6, 7])
def test_damaged_files(tmp_path: Path, version: int) -> None:
    rng = random.Random(version)
    whole = Maker(version=version).build(("", [(i % 2, 1000 + i, 7 + i % 3, i) for i in range(400)]))
    good = 0
    for i in range(ROUNDS):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 8, 64])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path = tmp_path / "x.dat"
        path.write_bytes(bytes(data[: rng.choice([len(data), rng.randrange(len(data))])]))
        try:
            make(str(path), str(tmp_path / f"{i}.db"), lambda *_: None, None, memory="300MB")
            good += 1
        except ProbescopeError:
            pass
    assert good


def test_random_events() -> None:
    """Any numbers in any order: switches of nobody, ends of nothing, times that go back."""
    rng = random.Random(3)

    def number() -> int:
        return rng.choice([0, 1, 2, 3, 7, -1, -2, 1 << 22, (1 << 31) - 1, -(1 << 31)])

    for _ in range(ROUNDS):
        batches = []
        for _ in range(rng.randrange(1, 4)):
            batch = []
            for _ in range(rng.randrange(60)):
                kind = rng.choice(KINDS)
                values = {}
                for f in kind.fields[4:]:
                    if f.declared == "char":
                        values[f.name] = bytes(rng.randrange(256) for _ in range(rng.randrange(8)))
                    elif f.count:
                        values[f.name] = [rng.getrandbits(64) for _ in range(f.count)]
                    else:
                        low = rng.choice([number(), rng.getrandbits(64)]) & ((1 << 8 * f.size) - 1)
                        values[f.name] = low - (1 << 8 * f.size) if f.signed and low >> (8 * f.size - 1) else low
                time = rng.choice([rng.randrange(1000), (1 << 64) - 1, 0])
                batch.append(Event(time, rng.choice([0, 1, -1, 300]), number(), kind, values, flags=rng.randrange(256)))
            batches.append(batch)
        db = connect(memory="300MB")
        Builder(Fake(batches), db, lambda *_: None).build()  # type: ignore[arg-type]
        count = sum(map(len, batches))
        assert db.execute("select count(*) from event").fetchone() == (count,)
        for table in ("sched_slice", "thread_state", "syscall", "irq", "softirq", "func", "span"):
            assert db.execute(f"select count(*) from {table} where dur < 0 or ts < 0 or end_ts < 0").fetchone() == (0,)
        db.close()
