"""Pieces of time of a recording as options name them: perf-report(1)'s words for --time."""

from __future__ import annotations

import itertools

import pytest

from probescope.errors import UsageError
from probescope.views.spans import FOREVER, Spans, spans

S = 10**9


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10.5,12", [(10_500_000_000, 12 * S)]),
        ("10.123456789,", [(10_123_456_789, FOREVER)]),
        (",3", [(0, 3 * S)]),
        (",3 5,6", [(0, 3 * S), (5 * S, 6 * S)]),
        ("10%-20%", [(10 * S + S, 10 * S + 2 * S - 1)]),
        ("50%/2", [(10 * S + 5 * S, 20 * S)]),
        ("0%-10%,90%-100%", [(10 * S, 11 * S - 1), (19 * S, 20 * S)]),
    ],
)
def test_spans(text: str, found: list[tuple[int, int]]) -> None:
    assert list(spans(text).resolved(10 * S, 20 * S)) == found


def test_shares_of_time_add_up() -> None:
    """As with perf's, no nanosecond belongs to two neighbours."""
    pieces = [spans(f"10%/{i}").resolved(1003, 2017)[0] for i in range(1, 11)]
    assert pieces[0][0] == 1003
    assert pieces[-1][1] == 2017
    assert all(a[1] + 1 == b[0] for a, b in itertools.pairwise(pieces))


NONE = "x,y 1 2,1 12,10.5 1,2,3 0% 10%/0 10%/11 20%-10% 30%/9 1e99, 1e9, -1,2 %".split()


@pytest.mark.parametrize("text", NONE)
def test_spans_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="span of time"):
        spans(text)
    assert spans("1.5,2") == Spans(((1_500_000_000, 2_000_000_000),))
