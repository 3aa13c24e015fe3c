"""Recorded text on its way out: files and pipes get the very bytes, as perf and trace-cmd print them; a terminal is
shown what would command it (names of threads hold any byte), and does not obey it."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable

from probescope.model.visible import visible

Write = Callable[[bytes | memoryview], object]


def recorded_out() -> Write:
    """Writes to standard output, after what was written there before."""
    sys.stdout.flush()
    out = sys.stdout.buffer
    if not sys.stdout.isatty():
        return out.write
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode

    def write(data: bytes | memoryview) -> None:
        out.write(visible(decode(data)).encode())

    return write


def colored_out() -> Callable[[str], object]:
    """The same of text with colours of our own in it."""
    from probescope.model.visible import visible_in_color

    out = sys.stdout
    return (lambda text: out.write(visible_in_color(text))) if out.isatty() else out.write


def write_text(text: str) -> None:
    """The same of text that is not UTF-8 everywhere."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
