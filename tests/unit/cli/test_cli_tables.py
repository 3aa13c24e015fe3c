"""Tables and progress: columns line up, the last one wraps, colour is for terminals alone."""

from __future__ import annotations

import io
import re

import pytest

from probescope.cli import progress as p
from probescope.cli.tables import Style, columns, labelled, style, wrapped

HEAD = ("name", "n", "why")
ROWS = [("a", "1", "short"), ("longer", "1,000", "one two three four five six seven eight")]


def test_columns_line_up():
    assert columns(HEAD, ROWS, right=(1,)) == (
        "name        n  why\na           1  short\nlonger  1,000  one two three four five six seven eight\n"
    )


def test_the_last_column_wraps_under_itself():
    text = columns(HEAD, ROWS, wide=40)
    assert text.splitlines()[2:] == ["longer  1,000  one two three four five", "               six seven eight"]
    assert max(map(len, text.splitlines())) <= 40


def test_a_narrow_terminal_gets_long_lines_instead_of_slivers():
    assert columns(HEAD, ROWS, wide=20) == columns(HEAD, ROWS)


@pytest.mark.parametrize("text", ["", "word", "a b", "x" * 200, "  two  blanks  "])
def test_wrapping_loses_nothing(text):
    assert " ".join(wrapped(text, 30)) == text


def test_colour_does_not_move_columns():
    """Escape sequences have no width: the plain text under them is the table without colour."""
    rows = [("kprobes", "no", "x"), ("uprobes", "yes", ""), ("iter", "unknown", "y")]
    head = ("mechanism", "here", "why")
    plain, painted = columns(head, rows), columns(head, rows, look=Style(color=True))
    assert painted != plain
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", painted)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


def test_no_colour_off_a_terminal():
    assert not style().color


def test_labels():
    pairs = [("one", "text"), ("empty", ""), ("two", "a b c d e f g h i j k l m n o p q r s t u")]
    assert "".join(labelled(pairs, wide=40)) == (
        "one          text\ntwo          a b c d e f g h i j k l m n\n             o p q r s t u\n"
    )


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now


class Terminal(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(p, "time", clock)
    return clock


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_quick_shows_nothing(clock, monkeypatch, terminal):
    err = Terminal(terminal)
    monkeypatch.setattr(p.sys, "stderr", err)
    shown = p.Progress("x")
    for i in range(9):
        clock.now += 0.1
        shown(i, 9, "step")
    shown.close()
    assert err.getvalue() == ""


def test_a_log_gets_one_line(clock, monkeypatch):
    err = Terminal(False)
    monkeypatch.setattr(p.sys, "stderr", err)
    shown = p.Progress("trying")
    for i in range(50):
        clock.now += 0.1
        shown(i, 50, "step")
    shown.close()
    assert re.fullmatch(r"trying: \d+ of 50\.\.\.\n", err.getvalue())


def test_a_terminal_gets_a_line_that_goes_away(clock, monkeypatch):
    err = Terminal(True)
    monkeypatch.setattr(p.sys, "stderr", err)
    shown = p.Progress("trying")
    clock.now = 2.0
    shown(3, 9, "a longer name")
    clock.now = 3.0
    shown(4, 9, "b")
    shown.close()
    first, second, wiped, _ = err.getvalue().split("\r")[1:]
    assert first == "trying: 3 of 9  a longer name"
    assert second.rstrip() == "trying: 4 of 9  b"
    assert len(second) == len(first)
    assert not wiped.strip()
