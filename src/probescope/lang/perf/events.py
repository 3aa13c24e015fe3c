"""The grammar of ``-e``: events, their terms and modifiers, groups.

    events := item (',' item)*              item  := event | '{' events '}' [':' mods]
    event  := NAME [terms] | r[0x]HEX [terms] | PMU terms | SYSTEM:EVENT [terms] | mem:ADDRESS[/LENGTH][:rwx] [':' mods]
            | probe([BINARY] DEFINITION)                                             as probescope probe takes them
    terms  := '/' term (',' term)* '/'      term  := NAME ['=' VALUE]       mods  := letters of ukhIGHpPSDWeb

Source: perf-list(1), perf-record(1) and tools/perf/util/parse-events.y as a description of what is accepted.
"""

from __future__ import annotations

import re

from probescope.diagnostics import Diagnostic, Source, Span
from probescope.errors import ScriptError
from probescope.model.perf_spec import EventGroup, EventSpec, Term

MAX_TEXT = 1 << 16
MODIFIERS = "ukhIGHpPSDWeb"
_MODS = re.compile(rf"[{MODIFIERS}]+")
_RAW = re.compile(r"r(?:0[xX])?([0-9a-fA-F]{1,16})")
_SOURCE = re.compile("(?:tracepoint|software|hardware):(?=[A-Za-z])")  # as programs write the same events
_PROBE = re.compile("(?:k(?:ret)?probe|u(?:ret)?probe|usdt|fentry|fexit|rawtracepoint|profile|interval|iter):")
_WORD = re.compile(r"[A-Za-z0-9_.*?\[\]!-]+")
_TERM = re.compile(r"([A-Za-z0-9_.@-]+)(?:=([^,/]*))?")
_MEM = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19})(?:/([0-9]{1,2}))?(?::([rwx]{1,3})(?=$|[:,}]))?")


def parse_events(text: str) -> tuple[EventGroup, ...]:
    """Raises ScriptError with a place and, where something was left open, what is missing."""
    return _Parser(text).events()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        if len(text) > MAX_TEXT:
            raise self.error(f"more than {MAX_TEXT} characters of events", 0, 1)

    def error(self, message: str, start: int, end: int, *hints: str) -> ScriptError:
        span = Span(1, start + 1, 1, max(end, start + 1) + 1)
        source = Source("event", self.text.replace("\n", " "))
        return ScriptError([Diagnostic("error", message, span, hints, source)])

    def events(self) -> tuple[EventGroup, ...]:
        out: list[EventGroup] = []
        while True:
            self._blank()
            out.append(self._group() if self._peek() == "{" else EventGroup((self._event(),)))
            self._blank()
            if self.at == len(self.text):
                return tuple(out)
            self._expect(",", "events are parted by commas")

    def _group(self) -> EventGroup:
        start = self.at
        self.at += 1
        events: list[EventSpec] = []
        while True:
            self._blank()
            events.append(self._event())
            self._blank()
            if self._peek() == "}":
                self.at += 1
                return EventGroup(tuple(events), braces=True, modifiers=self._modifiers())
            if self.at == len(self.text):
                raise self.error("this group has no end", start, start + 1, "a '}' closes it")
            self._expect(",", "events are parted by commas")

    def _event(self) -> EventSpec:
        self._take(_SOURCE)
        start = self.at
        if self.text.startswith("mem:", start):
            return self._mem(start)
        if self.text.startswith("probe(", start):
            return self._definition(start)
        probe = _PROBE.match(self.text, start)
        if probe:
            hint = f"it is a probe of programs: probescope run -e '{probe[0]}... {{ ... }}'"
            raise self.error(f"'{probe[0]}' begins no event", start, probe.end(), hint)
        word = self._take(_WORD)
        if not word:
            found = self._peek()
            raise self.error(
                f"there is no event before '{found}'" if found else "an event is missing", start, start + 1
            )
        raw = _RAW.fullmatch(word)
        number = int(raw[1], 16) if raw else 0
        if self._peek() == "/":
            return self._slashed(start, "raw" if raw else "pmu", name=word, number=number)
        following = self._peek(1) if self._peek() == ":" else ""
        rest = self._rest_of_word()
        if following and (not _MODS.fullmatch(rest) or following in "*?["):
            self.at += 1
            name = self._take(_WORD)
            if not name:
                raise self.error(f"the name of the tracepoint is missing after '{word}:'", start, self.at)
            if self._peek() == "/":
                return self._slashed(start, "tracepoint", name=name, group=word)
            return self._made(start, "tracepoint", name=name, group=word)
        if raw:
            return self._made(start, "raw", name=word, number=number)
        return self._made(start, "name", name=word)

    def _slashed(self, start: int, kind: str, name: str, **parts: object) -> EventSpec:
        self.at += 1
        terms: list[Term] = []
        while self._peek() != "/":
            if self.at == len(self.text):
                raise self.error(f"the terms of {name}/ have no end", start, self.at, "a '/' closes them")
            found = _TERM.match(self.text, self.at)
            if not found:
                raise self.error(
                    "this is not a term", self.at, self.at + 1, "terms are NAME or NAME=VALUE, with commas between"
                )
            terms.append(Term(found[1], found[2]))
            self.at = found.end()
            if self._peek() == ",":
                self.at += 1
        self.at += 1
        letters = self._take(_MODS)  # cpu/event=0x3c/u, without a colon
        return self._made(start, kind, letters, name=name, terms=tuple(terms), **parts)

    def _mem(self, start: int) -> EventSpec:
        found = _MEM.match(self.text, start + 4)
        if not found:
            raise self.error(
                "this is not an address",
                start + 4,
                start + 5,
                "mem:ADDRESS[/LENGTH][:rwx], such as mem:0xffffffff81000000/8:w",
            )
        self.at = found.end()
        length, access = int(found[2] or 0), found[3] or "rw"
        if found[2] and length not in (1, 2, 4, 8):
            raise self.error("a breakpoint watches 1, 2, 4 or 8 bytes", start, self.at)
        if len(set(access)) != len(access):
            raise self.error("an access is named twice", start, self.at)
        return self._made(start, "mem", name="mem", number=int(found[1], 0), length=length, access=access)

    def _definition(self, start: int) -> EventSpec:
        """``probe(vfs_read count)``, ``probe(/bin/bash readline%return +0($retval):string)``"""
        from probescope.lang.probe.parser import parse

        depth, end = 0, start + 5
        while end < len(self.text):
            depth += {"(": 1, ")": -1}.get(self.text[end], 0)
            end += 1
            if not depth:
                break
        if depth:
            raise self.error("this definition has no end", start, len(self.text), "a ')' closes it")
        inner = self.text[start + 6 : end - 1].strip()
        binary, _, rest = inner.partition(" ") if inner.startswith("/") else ("", "", inner)
        self.at = end
        return self._made(start, "probe", group=binary, probe=parse(rest))

    def _made(self, start: int, kind: str, letters: str = "", **parts: object) -> EventSpec:
        modifiers = letters or self._modifiers()
        text = self.text[start : self.at]
        span = Span(1, start + 1, 1, self.at + 1)
        return EventSpec(kind, text, modifiers=modifiers, span=span, **parts)  # type: ignore[arg-type]

    def _modifiers(self) -> str:
        if self._peek() != ":":
            return ""
        start = self.at
        self.at += 1
        found = self._rest_of_word(0)
        if not _MODS.fullmatch(found) or found.count("p") > 3:
            letters = f"modifiers are letters of {MODIFIERS}, p at most three times"
            raise self.error(f"'{found}' is not a modifier", start + 1, start + 1 + len(found), letters)
        self.at += len(found)
        return found

    # --- characters

    def _rest_of_word(self, skip: int = 1) -> str:
        found = _WORD.match(self.text, self.at + skip)
        return found[0] if found else ""

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            return ""
        self.at = found.end()
        return found[0]

    def _peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def _blank(self) -> None:
        while self._peek().isspace():
            self.at += 1

    def _expect(self, char: str, hint: str) -> None:
        if self._peek() != char:
            raise self.error(f"'{self._peek()}' is not expected here", self.at, self.at + 1, hint)
        self.at += 1
