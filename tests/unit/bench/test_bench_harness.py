"""The harness must measure what it says, and refuse what means nothing."""

from __future__ import annotations

import os
import sys

import pytest

from bench import harness, stream
from bench.attach import counted
from bench.harness import BenchError, Row


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_wall_cpu_and_memory_are_those_of_the_command():
    """Oracle: a command that sleeps, burns and allocates known amounts, far above the noise of a start of Python.

    This process is made large first: a child's peak must not be that of its parent.
    """
    ballast = bytearray(b"x") * (300 << 20)
    idle = harness.measure(python("import time; time.sleep(0.3)"))
    assert idle.wall >= 0.3
    assert idle.cpu < 0.25
    assert idle.rss < 100 << 10
    large = harness.measure(python("x = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1"))
    assert 200 << 10 <= large.rss <= 260 << 10
    busy = harness.measure(python("import time\nwhile time.process_time() < 0.4: pass"))
    assert busy.cpu >= 0.4
    assert len(ballast) == 300 << 20


def test_a_command_that_fails_is_no_measurement():
    """A tool that dies at once would be the fastest of all."""
    with pytest.raises(BenchError, match="ended with 3"):
        harness.measure(python("raise SystemExit(3)"))


def test_a_command_that_hangs_is_ended():
    with pytest.raises(BenchError, match="-9"):
        harness.measure(python("import time; time.sleep(60)"), timeout=0.2)


def test_bytecode_may_be_written(monkeypatch):
    """A user's Python keeps compiled bytecode, so a start is measured with it."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in harness.environment()
    assert harness.environment({"A": "b"})["A"] == "b"


def test_sides_take_turns_and_the_first_round_is_dropped():
    calls: list[str] = []

    def side(name: str) -> str:
        calls.append(name)
        return f"{name}{len(calls)}"

    a, b = harness.turns(2, lambda: side("a"), lambda: side("b"))
    assert calls == ["a", "b"] * 3
    assert (a, b) == (["a3", "a5"], ["b4", "b6"])


@pytest.mark.parametrize(
    ("row", "ratio", "verdict"),
    [
        (Row("x", "s", [1, 2, 9], [4, 4, 4], 0.5), 0.5, "ok"),
        (Row("x", "s", [3], [4], 0.5), 0.75, "MISSED"),
        (Row("x", "ev/s", [300], [100], 2.0, more=True), 3.0, "ok"),
        (Row("x", "ev/s", [150], [100], 2.0, more=True), 1.5, "MISSED"),
        (Row("x", "s", [1], [], 0.5), None, ""),
        (Row("x", "s", [1], [4]), 0.25, ""),
        (Row("x", "s", [1], [0], 0.5), None, ""),
    ],
)
def test_ratio_of_medians_against_the_target(row, ratio, verdict):
    assert row.ratio == ratio
    assert row.verdict == verdict


def test_table_lines_up():
    text = harness.table("Title", [Row("short", "s", [0.1234], [1234.5], 0.5), Row("a longer name", "ns", [12.34], [])])
    assert text.splitlines() == [
        "Title",
        "                     probescope  bpftrace   ratio   target",
        "  short, s                0.123     1,234  0.000x  <= 0.5x  ok",
        "  a longer name, ns        12.3         -       -",
    ]


def test_only_the_map_counts_as_counted():
    assert counted("Attaching 361 probes...\n\n@: 4489595\n") == 4489595
    assert counted("Attaching 361 probes...\n") == 0


def test_processor_time_is_that_of_the_process():
    before = stream.cpu_seconds(os.getpid())
    end = os.times().user + 0.2
    while os.times().user < end:
        pass
    assert 0.1 < stream.cpu_seconds(os.getpid()) - before < 2
