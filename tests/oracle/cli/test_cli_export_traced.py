"""trace.dat as perf.data: perf prints the events that trace-cmd prints, with the same texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import formats_perf as fp
import formats_traces as traces
import pytest
from cli_exports import export
from formats_fresh import fresh

from probescope.formats.tracedat.writer import write_tracedat


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traced") / "trace.dat"
    with path.open("wb") as file:
        write_tracedat(file, *fresh(("sched", "raw_syscalls", "irq"), 2048))
    return path


_THEIRS = re.compile(r"^\s*(.+)-(\d+)\s+\[(\d+)\]\s+(?:\S{4,5}\s+)?(\d+)\.(\d+): (\w+):\s*(.*?)\s*$")
_PERFS = re.compile(r"^\s*(.+?)\s+(-?\d+) \[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\w+:\w+):\s*(.*?)\s*$")


def by_trace_cmd(path: Path) -> Iterator[tuple[str, int, int, int, str, str]]:
    for line in traces.theirs(path, "-t", "-N"):
        if m := _THEIRS.match(line):
            yield m[1].strip(), int(m[2]), int(m[3]), int(m[4]) * 10**9 + int(m[5]), m[6], m[7]


def by_perf(path: Path) -> Iterator[tuple[str, int, int, int, str, str]]:
    for line in fp.script(path, "--ns", "-F", "comm,tid,cpu,time,event,trace").splitlines():
        if m := _PERFS.match(line):
            time = int(m[4]) * 10**9 + int(m[5])
            yield m[1], int(m[2]), int(m[3]), time, m[6].partition(":")[2], m[7]


def test_events_and_texts(recorded: Path, tmp_path: Path) -> None:
    """Names of threads, ids, CPUs, times to the nanosecond, kinds, and what the print formats give."""
    export(recorded, "-o", tmp_path / "a.data")
    theirs = [(n if t else "swapper", t, *rest) for n, t, *rest in by_trace_cmd(recorded)]
    ours = list(by_perf(tmp_path / "a.data"))
    assert len(ours) == len(theirs) > 1000
    # perf calls threads that nobody named by their number, trace-cmd by <...>; it sorts equal times its own way
    key = [sorted((t, c, time, event, text) for _, t, c, time, event, text in x) for x in (ours, theirs)]
    assert key[0] == key[1]
    names = [{(t, n) for n, t, *_ in x if not n.startswith((":", "<"))} for x in (ours, theirs)]
    assert names[0] == names[1]


def test_selection(recorded: Path, tmp_path: Path) -> None:
    export(recorded, "-e", "sched_switch", "-C", "0", "-o", tmp_path / "a.data")
    theirs = [e for e in by_trace_cmd(recorded) if e[2] == 0 and e[4] == "sched_switch"]
    ours = list(by_perf(tmp_path / "a.data"))
    assert [e[3] for e in ours] == [e[3] for e in theirs]
    assert {e[4] for e in ours} == {"sched_switch"}


def test_stacks_are_of_the_event_before_them(tmp_path: Path) -> None:
    """Each stack, function by function, as trace-cmd prints it behind the event of the same CPU."""
    path = tmp_path / "trace.dat"
    with path.open("wb") as file:
        write_tracedat(file, *fresh(("sched",), 1024, stacks=True))
    rows = [json.loads(line) for line in export(path, "--to", "jsonl").stdout.splitlines()]
    ours = {(r["cpu"], r["time"], r["event"].partition(":")[2]): r["stack"][::-1] for r in rows if r["stack"]}
    theirs: dict[tuple[int, int, str], list[str]] = {}
    last: dict[int, tuple[int, int, str]] = {}
    stack: list[str] = []
    for line in traces.theirs(path, "-t"):
        if m := _THEIRS.match(line):
            cpu, event = int(m[3]), (int(m[3]), int(m[4]) * 10**9 + int(m[5]), m[6])
            stack = theirs.setdefault(last[cpu], []) if m[6] == "kernel_stack" and cpu in last else []
            last[cpu] = event
        elif m := re.match(r"=> (\S+) \(", line):
            stack.append(f"{m[1]}_[k]")
    assert len(ours) > 100
    # without one are events whose stack lies behind that of an interrupt, or in the reader's next batch
    assert all(theirs[event] == names for event, names in ours.items())
    assert len(ours) > 0.95 * sum(map(bool, theirs.values()))


@pytest.mark.skipif(not traces.samples(), reason="PROBESCOPE_SAMPLES names no folder of recordings")
@pytest.mark.parametrize("path", traces.samples(), ids=lambda p: p.name)
def test_recordings_of_other_machines(path: Path, tmp_path: Path) -> None:
    """ARM's too: perf tells as many events with the same kinds and times."""
    export(path, "-o", tmp_path / "a.data")
    rows = [json.loads(line) for line in export(path, "--to", "jsonl").stdout.splitlines()]
    text = fp.script(tmp_path / "a.data", "--ns", "-F", "tid,cpu,time,event")
    lines = re.findall(r"^\s*(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\S+?):\s*$", text, re.MULTILINE)
    perfs = sorted((int(t), int(c), int(s) * 10**9 + int(ns), e) for t, c, s, ns, e in lines)
    assert perfs == sorted((r["tid"], r["cpu"], r["time"], r["event"]) for r in rows)
