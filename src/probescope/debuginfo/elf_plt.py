"""Functions of other libraries by the jump that leads to them: ``puts@plt``.

    .plt, .plt.sec, .plt.got     jmp *slot(%rip)      adrp x16, page; ldr x17, [x16, offset]
    .rela.plt, .rela.dyn         slot -> symbol of .dynsym; without one (IRELATIVE) the function that chooses it

Stubs are found by their instructions, so all layouts of linkers are alike. Source: System V ABI for AMD64, 5.2; ELF for
the Arm 64-bit Architecture, appendix on PLT sequences.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from probescope.debuginfo.elf import ElfFile
from probescope.errors import ElfError

SECTIONS = (".plt", ".plt.sec", ".plt.got", ".iplt")
MOST_STUBS = 1 << 18
MOST_SLOTS = 1 << 22
_RELA = 4  # SHT_RELA
_IRELATIVE = {"x86_64": 37, "aarch64": 1032}
_ENDBR, _BTI = b"\xf3\x0f\x1e\xfa", 0xD503245F


class Stub(NamedTuple):
    address: int
    size: int
    name: str


class Plt:
    """``stubs`` ascending; ``ranges``: where stubs are, named or not."""

    def __init__(self, stubs: list[Stub], ranges: list[tuple[int, int]]) -> None:
        self.stubs, self.ranges = stubs, ranges

    def covers(self, address: int) -> bool:
        return any(low <= address < high for low, high in self.ranges)


def plt_of(elf: ElfFile, name_at: Callable[[int], str]) -> Plt:
    """``name_at``: the function at an address of the file, "" if there is none. Raises ElfError."""
    decode = {"x86_64": _amd64, "aarch64": _arm64}.get(elf.machine)
    sections = [s for s in map(elf.section, SECTIONS) if s is not None and s.size]
    if decode is None or not sections or not elf.little:
        return Plt([], [])
    slots = _slots(elf)
    stubs: list[Stub] = []
    for s in sections:
        found = list(decode(elf.section_data(s), s.address))[:MOST_STUBS]
        ends = [at for at, _ in found[1:]] + [s.address + s.size]
        for (at, slot), end in zip(found, ends, strict=False):
            target = slots.get(slot)
            if target is not None:
                name = target if isinstance(target, str) else name_at(target) or f"*ABS*+{target:#x}"
                stubs.append(Stub(at, min(end - at, 32), f"{name}@plt"))
    return Plt(sorted(stubs), [(s.address, s.address + s.size) for s in sections])


def _slots(elf: ElfFile) -> dict[int, str | int]:
    """By slot: the symbol's name, or the address of the function that chooses one."""
    import numpy as np

    symbols = elf.dynsym()
    irelative = _IRELATIVE[elf.machine]
    out: dict[int, str | int] = {}
    for s in elf.sections():
        if s.type != _RELA or s.name not in {".rela.plt", ".rela.dyn", ".rela.iplt"} or elf.bits != 64:
            continue
        data = elf.section_data(s)
        rows = np.frombuffer(data, "<u8", len(data) // 24 * 3).reshape(-1, 3)[:MOST_SLOTS]
        number = rows[:, 1] >> np.uint64(32)
        kept = rows[(number != 0) | (rows[:, 1] == irelative)]
        for slot, info, addend in kept.tolist():
            row = info >> 32
            if not row:
                out[slot] = addend
            elif symbols is not None and row < len(symbols) and s.name != ".rela.dyn":
                out[slot] = symbols.full_name(row)
            elif symbols is not None and row < len(symbols) and not addend:
                out.setdefault(slot, symbols.full_name(row))
    return out


def _amd64(data: bytes, address: int) -> Iterator[tuple[int, int]]:
    """Address and slot of each ``[endbr64] [bnd] jmp *slot(%rip)``, which begin at multiples of 8."""
    at = data.find(b"\xff\x25")
    while 0 <= at <= len(data) - 6:
        begin = at - (data[at - 1 : at] == b"\xf2")
        begin -= 4 * (data[max(begin - 4, 0) : begin] == _ENDBR)
        if begin % 8 == 0:
            yield address + begin, address + at + 6 + struct.unpack_from("<i", data, at + 2)[0]
        at = data.find(b"\xff\x25", at + 6)


def _arm64(data: bytes, address: int) -> Iterator[tuple[int, int]]:
    words = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    for i in range(len(words) - 1):
        page, load = words[i], words[i + 1]
        if page & 0x9F00001F == 0x90000010 and load & 0xFFC003FF == 0xF9400211:
            distance = (page >> 5 & 0x7FFFF) << 2 | page >> 29 & 3
            distance -= (distance >> 20) << 21
            slot = (address + 4 * i & ~0xFFF) + (distance << 12) + ((load >> 10 & 0xFFF) << 3)
            yield address + 4 * (i - (i > 0 and words[i - 1] == _BTI)), slot


def quiet_plt(elf: ElfFile, name_at: Callable[[int], str]) -> Plt:
    """The same; empty where the file is damaged."""
    try:
        return plt_of(elf, name_at)
    except ElfError:
        return Plt([], [])
