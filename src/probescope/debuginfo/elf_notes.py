"""ELF notes, the build-id and the link to a separate debug file.

    0       4       8       12
    namesz  descsz  type    name, padded    desc, padded    next note...

Source: gABI chapter 5 "Note Section"; padding is to 4 bytes, or to 8 where the section says so (.note.gnu.property).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

NT_GNU_BUILD_ID = 3
NT_STAPSDT = 3
MAX_NOTES = 1 << 20


class Note(NamedTuple):
    """``offset`` of the note in its section, in bytes."""

    name: str
    type: int
    desc: bytes
    offset: int


def parse(data: bytes, little: bool = True, align: int = 4) -> list[Note]:
    """The notes of one section. A malformed or cut note ends the list: what is before it is kept."""
    fmt = struct.Struct("<III" if little else ">III")
    pad = 7 if align == 8 else 3
    out: list[Note] = []
    at = 0
    while at + 12 <= len(data) and len(out) < MAX_NOTES:
        namesz, descsz, kind = fmt.unpack_from(data, at)
        start = at + 12
        desc = at + ((12 + namesz + pad) & ~pad)
        if desc + descsz > len(data):
            break
        name = data[start : start + namesz].split(b"\0", 1)[0].decode("utf-8", "replace")
        out.append(Note(name, kind, data[desc : desc + descsz], at))
        at = desc + ((descsz + pad) & ~pad)
    return out


def build_id(data: bytes, little: bool = True, align: int = 4) -> str:
    """The GNU build-id among some notes, in hex, or an empty text. Also reads /sys/kernel/notes."""
    for note in parse(data, little, align):
        if note.type == NT_GNU_BUILD_ID and note.name == "GNU" and 2 <= len(note.desc) <= 64:
            return note.desc.hex()
    return ""


def debuglink(data: bytes, little: bool = True) -> tuple[str, int] | None:
    """.gnu_debuglink: a file name, NUL, padding to 4, CRC-32 of the debug file (GDB manual, "Separate Debug Files")."""
    name, nul, _ = data.partition(b"\0")
    crc_at = (len(name) + 4) & ~3
    if not nul or not name or b"/" in name or crc_at + 4 > len(data):
        return None
    (crc,) = struct.unpack_from("<I" if little else ">I", data, crc_at)
    return name.decode("utf-8", "replace"), crc
