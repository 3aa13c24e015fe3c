"""What kind of recording a file is, and opening it as such."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.formats.perfdata.reader import PerfData
    from probescope.formats.tracedat.reader import TraceDat

TRACE_DAT = b"\x17\x08\x44tracing"


def open_recording(path: str) -> PerfData | TraceDat:
    """A perf.data (file or directory), a trace.dat, or ``-``: perf's, through standard input. Raises UsageError where
    it cannot be opened, FormatError where it is neither."""
    try:
        if path == "-":
            import sys

            from probescope.formats.perfdata import open_perfdata

            return open_perfdata(sys.stdin.buffer)
        if _begins(path, TRACE_DAT):
            from probescope.formats.tracedat import open_tracedat

            return open_tracedat(path)
        from probescope.formats.perfdata import open_perfdata

        return open_perfdata(path)
    except (OSError, ValueError) as e:
        hints = ["perf record -o FILE makes one"]
        raise UsageError(f"cannot read {path}: {getattr(e, 'strerror', None) or e}", hints=hints) from e


def _begins(path: str, magic: bytes) -> bool:
    try:
        with open(path, "rb") as f:
            return f.read(len(magic)) == magic
    except IsADirectoryError:  # of perf record --threads
        return False
