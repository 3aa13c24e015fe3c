"""Marks that programs in C, C++ and Python have in their own code, traced."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from marked_program import compiled, missing

import probescope
from probescope.cli.main import main

WAYS = ["gcc -std=c99 -O0", "gcc -std=c99 -O2 -s", "g++ -std=c++11 -O0", "g++ -std=c++17 -O3", "clang -O0", "clang -O2"]
MILLION = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "probescope.h"
PROBESCOPE_SPAN_NAMED(app, unit);
static volatile long sink;
static void one(long k) { PROBESCOPE_SPAN(app, unit, k); sink += k; }
static void *many(void *n) { for (long i = 0; i < (long)n; i++) one(i & 3); return 0; }
int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 500000;
    pthread_t other;
    pthread_create(&other, 0, many, (void *)n);
    many((void *)n);
    pthread_join(other, 0);
    printf("%ld\n", 2 * n);
    return 0;
}
"""
PYTHON = """
import sys, threading
import probescope

@probescope.point("fib")
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def work(k):
    for i in range(100):
        with probescope.point("parse", k, f"item {k}"):
            with probescope.point("parse", 10 * k):
                pass

def everything():
    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    fib(6)
    try:
        with probescope.point("failed"):
            raise ValueError
    except ValueError:
        pass
"""


def documents(capfd: pytest.CaptureFixture[str], *args: str) -> list[dict[str, object]]:
    assert main(["span", *args]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("way", WAYS)
def test_arguments_have_their_values(way: str, tmp_path: Path) -> None:
    """Protects the places of arguments, whatever the compiler puts where: numbers of each size and sign, bits of a
    double, a bit field, a text that was written just before, memory behind a pointer; also of a stripped program."""
    if why := missing(way):
        pytest.skip(why)
    path = compiled(tmp_path, way)
    program = f"""
        usdt:{path}:app:many {{
            printf("%ld %ld %ld %lx %lx %s %ld %ld|", arg0, (int64)arg1, arg2, arg3, arg4, str(arg5), arg6, (int64)arg7)
        }}
        usdt:{path}:app:global {{ printf("%d %d|", arg0, *(int64*)arg1); }}
        usdt:{path}:app:whole__begin {{ printf("%d %s|", arg0, str(arg1)); }}"""
    with probescope.run(program, command=f"{path} x y") as session:
        text = "".join(session.texts())
    many = "200 -3 1 3ff8000000000000 8000000000000000 abcde 9 -42"
    assert text == f"2 {path}|{many}|79 79|3 three|{many}|82 82|"


def test_definitions_take_arguments_of_marks(tmp_path: Path) -> None:
    """By their numbers, with the size and sign that the mark's note tells, or as the text that one points to; all of
    them where none is asked for. ``$arg1`` is not what a function that was entered there would have."""
    if why := missing("gcc"):
        pytest.skip(why)
    path = compiled(tmp_path, "gcc -O2")
    probe = [sys.executable, "-m", "probescope", "probe", "-q", "-x", path]
    wanted = ["%sdt_app:many $arg2 text=$arg6:string whole=+0($arg6):string", "%sdt_app:global"]
    done = subprocess.run([*probe, *wanted, "--", path], capture_output=True, text=True, check=False)
    rows = [line.partition(") ")[2] for line in done.stdout.splitlines() if ": sdt_app:" in line]
    assert rows[0] == 'arg2=-3 text="abcde" whole="abcde"', done.stderr
    assert rows[1].startswith("arg1=77 arg2=")
    done = subprocess.run([*probe, "-D", "%sdt_app:bare $arg1"], capture_output=True, text=True, check=False)
    assert "$arg1 cannot be had: it has 0 arguments" in done.stderr


def test_arguments_of_a_lazy_mark_are_made_for_listeners(tmp_path: Path) -> None:
    """Protects semaphores: nothing is evaluated without a tracer, all is while one is there."""
    if why := missing("gcc"):
        pytest.skip(why)
    path = compiled(tmp_path, "gcc -O2")
    assert subprocess.run([path], capture_output=True, check=True).stdout == b""
    script = f"usdt:{path}:app:lazy {{ @[arg0] = count(); }}"
    ran = subprocess.run(
        [sys.executable, "-m", "probescope", "run", "-e", script, "-c", path], capture_output=True, check=True
    )
    lines = ran.stdout.decode().split("\n")
    assert lines[:2] == ["dear", "somebody listens"]
    assert {"@[0]: 1", "@[5]: 1"} <= set(lines)


def test_a_block_ends_whichever_way_it_is_left(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Protects PROBESCOPE_SPAN: continue and return end it, in C and in C++; spans of others are not among them."""
    for way in ("gcc -O2", "g++ -O0"):
        if missing(way):
            continue
        path = compiled(tmp_path, way)
        rows = documents(capfd, "--mark", "part", "--by", "arg0", "-f", "json", "--", path, "x")
        assert {r["by"]: r["count"] for r in rows} == {0: 2, 1: 1, 2: 1}
        [row] = documents(capfd, "--mark", "other:piece", "-x", path, "-f", "json", "--", path)
        assert row["count"] == 1


def test_a_million_spans_of_two_threads(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Protects counts: as many as the program says that it had, each with its own argument, and none lost."""
    if why := missing("gcc"):
        pytest.skip(why)
    path = compiled(tmp_path, "gcc -O2", MILLION)
    assert main(["span", "--mark", "unit", "--by", "arg0", "-f", "json", "--", path]) == 0
    out, err = capfd.readouterr()
    assert "1000000" in out.splitlines()
    rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert {r["by"]: r["count"] for r in rows} == dict.fromkeys(range(4), 250_000)
    assert "WARNING" not in err


def test_points_of_python_that_starts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Protects points from the first one on: those of a program that span starts; values at the begin; recursion by a
    decorator; threads; a block that is left by an error."""
    (tmp_path / "program.py").write_text(PYTHON + "everything()\n")
    command = ["-f", "json", "--", sys.executable, str(tmp_path / "program.py")]
    rows = documents(capfd, "--mark", "parse", "--by", "arg0", *command)
    assert {r["by"]: r["count"] for r in rows} == {1: 100, 10: 100, 2: 100, 20: 100}
    rows = documents(capfd, "--mark", "parse", "--by", "str(arg1)", *command)
    assert {r["by"]: r["count"] for r in rows} == {"item 1": 100, "item 2": 100, "": 200}
    [row] = documents(capfd, "--mark", "probescope:fib", *command)
    assert row["count"] == 25
    [row] = documents(capfd, "--mark", "failed", *command)
    assert row["count"] == 1


def test_points_of_python_that_runs(tmp_path: Path) -> None:
    """Protects -p: probes among the mappings of a process, and its counters, which say when somebody listens and when
    nobody does any more."""
    program = PYTHON + 'point = probescope.point("parse")\n'
    program += "for line in sys.stdin:\n    print(list(point.listeners), flush=True)\n    everything()\nprint('end')\n"
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, str(tmp_path / "program.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None

        def turn() -> str:
            child.stdin.write("\n")  # type: ignore[union-attr]
            child.stdin.flush()  # type: ignore[union-attr]
            return child.stdout.readline().strip()  # type: ignore[union-attr]

        assert turn() == "[0, 0]"
        text = "usdt:*:probescope:parse__begin { @[arg0] = count(); } usdt:*:probescope:parse__end { @ends = count(); }"
        with probescope.run(text, pid=child.pid) as session:
            assert turn() == "[1, 1]"
            child.stdin.close()
            for _ in session:
                pass
        assert session.maps["@"] == {1: 100, 10: 100, 2: 100, 20: 100}
        assert session.maps["@ends"] == 400


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--mark", "parse"], "where is 'parse' marked"),
        (["--mark", "no mark", "-p", "1"], "is no mark"),
        (["--mark", "parse", "main", "-x", "/bin/true"], "of its own"),
        (["--mark", "parse", "-x", "/bin/true"], "no USDT probes"),
        (["--mark", "other:parse", "--", "/bin/true"], "no USDT probes"),
    ],
)
def test_mistakes_are_told(args: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects against tracebacks."""
    assert main(["span", *args]) in {1, 2}
    assert why in capsys.readouterr().err
