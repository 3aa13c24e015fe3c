"""``probescope ask`` and the summaries of ``report``: what they print, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from formats_tracemaker import Maker

from probescope.cli.main import main


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "trace.dat"
    path.write_bytes(Maker(version=6).build(("", [(0, 1000, 7, 1), (1, 1500, 8, 2)])))
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    from probescope.cli.main import guarded

    code = guarded(lambda: main([*argv]))
    out, err = capsys.readouterr()
    return code, out, err


def test_summaries_need_their_events(traced: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "report", "-q", "-i", traced, "--sched")
    assert (code, out) == (1, "")
    assert "--sched is about events that are not in" in err
    assert "HINT: probescope record -a -e 'sched:sched_switch," in err


@pytest.mark.parametrize("more", [["--rows", "0"], ["--irq"]])
def test_what_makes_no_sense(traced: str, capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    assert said(capsys, "report", "-q", "-i", traced, "--sched", *more)[0] == 2


def test_questions_that_cannot_be_answered(traced: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "ask", "-q", "-i", traced, "who", "evicts", "whom")
    assert code == 1
    assert (
        "  probescope record -a -e 'sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new' -- sleep 10\n" in out
    )
    code, out, _ = said(capsys, "ask", "-q", "-i", traced, "locks", "-f", "json")
    assert code == 1
    assert json.loads(out)["missing"] == ["lock:contention_begin|raw_syscalls:sys_exit|syscalls:sys_exit_futex"]
    assert said(capsys, "ask", "-q", "-i", traced, "losses")[0] == 0


def test_a_list(traced: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a recording, of what there is; with one, of what it can answer."""
    code, out, _ = said(capsys, "ask")
    assert (code, out.splitlines()[0].split()) == (0, ["question", "what", "it", "answers"])
    _, out, _ = said(capsys, "ask", "-q", "-i", traced, "-f", "json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [r["name"] for r in rows if not r["missing"]] == ["losses"]


def test_no_row_is_no_table(traced: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "ask", "-q", "-i", traced, "losses", "-n", "0")[0] == 2
