"""The Firefox Profiler's format: columns of one length, indices that lead somewhere, the samples that were put in."""

from __future__ import annotations

import io
import json
from collections import defaultdict

import pytest
from formats_exports import Made, made
from hypothesis import given

from probescope.formats.firefox import About, FirefoxWriter, MarkerKind
from probescope.formats.marks import Marks
from probescope.formats.spool import Spool

KINDS = [MarkerKind("sched:sched_switch", (("next_pid", True), ("next_comm", False))), MarkerKind("a:b")]


def written(m: Made) -> tuple[str, list]:
    spool, marks, put = Spool(), Marks(), []
    for batch in m.batches():
        spool.add(batch)
        data = ['{"next_pid":7,"next_comm":"x"}'] * len(batch)
        marks.add(batch.time, batch.owner, 0, batch.node, data)
        put += list(zip(batch.time.tolist(), batch.owner.tolist(), batch.node.tolist(), strict=True))
    out = io.StringIO()
    about = About("name", "exporter", m.samples[0].time, m.samples[-1].time, notes=("3 lost \x1b",))
    FirefoxWriter(out, about, m.table, {"/bin/a": "00112233445566778899aabbccddeeff00112233"}).write(
        m.measures, spool, KINDS, marks.by_owner()
    )
    spool.close()
    marks.close()
    return out.getvalue(), put


def check_tables(profile: dict) -> None:
    shared = profile["shared"]
    for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"):
        table = shared[name]
        assert {len(v) for v in table.values() if isinstance(v, list)} <= {table["length"]}, name
    for i, prefix in enumerate(shared["stackTable"]["prefix"]):
        assert prefix is None or prefix < i
    assert all(f < shared["frameTable"]["length"] for f in shared["stackTable"]["frame"])
    assert all(f < shared["funcTable"]["length"] for f in shared["frameTable"]["func"])
    assert all(r < shared["resourceTable"]["length"] for r in shared["funcTable"]["resource"])
    assert all(s is None or s < shared["sources"]["length"] for s in shared["funcTable"]["source"])
    assert all(n < len(shared["stringArray"]) for n in shared["funcTable"]["name"])
    assert len(profile["libs"]) == shared["resourceTable"]["length"]
    assert all(c < len(profile["meta"]["categories"]) for c in shared["frameTable"]["category"])


def stack_of(profile: dict, stack: int | None) -> tuple[str, ...]:
    shared, names = profile["shared"], []
    while stack is not None:
        func = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
        names.append(shared["stringArray"][shared["funcTable"]["name"][func]])
        stack = shared["stackTable"]["prefix"][stack]
    return tuple(reversed(names))


@given(made())
def test_everything_is_there(m: Made) -> None:
    text, put = written(m)
    profile = json.loads(text)
    check_tables(profile)
    start = m.samples[0].time
    groups: dict[tuple[int, int], list] = defaultdict(list)
    for s in m.samples:
        groups[s.event, m.table.owner(s.owner)].append(s)
    markers: dict[int, list] = defaultdict(list)
    for time, owner, _ in put:
        markers[owner].append((time - start) / 1e6)
    threads = iter(profile["threads"])
    for (event, owner), samples in sorted(groups.items()):
        thread = next(threads)
        table = thread["samples"]
        assert table["length"] == len(table["stack"]) == len(table["time"]) == len(table["weight"]) == len(samples)
        names = [tuple(f.name.replace("\udc80", "\\x80") for f in s.stack) for s in samples]
        assert [stack_of(profile, s) for s in table["stack"]] == names
        assert table["time"] == pytest.approx([(s.time - start) / 1e6 for s in samples], abs=1e-6)
        scale = 1e6 if m.measures[event].unit == "ns" else 1
        assert table["weight"] == pytest.approx([s.weight / scale for s in samples], abs=1e-5)
        expected = markers.pop(owner, [])
        assert thread["markers"]["length"] == len(expected)
        assert thread["markers"]["startTime"] == pytest.approx(expected, abs=1e-6)
        for data, name in zip(thread["markers"]["data"], thread["markers"]["name"], strict=True):
            assert data["type"] == profile["shared"]["stringArray"][name] == "sched:sched_switch"
            assert (data["next_pid"], data["next_comm"]) == (7, "x")
    assert next(threads, None) is None


@given(made())
def test_libraries_and_notes(m: Made) -> None:
    text, _ = written(m)
    assert "\x1b" not in text
    profile = json.loads(text)
    for lib in profile["libs"]:
        if lib["path"] == "/bin/a":
            # a GUID's first three numbers are little-endian, the rest is as it is
            assert lib["breakpadId"] == "33221100554477668899AABBCCDDEEFF0"
    assert profile["meta"]["extra"][0]["entries"][0]["value"] == "3 lost \x1b"
    schema = {s["name"]: s for s in profile["meta"]["markerSchema"]}
    assert (
        schema["sched:sched_switch"]["tableLabel"]
        == "next_pid={marker.data.next_pid} next_comm={marker.data.next_comm}"
    )
