"""USDT probes of an ELF file: the notes that sys/sdt.h leaves in .note.stapsdt.

    Elf note, owner "stapsdt", type 3; its descriptor, with addresses as wide as the file's:
    pc   base   semaphore   provider NUL   name NUL   arguments NUL

``base`` is where the linker put the section .stapsdt.base; if prelink moved it since, all addresses move with it.
Source: SystemTap wiki "UserSpaceProbeImplementation", sys/sdt.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from probescope.debuginfo import elf_notes, usdt_args
from probescope.debuginfo.elf import ElfFile
from probescope.frozen import dataclass
from probescope.model import arch as arches
from probescope.model.site import Field

MAX_PROBES = 1 << 17


@dataclass(frozen=True, slots=True)
class UsdtProbe:
    """One place where a probe stands; several of one name make one probe. ``pc`` and ``semaphore`` are file offsets (as
    uprobes want them), ``address`` the virtual address of the place. ``semaphore`` is 0 for none. An argument that
    cannot be read is ``None``; ``text`` has them all as written."""

    provider: str
    name: str
    pc: int
    semaphore: int
    address: int
    args: tuple[Field | None, ...]
    text: str


@dataclass(frozen=True, slots=True)
class _Note:
    pc: int
    base: int
    semaphore: int
    provider: str
    name: str
    args: str


def read_path(path: str) -> list[UsdtProbe]:
    """The probes of a file. Raises ElfError if it is no ELF file or malformed."""
    with ElfFile.open(path) as elf:
        return read(elf)


def read(elf: ElfFile) -> list[UsdtProbe]:
    """In the order of the notes. Malformed notes and places outside the loaded segments are left out."""
    section = elf.section(".stapsdt.base")
    base = section.address if section else 0
    out = []
    for note in _notes(elf):
        shift = base - note.base if base and note.base else 0
        probe = _probe(elf, note, shift)
        if probe is not None:
            out.append(probe)
    return out


def group(probes: Iterable[UsdtProbe]) -> dict[tuple[str, str], list[UsdtProbe]]:
    """The places of each (provider, name), in order."""
    out: dict[tuple[str, str], list[UsdtProbe]] = {}
    for p in probes:
        out.setdefault((p.provider, p.name), []).append(p)
    return out


def _notes(elf: ElfFile) -> list[_Note]:
    data = elf.section_data(".note.stapsdt")
    addresses = struct.Struct(("<" if elf.little else ">") + ("QQQ" if elf.bits == 64 else "III"))
    out: list[_Note] = []
    for note in elf_notes.parse(data, elf.little):
        if note.name != "stapsdt" or note.type != elf_notes.NT_STAPSDT or len(note.desc) < addresses.size:
            continue
        texts = note.desc[addresses.size :].split(b"\0")
        if len(texts) >= 4 and texts[0] and texts[1]:
            provider, name, args = (t.decode("utf-8", "replace") for t in texts[:3])
            pc, base, semaphore = addresses.unpack_from(note.desc)
            out.append(_Note(pc, base, semaphore, provider, name, args))
    return out[:MAX_PROBES]


def _probe(elf: ElfFile, note: _Note, shift: int) -> UsdtProbe | None:
    address = note.pc + shift
    pc = elf.to_offset(address)
    semaphore = elf.to_offset(note.semaphore + shift) if note.semaphore else 0
    if pc is None or semaphore is None:
        return None
    arch = arches.by_name(elf.machine)
    if arch is None:
        args: tuple[Field | None, ...] = (None,) * len(usdt_args.split(note.args))
    else:
        args = usdt_args.parse(note.args, usdt_args.Operands(arch, address, _resolver(elf)))
    return UsdtProbe(note.provider, note.name, pc, semaphore, address, args, note.args)


def _resolver(elf: ElfFile) -> usdt_args.Resolve:
    def resolve(name: str) -> int | None:
        found = elf.symbols().find(name.split("@", 1)[0])
        return found.address if found else None

    return resolve
