"""The kernel's latency tracers, on kernels that have them (``vmtest test --kernel 6.12-rt``): what they find is shown,
settings of the machine are put back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probescope.kernel import tracefs
from probescope.kernel.leftovers import PREFIX

HERE = tracefs.tracers()
pytestmark = pytest.mark.skipif("wakeup_rt" not in HERE, reason="this kernel has no latency tracers")


def root() -> Path:
    return Path(tracefs.find_root())


def settings() -> dict[str, str]:
    files = ["tracing_thresh", "osnoise/period_us", "osnoise/runtime_us", "osnoise/stop_tracing_us", "osnoise/cpus"]
    files += ["osnoise/timerlat_period_us", "hwlat_detector/window", "hwlat_detector/width", "tracing_max_latency"]
    return {f: (root() / f).read_text() for f in files if (root() / f).exists()}


def ours() -> list[str]:
    return [n for n in os.listdir(root() / "instances") if n.startswith(PREFIX)]


def probescope(*args: str) -> list[dict]:
    done = subprocess.run(
        [sys.executable, "-m", "probescope", "latency", "-f", "json", *args],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(autouse=True)
def _put_back():
    before = settings()
    yield
    assert settings() == before
    assert ours() == []


LONGEST = ("wakeup", "wakeup_rt", "irqsoff", "preemptoff", "preemptirqsoff")
URGENT = ["--", "sh", "-c", "for i in 1 2 3 4 5; do chrt -f 50 sleep 0.1; done"]


@pytest.mark.parametrize("tracer", [t for t in LONGEST if t in HERE])
def test_the_longest(tracer):
    """Its number is that of the kernel's own text. Of tasks that are woken those count that come before others."""
    (found,) = probescope(tracer, *URGENT)
    assert found["latency_us"] > 0
    assert found["trace"].startswith(f"# tracer: {tracer}\n")
    assert f"# latency: {found['latency_us']} us," in found["trace"]


def test_over_a_threshold():
    """Each that is longer is told."""
    found = probescope("wakeup", "--over", "1us", *URGENT)
    assert found[-1]["type"] == "max"
    assert found[-1]["latency_us"] == max(d["latency_us"] for d in found[:-1])


@pytest.mark.skipif("timerlat" not in HERE, reason="this kernel has no latency tracers")
def test_timers():
    """At the interrupt and in the thread that it wakes, of each CPU, for as long as was asked: 600 periods, of which
    emulation passes over some."""
    found = probescope("timerlat", "--period", "5ms", "--seconds", "3")
    rows = {(d["by"]["cpu"], d["by"]["context"]): d for d in found}
    assert set(rows) == {(cpu, context) for cpu in range(os.cpu_count() or 1) for context in ("irq", "thread")}
    for row in found:
        assert 0 < row["min_ns"] <= row["avg_ns"] <= row["max_ns"], row
        assert row["min_ns"] <= row["cur_ns"] <= row["max_ns"], row
        assert sum(count for _, _, count in row["histogram"]) == row["count"], row
    for cpu in range(os.cpu_count() or 1):
        irq, thread = rows[cpu, "irq"], rows[cpu, "thread"]
        assert 60 < irq["count"] < 1000, irq
        assert abs(irq["count"] - thread["count"]) <= 2, rows
        assert irq["min_ns"] <= thread["min_ns"], rows


@pytest.mark.skipif("timerlat" not in HERE, reason="this kernel has no latency tracers")
def test_until_one_is_too_late():
    """Everything is later than a microsecond here: it ends long before its time, with what came before."""
    began = time.monotonic()
    found = probescope("timerlat", "--stop", "1us", "--seconds", "100")
    assert time.monotonic() - began < 90
    assert found[-1]["type"] == "stopped"
    assert "timer_latency" in found[-1]["trace"]


@pytest.mark.skipif("osnoise" not in HERE, reason="this kernel has no latency tracers")
def test_noise():
    """A line for each CPU, over the periods that were asked for."""
    found = probescope("osnoise", "--period", "500ms", "--runtime", "400ms", "--seconds", "3")
    assert {d["cpu"] for d in found} <= set(range(os.cpu_count() or 1))
    assert all(d["periods"] >= 1 and d["runtime_us"] >= 400_000 * d["periods"] for d in found)
    assert all(0 <= d["max_single_us"] <= d["max_noise_us"] <= d["noise_us"] <= d["runtime_us"] for d in found)


@pytest.mark.skipif("hwlat" not in HERE, reason="this kernel has no latency tracers")
def test_the_hardware():
    """Emulation has gaps without end."""
    found = probescope("hwlat", "--over", "10us", "--runtime", "200ms", "--period", "400ms", "--seconds", "3")
    assert found
    assert all(d["min_ns"] >= 10_000 for d in found)


def test_killed():
    """Settings are put back by the process beside it."""
    before = settings()
    command = [sys.executable, "-m", "probescope", "latency", "osnoise", "--period", "700ms", "--runtime", "300ms"]
    running = subprocess.Popen([*command, "--over", "7us"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while settings()["osnoise/period_us"] == before["osnoise/period_us"] and time.monotonic() < until:
        time.sleep(0.1)
    assert settings() != before
    running.send_signal(signal.SIGKILL)
    running.wait(10)
    until = time.monotonic() + 60
    while (ours() or settings() != before) and time.monotonic() < until:
        time.sleep(0.1)
