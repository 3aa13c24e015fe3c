"""Pieces of time of a recording as options name them: perf-report(1)'s words for --time."""

from __future__ import annotations

import pytest

from probescope.cli.spans import END, parse_spans
from probescope.errors import UsageError

S = 10**9


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("10.5,12", [(10_500_000_000, 12 * S)]),
        ("10.123456789,", [(10_123_456_789, END)]),
        (",3", [(0, 3 * S)]),
        ("10%-20%", [(10 * S + S, 10 * S + 2 * S - 1)]),
        ("50%/2", [(10 * S + 5 * S, 20 * S)]),
        ("0%-10%,90%-100%", [(10 * S, 11 * S - 1), (19 * S, 20 * S)]),
    ],
)
def test_spans(text: str, spans: list[tuple[int, int]]) -> None:
    assert parse_spans(text, 10 * S, 20 * S) == spans


@pytest.mark.parametrize("text", ["x,y", "12,10.5", "20%-10%", "30%/9", "1e99,", "-1,"])
def test_no_spans(text: str) -> None:
    with pytest.raises(UsageError):
        parse_spans(text, 10 * S, 20 * S)


def test_shares_need_the_ends() -> None:
    """A file that does not tell when it begins has no tenth."""
    with pytest.raises(UsageError, match="does not tell"):
        parse_spans("10%-20%", 0, 0)
