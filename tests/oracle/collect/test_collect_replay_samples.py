"""Recordings that others made: what programs count of them is what trace-cmd's own report has lines of."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from probescope.api import Request, build
from probescope.model.output import MapOut
from tests.support.formats_traces import expected, samples

LINE = re.compile(r"^\s*(.+)-(\d+)\s+\[(\d+)\]\s\S*\s*[\d.]+:\s+(\w+):\s")


def counted(path, program):
    said = []
    build(Request(program, input=str(path), environment={})).session(said.append).run()
    return {o.name: dict(o.items) for o in said if isinstance(o, MapOut)}


@pytest.mark.skipif(not samples(), reason="PROBESCOPE_SAMPLES names no folder of recordings")
@pytest.mark.parametrize("path", samples(), ids=lambda p: p.name)
def test_counts_of_a_recording_are_those_of_its_report(path):
    """By event, and by thread and name: idle threads are <idle> there, swapper/CPU here."""
    lines = [m for m in map(LINE.match, expected(path)) if m]
    found = counted(path, "tracepoint:*:* { @event[func] = count(); @who[comm, tid] = count(); @cpu[cpu] = count(); }")
    assert found["event"] == dict(Counter(m[4] for m in lines))
    assert found["cpu"] == dict(Counter(int(m[3]) for m in lines))
    who = Counter((f"swapper/{int(m[3])}" if m[2] == "0" else m[1], int(m[2])) for m in lines)
    assert found["who"] == {(comm if comm != "<...>" else f":{tid}", tid): n for (comm, tid), n in who.items()}
