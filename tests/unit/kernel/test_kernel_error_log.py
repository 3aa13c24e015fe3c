"""error_log of tracefs: which word the kernel points at. The texts are those of a 6.18 and a 6.12 kernel."""

from __future__ import annotations

import pytest

from probescope.kernel.error_log import Complaint, parse

FILTER = """[42657.322113] event filter parse error: error: Field not found
  Command: foo == 1
               ^
[42657.325422] event filter parse error: error: Field not found
  Command: foo ==1
               ^
"""
PROBE = """[ 4815.162342] trace_kprobe: error: Invalid argument
  Command: p:x/y nosuch
                 ^
"""
HIST = """[   21.515151] hist:sched:sched_switch: error: Couldn't find field
  Command: keys=nosuch
                ^
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FILTER, [Complaint("Field not found", "foo == 1", 4), Complaint("Field not found", "foo ==1", 4)]),
        (PROBE, [Complaint("Invalid argument", "p:x/y nosuch", 6)]),
        (HIST, [Complaint("Couldn't find field", "keys=nosuch", 5)]),
        ("", []),
        ("[ 1.0] x: error: cut\n", []),
        ("  Command: without a head\n", [Complaint("", "without a head")]),
        ("              ^\n", []),
    ],
)
def test_what_it_says(text, said):
    assert parse(text) == said
