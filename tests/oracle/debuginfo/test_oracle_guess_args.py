"""Arguments guessed from machine code, held to how the functions were declared in C."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.cli.main import main
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.guess_args import Guess, Guesser
from probescope.views.arguments.code import BinaryCode

SOURCE = r"""
#include <stdarg.h>
#include <stdio.h>
#define KEPT __attribute__((noinline, noipa, used))
struct point { long x, y; };
KEPT int none(void) { return 7; }
KEPT long one(const struct point *p) { return p->x + p->y; }
KEPT long two(long a, const char *b) { return a + b[0]; }
KEPT long six(long a, long b, long c, long d, long e, long f) { return a * 2 + b * 3 + c * 5 + d * 7 + e * 11 + f; }
KEPT double mixed(double a, int n, double b) { return a * n + b; }
KEPT double floats(float a, double b, double c) { return a + b * c; }
KEPT long passed_on(long a, long b, long c) { return six(c, b, a, 4, 5, 6) + 1; }
KEPT long tail(long a, long b, long c) { return passed_on(a, b, c); }
KEPT int told(const char *form, ...) {
    va_list more; va_start(more, form); int n = vprintf(form, more); va_end(more); return n;
}
KEPT int calls_told(int n) { return told("%d %f\n", n, n * 0.5); }
KEPT long looped(const long *from, long *to, int n) { for (int i = 0; i < n; i++) to[i] = from[i] * 3; return *to; }
KEPT long branched(int which, long a, long b) { if (which) return a; return b * 2; }
KEPT const char *name_of(const char *name, int fd, long error) { return error < 0 || fd ? name : 0; }
int main(int argc, char **argv) {
    struct point p = {argc, 2};
    long from[2] = {1, 2}, to[2];
    printf("%ld\n", none() + one(&p) + two(1, "x") + six(1, 2, 3, 4, 5, 6) + (long)mixed(1.5, 2, 3)
        + (long)floats(1, 2, 3) + tail(1, 2, 3) + calls_told(3) + looped(from, to, 2) + branched(argc, 4, 5));
    for (int i = 0; i < 5; i++) name_of("the name", i, -2);
    return 0;
}
"""
DECLARED = {
    # function: integers and pointers, floating-point numbers, whether more follow
    "none": (0, 0, False),
    "one": (1, 0, False),
    "two": (2, 0, False),
    "six": (6, 0, False),
    "mixed": (1, 2, False),
    "floats": (0, 3, False),
    "passed_on": (3, 0, False),
    "tail": (3, 0, False),
    "told": (1, 0, True),
    "calls_told": (1, 0, False),
    "looped": (3, 0, False),
    "branched": (3, 0, False),
    "name_of": (3, 0, False),
    "main": (1, 0, False),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    pytest.importorskip("iced_x86", reason="needs iced-x86")
    out = tmp_path_factory.mktemp("arguments")
    (out / "prog.c").write_text(SOURCE)
    for level in ("O0", "O1", "O2", "Os"):
        args = ["gcc", "-w", f"-{level}", "-fno-inline", "-o", str(out / level), "prog.c"]
        subprocess.run(args, check=True, cwd=out)
    return out


@pytest.fixture(scope="module", params=["O0", "O1", "O2", "Os"])
def guesses(request: pytest.FixtureRequest, folder: Path) -> dict[str, Guess]:
    binary = Binary(str(folder / request.param))
    guesser = Guesser(BinaryCode(binary).code())
    found = {}
    for name in DECLARED:
        site = binary.function(name)
        assert site is not None
        found[name] = guesser.guess(site.address)
    return found


@pytest.mark.parametrize("name", [n for n in DECLARED if n != "main"])
def test_counts_are_the_declared_ones(name: str, guesses: dict[str, Guess]) -> None:
    """Protects the walk: registers read before they are written, on every way, through calls, jumps to other
    functions, loops, and what functions of ... save."""
    guess = guesses[name]
    assert (guess.integers, guess.floats, guess.variable) == DECLARED[name]
    assert guess.whole


@pytest.mark.parametrize("level", ["O1", "O2", "Os"])
def test_registers_that_are_followed_are_pointers(level: str, folder: Path) -> None:
    """Protects the marks of pointers (not of -O0, where arguments are stored first and copies of them followed)."""
    binary = Binary(str(folder / level))
    guesser = Guesser(BinaryCode(binary).code())
    for name, pointers in (("one", (0,)), ("two", (1,))):
        site = binary.function(name)
        assert site is not None
        assert guesser.guess(site.address).pointers == pointers


def test_values_say_what_they_look_like(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects sampling: a text, small numbers and an error, as main passes them."""
    import os

    if os.geteuid() != 0:
        pytest.skip("uprobes need root")
    program = str(folder / "O2")
    assert main(["args", "name_of", "-x", program, "-c", program, "-f", "json"]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (row["count"], row["hits"]) == (3, 5)
    looks = [a["looks"] for a in row["arguments"]]
    assert looks[0] == "looks like a text"
    assert row["arguments"][0]["values"] == ['"the name"']
    assert row["arguments"][1]["values"] == ["0", "1", "2"]
    assert row["arguments"][2]["values"] == ["-ENOENT"]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["nothing_like_it", "-x", "ls"], "no function"),
        (["0xzz", "-x", "ls"], "not an address"),
        (["0x7fffffff", "-x", "ls"], "nothing at"),
        (["vfs_read", "-p", "1"], "-x FILE"),
        (["no_such_function_anywhere"], "there is no function no_such_function_anywhere"),
        (["main", "-x", "/etc/passwd"], "ELF"),
    ],
)
def test_mistakes_are_told(args: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects against tracebacks."""
    assert main(["args", *args]) in {1, 2}
    assert why in capsys.readouterr().err
