"""The store beside perf, on recordings made now: perf sched timehist and latency, perf trace -s, perf report."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import formats_perf as fp
import pytest

from probescope.store.opening import Asked

WORK = """for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
  (dd if=/dev/zero of=/dev/null bs=4k count=4000 2> /dev/null & cat /etc/hostname > /dev/null; sleep 0.01; wait)
done"""
NAMES = ("sh", "dd", "cat", "sleep")
_HIST = re.compile(r"\s*(\d+\.\d+) \[(\d+)\]\s+(.*?)\[(-?\d+)(?:/(\d+))?\]\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)")
_LATENCY = re.compile(r"\s*(.*?):(\d+)\s*\|\s*(\d+\.\d+) ms \|\s*(\d+) \| avg:\s*(\d+\.\d+) ms \| max:\s*(\d+\.\d+) ms")


def run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, errors="replace", check=True).stdout


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="module")
def sched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sched") / "perf.data"
    done = subprocess.run(
        [fp.perf(), "sched", "record", "-m", "4096", "-o", str(path), "--", "sh", "-c", WORK],
        capture_output=True,
        check=False,
    )
    if not path.exists():
        pytest.skip(f"perf sched cannot record here: {done.stderr.decode()[-200:]}")
    return path


@pytest.fixture(scope="module")
def asked(sched: Path):
    with Asked([(str(sched), 0)]) as found:
        yield found


def ms(ns: int | None) -> str:
    """As perf prints it: cut behind microseconds."""
    ns = ns or 0
    return f"{ns // 1_000_000}.{ns % 1_000_000 // 1000:03d}"


def timehist(path: Path) -> tuple[Counter[tuple[Any, ...]], set[int]]:
    """All lines, and the threads of the work."""
    found = (_HIST.match(line) for line in run(fp.perf(), "sched", "timehist", "-i", str(path)).splitlines())
    lines = [m for m in found if m]
    threads = {int(m[4]) for m in lines if m[3] in NAMES and int(m[4]) > 0}
    return Counter((m[1], int(m[2]), int(m[4]), m[6], m[7], m[8]) for m in lines), threads


def bugs(path: Path) -> int:
    """Switches of which perf says itself that another one before them is missing."""
    found = re.search(r"context switch bugs \((\d+) out of", run(fp.perf(), "sched", "latency", "-i", str(path)))
    return int(found[1]) if found else 0


def test_timehist(sched: Path, asked: Asked) -> None:
    """Every line of the work: time, CPU, thread, and to the microsecond how long it was away, waited and ran. Where the
    kernel left a switch out, perf takes the one before for the begin, and the store says that it does not know."""
    theirs, threads = timehist(sched)
    found = asked.query(
        """select s.end_ts, s.cpu, t.tid, s.ts,
             s.ts - lag(s.end_ts) over (partition by s.utid order by s.end_ts) as away, s.ts - w.ts as delay, s.dur
           from sched_slice s join thread t using (utid)
           left join thread_state r on r.utid = s.utid and r.end_ts = s.ts and r.state = 'runnable'
           left join wakeup w on w.id = r.wakeup
           where t.tid <> 0 and s.end_ts is not null"""
    )
    rows = [row for row in found.tuples() if row[2] in threads]
    ours = Counter((f"{e // 10**9}.{e % 10**9 // 1000:06d}", c, t, ms(a), ms(d), ms(r)) for e, c, t, _, a, d, r in rows)
    # of a thread that has ended perf forgot the number
    nameless = {line[:2] for line in theirs if line[2] < 0} & {line[:2] for line in ours}
    theirs = Counter({line: n for line, n in theirs.items() if line[2] in threads or line[:2] in nameless})
    assert sum(ours.values()) == sum(theirs.values()) > 100
    theirs = Counter({line: n for line, n in theirs.items() if line[:2] not in nameless})
    left = theirs - ours
    unknown = {(c, t) for _, c, t, begin, *_ in rows if begin is None}
    assert sum(left.values()) <= bugs(sched)
    assert all((line[1], line[2]) in unknown for line in left)


@pytest.fixture(scope="module")
def wakeups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With sched_wakeup, the only one that perf sched latency looks at."""
    path = tmp_path_factory.mktemp("wakeups") / "perf.data"
    events = "switch wakeup wakeup_new stat_runtime process_fork migrate_task"
    options = ["-a", "-m", "4096", *(w for e in events.split() for w in ("-e", f"sched:sched_{e}"))]
    return fp.recorded(path, options, ["sh", "-c", WORK])


def test_latency(wakeups: Path) -> None:
    """By thread of the work: how often it waited for a CPU, on average and at most. perf leaves out who had to leave at
    once (R+), whose letter it does not know, and takes the first time that it sees a thread run for a wait of no
    length."""
    text = run(fp.perf(), "sched", "latency", "-p", "-i", str(wakeups))
    theirs = {int(m[2]): m for line in text.splitlines() if (m := _LATENCY.match(line))}
    sql = """select t.tid, count(*) as waits, coalesce(sum(r.dur), 0) / count(*) / 1e6 as average,
        coalesce(max(r.dur), 0) / 1e6 as longest
        from thread_state r join thread t using (utid)
        left join sched_slice s on s.utid = r.utid and s.end_ts = r.ts
        where r.state = 'runnable' and r.end_ts is not null
          and not (coalesce(r.preempted, false) and s.end_state is distinct from 'R')
        group by all"""
    with Asked([(str(wakeups), 0)]) as asked:
        ours = {row["tid"]: row for row in asked.query(sql)}
        unsure = (
            "select distinct tid from sched_slice s join thread using (utid) where s.ts is null or s.end_ts is null"
        )
        cut = {tid for (tid,) in asked.query(unsure).tuples()}
    compared = 0
    for tid, m in theirs.items():
        if tid in cut or not int(m[4]) or m[1] not in NAMES:
            continue
        row = ours[tid]
        assert (row["waits"], f"{row['average']:.3f}", f"{row['longest']:.3f}") == (int(m[4]), m[5], m[6]), m[0]
        compared += 1
    assert compared > 5


def test_every_event_has_perfs_time_cpu_and_thread(sched: Path, asked: Asked) -> None:
    text = fp.script(sched, "--ns", "-F", "tid,cpu,time,event")
    line = re.compile(r"\s*(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\S+):")
    theirs = Counter((int(m[2]), int(m[3]) * 10**9 + int(m[4]), m[5]) for m in line.finditer(text))
    ours = asked.query("select e.cpu, e.ts, k.name from event e join event_kind k on k.id = e.kind")
    assert Counter(ours.tuples()) == theirs


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("calls") / "perf.data"
    return fp.recorded(path, ["-m", "4096", "-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"], ["sh", "-c", WORK])


def test_trace_summary(calls: Path) -> None:
    """perf trace -s of the same file: by thread and call, how many, how many failed, and their times to a
    microsecond."""
    text = (
        run(fp.perf(), "trace", "-s", "-i", str(calls))
        or subprocess.run(
            [fp.perf(), "trace", "-s", "-i", str(calls)], capture_output=True, text=True, check=True
        ).stderr
    )
    theirs: dict[tuple[int, str], tuple[int, int, str, str, str]] = {}
    tid = 0
    for line in text.splitlines():
        if m := re.match(r"\s*\S.*? \((\d+)\), \d+ events", line):
            tid = int(m[1])
        elif m := re.match(r"\s*(\w+)\s+(\d+)\s+(\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)", line):
            theirs[tid, m[1]] = (int(m[2]), int(m[3]), m[4], m[5], m[7])
    sql = """select t.tid, s.name, count(*) as calls, count(error) as errors, sum(coalesce(dur, 0)) / 1e6 as total,
          min(coalesce(dur, 0)) / 1e6 as least, max(coalesce(dur, 0)) / 1e6 as most
        from syscall s join thread t using (utid) where s.end_ts is not null group by all"""
    with Asked([(str(calls), 0)]) as asked:  # what returned without having been entered takes no time, for perf
        rows = {(r["tid"], r["name"]): r for r in asked.query(sql)}
    assert len(theirs) > 20
    for key, (count, errors, total, least, most) in theirs.items():
        r = rows[key]
        assert (r["calls"], r["errors"]) == (count, errors), key
        found = (r["total"], r["least"], r["most"])
        assert all(abs(a - float(b)) < 0.0011 for a, b in zip(found, (total, least, most), strict=True)), (key, r)


def test_functions_are_those_of_perf_report(tmp_path: Path) -> None:
    """Samples by function, in themselves and with what they called, beside perf report --children."""
    source = "volatile long n; void inner(void) { for (long i = 0; i < 200000; i++) n += i; }"
    source += " void outer(void) { for (int i = 0; i < 400; i++) inner(); } int main(void) { outer(); return 0; }"
    (tmp_path / "work.c").write_text(source)
    subprocess.run(["gcc", "-O0", "-fno-omit-frame-pointer", "-o", "work", "work.c"], cwd=tmp_path, check=True)
    options = ["-e", "cpu-clock:u", "-F", "2000", "--call-graph", "fp"]
    path = fp.recorded(tmp_path / "perf.data", options, [str(tmp_path / "work")])
    text = run(
        fp.perf(),
        "report",
        "-i",
        str(path),
        "--stdio",
        "--children",
        "-g",
        "none",
        "-F",
        "overhead_children,sample,sym",
    )
    theirs = {
        m[3]: (float(m[1]), int(m[2]))
        for m in re.finditer(r"^\s*(\d+\.\d+)%\s+(\d+)\s+\[\S\] (\w+)\s*$", text, re.MULTILINE)
    }
    with Asked([(str(path), 0)]) as asked:
        rows = {r["function"]: r for r in asked.query("select * from profile.functions")}
        total = asked.query("select count(*) from sample").value()
    for name in ("inner", "outer", "main"):
        percent, own = theirs[name]
        assert rows[name]["self_samples"] == own
        assert abs(rows[name]["total_samples"] * 100 / total - percent) < 0.02
