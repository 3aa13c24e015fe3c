"""Files of the kernel with debug information: its vmlinux, and its modules, which were never linked.

vmlinux     place: _text and bytes from there, as perf probe has it: names of functions are not unique
ext4.ko     place: the function and bytes in it; its sections are laid one behind the other (dwarf_relocate)
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from probescope.debuginfo import dwarf_expr as ex
from probescope.debuginfo import dwarf_ranges
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_cfa import Frames
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_find import entry_of
from probescope.debuginfo.dwarf_open import open_dwarf
from probescope.debuginfo.dwarf_relocate import layout_of
from probescope.debuginfo.dwarf_scope import Scopes
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_notes import build_id
from probescope.debuginfo.elf_symbols import Symbol as ElfSymbol
from probescope.debuginfo.locate import DEBUG_DIRS
from probescope.errors import DwarfError, ElfError
from probescope.kernel.host import host
from probescope.model.arch import Arch
from probescope.model.fetch import Fetch, Symbol

BASE = "_text"
ENDBR64, NOP5 = b"\xf3\x0f\x1e\xfa", b"\x0f\x1f\x44\x00\x00"
FREED = (".init.text", ".exit.text")


class KernelImage:
    """``probe_debug.Target``. ``scopes``: set once its debug information is read."""

    def __init__(self, elf: ElfFile, dwarf: DwarfFile, arch: Arch, module: str, base: int) -> None:
        self.elf, self.dwarf, self.arch, self._base = elf, dwarf, arch, base
        self.label = f"the module {module}" if module else "the kernel"
        self.build_id = elf.build_id()
        self.scopes: Scopes | None = None
        self._layout = layout_of(elf)
        self._frames: Frames | None = None

    # --- symbols ------------------------------------------------------------------------------------------------------

    def _address(self, s: ElfSymbol) -> int | None:
        return s.address if self._layout is None else self._layout.address(s.section, s.address)

    def symbol_addresses(self, name: str) -> list[int]:
        found = [self._address(s) for s in self.elf.symbols().find_all(name) if s.is_defined and s.is_function]
        return sorted({a for a in found if a is not None})

    def base_of(self, symbol: str) -> list[int]:
        """Where that begins from which definitions count, if it is that."""
        return [self._base] if symbol == BASE and self._base else []

    def static(self, address: int, near: int) -> Fetch:
        if self._layout is None:
            found = self.elf.symbols().at(address)
            if found is not None and found.address == address:
                return Symbol(found.name)
            return Symbol(BASE, address - self._base)
        name, inside = self.place(address)
        return Symbol(name, inside)

    def place(self, address: int) -> tuple[str, int]:
        """A symbol, and bytes from it."""
        if self._layout is None:
            return BASE, address - self._base
        best: tuple[str, int] = ("", 0)
        for s in self.elf.symbols():
            start = self._address(s) if s.is_defined and s.name else None
            if start is not None and start <= address < start + max(s.size, 1):
                best = (s.name, address - start)
        return best

    # --- code ---------------------------------------------------------------------------------------------------------

    def start_of(self, address: int) -> int | None:
        """Where the function begins; of an address in its part for what is rare, which lies elsewhere, that one."""
        around = self.scopes.around(address) if self.scopes is not None else ()
        if not around:
            return None
        ranges = dwarf_ranges.of(around[0])
        return next((low for low, high in ranges if low <= address < high), entry_of(around[0]))

    def cfa(self, address: int) -> ex.Near | None:
        if self._frames is None:
            self._frames = Frames(self.elf, None, self.arch, self.start_of)
        return self._frames.cfa(address)

    def preamble(self, address: int) -> int:
        """endbr64, and the call of __fentry__, which is a nop where nobody traces."""
        code = self.code(address, 9)
        start = len(ENDBR64) if code.startswith(ENDBR64) else 0
        traced = code[start : start + 1] == b"\xe8" or code.startswith(NOP5, start)
        return start + 5 if traced and self.arch.name == "x86_64" else start

    def forgotten(self, address: int) -> bool:
        """Code that is freed once the kernel, or the module, has started."""
        if self._layout is not None:
            found = self._layout.section_at(address)
            return found is not None and found[0].name.startswith(FREED)
        return any(s.address <= address < s.address + s.size for s in self.elf.sections() if s.name in FREED)

    def code(self, address: int, size: int) -> bytes:
        """Its bytes, as far as the file has them."""
        try:
            if self._layout is None:
                return self.elf.read_vaddr(address, size)
            found = self._layout.section_at(address)
            return self.elf.section_data(found[0])[found[1] : found[1] + size] if found is not None else b""
        except ElfError:
            return b""


def open_image(path: str, arch: Arch, module: str) -> KernelImage | str:
    """The reason if it is none."""
    try:
        binary = Binary(path)
        dwarf = open_dwarf(binary)
        base = binary.elf.symbols().find(BASE) if not module else None
    except (ElfError, DwarfError) as e:
        return str(e)
    if dwarf is None:
        return f"{path} has no debug information"
    if not module and base is None:
        return f"{path} is no vmlinux: it has no symbol {BASE}"
    owner = dwarf.elf if module else binary.elf
    return KernelImage(owner, dwarf, arch, module, base.address if base is not None else 0)


# --- where they are ---------------------------------------------------------------------------------------------------


def is_path(module: str) -> bool:
    return "/" in module or module.endswith(".ko")


def module_name(module: str) -> str:
    """As the kernel calls it: of ``/lib/modules/.../nf-tables.ko.xz`` it is ``nf_tables``."""
    return os.path.basename(module).partition(".ko")[0].replace("-", "_")


def running_build_id() -> str:
    """Of this machine's kernel, in hex; empty if it has none."""
    return _build_id("/sys/kernel/notes")


def module_build_id(module: str) -> str:
    """Of a module that is loaded."""
    return _build_id(f"/sys/module/{module}/notes/.note.gnu.build-id")


def _build_id(path: str) -> str:
    try:
        return build_id(host().read_bytes(path))
    except (OSError, ElfError):
        return ""


def module_places(module: str, release: str, wanted: str) -> Iterator[str]:
    """Where a module's file with debug information may lie."""
    if len(wanted) > 2:
        yield from (f"{d}/.build-id/{wanted[:2]}/{wanted[2:]}.debug" for d in DEBUG_DIRS)
    for root in (*(f"{d}/lib/modules/{release}" for d in DEBUG_DIRS), f"/lib/modules/{release}"):
        for folder, _, files in os.walk(root):
            for name in files:
                if ".ko" in name and module_name(name) == module and not name.endswith((".xz", ".gz", ".zst")):
                    yield os.path.join(folder, name)
