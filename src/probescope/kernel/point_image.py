"""A small ELF file with the two probes of a span, as bytes: what ``probescope.h`` makes of C, for programs without C.

    page 0   ELF header, program headers, the code   begin: nop, ret   end: nop, ret
             section headers, their names, the notes, .stapsdt.base
    page 1   two counters of 16 bits: who listens to begin, and to end

Addresses are offsets in the file. Nothing is linked: whoever maps it knows where everything is. The first six words
that ``begin`` is called with are the probe's arguments, by the calling convention.
Source: ELF-64 Object File Format 1.5; the note as debuginfo/usdt.py draws it.
"""

from __future__ import annotations

import struct

from probescope.frozen import dataclass

ARGUMENTS = 6
BEGIN, END = "__begin", "__end"
PROVIDER = "probescope"

_CODE = 0xC0
_SHT_PROGBITS, _SHT_STRTAB, _SHT_NOTE = 1, 3, 7
_ALLOC, _WRITE, _EXEC = 2, 1, 4


@dataclass(frozen=True, slots=True)
class Machine:
    """``code``: nop and return; ``registers`` of the arguments as the assembler writes them."""

    e_machine: int
    code: bytes
    registers: tuple[str, ...]


MACHINES = {
    "x86_64": Machine(62, b"\x90\xc3", ("%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9")),
    "aarch64": Machine(183, struct.pack("<II", 0xD503201F, 0xD65F03C0), ("x0", "x1", "x2", "x3", "x4", "x5")),
}


@dataclass(frozen=True, slots=True)
class Image:
    """``begin`` and ``end``: offsets of the code; ``counters``: of the two counters, a page of their own."""

    data: bytes
    begin: int
    end: int
    counters: int


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    type: int
    flags: int
    data: bytes
    align: int


def image(name: str, machine: Machine, page: int) -> Image:
    """``page``: bytes of a page, which everything but the counters must fit into. Raises ValueError if not."""
    begin, end = _CODE, _CODE + len(machine.code)
    base = _CODE + 2 * len(machine.code)
    arguments = " ".join(f"-8@{r}" for r in machine.registers)
    notes = _note(begin, base, page, name + BEGIN, arguments) + _note(end, base, page + 2, name + END, "")
    body, headers = _laid_out(
        [
            _Section(".text", _SHT_PROGBITS, _ALLOC | _EXEC, 2 * machine.code, 4),
            _Section(".stapsdt.base", _SHT_PROGBITS, _ALLOC, b"\0", 1),
            _Section(".note.stapsdt", _SHT_NOTE, 0, notes, 4),
        ],
        page,
    )
    size = _CODE + len(body) + 64 * len(headers)
    if size > page:
        raise ValueError(name)
    head = _head(machine.e_machine, _CODE + len(body), len(headers), page, size).ljust(_CODE, b"\0")
    data = (head + body + b"".join(headers)).ljust(page, b"\0") + bytes(4)
    return Image(data, begin, end, page)


def _laid_out(sections: list[_Section], page: int) -> tuple[bytes, list[bytes]]:
    """The bytes of sections, which lie behind the program headers, and the headers of these and two more: the counters,
    and the names, which come last."""
    body, names, headers = bytearray(), b"\0", [bytes(64)]
    for s in sections:
        body += bytes(-len(body) % s.align)
        headers.append(_header(len(names), s.type, s.flags, _CODE + len(body), len(s.data), s.align))
        body += s.data
        names += s.name.encode() + b"\0"
    headers.append(_header(len(names), _SHT_PROGBITS, _ALLOC | _WRITE, page, 4, 2))
    names += b".probes\0"
    own = len(names)
    names += b".shstrtab\0"
    headers.append(_header(own, _SHT_STRTAB, 0, _CODE + len(body), len(names), 1))
    body += names + bytes(-(_CODE + len(body) + len(names)) % 8)
    return bytes(body), headers


def _note(pc: int, base: int, semaphore: int, name: str, arguments: str) -> bytes:
    desc = struct.pack("<QQQ", pc, base, semaphore) + f"{PROVIDER}\0{name}\0{arguments}\0".encode()
    return struct.pack("<III", 8, len(desc), 3) + b"stapsdt\0" + desc + bytes(-len(desc) % 4)


def _header(name: int, kind: int, flags: int, at: int, size: int, align: int) -> bytes:
    where = at if flags & _ALLOC else 0
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, where, at, size, 0, 0, align, 0)


def _head(e_machine: int, table: int, sections: int, page: int, size: int) -> bytes:
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    shared = 3
    head = struct.pack("<HHIQQQIHHHHHH", shared, e_machine, 1, 0, 64, table, 0, 64, 56, 2, 64, sections, sections - 1)
    readable = struct.pack("<IIQQQQQQ", 1, 4 | 1, 0, 0, 0, size, size, page)
    writable = struct.pack("<IIQQQQQQ", 1, 4 | 2, page, page, page, 4, 4, page)
    return ident + head + readable + writable
