"""Random stacks along time, and random tables, read back by other means."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections import defaultdict

import numpy as np
from formats_exports import NAMES, Made, made
from hypothesis import given
from hypothesis import strategies as st

from probescope.formats.chrome import ChromeWriter
from probescope.formats.stacktable import Measure, Owner
from probescope.formats.tables import CsvWriter, JsonlWriter, Nested
from probescope.model.visible import visible

OBEYED = {chr(c) for c in (*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0), 0x202E)}


def apart(m: Made) -> Made:
    """The same samples with owners that no viewer takes for each other."""
    owners = {o: Owner(o.comm, i + 1, i + 1) for i, o in enumerate(dict.fromkeys(s.owner for s in m.samples))}
    m.samples = [type(s)(s.time, owners[s.owner], s.stack, s.weight, 0, s.cpu) for s in m.samples]
    return m


@given(made(), st.integers(1, 10**9))
def test_chrome_slices_are_the_stacks(m: Made, hz: int) -> None:
    """At the time of each thread's sample the open slices are its stack, and slices of a thread lie within each
    other."""
    m = apart(m)
    out = io.StringIO()
    writer = ChromeWriter(out)
    chart = writer.chart(m.table, Measure("x", "count", hz))
    for batch in m.batches():
        chart.add(batch)
    writer.close(0, {"notes": ["\x1b"]})
    text = out.getvalue()
    assert not set(text) & OBEYED
    slices: dict[int, list] = defaultdict(list)
    for e in json.loads(text)["traceEvents"]:
        if e["ph"] == "X":
            start = round(e["ts"] * 1000)
            slices[e["tid"]].append((start, start + round(e["dur"] * 1000), e["name"]))
    last = {(s.owner, s.time): s for s in m.samples}
    for (owner, time), sample in last.items():
        mine = [s for s in slices[owner.tid] if s[0] <= time < s[1]]
        longest = sorted(range(len(mine)), key=lambda i: (mine[i][0], -mine[i][1]))
        names = [f.name.replace("\udc80", "\\x80") for f in sample.stack]
        assert sorted(mine[i][2] for i in longest) == sorted(names)
    for found in slices.values():
        edges = sorted({t for s in found for t in s[:2]})
        for a, b in itertools.pairwise(edges):
            covering = [s for s in found if s[0] <= a and s[1] >= b]
            assert all(s[1] <= a or s[0] >= b for s in found if s not in covering)


COLUMNS = st.integers(1, 5).flatmap(
    lambda n: st.tuples(
        st.lists(NAMES, min_size=n, max_size=n),
        st.lists(st.integers(0, (1 << 64) - 1), min_size=n, max_size=n),
        st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=n, max_size=n),
    )
)


def chunk(texts: list[str], wide: list[int], small: list[int]) -> dict:
    return {"comm": texts, "time": np.array(wide, np.uint64), "tid": np.array(small, np.int32)}


@given(COLUMNS)
def test_csv_rows_are_read_back(columns: tuple) -> None:
    texts, wide, small = columns
    out = io.StringIO(newline="")
    writer = CsvWriter(out, ("comm", "time", "tid"))
    writer.write(chunk(*columns))
    assert not set(out.getvalue()) & OBEYED
    head, *rows = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert head == ["comm", "time", "tid"]
    escaped = [visible(t).replace("\n", "\\n").replace("\t", "\\t") for t in texts]
    assert [(r[0], int(r[1]), int(r[2])) for r in rows] == list(zip(escaped, wide, small, strict=True))


@given(COLUMNS)
def test_json_lines_are_read_back(columns: tuple) -> None:
    texts, wide, small = columns
    out = io.StringIO()
    JsonlWriter(out).write(chunk(*columns) | {"fields": Nested(['{"a":[1]}'] * len(texts))})
    lines = out.getvalue().splitlines()
    assert not set(out.getvalue()) & OBEYED
    rows = [json.loads(line) for line in lines]
    escaped = [t.replace("\udc80", "\\x80") for t in texts]
    assert [(r["comm"], r["time"], r["tid"]) for r in rows] == list(zip(escaped, wide, small, strict=True))
    assert all(r["fields"] == {"a": [1]} for r in rows)
