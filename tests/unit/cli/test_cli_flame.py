"""``probescope flame`` on files and pipes."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from probescope.cli.main import main


@pytest.fixture
def stacks(tmp_path: Path) -> Path:
    path = tmp_path / "a.folded"
    path.write_text("main;parse 3\nmain;write 1\n")
    return path


@pytest.mark.parametrize(
    ("name", "start"), [("x.svg", "<?xml"), ("x.html", "<!doctype html>"), ("x.txt", "main;parse 3\n")]
)
def test_the_name_says_the_format(stacks: Path, tmp_path: Path, name: str, start: str) -> None:
    assert main(["flame", str(stacks), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_text().startswith(start)


def test_pipes(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;\xff 2\n")))
    assert main(["flame", "-o", "-", "-f", "folded"]) == 0
    assert capfdbinary.readouterr().out == "a;\N{REPLACEMENT CHARACTER} 2\n".encode()


def test_comparison(stacks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b.folded").write_text("main;parse 1\nmain;read 1\n")
    assert main(["flame", "--before", str(tmp_path / "b.folded"), str(stacks), "-o", "-", "-f", "folded"]) == 0
    assert capsys.readouterr().out == "main;parse 1 3\nmain;read 1 0\nmain;write 0 1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "there are no stacks in it"),
        (b"hello\n", "line 1: this is not a folded stack"),
        (b"PERFILE2\0\0", "this is no perf.data"),
        (b"a" * (2 << 20), "line 1: a line of more than"),
    ],
)
def test_other_files(text: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_bytes(text)
    assert main(["flame", str(tmp_path / "x"), "-o", str(tmp_path / "out.svg")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out.svg").exists()


def test_the_stacks_are_not_overwritten(stacks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flame", str(stacks), "-o", str(stacks)]) == 2
    assert "written over" in capsys.readouterr().err
    assert stacks.read_text().startswith("main;parse")
