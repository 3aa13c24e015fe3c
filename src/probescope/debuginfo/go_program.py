r"""What a Go program tells of itself: its functions (gopclntab), its version, and where its runtime keeps things.

    .go.buildinfo   "\xff Go buildinf:"  size of a pointer  flags (2: texts follow)  ...  at 32: length, "go1.19.8"

Source: debug/buildinfo of Go; runtime/runtime2.go for the place of ``goid`` in ``g``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probescope.debuginfo import gopclntab
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.go_abi import REGISTER_ABI
from probescope.debuginfo.leb128 import uleb
from probescope.errors import ElfError

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_types import DwarfTypes

_START = b"\xff Go buildinf:"
_VERSION = re.compile(r"go(\d+)\.(\d+)")
_GOID = (((1, 23), 160), ((1, 6), 152))
"""Bytes from the beginning of ``g``, on machines of 64 bits: ``syscallbp`` came before it in 1.23."""


class GoProgram:
    """``version``: (1, 19); (0, 0) if nobody knows."""

    def __init__(self, table: gopclntab.GoTable, version: tuple[int, int], text: str) -> None:
        self.table, self.version, self.version_text = table, version, text

    @property
    def registers(self) -> bool:
        return self.version >= REGISTER_ABI or not self.version[0]

    def goid(self, types: DwarfTypes | None) -> int | None:
        """Where the number of a goroutine is, in what the register of ``g`` points to: by debug information, else by
        the version."""
        if types is not None:
            found = types.named("runtime.g")
            layout = types.layout(str(found)) if found is not None else None
            member = layout.member("goid") if layout is not None else None
            if member is not None:
                return member.offset
        return next((at for since, at in _GOID if self.version >= since), None)


def open_go(elf: ElfFile) -> GoProgram | None:
    """``None`` for programs that Go did not make."""
    try:
        table = gopclntab.of(elf)
        if table is None:
            return None
        said = _version(elf)
    except ElfError:
        return None
    found = _VERSION.search(said)
    return GoProgram(table, (int(found[1]), int(found[2])) if found else (0, 0), said)


def _version(elf: ElfFile) -> str:
    section = elf.section(".go.buildinfo")
    data = elf.section_data(section) if section is not None else b""
    at = data.find(_START)
    if at < 0 or len(data) < at + 34:
        return ""
    if data[at + 15] & 2:
        size, start = uleb(data, at + 32)
        return data[start : start + min(size, 64)].decode("utf-8", "replace")
    return _by_pointer(elf, int.from_bytes(data[at + 16 : at + 24], "little"))


def _by_pointer(elf: ElfFile, address: int) -> str:
    """Until Go 1.18: a string's pointer and length."""
    try:
        where = elf.read_vaddr(address, 16)
        return elf.read_vaddr(int.from_bytes(where[:8], "little"), min(where[8], 64)).decode("utf-8", "replace")
    except ElfError:
        return ""
