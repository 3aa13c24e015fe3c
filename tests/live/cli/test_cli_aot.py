"""--aot: a program as a file of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from collect_run import command, environment

from probescope.cli.aot import kept


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["-q", "-e", "begin {}", "--aot", "x", "-v"], ["-q", "-e", "begin {}", "-v"]),
        (["--aot=x", "f.bt", "1", "--", "--named"], ["f.bt", "1"]),
        (["--as-bpftrace", "f.bt", "--aot"], ["f.bt"]),
    ],
)
def test_words_that_stay(argv: list[str], words: list[str]) -> None:
    """All but --aot itself, and parameters, which are given when it runs."""
    assert kept(argv) == words


@pytest.mark.parametrize("how", ["line", "file"])
def test_an_executable_that_runs_the_program(tmp_path: Path, how: str) -> None:
    """It takes parameters and more options; quotes in the program survive; the script's file is not needed any more."""
    text = """begin { printf("it's %d\\n", getopt("n", 1)); exit(); }"""
    script, made = tmp_path / "it.bt", tmp_path / "made"
    script.write_text(text)
    given = [str(script)] if how == "file" else ["-e", text]
    done = command(["-q", *given, "--aot", str(made)])
    assert (done.code, done.out) == (0, "")
    script.unlink()
    ran = subprocess.run(
        [str(made), "-f", "json", "--", "--n=5"], capture_output=True, text=True, env=environment(), check=True
    )
    assert "it's 5" in ran.stdout


def made_and_run(tmp_path: Path, script: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """The output of what is made of a script, run in another directory."""
    made = tmp_path / "made of $(it)'s"
    done = command(["-q", str(script), *more, "--aot", str(made)])
    assert (done.code, done.out, done.err) == (0, "", "")
    away = tmp_path / "away"
    away.mkdir()
    return subprocess.run([str(made)], capture_output=True, text=True, env=environment(), cwd=away, check=False)


def test_what_is_imported_is_in_it(tmp_path: Path) -> None:
    """Scripts, macros and headers that stand beside the script are not looked for where the executable runs; the
    configuration still stands first."""
    script = tmp_path / "it.bt"
    (tmp_path / "lib.bt").write_text("fn twice($a: int64): int64 { return $a * 2; }\nmacro one() { 1 }\n")
    (tmp_path / "own.h").write_text("struct own { int a[5]; };\n")
    script.write_text(
        "#!/usr/bin/env bpftrace\n"
        'config = { max_strlen = 64 }\nimport "lib.bt";\nimport "own.h";\n'
        'begin { printf("%d %s\\n", twice(sizeof(struct own)) + one(), str($1)); exit(); }\n'
    )
    ran = made_and_run(tmp_path, script, "given")
    assert (ran.stdout, ran.stderr) == ("41 given\n", "")


def test_a_long_script(tmp_path: Path) -> None:
    """More than a word of a command line may have (128 KiB); its findings are at its own lines."""
    script = tmp_path / "it.bt"
    script.write_text("// " + "long\n// " * 40_000 + '\nbegin { errorf("so %s", str($1)); exit(); }')
    ran = made_and_run(tmp_path, script, "it is")
    assert "made of $(it)'s:40004:9-33: ERROR: so it is" in ran.stderr


def test_a_line_end_among_the_options(tmp_path: Path) -> None:
    """What stands before the program cannot get into it."""
    script = tmp_path / "it.bt"
    script.write_text('begin { printf("%s.", str($1)); exit(); }')
    assert made_and_run(tmp_path, script, "two\nlines").stdout == "two\nlines."


def test_errors_are_told_when_it_is_made(tmp_path: Path) -> None:
    """Nothing is written of a program that does not compile, or to where nothing can be."""
    made = tmp_path / "made"
    done = command(["-e", "begin { nothing(); }", "--aot", str(made)])
    assert done.code
    assert not made.exists()
    done = command(["-e", "begin { }", "--aot", str(tmp_path / "none" / "x")])
    assert done.code
    assert "cannot write" in done.err
    done = command(["-e", "begin { }", "--aot", ""])
    assert done.code
    assert "cannot write" in done.err
