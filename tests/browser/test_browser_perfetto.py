"""Perfetto opens what we export: its own SQL engine, in a browser, counts what perf's text of the recording holds."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import formats_perf as fp
import formats_traces as traces
import pytest
from browser_perfetto import perfetto
from cli_exports import export, profile, switches
from formats_fresh import fresh

from probescope.formats.tracedat.writer import write_tracedat

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return switches(tmp_path_factory.mktemp("perfetto"))


def on_cpus(path: Path) -> list[tuple[int, int, int, int]]:
    """(CPU, thread, start, length) of all times on CPUs between two switches, but for idle ones, from perf's text."""
    line = re.compile(r"\[(\d+)\]\s+(\d+)\.(\d{9}):\s+sched:sched_switch:.*next_pid=(\d+)")
    found, running = [], {}
    for cpu, s, ns, tid in line.findall(fp.script(path, "--ns", "-F", "cpu,time,event,trace")):
        time = int(s) * 10**9 + int(ns)
        was = running.get(cpu)
        if was and was[0]:
            found.append((int(cpu), was[0], was[1], time - was[1]))
        running[cpu] = (int(tid), time)
    return found


def test_chrome_json(browser: Browser, traced: Path, tmp_path: Path) -> None:
    """Slices of CPUs and marks of events, as many and as long as perf tells."""
    export(traced, "-o", tmp_path / "a.trace.json")
    theirs = on_cpus(traced)
    with perfetto(browser, tmp_path / "a.trace.json") as p:
        assert p.errors() == []
        sql = """select t.tid - 4194306, extract_arg(s.arg_set_id, 'args.tid'), s.ts, s.dur from slice s
                 join thread_track k on s.track_id = k.id join thread t using (utid) join process p using (upid)
                 where p.name = 'CPUs' and extract_arg(s.arg_set_id, 'args.left') is not null"""
        assert sorted(p.query(sql)) == sorted(theirs)
        marks = dict(p.query("select name, count(*) from slice where category = 'sched' group by 1"))
    assert len(theirs) > 10
    events = Counter(re.findall(r"\b(sched:\w+):", fp.script(traced, "-F", "event")))
    assert marks == events


def test_perfetto_trace(browser: Browser, traced: Path, tmp_path: Path) -> None:
    """Perfetto's own tables: who ran where and how long, threads, and every event with its fields."""
    export(traced, "-o", tmp_path / "a.pftrace")
    theirs = on_cpus(traced)
    with perfetto(browser, tmp_path / "a.pftrace") as p:
        assert p.errors() == []
        sql = "select ucpu, tid, ts, dur from sched join thread using (utid) where tid != 0 and dur >= 0"
        assert sorted(row for row in p.query(sql) if row in set(theirs)) == sorted(theirs)
        events = dict(p.query("select name, count(*) from ftrace_event group by 1"))
        execs = p.query("""select extract_arg(arg_set_id, 'filename') from ftrace_event
                           where name = 'sched_process_exec' order by ts""")
        threads = {tid for (tid,) in p.query("select distinct tid from thread where tid != 0")}
    text = fp.script(traced, "--ns", "-F", "event,tid,trace")
    assert events == Counter(name.partition(":")[2] for name in re.findall(r"\b(sched:\w+):", text))
    assert [name for (name,) in execs] == re.findall(r"filename=(\S+)", text)
    assert {int(tid) for tid in re.findall(r"(?:next_|prev_)pid=(\d+)", text)} - {0} <= threads


def test_perfetto_samples(browser: Browser, tmp_path: Path) -> None:
    """Samples by thread, and by function at the top of the stack; weights as counters."""
    recording = profile(tmp_path)
    export(recording, "-e", "cpu-clock", "-o", tmp_path / "a.pftrace")
    lines = [s for s in fp.samples(recording, cpu=False) if s.event.startswith("cpu-clock")]
    with perfetto(browser, tmp_path / "a.pftrace") as p:
        assert p.errors() == []
        found = Counter(dict(p.query("select tid, count(*) from perf_sample join thread using (utid) group by 1")))
        total = p.one(
            "select max(value) from counter join track on counter.track_id = track.id where name like 'cpu-clock%'"
        )
        sql = """select f.name, count(*) from perf_sample s join stack_profile_callsite c on s.callsite_id = c.id
                 join stack_profile_frame f on c.frame_id = f.id group by 1"""
        tops = Counter(dict(p.query(sql)))
        depth = p.one(
            "select sum(c.depth + 1) from perf_sample s join stack_profile_callsite c on s.callsite_id = c.id"
        )
    assert found == Counter(s.tid for s in lines)
    assert total == sum(s.period for s in lines)
    rows = map(json.loads, export(recording, "-e", "cpu-clock", "--to", "jsonl").stdout.splitlines())
    stacks = [[name.removesuffix("_[k]").removesuffix("_[i]") for name in row["stack"]] for row in rows]
    assert tops == Counter(stack[-1] for stack in stacks)
    assert depth == sum(map(len, stacks))


def test_perfetto_of_trace_dat(browser: Browser, tmp_path: Path) -> None:
    """trace.dat, which Perfetto cannot read: as many events of each kind as trace-cmd reports."""
    path = tmp_path / "trace.dat"
    with path.open("wb") as file:
        write_tracedat(file, *fresh(("sched", "raw_syscalls"), 4096))
    export(path, "-o", tmp_path / "a.pftrace")
    with perfetto(browser, tmp_path / "a.pftrace") as p:
        events = dict(p.query("select name, count(*) from ftrace_event group by 1"))
        syscalls = p.one("select count(*) from slice where name like 'sys_%'")
        wrong = p.errors()
    theirs = Counter(
        m[1] for line in traces.theirs(path) if (m := re.search(r"\]\s+(?:\S{4,5}\s+)?[\d.]+: (\w+):", line))
    )
    assert events == theirs
    assert syscalls > 10
    assert [w for w in wrong if "lost" not in w[0] and "loss" not in w[0]] == []


GRAPH = """# tracer: function_graph
 100.000000 |   0)    ls-8      |               |  ksys_read() {
 100.000001 |   0)    ls-8      |   2.928 us    |    __fget_light();
 100.000010 |   0)    ls-8      |               |    vfs_read() {
 100.000011 |   1)   cat-9      |   7.500 us    |  vfs_open();
 100.000030 |   0)    ls-8      | + 20.000 us   |    }
 100.000040 |   0)    ls-8      | + 40.000 us   |  }
"""


@pytest.mark.parametrize("ending", ["pftrace", "trace.json"])
def test_function_graphs_are_slices(browser: Browser, tmp_path: Path, ending: str) -> None:
    """Calls of each thread, one within the other, as long as the kernel said that they took."""
    (tmp_path / "graph.txt").write_text(GRAPH)
    export(tmp_path / "graph.txt", "-o", tmp_path / f"a.{ending}")
    with perfetto(browser, tmp_path / f"a.{ending}") as p:
        assert p.errors() == []
        sql = """select t.tid, s.name, s.depth, s.dur from slice s join thread_track k on s.track_id = k.id
                 join thread t using (utid) order by s.ts, s.depth"""
        assert [tuple(row) for row in p.query(sql)] == [
            (8, "ksys_read", 0, 40_000),
            (8, "__fget_light", 1, 2_928),
            (8, "vfs_read", 1, 20_000),
            (9, "vfs_open", 0, 7_500),
        ]
