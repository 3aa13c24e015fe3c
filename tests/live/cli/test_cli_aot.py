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


def test_errors_are_told_when_it_is_made(tmp_path: Path) -> None:
    """Nothing is written of a program that does not compile, or to where nothing can be."""
    made = tmp_path / "made"
    done = command(["-e", "begin { nothing(); }", "--aot", str(made)])
    assert done.code
    assert not made.exists()
    done = command(["-e", "begin { }", "--aot", str(tmp_path / "none" / "x")])
    assert done.code
    assert "cannot write" in done.err
