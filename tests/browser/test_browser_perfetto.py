"""Perfetto opens what we export: its own SQL engine, in a browser, counts what perf's text of the recording holds."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import formats_perf as fp
import pytest
from browser_perfetto import perfetto
from cli_exports import export, switches

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
