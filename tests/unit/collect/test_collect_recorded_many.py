"""Many threads in one batch: each has its own name, and finding its events does not take a look at all others'."""

from __future__ import annotations

import numpy as np
import pytest

from probescope.collect.recorded import tasks
from probescope.collect.recorded.tasks import _Held, _Stretches


class _Ids:
    """Counts how often all of a column is compared."""

    def __init__(self, column):
        self.column, self.compared = column, 0

    def __eq__(self, other):
        self.compared += 1
        return self.column == other

    def __getattr__(self, name):
        return getattr(self.column, name)

    def __getitem__(self, key):
        return self.column[key]

    def __len__(self):
        return len(self.column)


@pytest.mark.parametrize("few", [0, 3, 1000])
def test_stretches_are_the_same_however_they_are_found(monkeypatch, few):
    """What held before each change, worked out one event after the other here."""
    monkeypatch.setattr(tasks, "FEW_IDS", few)
    rng = np.random.default_rng(7)
    ids = rng.integers(-1, 50, 1000).astype(np.int32)
    state = dict.fromkeys([*range(-1, 50), 1 << 31], 0)
    stretches = _Stretches(ids, _Held(lambda one: state[one]))
    changes = sorted(
        (int(at), int(one)) for at, one in zip(rng.integers(0, 1000, 200), rng.integers(-1, 50, 200), strict=True)
    )
    expected, begun = [], {}
    for at, one in [*changes, (1000, 1 << 31)]:
        expected.extend([begun.get(int(ids[i]), 0) for i in range(len(expected), at)])
        begun[one] = begun.get(one, 0) + 1
        stretches.until(one, at)
        state[one] += 1
        stretches._held.changed(one)
    assert stretches.finish().tolist() == expected


def test_many_threads_take_one_sort():
    ids = _Ids(np.arange(5000, dtype=np.int32))
    stretches = _Stretches(ids, _Held(lambda one: one))
    for one in range(5000):
        stretches.until(one, one + 1)
    assert ids.compared <= tasks.FEW_IDS
