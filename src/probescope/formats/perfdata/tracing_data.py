r"""The TRACING_DATA section: the kernel's descriptions of its tracepoints, as of the machine that recorded.

    17 08 44 "tracing" "0.6\0"  u8 big-endian  u8 long size  u32 page size
    "header_page\0"  u64 size, text        "header_event\0"  u64 size, text
    u32 n, n x (u64 size, format text)                                       ftrace's own events
    u32 n, n x (system\0, u32 m, m x (u64 size, format text))                all others
    u32 size, kallsyms      u32 size, printk formats      u64 size, saved commands (from version 0.6)

Source: tools/perf/util/trace-event-info.c of Linux 7.0.
"""

from __future__ import annotations

import re

from probescope.errors import FormatError
from probescope.formats.perfdata.cursor import Cursor
from probescope.frozen import dataclass, field
from probescope.model.recording import EventType

MAGIC = b"\x17\x08\x44tracing"
MOST_FORMATS = 1 << 16


@dataclass(frozen=True, slots=True)
class TracingData:
    """``formats``: by the id of the event, its system and its format text. ``printk``, ``symbols``, ``commands``: the
    texts of printk_formats, kallsyms and saved_cmdlines. ``complete``: nothing of it is cut."""

    version: str
    big: bool
    long_size: int
    page_size: int
    formats: dict[int, tuple[str, str]] = field(default_factory=dict)
    printk: str = ""
    symbols: str = ""
    commands: str = ""
    complete: bool = True

    def name(self, event: int) -> str:
        """``system:name``, empty if the id is not there."""
        system, text = self.formats.get(event, ("", ""))
        found = re.match(r"\s*name:\s*(\S+)", text)
        return f"{system}:{found[1]}" if found else ""

    def event_type(self, event: int) -> EventType | None:
        """None where there is no description that can be read."""
        system, text = self.formats.get(event, ("", ""))
        if not text:
            return None
        try:
            from probescope.formats.tracing.event_format import parse_event_format

            return parse_event_format(text, system)
        except (FormatError, ImportError):
            return None


def parse_tracing_data(data: bytes) -> TracingData:
    """As much as can be read; raises FormatError where not even the beginning can."""
    if not data.startswith(MAGIC):
        raise FormatError("no tracing data", section="TRACING_DATA", offset=0)
    end = data.find(b"\0", len(MAGIC), len(MAGIC) + 16)
    if end < 0 or len(data) < end + 7:
        raise FormatError("tracing data without a version", section="TRACING_DATA", offset=len(MAGIC))
    version = data[len(MAGIC) : end].decode("latin-1")
    big, long_size = data[end + 1] == 1, data[end + 2]
    cursor = Cursor(data, big, "TRACING_DATA")
    cursor.at = end + 3
    page_size = cursor.u32()
    result = TracingData(version, big, long_size, page_size)
    texts: list[str] = []
    complete = True
    try:
        _formats(cursor, result.formats)
        texts += [_text(cursor, cursor.u32()) for _ in range(2)]
        if version not in {"0.5", "0.4", "0.3", "0.2", "0.1"}:
            texts.append(_text(cursor, cursor.u64()))
    except FormatError:
        complete = False
    symbols, printk, commands = (*texts, "", "", "")[:3]
    return TracingData(version, big, long_size, page_size, result.formats, printk, symbols, commands, complete)


def _text(cursor: Cursor, size: int) -> str:
    return cursor.bytes(size).decode("utf-8", "replace")


def _formats(cursor: Cursor, formats: dict[int, tuple[str, str]]) -> None:
    for name in (b"header_page\0", b"header_event\0"):
        if cursor.bytes(len(name)) != name:
            raise FormatError(f"no {name.decode()[:-1]}", section="TRACING_DATA", offset=cursor.at)
        cursor.bytes(cursor.u64())
    for _ in range(cursor.count(8)):
        _format(cursor, "ftrace", formats)
    for _ in range(cursor.count(5)):
        end = cursor.data.find(b"\0", cursor.at, cursor.at + 256)
        if end < 0:
            raise FormatError("a system without a name", section="TRACING_DATA", offset=cursor.at)
        system = cursor.bytes(end + 1 - cursor.at)[:-1].decode("utf-8", "replace")
        for _ in range(cursor.count(8)):
            _format(cursor, system, formats)


def _format(cursor: Cursor, system: str, formats: dict[int, tuple[str, str]]) -> None:
    text = _text(cursor, cursor.u64())
    found = re.search(r"^ID:\s*(\d+)", text, re.MULTILINE)
    if found and len(formats) < MOST_FORMATS:
        formats[int(found[1])] = (system, text)
