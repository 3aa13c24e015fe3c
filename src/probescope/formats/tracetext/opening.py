"""Which program printed a text, and its lines as often as they are wanted."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from probescope.errors import FormatError
from probescope.formats.piped import open_again
from probescope.formats.tracetext import graph_text, heads, perf_heads
from probescope.formats.tracetext.heads import LONGEST

if TYPE_CHECKING:
    from probescope.formats.perfdata.damage import Tally
    from probescope.formats.tracetext import Known
    from probescope.formats.tracetext.perf_reader import PerfText
    from probescope.formats.tracetext.reader import TraceText

SNIFFED = 1 << 16
MOST_SNIFFED = 2000
_CPUS = re.compile(rb"^cpus=(\d{1,5})\s*$|#P:(\d{1,5})\s*$", re.MULTILINE)
_RAW = re.compile(r"\d+ \d+ \d+ |[0-9a-f]{8}")


def text_kind(start: bytes) -> str:
    """By the beginning of a text: ``trace`` (the kernel's or trace-cmd's), ``perf``, or empty: neither."""
    if b"\0" in start:
        return ""
    text = start[:SNIFFED].decode("utf-8", "surrogateescape")
    graph = graph_text.GraphText()
    for line in (one.rstrip("\r") for one in text.split("\n")[:MOST_SNIFFED]):
        if line.startswith(("# tracer:", "cpus=")) or heads.head(line) is not None:
            return "trace"
        if perf_heads.perf_head(line) is not None:
            return "perf"
        if line.startswith(("# captured on ", "# ========")):
            return "perf"
        if line.startswith((" ", "\t")) and graph.line(line):
            return "trace"
    return ""


class TextFile:
    """``name``: for messages. ``cpus``: as its heading says, 0 if it does not."""

    def __init__(self, file: BinaryIO, name: str, owned: bool) -> None:
        self._file, self._owned = file, owned
        self.name = name
        self.start = file.read(SNIFFED)
        found = _CPUS.search(self.start)
        self.cpus = int(found[1] or found[2]) if found else 0
        self.recorder = "trace-cmd report" if self.start.startswith(b"cpus=") else "text"

    def lines(self, tally: Tally) -> Iterator[str]:
        """Without their ends. A line that is too long is cut, and counted."""
        self._file.seek(0)
        while piece := self._file.readline(LONGEST):
            if not piece.endswith(b"\n") and len(piece) == LONGEST:
                tally.add("line", "lines that are no event of a trace")
                while (rest := self._file.readline(LONGEST)) and not rest.endswith(b"\n"):
                    pass
            yield piece.rstrip(b"\r\n").decode("utf-8", "surrogateescape")

    def nothing(self) -> FormatError:
        lines = self.start.decode("utf-8", "replace").split("\n")
        data = [line for line in lines if line and not line.startswith("#")]
        if data and all(_RAW.match(line) for line in data[:5]):
            what = "it is raw: text with options/raw, hex or bin holds no names of events"
            return FormatError(what, file=self.name, section="text")
        return FormatError("no line of it is an event of a trace", file=self.name, section="text")

    def close(self) -> None:
        if self._owned:
            self._file.close()


def opened(source: str | BinaryIO, known: Known | None) -> TraceText | PerfText:
    if isinstance(source, str):
        return _read(TextFile(open_again(source), source, owned=True), known)
    if source.seekable():
        source.seek(0)
        return _read(TextFile(source, getattr(source, "name", "text"), owned=False), known)
    kept = tempfile.TemporaryFile(prefix="probescope-")  # noqa: SIM115 - closed with the recording
    while piece := source.read(1 << 20):
        kept.write(piece)
    kept.seek(0)
    return _read(TextFile(kept, getattr(source, "name", "text"), owned=True), known)


def _read(file: TextFile, known: Known | None) -> TraceText | PerfText:
    try:
        kind = text_kind(file.start)
        if kind == "perf":
            from probescope.formats.tracetext.perf_reader import PerfText

            return PerfText(file, known)
        from probescope.formats.tracetext.reader import TraceText

        return TraceText(file, known)
    except BaseException:
        file.close()
        raise
