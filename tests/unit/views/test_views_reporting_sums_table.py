"""Sums by rows that were met before, against sums made one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from probescope.views.reporting import sums_table
from probescope.views.reporting.sums_table import Table


class _Sums:
    def __init__(self) -> None:
        self.weights: Counter[tuple[int, ...]] = Counter()
        self.counts: Counter[tuple[int, ...]] = Counter()

    def add(self, row: tuple[int, ...], weight: int, count: int) -> None:
        self.weights[row] += weight
        self.counts[row] += count


def _by_hand(batches: list[tuple[int, list[np.ndarray], np.ndarray]]) -> _Sums:
    sums = _Sums()
    for event, columns, periods in batches:
        for *row, period in zip(*(c.tolist() for c in columns), periods.tolist(), strict=True):
            sums.add((event, *row), period, 1)
    return sums


def _batches(different: int, equal_periods: bool) -> list[tuple[int, list[np.ndarray], np.ndarray]]:
    random = np.random.default_rng(different)
    out = []
    for event in (0, 1, 0, 1):
        columns = [
            random.integers(0, different, 5000).astype(np.int32),
            -(1 << 46) + random.integers(0, 3, 5000) * 16,
        ]
        periods = np.full(5000, 7, np.uint64) if equal_periods else random.integers(1, 1 << 40, 5000).astype(np.uint64)
        out.append((event, columns, periods))
    return out


@pytest.mark.parametrize("equal_periods", [True, False])
@pytest.mark.parametrize("different", [1, 40, 100_000])
def test_sums_are_those_made_one_by_one(different: int, equal_periods: bool):
    """Few rows, and more than there are slots; of two events that have the same rows; negative numbers too."""
    table, sums = Table(), _Sums()
    batches = _batches(different, equal_periods)
    for event, columns, periods in batches:
        table.add(event, columns, periods, sums.add)
    table.empty(sums.add)
    expected = _by_hand(batches)
    assert sums.weights == expected.weights
    assert sums.counts == expected.counts


def test_rows_that_want_one_slot_do_not_mix(monkeypatch: pytest.MonkeyPatch):
    """Whoever comes second is summed without the table."""
    monkeypatch.setattr(sums_table, "_slots", lambda keys, _: np.zeros(len(keys), np.int64))
    table, sums = Table(), _Sums()
    batches = _batches(5, False)
    for event, columns, periods in batches:
        table.add(event, columns, periods, sums.add)
    assert len(table) == 1
    table.empty(sums.add)
    assert sums.weights == _by_hand(batches).weights


def test_what_was_given_away_is_not_given_again():
    """Sums go on after some were taken, as in a view that lives."""
    table, sums = Table(), _Sums()
    one = np.array([3], np.int64)
    for _ in range(2):
        table.add(0, [one], np.array([5], np.uint64), sums.add)
        table.empty(sums.add)
    table.empty(sums.add)
    assert sums.weights == {(0, 3): 10}
    assert sums.counts == {(0, 3): 2}


def test_many_rows_get_a_larger_table() -> None:
    """A recording with tens of thousands of different stacks must not be summed row by row in Python: the table grows
    with them, and no sum is lost or counted twice on the way."""
    table, left = Table(), []
    rows = np.arange(40_000)
    for _ in range(4):
        table.add(0, [rows], np.full(len(rows), 3, np.uint64), lambda *one: left.append(one))
    sums: dict[tuple[int, ...], list[int]] = {}

    def add(row: tuple[int, ...], weight: int, count: int) -> None:
        found = sums.setdefault(row, [0, 0])
        found[0], found[1] = found[0] + weight, found[1] + count

    in_table = len(table)
    for one in left:
        add(*one)
    table.empty(add)
    assert sums == {(0, n): [12, 4] for n in range(40_000)}
    assert in_table > 20_000
