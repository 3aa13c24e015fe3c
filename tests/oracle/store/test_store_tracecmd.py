"""The store beside trace-cmd, on recordings made now: events one by one, and calls of functions with their times."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from formats_fresh import TRACEFS, fresh

from probescope.formats.tracedat.writer import write_tracedat
from probescope.formats.tracing.text import latency
from probescope.store.opening import Asked


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("trace-cmd") is None:
        pytest.skip("trace-cmd is not installed")
    if not TRACEFS.joinpath("instances").is_dir():
        pytest.skip("needs root")
    path = tmp_path_factory.mktemp("traced") / "trace.dat"
    head, pages = fresh(("sched", "irq", "raw_syscalls"), 8192)
    with path.open("wb") as f:
        write_tracedat(f, head, pages)
    return path


@pytest.fixture(scope="module")
def asked(traced: Path, tmp_path_factory: pytest.TempPathFactory):
    before = dict(os.environ)
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    try:
        with Asked([(str(traced), 0)]) as found:
            yield found
    finally:
        os.environ.clear()
        os.environ.update(before)


def report(path: Path) -> list[tuple[int, int, int, str, str]]:
    """(thread, CPU, ns, event, rest) of each line."""
    text = subprocess.run(["trace-cmd", "report", "-t", str(path)], capture_output=True, text=True, check=True).stdout
    line = re.compile(r".*-(\d+)\s+\[(\d+)\].*?\s(\d+)\.(\d{9}):\s+(\w+):\s*(.*)")
    found = (line.match(one) for one in text.splitlines())
    return [(int(m[1]), int(m[2]), int(m[3]) * 10**9 + int(m[4]), m[5], m[6]) for m in found if m]


def test_events(traced: Path, asked: Asked) -> None:
    theirs = Counter(line[:4] for line in report(traced))
    sql = """select t.tid, e.cpu, e.ts, split_part(k.name, ':', 2)
        from event e join thread t using (utid) join event_kind k on k.id = e.kind"""
    assert Counter(asked.query(sql).tuples()) == theirs
    assert sum(theirs.values()) > 1000


def test_times_on_cpus(traced: Path, asked: Asked) -> None:
    """From switch to switch of a CPU, as trace-cmd's lines have them."""
    pattern = re.compile(r".*:(\d+) \[\d+\] (\S+) ==> .*:(\d+) \[\d+\]")
    was: dict[int, tuple[int, int]] = {}
    theirs = Counter()
    for _, cpu, time, event, rest in report(traced):
        if event == "sched_switch" and (m := pattern.match(rest)):
            before = was.get(cpu)
            if before and before[0] == int(m[1]):
                theirs[cpu, int(m[1]), before[1], time] += 1
            was[cpu] = (int(m[3]), time)
    if asked.query("select count(*) from stats where name in ('overrun', 'lost')").value():
        theirs = None  # losses cut slices, and trace-cmd's text was not read for them
    ours = asked.query(
        "select s.cpu, t.tid, ts, s.end_ts from sched_slice s join thread t using (utid) where dur is not null"
    )
    found = Counter(ours.tuples())
    assert found
    assert theirs is None or found == theirs


def test_soft_interrupts_and_calls(traced: Path, asked: Asked) -> None:
    """Paired by hand from trace-cmd's lines: system calls by thread, soft interrupts by CPU."""
    entered: dict[object, tuple[str, int]] = {}
    theirs: dict[str, Counter[tuple[int, int, int]]] = {"syscall": Counter(), "softirq": Counter()}
    for tid, cpu, time, event, rest in report(traced):
        table, lane, what = {
            "sys_enter": ("syscall", ("tid", tid), "enter"),
            "sys_exit": ("syscall", ("tid", tid), "exit"),
            "softirq_entry": ("softirq", ("cpu", cpu), "enter"),
            "softirq_exit": ("softirq", ("cpu", cpu), "exit"),
        }.get(event, ("", "", ""))
        number = re.search(r"(?:NR |vec=)(\d+)", rest)
        if what == "enter" and number:
            entered[lane] = (number[1], time)
        elif what == "exit" and number and (began := entered.pop(lane, None)) and began[0] == number[1]:
            theirs[table][tid if table == "syscall" else cpu, began[1], time] += 1
    calls = asked.query(
        "select t.tid, ts, s.end_ts from syscall s join thread t using (utid) where dur is not null and tid > 0"
    )
    assert Counter(calls.tuples()) == theirs["syscall"]
    soft = asked.query("select cpu, ts, end_ts from softirq where dur is not null")
    assert Counter(soft.tuples()) == theirs["softirq"]
    assert sum(theirs["syscall"].values()) > 100


def test_flags_and_depths_of_preemption(traced: Path, asked: Asked) -> None:
    """The letters of trace-cmd's latency format: d interrupts off, N to be rescheduled, h and s in interrupts."""
    text = subprocess.run(
        ["trace-cmd", "report", "-t", "-l", str(traced)], capture_output=True, text=True, check=True
    ).stdout
    line = re.compile(r".*-(\d+) +(\d+)(\S{5}) +(\d+)\.(\d{9}):")
    lines = (line.match(one) for one in text.splitlines())
    theirs = Counter((int(m[1]), int(m[2]), int(m[4]) * 10**9 + int(m[5]), m[3]) for m in lines if m)
    rows = asked.query("select t.tid, cpu, ts, flags, preempt from event join thread t using (utid)").tuples()
    assert Counter((*r[:3], latency(r[3], r[4])) for r in rows) == theirs
    assert len({key[3] for key in theirs}) > 1
