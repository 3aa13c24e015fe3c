r"""Characters of a definition: words with ``\`` before what would mean something, and errors with their place."""

from __future__ import annotations

import re

from probescope.diagnostics import Diagnostic, Source, Span
from probescope.errors import ScriptError

MAX_TEXT = 1 << 14
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19}")
SCOPED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_][A-Za-z0-9_]*)*")
"""A name with the namespaces and classes that it is in."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Scanner:
    """``at`` is the next character. Methods raise ``ScriptError``."""

    def __init__(self, text: str, what: str = "probe") -> None:
        self.text = text.replace("\n", " ").replace("\t", " ")
        self.source = Source(what, self.text)
        self.at = 0
        if len(text) > MAX_TEXT:
            raise self.error(f"more than {MAX_TEXT} characters", 0, 1)

    def error(self, message: str, start: int, end: int | None = None, *hints: str) -> ScriptError:
        span = self.span(start, max(end if end is not None else start + 1, start + 1))
        return ScriptError([Diagnostic("error", message, span, hints, self.source)])

    def span(self, start: int, end: int | None = None) -> Span:
        return Span(1, start + 1, 1, (self.at if end is None else end) + 1)

    def peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def take(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            return ""
        self.at = found.end()
        return found[0]

    def blank(self) -> None:
        while self.peek().isspace():
            self.at += 1

    @property
    def done(self) -> bool:
        return self.at >= len(self.text)

    def number(self, what: str) -> int:
        start = self.at
        found = self.match(_NUMBER)
        if not found:
            raise self.error(f"{what} is missing" if self.done else f"this is not {what}", start)
        value = int(found, 0 if found[:2] in ("0x", "0X") else 10)
        if value >= 1 << 64:
            raise self.error(f"{found} is more than 64 bits hold", start, self.at)
        return value

    def until(self, stops: str) -> str:
        r"""Up to one of ``stops`` or the end; a ``\`` takes away what the next character means."""
        out: list[str] = []
        while not self.done and self.peek() not in stops:
            if self.peek() == "\\" and self.at + 1 < len(self.text):
                self.at += 1
            out.append(self.peek())
            self.at += 1
        return "".join(out)
