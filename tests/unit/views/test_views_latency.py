"""Totals of latencies: numbers that were worked out by hand."""

from __future__ import annotations

import numpy as np

from probescope.model.latency import Pairs
from probescope.views.latency.text import as_json, histogram, span, summary, table
from probescope.views.latency.totals import Totals


def pairs(latencies: list[int], by: list[str] | None = None) -> Pairs:
    n = len(latencies)
    keys = (np.array(by, object),) if by is not None else ()
    comm = np.array(["x"] * n, object)
    numbers = np.zeros(n, np.int32)
    return Pairs(np.arange(n, dtype=np.uint64), np.array(latencies, np.uint64), numbers, numbers, comm, keys)


def test_totals():
    """Count, extremes, average and powers of two: ``2**k`` is the first of its bucket; nothing is a bucket of its
    own."""
    totals = Totals(2)
    totals.add(pairs([0, 1, 2, 3, 4, 1023, 1024]))
    total = totals.all
    assert (total.count, total.total, total.least, total.most) == (7, 2057, 0, 1024)
    assert total.buckets == {0: 1, 1: 1, 2: 2, 3: 1, 10: 1, 11: 1}
    assert [c.latency for c in totals.worst] == [1024, 1023]


def test_batches_and_keys():
    """Batches add up, key by key; the worst are those of all of them."""
    totals = Totals(3)
    totals.add(pairs([5, 7, 9], ["a", "b", "a"]))
    totals.add(pairs([100, 1], ["a", "c"]))
    assert {k: (t.count, t.total, t.least, t.most) for k, t in totals.by.items()} == {
        ("a",): (3, 114, 5, 100),
        ("b",): (1, 7, 7, 7),
        ("c",): (1, 1, 1, 1),
    }
    assert [(c.latency, c.by) for c in totals.worst] == [(100, ("a",)), (9, ("a",)), (7, ("b",))]


def test_very_long():
    """Sums beyond 64 bits and numbers that a float cannot hold."""
    totals = Totals(0)
    totals.add(pairs([(1 << 63) - 1] * 4 + [(1 << 60) - 1]))
    assert totals.all.total == 4 * ((1 << 63) - 1) + (1 << 60) - 1
    assert totals.all.buckets == {63: 4, 60: 1}


def test_spans():
    """Three digits and a unit."""
    assert [span(n) for n in (0, 999, 1000, 12_345, 1_500_000, 99_960_000, 2e9)] == [
        "0 ns",
        "999 ns",
        "1.00 us",
        "12.3 us",
        "1.50 ms",
        "100.0 ms",
        "2.00 s",
    ]


def test_text():
    """A table, a line of all, a histogram without gaps."""
    totals = Totals(0)
    totals.add(pairs([1000, 3000, 8000], ["a", "b", "b"]))
    assert list(table(totals, ["comm"], 1)) == [
        "comm       count         min         avg         max\n",
        "b              2     3.00 us     5.50 us     8.00 us\n",
        "... and 1 more\n",
    ]
    assert summary(totals.all) == "3 pairs  min 1.00 us  avg 4.00 us  max 8.00 us\n"
    rows = list(histogram(totals.all))
    assert [r.split("|")[0].split() for r in rows] == [
        ["[512", "ns,", "1.02", "us)", "1"],
        ["[1.02", "us,", "2.05", "us)", "0"],
        ["[2.05", "us,", "4.10", "us)", "1"],
        ["[4.10", "us,", "8.19", "us)", "1"],
    ]


def test_json():
    """Histograms as [low, high, count] in ns."""
    totals = Totals(0)
    totals.add(pairs([0, 5]))
    assert as_json(totals.all, [], ()) == {
        "type": "total",
        "by": {},
        "count": 2,
        "sum_ns": 5,
        "min_ns": 0,
        "avg_ns": 2.5,
        "max_ns": 5,
        "histogram": [[0, 1, 1], [4, 8, 1]],
    }
