"""Tables and call graphs of a report. Trees are drawn by hand after perf report's own."""

from __future__ import annotations

from probescope.collect.recorded.totals import Row
from probescope.views import report
from probescope.views.report import Look

STACKS = {
    (("m", "leaf"), ("m", "middle"), ("m", "main")): 60,
    (("m", "leaf"), ("m", "other"), ("m", "main")): 30,
    (("m", "leaf"), ("m", "rare"), ("m", "main")): 10,
}


def test_chain_and_branches() -> None:
    """A chain has no shares; branches below the limit are left out."""
    text = "".join(report.graph(STACKS, 1000, Look(graph="callee", least_branch=2.0)))
    assert text.splitlines() == [
        "            |",
        "            ---leaf",
        "               |",
        "               |--6.00%--middle",
        "               |         main",
        "               |",
        "                --3.00%--other",
        "                         main",
        "",
    ]


def test_callers_first() -> None:
    text = "".join(report.graph(STACKS, 1000, Look(graph="caller", least_branch=5.0)))
    assert text.splitlines() == [
        "            |",
        "            ---main",
        "               |",
        "                --6.00%--middle",
        "                         leaf",
        "",
    ]


def test_deep_stacks_are_no_recursion() -> None:
    path = tuple(("m", f"f{i}") for i in range(5000))
    assert len(list(report.graph({path: 1}, 1, Look(graph="callee")))) == 5002


def test_table() -> None:
    rows = [Row(("sh", "libc.so.6"), 75, 80, 3), Row(("ls\x1b[31m", "x"), 25, 25, 1)]
    assert "".join(report.table(rows, 100, Look(("comm", "dso"), counts=True))).splitlines() == [
        "# Overhead   Samples  Command  Shared Object",
        "# ........  ........  .......  .............",
        "#",
        "    75.00%         3  sh       libc.so.6",
        "    25.00%         1  ls?[31m  x",
    ]
    narrow = "".join(
        report.table([Row(("sh",), 75, 80), Row(("ls",), 25, 25)], 100, Look(("comm",), children=True, least=50))
    )
    assert narrow.splitlines()[3:] == ["    80.00%    75.00%  sh"]


def test_heading() -> None:
    assert report.heading("cycles:u", 12345, 9) == "# Samples: 12K of event 'cycles:u'\n# Event count (approx.): 9\n#\n"
