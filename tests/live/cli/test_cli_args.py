"""``probescope args`` with values: those that a program is known to pass, declared or guessed."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from probescope.cli.main import main

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="a C compiler is not installed")

SOURCE = r"""
#include <stdbool.h>
#define KEPT __attribute__((noinline, noipa))
enum kind { PLAIN, FANCY = 7 };
struct pair { long a, b; };
struct wide { long a[9]; };
volatile long sum;
KEPT void take(int n, const char *name, unsigned long size, bool yes, enum kind k, struct pair *p) {
    sum += n + name[0] + size + yes + k + p->a;
}
KEPT void whole(int n, struct wide w) { sum += n + w.a[3]; }
KEPT void idle(int n) { sum += n; }
int main(int argc, char **argv) {
    struct pair p = {1, 2};
    struct wide w = {{0}};
    for (int i = 0; i < 3; i++) {
        sum += "pear"[i];  // the text is in memory before it is passed
        take(i - 1, "pear", -1ul - i, i == 1, FANCY, &p);
    }
    whole(5, w);
    if (argc > 7) idle(1);
    return 0;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("args")
    (folder / "a.c").write_text(SOURCE)
    for name, options in (("known", ["-g"]), ("bare", [])):
        subprocess.run(["cc", "-O1", *options, "-o", name, "a.c"], check=True, cwd=folder, timeout=300)
    return {name: str(folder / name) for name in ("known", "bare")}


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["args", "-f", "json", *words]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


@pytest.mark.parametrize("how", [["--", "{}"], ["-c", "{}"]])
def test_values_of_what_is_declared(
    how: list[str], programs: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A declaration is no reason not to look, however the command is given; numbers as their types have them."""
    known = programs["known"]
    said = asked(capsys, "take", "-x", known, *(w.format(known) for w in how))
    assert (said["source"], said["hits"]) == ("declaration", 3)
    number, name, size, yes, kind, pair = said["values"]
    assert number == ["-1", "0", "1"]
    assert name[-1] == '"pear"'
    assert size == [str((1 << 64) - 1 - i) for i in range(3)]
    assert (yes, kind) == (["0", "1"], ["7"])
    assert len(pair) == 1
    assert pair[0].startswith("0x7f")


def test_an_argument_that_is_no_number(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """A struct on the stack has no value to show; what stands before it has."""
    known = programs["known"]
    said = asked(capsys, "whole", "-x", known, "--", known)
    assert said["values"] == [["5"], []]


def test_text(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    known = programs["known"]
    assert main(["args", "take", "-x", known]) == 0
    assert "  int n\n" in capsys.readouterr().out
    assert main(["args", "take", "-x", known, "--", known]) == 0
    assert "  int n; passed: -1, 0, 1\n" in capsys.readouterr().out


def test_a_function_that_is_not_called(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    known = programs["known"]
    assert main(["args", "idle", "-x", known, "--", known]) == 0
    out, err = capsys.readouterr()
    assert out == "idle: declared\n  int n\n"
    assert "it was not called" in err


def test_guessed_as_before(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    bare = programs["bare"]
    pytest.importorskip("iced_x86")
    said = asked(capsys, "take", "-x", bare, "--", bare)
    assert (said["source"], said["hits"]) == ("machine code", 3)
    assert said["arguments"][0]["values"] == ["-EPERM"]


def test_one_command(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    known = programs["known"]
    assert main(["args", "take", "-x", known, "-c", known, "--", known]) == 2
    assert "there are two commands" in capsys.readouterr().err
    assert main(["args", "take", "-x", known, "--", "no_such_program"]) == 2
    assert "there is no program 'no_such_program'" in capsys.readouterr().err
