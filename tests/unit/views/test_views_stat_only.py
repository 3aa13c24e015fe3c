"""``stat --metric-only``: columns of metrics, as tools/perf/util/stat-display.c of Linux 6.1 prints them."""

from __future__ import annotations

import json

from probescope.model.counting import Total
from probescope.views.stat import Named, Row
from probescope.views.stat_only import csv, jsonl, text

COUNTS = (
    ("task-clock", (0.9, "%8.3f", "CPUs utilized")),
    ("cycles", (3.1, "%8.3f", "GHz")),
    ("instructions", (1.52, "%7.2f ", "insn per cycle")),
    ("branch-misses", (0.93, "%7.2f%%", "of all branches")),
    ("page-faults", (4.0, "%8.3f", "K/sec")),
)


def row(i: int, cpu: int = -1) -> Row:
    name, metric = COUNTS[i]
    key = (cpu,) if cpu >= 0 else ()
    prefix = f"CPU{cpu:<8}" if cpu >= 0 else ""
    data = (("cpu", str(cpu)),) if cpu >= 0 else ()
    return Row(Named(name), Total(i, key, 1.0, 1, 1, 1), metric, prefix, data)


ROWS = [row(i) for i in range(len(COUNTS))]


def test_columns_of_20_and_no_rates() -> None:
    """What names a part of something has the event's name in front; longer names make wider values."""
    head, values = text(ROWS, headed=True).splitlines()
    assert head == "                 GHz       insn per cycle branch-misses of all branches "
    assert values == "               3.100                1.52                           0.93% "
    assert text(ROWS, 1.5, headed=False).startswith("     1.500000000                3.100 ")


def test_a_line_for_each_cpu() -> None:
    lines = text([row(1, 0), row(1, 1)], headed=True).splitlines()
    assert lines == ["    " + f"{'GHz':>20} ", f"CPU0       {'3.100':>20} ", f"CPU1       {'3.100':>20} "]


def test_for_programs() -> None:
    found = [row(1, 0), row(2, 0)]
    assert csv(found, ";", headed=True).splitlines() == ["cpu;GHz;insn per cycle;", "0;3.100;1.52;"]
    assert json.loads(jsonl(found)) == {"cpu": "0", "GHz": "3.100", "insn per cycle": "1.52"}
