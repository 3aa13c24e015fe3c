"""Stacks to be walked: dumps full of plausible return addresses, and files whose code they lead into."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from probescope.collect.recorded.grounds import Grounds
from probescope.collect.recorded.lanes import USER, Dumps, Walk, Walked
from probescope.collect.recorded.past import Registers
from probescope.debuginfo.eh_index import FrameIndex
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.symbolize import AddressSpace, Mapping
from probescope.model.recording import MappedFile

BASE = 0x7F0000000000
"""Where the file is mapped, whole, as one piece."""
STACK = 0x7FFE00000000


def grounds(elf: ElfFile) -> Grounds:
    """One address space with one file."""
    found = (elf, FrameIndex(elf))
    space = AddressSpace([MappedFile(start=BASE, size=1 << 32, path="/file")], pid=1)

    def files(_: Mapping) -> tuple[ElfFile, FrameIndex]:
        return found

    return Grounds([space], files)


def walked(
    where: Grounds, dumps: Sequence[bytes], registers: Sequence[dict[int, int]], spaces: Sequence[int] = ()
) -> list[list[int]]:
    """The frames of each; ``registers`` by DWARF's numbers, 7 being where the dump begins."""
    stacks, first, _ = prepared(dumps, registers)
    found = Walk(where, stacks, first, np.array(spaces or [0] * len(dumps), np.int32)).run()
    return split(found)


def prepared(dumps: Sequence[bytes], registers: Sequence[dict[int, int]]) -> tuple[Dumps, Registers, bytes]:
    """As they are walked, and the bytes that all dumps lie in."""
    padded = [d + bytes(-len(d) % 8) for d in dumps]
    data = b"".join(padded) + bytes(8)
    sizes = np.array([len(d) for d in dumps], np.uint64)
    ends = np.cumsum([len(p) // 8 for p in padded])
    starts = (ends - [len(p) // 8 for p in padded]).astype(np.uint64)
    numbers = sorted({*registers[0], 6, 7, 16})
    values = np.array([r.get(k, 0) for r in registers for k in numbers], np.uint64)
    first = Registers(values, np.arange(len(dumps)) * len(numbers), {k: i for i, k in enumerate(numbers)})
    return Dumps(np.frombuffer(data, np.uint64), starts, sizes, first.column(7)), first, data


def split(found: Walked) -> list[list[int]]:
    """The frames of each stack."""
    out: list[list[int]] = []
    at = 0
    for count in found.count.tolist():
        assert found.frames[at] == USER
        out.append(found.frames[at + 1 : at + 1 + count].tolist())
        at += count + 1
    return out


def random_stack(rng: random.Random, code: Sequence[int], words: int = 64) -> tuple[bytes, dict[int, int]]:
    """A dump of return addresses, places in the stack and other numbers; and registers."""
    low = STACK + 8 * rng.randrange(64)

    def word() -> int:
        kind = rng.randrange(8)
        if kind < 4:
            return rng.choice(code) + 1
        return low + 8 * rng.randrange(words) if kind < 7 else rng.getrandbits(64)

    dump = b"".join(word().to_bytes(8, "little") for _ in range(words))
    registers = {k: word() for k in (0, 1, 2, 3, 4, 5, 6, *range(8, 16))}
    return dump, {**registers, 7: low, 16: rng.choice(code)}
