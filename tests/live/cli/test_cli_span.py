"""Spans of a program whose work is known: how many there are, whose they are, and that legs add up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from probescope.cli.main import main

SOURCE = r"""
#include <pthread.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline, noipa))
volatile long sink;
KEPT void step(long n) { for (long i = 0; i < n; i++) sink += i; }
KEPT long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
KEPT void work(long n) {
    step(n);
    if (n != 3)
        step(2 * n);
    step(3 * n);
    sink = 0;
}
static void *many(void *arg) { for (int i = 0; i < 500; i++) work((long)arg); return 0; }
int main(void) {
    pthread_t other;
    pthread_create(&other, 0, many, (void *)10L);
    many((void *)20L);
    pthread_join(other, 0);
    for (int i = 0; i < 7; i++) work(3);
    fib(6);
    return 0;
}
"""
FIRST, SECOND, THIRD, LAST = 9, 11, 12, 13
"""Lines of work()."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("span")
    (folder / "prog.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-o", "prog", "prog.c", "-lpthread"], check=True, cwd=folder)
    return str(folder / "prog")


def span(capsys: pytest.CaptureFixture[str], program: str, *args: str) -> list[dict[str, object]]:
    assert main(["span", *args, "-x", program, "-f", "json", "--", program]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_call_is_a_span(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects counts of two threads at once: 500 calls each, and 7 more."""
    [row] = span(capsys, program, "work")
    assert row["count"] == 1007
    assert sum(n for _, _, n in row["histogram"]) == 1007  # type: ignore[attr-defined]
    assert row["min_ns"] <= row["avg_ns"] <= row["max_ns"]  # type: ignore[operator]


def test_totals_are_kept_apart_by_an_argument(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects --by: the argument at the start, though the end does not know it; threads run at the same time."""
    rows = span(capsys, program, "work", "--by", "arg0")
    assert {r["by"]: r["count"] for r in rows} == {10: 500, 20: 500, 3: 7}


def test_calls_inside_of_calls_are_kept_apart(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects recursion: fib(n) is called as often as the numbers of Fibonacci say; a call holds its own. On one CPU:
    clocks of two may be further apart than a call takes."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    try:
        rows = span(capsys, program, "fib", "--by", "arg0")
    finally:
        os.sched_setaffinity(0, cpus)
    assert {r["by"]: r["count"] for r in rows} == {6: 1, 5: 1, 4: 2, 3: 3, 2: 5, 1: 8, 0: 5}
    longest = {r["by"]: r["max_ns"] for r in rows}
    assert longest[6] > longest[5] > longest[4]  # type: ignore[operator]


def test_legs_add_up_to_the_whole(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects legs: each moment ends one and begins the next, so their times are exactly those of the whole; the way
    that leaves a line out is a leg of its own."""
    lines = [f"prog.c:{n}" for n in (FIRST, SECOND, THIRD, LAST)]
    rows = span(capsys, program, ",".join(lines))
    counts = {(r["from"], r["to"]): r["count"] for r in rows}
    first, second, third, last = lines
    assert counts == {
        (first, second): 1000,
        (first, third): 7,
        (second, third): 1000,
        (third, last): 1007,
        (first, last): 1007,
    }
    whole = next(r for r in rows if (r["from"], r["to"]) == (first, last))
    assert sum(r["total_ns"] for r in rows if r is not whole) == whole["total_ns"]  # type: ignore[misc]


def test_only_some_spans(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects --filter."""
    [row] = span(capsys, program, "work", "--filter", "arg0 == 3")
    assert row["count"] == 7


def test_text(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects what a person reads, and the program that --show-program prints: it is one that run takes."""
    assert main(["span", "work", "to", "work%return", "-x", program, "--", program]) == 0
    out = capsys.readouterr().out
    assert out.startswith("work to work%return\n  1,007 spans  min ")
    assert main(["span", "work", "-x", program, "--show-program"]) == 0
    text = capsys.readouterr().out
    assert main(["run", "--dry-run", "-e", text]) == 0


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["nothing_like_it"], "no function"),
        (["prog.c:9999"], "no point|to where|no code"),
        (["work", "to", "prog.c:9999"], r"no code(.|\n)*HINT: line \d+ has code: prog.c:\d+\n"),
        (["work", "to", "prg.c:9"], r"no code(.|\n)*HINT: readelf --debug-dump=decodedline "),
        (["work+4"], "to where"),
        (["work+4%return", "to", "x"], "no point"),
        (["work", "--nested", "to", "fib,step"], "two points"),
        ([",".join(["work"] * 40)], "at most"),
        ([""], "measured"),
    ],
)
def test_mistakes_are_told(args: list[str], why: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects against tracebacks, and against programs that mean something else."""
    import re

    assert main(["span", *args, "-x", program]) in {1, 2}
    assert re.search(why, capsys.readouterr().err)
