"""Addresses of a recording to names, by files of this machine that are the ones that were recorded.

A file is the same if its build-id is that of the recording; where that has none, if its inode is. Files are looked for
at their path, in ~/.debug (perf's own cache) and among debug files. The kernel's symbols are used if its build-id is
the recorded one, or none is recorded and the release is the same; a kernel that was loaded elsewhere (KASLR) is moved
by the distance that its text has moved.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as Dict
from typing import TYPE_CHECKING

from probescope.debuginfo.demangle import demangle
from probescope.debuginfo.elf import SHT_SYMTAB, ElfFile
from probescope.debuginfo.elf_symbols import SymbolSet
from probescope.debuginfo.kallsyms import Kallsyms
from probescope.debuginfo.locate import debug_file
from probescope.errors import ElfError
from probescope.frozen import dataclass, field
from probescope.model.recording import MappedFile

if TYPE_CHECKING:
    from probescope.debuginfo.eh_index import FrameIndex
    from probescope.debuginfo.symbolize import AddressSpace, Mapping

KERNEL = "[kernel.kallsyms]"
VDSO = "[vdso]"
_NO_FILE = ("//anon", "[", "/memfd:", "/dev/zero", "/SYSV")


@dataclass(frozen=True, slots=True)
class Frame:
    """An address with its name. ``name`` is demangled, empty if unknown; ``offset`` in bytes from the symbol's start.
    ``module``: path of the file, ``[kernel.kallsyms]``, ``[module]``, or empty. ``kernel``: of the kernel's space."""

    address: int
    name: str
    offset: int
    module: str
    kernel: bool = False


@dataclass(frozen=True, slots=True)
class Here:
    """What of this machine may serve a recording; empty things serve none. ``kallsyms`` and ``vdso`` (the bytes that
    this kernel maps into processes) are called when first needed."""

    release: str = ""
    kernel_build_id: str = ""
    kallsyms: Callable[[], bytes] = field(default=bytes)
    home: str = ""
    vdso: Callable[[], bytes] = field(default=bytes)


class Symbols:
    """``build_ids``: hex, by path as recorded (the kernel's is ``[kernel.kallsyms]``). ``missing`` counts look-ups that
    found no symbol, by module."""

    def __init__(self, here: Here, build_ids: Dict[str, str], release: str = "") -> None:
        self._here = here
        self._build_ids = build_ids
        self._release = release
        self._files: dict[tuple[str, str, int], _File | None] = {}
        self._kernel: Kallsyms | None = None
        self._shift = 0
        self._modules: list[MappedFile] = []
        self._core: list[tuple[int, int]] = []
        self.missing: dict[str, int] = {}

    def kernel_maps(self, maps: Sequence[MappedFile]) -> None:
        """Mappings of the kernel as they were recorded: may be called again when there are more."""
        self._modules = sorted((m for m in maps if not _is_kernel(m.path)), key=lambda m: m.start)
        self._core = [(m.start, m.end) for m in maps if _is_kernel(m.path)]
        core = next((m for m in maps if _is_kernel(m.path)), None)
        if self._kernel is None and self._kernel_is_ours():
            self._kernel = Kallsyms(self._here.kallsyms())
            if self._kernel.restricted:
                self._kernel = None
            elif core is not None:
                self._shift = self._moved(core)

    def frame(self, space: AddressSpace | None, address: int, *, kernel: bool) -> Frame:
        found = self._in_kernel(address) if kernel else self._in_process(space, address)
        if not found.name:
            self.missing[found.module] = self.missing.get(found.module, 0) + 1
        return found

    def unwind_file(self, m: Mapping) -> tuple[ElfFile, FrameIndex] | None:
        """The file of a mapping, with its unwind information."""
        if m.path.startswith(_NO_FILE) and m.path != VDSO:
            return None
        file = self._file(m) if m.path != VDSO else self._vdso()
        return file.unwinding() if file is not None else None

    # --- the kernel

    def _kernel_is_ours(self) -> bool:
        recorded = self._build_ids.get(KERNEL, "")
        if recorded:
            return recorded == self._here.kernel_build_id
        return bool(self._release) and self._release == self._here.release

    def _moved(self, core: MappedFile) -> int:
        """The recorded name ends in the symbol that ``offset`` is the address of: ``[kernel.kallsyms]_text``."""
        symbol = core.path.partition("]")[2]
        assert self._kernel is not None
        now = self._kernel.address(symbol) if symbol else None
        return core.offset - now if now and core.offset else 0

    def _in_kernel(self, address: int) -> Frame:
        hit = self._kernel.lookup(address - self._shift) if self._kernel is not None else None
        if hit is not None:
            return Frame(address, hit[0], hit[1], f"[{hit[2]}]" if hit[2] else KERNEL, kernel=True)
        return Frame(address, "", 0, self._module(address), kernel=True)

    def _module(self, address: int) -> str:
        """A module's path where its build-id was recorded, else its name in brackets, as perf calls them; empty where
        nothing of the kernel was mapped."""
        path = next((m.path for m in self._modules if m.start <= address < m.end), "")
        if path:
            return path if path in self._build_ids else bracketed(path)
        return KERNEL if any(low <= address < high for low, high in self._core) else ""

    # --- files

    def _in_process(self, space: AddressSpace | None, address: int) -> Frame:
        m = space.find(address) if space is not None else None
        if m is None:
            return Frame(address, "", 0, "")
        if m.path.startswith(_NO_FILE) and m.path != VDSO:
            return Frame(address, "", address - m.start, m.path)
        file = self._file(m) if m.path != VDSO else self._vdso()
        offset = address - m.start + m.offset
        hit = file.at_offset(offset) if file is not None else None
        return Frame(address, "", offset, m.path) if hit is None else Frame(address, demangle(hit[0]), hit[1], m.path)

    def _vdso(self) -> _File | None:
        """Ours, if the kernel that was recorded is ours."""
        key = (VDSO, "", 0)
        if key not in self._files:
            data = self._here.vdso() if self._kernel_is_ours() else b""
            try:
                self._files[key] = _File(ElfFile(data), VDSO) if data else None
            except ElfError:
                self._files[key] = None
        return self._files[key]

    def _file(self, m: Mapping) -> _File | None:
        path, inode = getattr(m, "path", ""), getattr(m, "inode", 0)
        build_id = getattr(m, "build_id", b"").hex() or self._build_ids.get(path, "")
        key = (path, build_id, inode)
        if key not in self._files:
            self._files[key] = next(self._candidates(path, build_id, inode), None)
        return self._files[key]

    def _candidates(self, path: str, build_id: str, inode: int) -> Iterator[_File]:
        places = [path]
        if len(build_id) > 2:
            places += [f"{self._here.home}/.debug/.build-id/{build_id[:2]}/{build_id[2:]}/elf"]
            places += [f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"]
        for place in places:
            try:
                if not build_id and inode and os.stat(place).st_ino != inode:
                    continue
                elf = ElfFile.open(place)
            except (ElfError, OSError, ValueError):
                continue
            found = _File(elf, path)
            if not build_id or found.build_id() == build_id:
                yield found
            else:
                elf.close()


class _File:
    def __init__(self, elf: ElfFile, path: str) -> None:
        self._elf = elf
        self._path = path
        self._symbols: SymbolSet | None = None
        self._known: dict[int, tuple[str, int] | None] = {}
        self._index: FrameIndex | None = None
        self._indexed = False

    def unwinding(self) -> tuple[ElfFile, FrameIndex] | None:
        """Of a stripped file .debug_frame is in its debug file."""
        from probescope.debuginfo.eh_index import FrameIndex

        if not self._indexed and self._elf.machine == "x86_64":
            for elf in (self._elf, debug_file(self._elf, self._path)):
                try:
                    self._index = FrameIndex(elf) if elf is not None else None
                    break
                except ElfError:
                    continue
        self._indexed = True
        return (self._elf, self._index) if self._index is not None else None

    def build_id(self) -> str:
        try:
            return self._elf.build_id()
        except ElfError:
            return ""

    def at_offset(self, offset: int) -> tuple[str, int] | None:
        if offset not in self._known:
            try:
                self._known[offset] = self._look(offset)
            except ElfError:
                self._known[offset] = None
        return self._known[offset]

    def _look(self, offset: int) -> tuple[str, int] | None:
        address = self._elf.to_vaddr(offset)
        if address is None:
            return None
        if self._symbols is None:
            self._symbols = self._read()
        found = self._symbols.at(address)
        return None if found is None else (found.name, address - found.address)

    def _read(self) -> SymbolSet:
        tables = list(self._elf.symbols().tables)
        if all(s.type != SHT_SYMTAB for s in self._elf.sections()):
            debug = debug_file(self._elf, self._path)
            if debug is not None:
                with debug:
                    more = debug.symtab()
                tables = [*([more] if more is not None else []), *tables]
        return SymbolSet(tables)


def bracketed(path: str) -> str:
    """``[name]`` of a module's file."""
    base = path.rpartition("/")[2]
    for end in (".ko", ".ko.xz", ".ko.gz", ".ko.zst"):
        if base.endswith(end):
            return f"[{base[: -len(end)].replace('-', '_')}]"
    return path


def _is_kernel(path: str) -> bool:
    return path.startswith(("[kernel.kallsyms]", "[guest.kernel.kallsyms]", "[kernel]"))
