"""Which functions a function's machine code calls, directly or by a jump at its end.

x86-64   e8 rel32 (call), e9 rel32 (jmp), where they lead to the first byte of a function     Intel SDM volume 2
AArch64  100101 imm26 (bl), 000101 imm26 (b)                                                  Arm ARM, C6.2

What is called by a pointer is not seen.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from probescope.debuginfo.elf_plt import quiet_plt
from probescope.errors import ElfError
from probescope.views.peel.subject import Subject

if TYPE_CHECKING:
    from probescope.debuginfo.binary import Binary, FunctionSite

MOST_CODE = 1 << 20
MOST = 48
"""Functions that are probed at once."""


def callees(binary: Binary, path: str, function: FunctionSite) -> tuple[tuple[Subject, ...], tuple[Subject, ...]]:
    """Of the same file, and of others (by the name of the jump that leads there), in the order of the code. Empty where
    the file cannot be read."""
    try:
        size = min(function.size, MOST_CODE)
        code = binary.elf.read_vaddr(function.address, size) if size else b""
        named: dict[int, str] = {}
        for f in binary.functions():
            if f.address != function.address and "." not in f.name:
                named.setdefault(f.address, f.name)
    except ElfError:
        return (), ()
    stubs = {s.address: s.name.removesuffix("@plt") for s in quiet_plt(binary.elf, lambda _: "").stubs}
    inside: dict[str, Subject] = {}
    outside: dict[str, Subject] = {}
    for target in _targets(code, function.address, binary.elf.machine):
        if target in named:
            inside.setdefault(named[target], Subject(named[target], path))
        elif target in stubs:
            outside.setdefault(stubs[target], Subject(stubs[target].partition("@")[0], ""))
    return tuple(inside.values())[:MOST], tuple(outside.values())[:MOST]


def _targets(code: bytes, address: int, machine: str) -> Iterator[int]:
    walk: Callable[[bytes, int], Iterator[int]] | None = {"x86_64": _amd64, "aarch64": _arm64}.get(machine)
    return walk(code, address) if walk is not None else iter(())


def _amd64(code: bytes, address: int) -> Iterator[int]:
    for at in range(len(code) - 4):
        if code[at] in (0xE8, 0xE9):
            yield address + at + 5 + struct.unpack_from("<i", code, at + 1)[0]


def _arm64(code: bytes, address: int) -> Iterator[int]:
    for at in range(0, len(code) - 3, 4):
        (word,) = struct.unpack_from("<I", code, at)
        if word & 0x7C000000 == 0x14000000:
            distance = (word & 0x3FFFFFF) - ((word & 0x2000000) << 1)
            yield address + at + 4 * distance
