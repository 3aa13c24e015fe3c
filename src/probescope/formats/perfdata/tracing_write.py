"""The TRACING_DATA section, the other way round from ``tracing_data``, which draws it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from probescope.formats.perfdata.tracing_data import MAGIC

OWN = "ftrace"
"""The system of ftrace's own events, which have a list of theirs."""
VERSION = b"0.6\0"


def encode_tracing_data(
    formats: Mapping[str, Sequence[bytes]],
    *,
    header_page: bytes,
    header_event: bytes = b"",
    kallsyms: bytes = b"",
    printk: bytes = b"",
    commands: bytes = b"",
    page_size: int = 4096,
    long_size: int = 8,
    big: bool = False,
) -> bytes:
    """``formats``: the format texts of each system; the others are the files of tracefs with these names. Of a
    recording of one's own kallsyms is left empty, as perf does."""
    order = ">" if big else "<"

    def sized(data: bytes, code: str = "Q") -> bytes:
        return struct.pack(order + code, len(data)) + data

    out = MAGIC + VERSION + bytes([big, long_size]) + struct.pack(order + "I", page_size)
    out += b"header_page\0" + sized(header_page) + b"header_event\0" + sized(header_event)
    own = formats.get(OWN, ())
    out += struct.pack(order + "I", len(own)) + b"".join(map(sized, own))
    others = {system: texts for system, texts in formats.items() if system != OWN}
    out += struct.pack(order + "I", len(others))
    for system, texts in others.items():
        name = system.encode("utf-8", "surrogateescape") + b"\0"
        out += name + struct.pack(order + "I", len(texts)) + b"".join(map(sized, texts))
    return out + sized(kallsyms, "I") + sized(printk, "I") + sized(commands)
