"""Lines of perf script's text to entries: a head, the frames below it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from probescope.formats.tracetext import perf_heads
from probescope.formats.tracetext.graph_text import Entry, Missing

if TYPE_CHECKING:
    from probescope.formats.perfdata.damage import Tally
    from probescope.formats.tracetext.perf_heads import PerfHead, TextFrame

MOST_FRAMES = 1024
_BLANKS = {" ", "\t"}
_COUNTER = re.compile(r"[\w.-]+(?::[ukhGHpPSDWIeb]{0,8})?$|.*/[^/]*/\w*$|mem:0x")
_PLACE = re.compile(r"\s*[0-9a-f]{1,16} .*\)$")


def entries(lines: Iterable[str], tally: Tally) -> Iterator[Entry | Missing]:
    """In the order of the text. Lines that are nothing of perf's are counted."""
    held: Entry | None = None
    for line in lines:
        found = perf_heads.perf_head(line) if line[:1] != "\t" else None
        if found is not None:
            if held is not None:
                yield held
            held = _entry(found)
        elif held is not None and line[:1] in _BLANKS and (frame := perf_heads.frame(line)) is not None:
            if len(held.frames) < MOST_FRAMES:
                held.frames.append(frame)
        elif perf_heads.side(line):
            if count := perf_heads.lost(line):
                yield Missing(-1, count)
        elif not perf_heads.aside(line) and not _source(line, held):
            tally.add("line", "lines that are no event of a trace")
    if held is not None:
        yield held


def _source(line: str, held: Entry | None) -> bool:
    """The place in the source of a frame, which perf script prints below it if asked to."""
    return held is not None and bool(held.frames) and line.startswith("  ") and ":" in line


def _entry(h: PerfHead) -> Entry:
    """``flags`` is empty; a place without a stack is a frame of its own, and ``after`` 1."""
    one = Entry(h.time, h.cpu, h.tid, h.pid, h.comm, "", h.digits)
    one.period, one.name, one.text = h.period, h.event, h.rest
    if not is_tracepoint(h.event):
        one.text = ""
        place = lone(h.rest)
        if place is not None:
            one.frames, one.after = [place], 1
    return one


def lone(text: str) -> TextFrame | None:
    return perf_heads.frame(text) if text and _PLACE.match(text) else None


def is_tracepoint(event: str) -> bool:
    """``system:event``, and no counter with its modifiers."""
    return ":" in event and _COUNTER.match(event) is None
