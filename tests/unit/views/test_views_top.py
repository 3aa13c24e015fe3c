"""Sums that fade. Numbers are worked out by hand: 7/8 a look."""

from __future__ import annotations

from probescope.views.reporting.keys import KEYS
from probescope.views.reporting.sums import Sums
from probescope.views.top.profile import Shown, Snapshot, View
from probescope.views.top.text import about, table


def sums(**groups: tuple[int, int]) -> Sums:
    out = Sums(None, [0], ["cpu"])  # type: ignore[arg-type]
    out._sums = {(0, i): [weight, count] for i, (weight, count) in enumerate(groups.values())}
    out.weight, out.samples = [sum(w for w, _ in groups.values())], [sum(n for _, n in groups.values())]
    return out


def test_what_is_old_weighs_less() -> None:
    found = sums(a=(800, 8), b=(80, 8))
    found.fade(7, 8)
    assert [(g.cpu, g.period, g.samples) for g in found.groups()] == [(0, 700, 7), (1, 70, 7)]
    assert (found.weight, found.samples) == ([770], [14])


def test_what_is_hardly_there_is_forgotten() -> None:
    """A quarter of a usual sample (here 100 / 10): one that was not seen again goes after ten looks."""
    found = sums(a=(1000, 10), b=(20, 1))
    found.fade(7, 8)
    assert [g.cpu for g in found.groups()] == [0]


def test_no_more_than_so_many() -> None:
    found = sums(a=(100, 1), b=(300, 3), c=(200, 2))
    found.fade(1, 1, most=2)
    assert sorted(g.cpu for g in found.groups()) == [1, 2]
    assert found.weight == [500]


def test_text() -> None:
    view = View((KEYS["dso"], KEYS["symbol"]))
    rows = (Shown(("work", "[.] leaf"), 75.0, 75.0, 30), Shown(("libc.so.6", "[.] read"), 5.25, 5.25, 2))
    snapshot = Snapshot(rows, 1234, 5678, 1, 3, 2)
    assert (
        about("cycles", "4,000 Hz", 2, snapshot, "thread sh")
        == "1,234 samples of cycles, 4,000 Hz, 2 CPUs, lost: 3; thread sh"
    )
    assert "".join(table(snapshot, view, counts=True)).splitlines() == [
        "  Overhead   Samples  Shared Object  Symbol",
        "    75.00%        30  work           [.] leaf",
        "     5.25%         2  libc.so.6      [.] read",
    ]
