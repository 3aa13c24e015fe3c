"""Columns of calls as rows and documents."""

from __future__ import annotations

import numpy as np

from probescope.formats.tracing.call_totals import CallTotals
from probescope.formats.tracing.calls import ENTRY, RETURN, CallColumns
from probescope.views.graph.flame import stacks
from probescope.views.graph.rows import document, rows
from probescope.views.graph.tree import Row

KERNEL = 1 << 40


class Names:
    def function(self, number):
        return f"k{number - KERNEL}" if number >= KERNEL else f"f{number}"

    def arguments(self, number, values):
        return ", ".join(map(str, values[:2]))

    def of_kernel(self, number):
        return number >= KERNEL


def columns(*calls):
    """(kind, func, depth, duration)."""
    kind, func, depth, duration = (np.array(c) for c in zip(*calls, strict=True))
    count = np.arange(len(calls))
    none = np.zeros(len(calls), np.uint64)
    return CallColumns(
        count * 2,
        kind,
        count * 0,
        count * 0 + 7,
        count + 100,
        func.astype(np.uint64),
        depth,
        duration,
        None,
        none,
    )


CALLS = columns((ENTRY, 1, 0, 0), (ENTRY, KERNEL + 2, 1, 0), (RETURN, KERNEL + 2, 1, 40), (RETURN, 1, 0, 100))


def event(place):
    return place, Row(0, 7, 0, 0, False, text=f"at {place}")


def test_events_stand_where_they_came():
    """Calls are at 0, 2, 4 and 6 of their batch."""
    found = list(rows(CALLS, [event(1), event(5), event(7), event(8)]))
    assert [r.text or r.func - KERNEL * (r.func >= KERNEL) for r in found] == [
        1,
        "at 1",
        2,
        2,
        "at 5",
        1,
        "at 7",
        "at 8",
    ]


def test_short_calls_are_left_out_and_events_are_not():
    found = list(rows(CALLS, [event(1), event(5)], least=50))
    assert [(r.returns, r.duration, r.text) for r in found] == [
        (False, 0, "at 1"),
        (False, 0, "at 5"),
        (True, 100, ""),
    ]


def test_documents_say_whose_a_function_is():
    first, second, third, fourth = rows(CALLS, [])
    assert document(first, Names()) == {
        "type": "call",
        "time": 100,
        "cpu": 0,
        "tid": 7,
        "depth": 0,
        "function": "f1",
        "space": "user",
    }
    assert document(second, Names())["space"] == "kernel"
    assert document(third, Names())["duration_ns"] == 40
    assert "value" not in document(fourth, Names())
    assert document(second._replace(args=(3, 4)), Names())["args"] == "3, 4"
    assert document(event(1)[1], Names()) == {"type": "event", "time": 0, "cpu": 0, "tid": 7, "text": "at 1"}


def test_flame_graphs_mark_the_kernel_where_both_are():
    totals = CallTotals()
    totals.add(CALLS)
    samples = stacks(totals, Names())
    assert {";".join(samples.path(node)): weight for (node, _, _), weight in samples.rows.items()} == {
        "f1": 60,
        "f1;k2_[k]": 40,
    }
