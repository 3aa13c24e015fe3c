"""What -l shows besides probes by source: the probes of scripts and of programs, types of the kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from probescope.cli.main import main


def listed(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    assert main(["run", "-l", *argv]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two programs with a function ``turn``."""
    path = tmp_path_factory.mktemp("listed")
    (path / "a.c").write_text("int turn(int n) { return n + 1; } int main(void) { return turn(1); }")
    for name in ("prog_a", "prog_b"):
        subprocess.run(["cc", "-O0", "-o", path / name, path / "a.c"], check=True)
    return path


def test_paths_are_shown_as_they_were_written(capsys, folder: Path, monkeypatch):
    """A name that is listed can be used as it stands; of a relative glob as well."""
    monkeypatch.chdir(folder)
    assert listed(capsys, "uprobe:./prog_a:turn") == ["uprobe:./prog_a:turn"]
    assert listed(capsys, "uprobe:./prog_?:tur*") == ["uprobe:./prog_a:turn", "uprobe:./prog_b:turn"]
    assert listed(capsys, f"uprobe:{folder}/prog_?:turn") == [f"uprobe:{folder}/prog_{x}:turn" for x in "ab"]


def test_any_kind_of_probe_of_a_program(capsys, folder: Path):
    assert f"uprobe:{folder}/prog_a:turn" in listed(capsys, f"*:{folder}/prog_a:turn")


def test_probes_of_a_script(capsys, folder: Path):
    """-l FILE: what has a number of its own is listed without it, as everywhere."""
    script = folder / "some.bt"
    script.write_text("interval:ms:10 { exit(); } tracepoint:sched:sched_switch { @ = count(); }")
    assert listed(capsys, str(script)) == ["interval:ms:", "tracepoint:sched:sched_switch"]


def test_a_script_that_is_not_there_is_a_pattern(capsys):
    assert main(["run", "-l", "no_such_script.bt"]) == 1
    assert "is a filename but the file does not exist" in capsys.readouterr().err


def test_types_of_the_kernel(capsys):
    """bpftool btf dump shows the same members of struct list_head, which no configuration changes."""
    assert listed(capsys, "-v", "struct list_head") == [
        "vmlinux: struct list_head {",
        "    struct list_head * next;",
        "    struct list_head * prev;",
        "};",
    ]
    assert listed(capsys, "enum pid_typ*") == ["enum pid_type"]
