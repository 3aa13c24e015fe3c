"""The prompt of ``probescope query``: lines with history and completion, by the standard library's readline."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from probescope.errors import ProbescopeError

if TYPE_CHECKING:
    from probescope.store.opening import Asked

MOST_HISTORY = 2000
KEYWORDS = (
    "select from where group by order limit having join left using on with as and or not in is null case when then"
    " else end distinct between like count sum avg min max quantile_cont over partition desc asc describe explain"
)
QUIT = {".quit", ".exit", "quit", "exit"}


def prompt(asked: Asked, args: argparse.Namespace) -> int:
    """Until the end of input."""
    from probescope.cli import ended

    history = _readline(asked)
    sys.stderr.write("SQL ends in ';'. Words: .tables .schema NAME .views .saved .help .quit\n")
    held: list[str] = []
    while True:
        try:
            line = input("    -> " if held else "sql> ")
        except EOFError:
            sys.stdout.write("\n")
            break
        except KeyboardInterrupt:  # the line that is being written goes, not the prompt
            ended.asked.clear()
            sys.stdout.write("\n")
            held = []
            continue
        if not held and line.strip() in QUIT:
            break
        if whole(held, line):
            text, held = "\n".join([*held, line]).strip(), []
            if text:
                _answered(asked, text, args)
        else:
            held.append(line)
    _remember(history)
    return 0


def whole(held: list[str], line: str) -> bool:
    """Whether a line ends what is being asked: a word of ours, a semicolon, or nothing."""
    stripped = line.strip()
    return (not held and stripped.startswith(".")) or stripped.endswith(";") or not stripped


def _answered(asked: Asked, text: str, args: argparse.Namespace) -> None:
    from probescope.cli import ended
    from probescope.cli.main import error_text
    from probescope.cli.query import answer
    from probescope.model.visible import visible_in_color

    try:
        answer(asked, text, args, {})
    except KeyboardInterrupt:
        ended.asked.clear()  # it was meant for the query
        sys.stderr.write("interrupted\n")
    except ProbescopeError as e:
        sys.stderr.write(visible_in_color(error_text(e)))


def _history() -> str:
    """XDG Base Directory Specification."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not base.startswith("/"):
        base = os.path.expanduser("~/.local/state")
    return os.path.join(base, "probescope", "query_history")


def _readline(asked: Asked) -> str:
    """The file of the history; empty where there is no readline."""
    try:
        import readline
    except ImportError:
        return ""
    path = _history()
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        readline.read_history_file(path)
    readline.set_history_length(MOST_HISTORY)
    readline.set_completer_delims(" \t\n,()=<>+-*/;")
    words = Words(asked)
    readline.set_completer(words.complete)
    readline.parse_and_bind("tab: complete")
    return path


def _remember(path: str) -> None:
    if path:
        import readline

        with suppress(OSError):
            readline.write_history_file(path)


class Words:
    """What a word that has been begun may become."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._all: list[str] = []
        self._found: list[str] = []

    def complete(self, begun: str, state: int) -> str | None:
        """As readline asks: the ``state``-th word, None after the last."""
        if state == 0:
            self._found = self.matches(begun)
        return self._found[state] if state < len(self._found) else None

    def matches(self, begun: str) -> list[str]:
        if not self._all:
            self._all = self._words()
        low = begun.lower()
        return [w for w in self._all if w.lower().startswith(low)]

    def _words(self) -> list[str]:
        from probescope.cli.query_words import WORDS

        tables = self._asked.tables
        names = [f'"{n}"' if ":" in n else n for n in tables]
        columns = {c.name for t in tables.values() for c in t.columns}
        return [*WORDS, *names, *self._asked.views, *sorted(columns), *KEYWORDS.split()]
