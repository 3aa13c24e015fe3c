"""``latency A to B`` of a recording against the same worked out from perf script's text."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.support.formats_perf import perf

LINE = re.compile(r"\s*(\d+)\.(\d{9}):\s+sched:sched_(waking|switch):\s+(.*)")
WOKEN = re.compile(r" pid=(\d+) prio=")
NEXT = re.compile(r" next_pid=(\d+) next_prio=")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("latency") / "perf.data"
    # two that wait for each other: a pipe holds 64 kB
    command = ["sh", "-c", "dd if=/dev/zero bs=1M count=50 status=none | cat > /dev/null"]
    events = ["-e", "sched:sched_waking", "-e", "sched:sched_switch", "-c", "1", "-a"]
    made = [sys.executable, "-m", "probescope", "record", *events, "-o", str(path), "--", *command]
    subprocess.run(made, check=True, capture_output=True, timeout=300)
    return path


def expected(path) -> dict[str, int]:
    text = subprocess.run(
        [perf(), "script", "--ns", "-F", "time,event,trace", "-i", str(path)],
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
        timeout=300,
    ).stdout
    woken: dict[int, int] = {}
    found: list[int] = []
    for line in filter(None, map(LINE.match, text.splitlines())):
        at = int(line[1]) * 10**9 + int(line[2])
        if line[3] == "waking":
            woken[int(WOKEN.search(line[4])[1])] = at
        else:
            start = woken.pop(int(NEXT.search(line[4])[1]), None)
            if start is not None:
                found.append(at - start)
    return {"count": len(found), "sum_ns": sum(found), "min_ns": min(found), "max_ns": max(found)}


def test_the_same_as_from_perf_script(recording):
    """Count, sum and extremes of the time from waking to running."""
    words = ["sched:sched_waking", "to", "sched:sched_switch", "--match", "pid=next_pid", "-i", str(recording)]
    done = subprocess.run(
        [sys.executable, "-m", "probescope", "latency", *words, "-f", "json", "--worst", "1"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    total, case = map(json.loads, done.stdout.splitlines())
    wanted = expected(recording)
    assert wanted["count"] > 50
    assert {name: total[name] for name in wanted} == wanted
    assert case["latency_ns"] == wanted["max_ns"]
    assert sum(count for _, _, count in total["histogram"]) == wanted["count"]


def test_counted_by_fields(recording):
    """``hist -i``: each next_pid as often as perf script's text has it, with the sums of next_prio."""
    text = subprocess.run(
        [perf(), "script", "-F", "event,trace", "-i", str(recording)],
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
        timeout=300,
    ).stdout
    wanted: dict[int, tuple[int, int]] = {}
    for pid, prio in re.findall(r" next_pid=(\d+) next_prio=(\d+)", text):
        count, total = wanted.get(int(pid), (0, 0))
        wanted[int(pid)] = count + 1, total + int(prio)
    keys = ["--keys", "next_pid", "--values", "next_prio", "--sort", "next_prio.descending"]
    done = subprocess.run(
        [sys.executable, "-m", "probescope", "hist", "sched:sched_switch", *keys, "-i", str(recording), "-f", "json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    entries = json.loads(done.stdout)["entries"]
    values = [tuple(e["values"].values()) for e in entries]
    assert {e["keys"]["next_pid"]: v for e, v in zip(entries, values, strict=True)} == wanted
    assert [v[1] for v in values] == sorted((v[1] for v in values), reverse=True)
