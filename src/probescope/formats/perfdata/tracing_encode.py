"""The TRACING_DATA section written, the other way round from ``tracing_data``, which draws it."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from probescope.formats.perfdata.tracing_data import MAGIC

VERSION = b"0.6\0"


def encode_tracing_data(
    formats: Iterable[tuple[str, str]],
    *,
    big: bool,
    long_size: int,
    page_size: int,
    header_page: str = "",
    kallsyms: str = "",
    printk: str = "",
    cmdlines: str = "",
) -> bytes:
    """``formats``: (system, text of an event's format); ``ftrace`` is the system of ftrace's own events."""
    order = ">" if big else "<"
    systems: dict[str, list[bytes]] = {"ftrace": []}
    for system, text in formats:
        systems.setdefault(system, []).append(_bytes(text))
    own = systems.pop("ftrace")

    def sized(data: bytes) -> bytes:
        return struct.pack(order + "Q", len(data)) + data

    out = [MAGIC, VERSION, bytes((big, long_size)), struct.pack(order + "I", page_size)]
    out += [b"header_page\0", sized(_bytes(header_page)), b"header_event\0", sized(b"")]
    out += [struct.pack(order + "I", len(own)), *map(sized, own), struct.pack(order + "I", len(systems))]
    for system, texts in systems.items():
        out += [_bytes(system) + b"\0", struct.pack(order + "I", len(texts)), *map(sized, texts)]
    for text in (kallsyms, printk):
        data = _bytes(text)
        out += [struct.pack(order + "I", len(data)), data]
    out.append(sized(_bytes(cmdlines)))
    return b"".join(out)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
