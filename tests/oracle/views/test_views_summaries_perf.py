"""``probescope report --sched`` and the like beside perf, on a recording made now: the same tables and numbers."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import formats_perf as fp
import pytest

from probescope.cli.main import main

WORK = """for i in 1 2 3 4 5 6 7 8; do
  (dd if=/dev/zero of=/dev/null bs=4k count=300 2> /dev/null & cat /etc/hostname > /dev/null; sleep 0.01; wait)
done"""
EVENTS = (
    *(f"sched:sched_{e}" for e in "switch wakeup wakeup_new stat_runtime process_fork process_exit".split()),
    *(f"irq:{e}" for e in "irq_handler_entry irq_handler_exit softirq_raise softirq_entry softirq_exit".split()),
    *("raw_syscalls:sys_enter", "raw_syscalls:sys_exit"),
)
_LATENCY = re.compile(
    r"\s*(.*?):(\d+)\s*\|\s*(\d+\.\d+) ms \|\s*(\d+) \| avg:\s*(\d+\.\d+) ms \| max:\s*(\d+\.\d+) ms"
    r" \| max start:\s*(\d+\.\d+) s \| max end:\s*(\d+\.\d+) s"
)
_HIST = re.compile(r"\s*(\d+\.\d+) \[(\d+)\]\s+.*\[(-?\d+)(?:/\d+)?\]\s+(\S+)\s+(\S+)\s+(\S+)\s*$")
_KWORK = re.compile(r"\s*((?:\(s\))?\S+:\d+)\s*\|\s*(\d+) \|\s*(\d+\.\d+) ms \|\s*(\d+) \|\s*(\d+\.\d+) ms")
_CALL = re.compile(r"\s*(\w+)\s+(\d+)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)%")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("summaries") / "perf.data"
    options = ["-a", "-m", "4096", *(w for e in EVENTS for w in ("-e", e))]
    return fp.recorded(path, options, ["sh", "-c", WORK])


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "summaries-cache"))


def perf(*words: str) -> str:
    done = subprocess.run([fp.perf(), *words], capture_output=True, text=True, errors="replace", check=True)
    return done.stdout or done.stderr


def ours(capsys: pytest.CaptureFixture[str], path: Path, kind: str, *more: str) -> str:
    assert main(["report", kind, "-q", "-i", str(path), "--rows", "100000", *more]) == 0
    return capsys.readouterr().out


UNSURE = """select distinct tid from (
  select utid from sched_slice where ts is null or end_ts is null
  union all
  select utid from thread_state where state = 'runnable' and ts is null
    and exists (select 1 from stats where severity in ('error', 'warning'))
) join thread using (utid)
union
select pid from "sched:sched_stat_runtime" r group by pid having min(ts) < coalesce((select min(ts) from (
  select ts, next_pid as pid from "sched:sched_switch" union all select ts, pid from "sched:sched_wakeup"
  union all select ts, pid from "sched:sched_wakeup_new") m where m.pid = r.pid), 0)"""


def unsure(path: Path) -> set[int]:
    """Threads of which the recording misses a begin or an end, and, where events were lost, those that may have been
    woken up meanwhile: perf guesses, and we do not. So it does of those that it first hears of by sched_stat_runtime:
    they wait from then on (builtin-sched.c, latency_runtime_event)."""
    from probescope.store.opening import Asked

    with Asked([(str(path), 0)]) as asked:
        return {tid for (tid,) in asked.query(UNSURE).tuples()}


def test_latency(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runtime, switches, average and longest delay, and when that began and ended."""
    found = [_LATENCY.match(line) for line in ours(capsys, recording, "--sched").splitlines()]
    told = {int(m[2]): m for m in found if m}
    cut = unsure(recording)
    compared = 0
    for line in perf("sched", "latency", "-p", "-i", str(recording)).splitlines():
        m = _LATENCY.match(line)
        if m is None or not int(m[4]) or int(m[2]) in cut:
            continue
        own = told[int(m[2])]
        assert own.group(2, 4, 5, 6) == m.group(2, 4, 5, 6), line
        assert abs(float(own[3]) - float(m[3])) < 0.0011, line
        assert all(abs(float(own[i]) - float(m[i])) < 0.0000021 for i in (7, 8)), line
        compared += 1
    assert compared > 3


def test_timehist(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Line by line, but that a dash stands where perf prints the zero of what it does not know."""
    text = ours(capsys, recording, "--timehist").splitlines()
    perfs = perf("sched", "timehist", "-i", str(recording)).splitlines()
    own = [m.groups() for m in map(_HIST.match, text) if m]
    theirs = [m.groups() for m in map(_HIST.match, perfs) if m]
    assert len(own) == len(theirs) > 50
    head = text.index(next(line for line in text if "wait time" in line))
    assert [line.rstrip() for line in text[head : head + 3]] == [line.rstrip() for line in perfs[:3]]
    cut = unsure(recording)
    compared = 0
    zero = {"-": "0.000"}
    by_place = {line[:2]: line for line in theirs}
    for time, cpu, tid, *numbers in own:
        if int(tid) in cut or by_place.get((time, cpu), ("", "", "-1"))[2] != tid:
            continue
        assert tuple(zero.get(n, n) for n in numbers) == by_place[time, cpu][3:], (time, cpu, tid)
        compared += 1
    assert compared > 20


def blocks(text: str) -> dict[tuple[int, str], tuple[str, ...]]:
    tid, out = 0, {}
    for line in text.splitlines():
        if m := re.match(r"\s*\S.*? \((\d+)\), \d+ events", line):
            tid = int(m[1])
        elif m := _CALL.match(line):
            out[tid, m[1]] = m.groups()[1:]
    return out


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("calls") / "perf.data"
    return fp.recorded(path, ["-m", "4096", "-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"], ["sh", "-c", WORK])


def test_syscalls(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By thread and system call: calls, errors and all times, but of those whose begin was not recorded."""
    told, theirs = blocks(ours(capsys, calls, "--syscalls")), blocks(perf("trace", "-s", "-i", str(calls)))
    from probescope.store.opening import Asked

    with Asked([(str(calls), 0)]) as asked:
        sql = "select distinct t.tid, s.name from syscall s join thread t using (utid) where s.ts is null"
        cut = set(asked.query(sql).tuples())
    compared = 0
    for (tid, name), numbers in theirs.items():
        if (tid, name) in cut:
            continue
        own = told[tid, name]
        assert own[:2] == numbers[:2], (tid, name)
        pairs = list(zip(map(float, own[2:]), map(float, numbers[2:]), strict=True))
        assert all(abs(a - b) < 0.0011 for a, b in pairs[:4]), (tid, name, pairs)
        assert abs(pairs[4][0] - pairs[4][1]) < 0.011, (tid, name, pairs)
        compared += 1
    assert compared > 20


def written_twice(recording: Path) -> set[tuple[str, str]]:
    """(vector or number, CPU) of interrupts that the kernel wrote twice, of one nanosecond: perf counts two."""
    lines = perf("script", "--ns", "-i", str(recording), "-F", "cpu,time,event,trace").splitlines()
    again = (line for line, n in Counter(lines).items() if n > 1 and "irq:" in line)
    found = (re.search(r"\[(\d+)\].*irq_(?:handler_)?(?:entry|exit): (?:vec|irq)=(\d+)", line) for line in again)
    return {(m[2], f"{int(m[1]):04}") for m in found if m}


def test_interrupts(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By CPU: how often, how long in all, and at most; beside perf kwork report."""
    done = subprocess.run(
        [fp.perf(), "kwork", "-k", "irq,softirq", "report", "-i", str(recording)],
        capture_output=True,
        text=True,
        check=False,
    )
    theirs = {m.group(1, 2): m.groups()[2:] for m in map(_KWORK.match, done.stdout.splitlines()) if m}
    if not theirs:
        pytest.skip(f"perf kwork tells nothing here: {done.stderr[-200:]}")
    found = (_KWORK.match(line) for line in ours(capsys, recording, "--irq").splitlines())
    own = {m.group(1, 2): m.groups()[2:] for m in found if m}
    assert own.keys() == theirs.keys()
    twice = written_twice(recording)
    for key, (total, count, longest) in theirs.items():
        if (key[0].rpartition(":")[2], key[1]) in twice:
            assert int(own[key][1]) <= int(count), key
            continue
        assert own[key][1] == count, key
        assert abs(float(own[key][0]) - float(total)) < 0.0011, key
        assert abs(float(own[key][2]) - float(longest)) < 0.0011, key


def test_json_says_the_same(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, Any]] = [
        json.loads(line) for line in ours(capsys, recording, "--latency", "-f", "json").splitlines()
    ]
    rows = [r for r in rows if r["type"] != "loss"]
    assert rows[0]["waits"] == sum(b["waits"] for b in rows[0]["buckets"])
    assert sum(r["waits"] for r in rows if r["type"] == "task") == rows[0]["waits"]
