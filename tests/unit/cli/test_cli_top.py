"""What ``top`` makes of its arguments, and of a machine without textual."""

from __future__ import annotations

import importlib.util

import pytest

from probescope.cli import top
from probescope.errors import UsageError


def view(*words: str) -> object:
    return top._view(top.parser().parse_args(list(words)))


def test_words_of_record() -> None:
    args = top.parser().parse_args(["-e", "cycles", "-e", "faults", "-F", "99", "-p", "12", "-g", "-C", "0"])
    assert top._wanted(args, []) == ["-e", "cycles", "-e", "faults", "--freq", "99", "--pid", "12", "--cpu", "0", "-g"]


def test_call_graphs_bring_callees() -> None:
    """As perf top: with -g weights of callees, from the outermost function on."""
    assert (view("-g").children, view("-g").graph) == (True, "caller")  # type: ignore[attr-defined]
    assert (view("-g", "--no-children").children, view("-g", "--no-children").graph) == (False, "callee")  # type: ignore[attr-defined]
    assert view().graph == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [["-K", "-U"], ["-s", "trace"], ["-s", "colour"]])
def test_what_makes_no_sense(words: list[str]) -> None:
    with pytest.raises(UsageError):
        view(*words)


@pytest.mark.parametrize("text", ["0", "x", "1e9", "nan"])
def test_delays(text: str) -> None:
    with pytest.raises(UsageError, match="is no delay"):
        top._seconds(text)


def test_without_textual(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert not top._has_screen()
    assert "pip install 'probescope[tui]'" in capsys.readouterr().err
