"""What kind of recording a file is, and opening it as such."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias

from probescope.errors import UsageError
from probescope.formats.piped import open_again

if TYPE_CHECKING:
    from probescope.formats.perfdata.reader import PerfData
    from probescope.formats.tracedat.reader import TraceDat
    from probescope.formats.tracetext import Known
    from probescope.formats.tracetext.perf_reader import PerfText
    from probescope.formats.tracetext.reader import TraceText

    AnyRecording: TypeAlias = PerfData | TraceDat | TraceText | PerfText

TRACE_DAT = b"\x17\x08\x44tracing"
PERF_DATA = (b"PERFILE2", b"2ELIFREP", b"PERFFILE")
SNIFFED = 1 << 16
#: Kinds whose events have a thread and no process: what trace-cmd report prints.
OF_FTRACE = ("trace.dat", "text of ftrace")


def kind_of(start: bytes) -> str:
    """Of a file that begins so: ``perf.data``, ``trace.dat``, ``text of ftrace``, ``text of perf``; empty: none."""
    if start.startswith(PERF_DATA):
        return "perf.data"
    if start.startswith(TRACE_DAT):
        return "trace.dat"
    if not start or b"\0" in start[:4096]:
        return ""
    from probescope.formats.tracetext.opening import text_kind

    return {"trace": "text of ftrace", "perf": "text of perf", "": ""}[text_kind(start)]


def recording_kind(path: str) -> str:
    """The same of a file, of a folder of perf record --threads, or of what waits in standard input (``-``). Empty too
    where it cannot be read."""
    try:
        if path == "-":
            return kind_of(_waiting())
        if os.path.isdir(path):
            return "perf.data"
        with open_again(path) as f:
            return kind_of(f.read(SNIFFED))
    except (OSError, ValueError):
        return ""


def open_recording(path: str, known: Known | None = None) -> AnyRecording:
    """A perf.data (file or directory), a trace.dat, or text of ftrace or perf; ``-``: through standard input, where a
    trace.dat is kept in a temporary file. ``known``: how a kernel describes events, for text. Raises UsageError where
    it cannot be opened, FormatError where it is neither."""
    try:
        kind = recording_kind(path)
        source: Any = _stdin() if path == "-" else path
        if kind.startswith("text"):
            from probescope.formats.tracetext import open_tracetext

            return open_tracetext(source, known)
        if kind == "trace.dat":
            from probescope.formats.tracedat import open_tracedat

            return open_tracedat(_kept(source) if path == "-" else path)
        from probescope.formats.perfdata import open_perfdata

        return open_perfdata(source)
    except (OSError, ValueError) as e:
        hints = ["probescope record -o FILE makes one"]
        raise UsageError(f"cannot read {path}: {getattr(e, 'strerror', None) or e}", hints=hints) from e


def _stdin() -> Any:
    import sys

    return sys.stdin.buffer


def _waiting() -> bytes:
    """The beginning of standard input, which stays there."""
    pipe = _stdin()
    if hasattr(pipe, "peek"):
        return bytes(pipe.peek(SNIFFED))
    start: bytes = pipe.read(SNIFFED)
    pipe.seek(0)
    return start


def _kept(pipe: Any) -> Any:
    """A pipe as a file that can be sought in."""
    import tempfile

    kept = tempfile.TemporaryFile(prefix="probescope-")  # noqa: SIM115 - it lives as long as the recording
    while piece := pipe.read(1 << 20):
        kept.write(piece)
    kept.seek(0)
    return kept
