"""Files of a recording: where they are now, if they are the ones that were recorded, and what is known of their code.

A file is the same if its build-id is that of the recording; where that has none, if its inode is. It is looked for
at its path (below ``--symfs``; in the mount namespace of its process, while that lives), in ~/.debug (perf's own
cache), among debug files, in the tables saved beside the recording, and, when asked for, on servers (debuginfod).

    ~/.debug/.build-id/ab/cdef.../elf, debug, vdso          (or the file itself, up to perf 4.10)
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Dict
from typing import TYPE_CHECKING

from probescope.collect.recorded.search import Here, Kind, Search
from probescope.debuginfo.elf import PF_X, PT_LOAD, SHT_SYMTAB, ElfFile
from probescope.debuginfo.elf_names import FunctionNames
from probescope.debuginfo.elf_source import ReopenedSource
from probescope.debuginfo.elf_symbols import SHN_LORESERVE, SHN_UNDEF, STT_OBJECT, Symbol, alias_rank
from probescope.debuginfo.locate import debug_file, in_root
from probescope.debuginfo.unwind_parts import PartsSource
from probescope.errors import ElfError, FormatError

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_inlines import Inlines, SourceFrame
    from probescope.debuginfo.eh_index import FrameIndex
    from probescope.debuginfo.elf_symbols import SymbolTable
    from probescope.debuginfo.symbolize import Mapping
    from probescope.formats.perfdata.meta import BuildId
    from probescope.formats.symbolfile import SavedSymbols

KERNEL, VDSO = "[kernel.kallsyms]", "[vdso]"


def build_ids(found: Iterable[BuildId]) -> dict[str, str]:
    """Hex, by path as recorded. The kernel's path may have the name of a symbol behind it."""
    return {KERNEL if b.path.startswith(KERNEL) else b.path: b.build_id.hex() for b in found}


class Module:
    """A file that is here, or of which a table was saved. Places are offsets of its bytes. ``path`` as inside
    ``root``."""

    def __init__(
        self,
        files: Files,
        path: str,
        build_id: str,
        elf: ElfFile | None,
        root: str = "",
        table: SavedSymbols | None = None,
    ) -> None:
        self.elf, self.path, self.build_id = elf, path, build_id
        self._files, self._root, self._table = files, root, table
        self._names: FunctionNames | None = None
        self._known: dict[int, tuple[str, int] | None] = {}
        self._debug: ElfFile | None = None
        self._located = self._indexed = self._lined = self._tabled = False
        self._index: FrameIndex | None = None
        self._unwound: ElfFile | None = None
        self._inlines: Inlines | None = None
        self._variables: list[tuple[int, int, str]] | None = None

    def at_offset(self, offset: int) -> tuple[str, int] | None:
        """The function's name, as symbol tables have it, and how far behind its start that is."""
        if offset not in self._known:
            try:
                self._known[offset] = self._look(offset)
            except ElfError:
                self._known[offset] = None
        return self._known[offset]

    def data_at_offset(self, offset: int) -> tuple[str, int] | None:
        """The variable that a place lies in, also behind the file's bytes; of code, the function."""
        try:
            segments = self.elf.segments() if self.elf is not None else ()
            held = [s for s in segments if s.type == PT_LOAD and s.offset <= offset < s.offset + s.memsz]
            if self.elf is None or not held or held[-1].flags & PF_X:
                return self.at_offset(offset)
            if self._variables is None:
                self._variables = _variables(self._tables(self.elf))
        except ElfError:
            return None
        address = offset - held[-1].offset + held[-1].vaddr
        i = bisect_right(self._variables, (address, 1 << 64)) - 1
        start, end, name = self._variables[i] if i >= 0 else (0, 0, "")
        return (name, address - start) if address < end else None

    def at_address(self, address: int) -> tuple[str, int] | None:
        """The same by virtual address."""
        try:
            found = self._functions().at(address) if self.elf is not None else None
        except ElfError:
            return None
        return None if found is None else (found[0], address - found[1])

    def address_of(self, name: str) -> int | None:
        """The virtual address of a symbol."""
        try:
            found = self.elf.symbols().find(name) if self.elf is not None else None
        except ElfError:
            return None
        return found.address if found is not None else None

    @property
    def named(self) -> bool:
        """Whether all functions have names: there is a whole symbol table."""
        return self._table is not None or (self.elf is not None and (self._has_symtab() or self.debug is not None))

    def source(self, offset: int, *, lines: bool = True) -> tuple[SourceFrame, ...]:
        """Innermost first; the last one is the function itself. Empty where nothing is known. Without ``lines``:
        functions alone."""
        address = self._address(offset)
        return self.source_at(address, lines=lines) if address is not None else ()

    def source_at(self, address: int, *, lines: bool = True) -> tuple[SourceFrame, ...]:
        """The same by virtual address."""
        if self.elf is None:
            return ()
        if not self._lined:
            self._lined = True
            self._inlines = self._open_inlines(self.elf)
        return self._inlines.frames(address, lines=lines) if self._inlines is not None else ()

    def unwinding(self) -> tuple[ElfFile, FrameIndex] | None:
        """The file with its unwind information; of a stripped one .debug_frame is in its debug file. Of one that is not
        here, what was saved of it beside the recording."""
        from probescope.debuginfo.eh_index import FrameIndex
        from probescope.debuginfo.eh_rules import MACHINES

        if not self._indexed:
            self._unwound = self.elf or self._files.saved_frames(self.path, self.build_id)
        if not self._indexed and self._unwound is not None and self._unwound.machine in MACHINES:
            for which in (0, 1):
                elf = self._unwound if which == 0 else self.debug
                try:
                    self._index = FrameIndex(elf) if elf is not None else None
                    break
                except ElfError:
                    continue
        self._indexed = True
        return (self._unwound, self._index) if self._unwound is not None and self._index is not None else None

    @property
    def debug(self) -> ElfFile | None:
        if not self._located:
            self._located = True
            self._debug = self._files.debug_of(self) if self.elf is not None else None
        return self._debug

    @property
    def root(self) -> str:
        return self._root

    def _address(self, offset: int) -> int | None:
        try:
            return self.elf.to_vaddr(offset) if self.elf is not None else None
        except ElfError:
            return None

    def _look(self, offset: int) -> tuple[str, int] | None:
        address = self._address(offset)
        if self.elf is None or address is None:
            return self._table.at(offset) if self._table is not None else None
        found = self._functions().at(address)
        if found is None and not self._has_symtab() and self.debug is None:
            if not self._tabled:  # stripped here; it may not have been, or had its debug file, where it was recorded
                self._tabled, self._table = True, self._files.saved(self.path, self.build_id)
            return self._table.at(offset) if self._table is not None else None
        return None if found is None else (found[0], address - found[1])

    def _functions(self) -> FunctionNames:
        assert self.elf is not None
        if self._names is None:
            self._names = FunctionNames(self.elf, self._tables(self.elf))
        return self._names

    def _tables(self, elf: ElfFile) -> list[SymbolTable]:
        """The whole table, of the file or its debug file, before the exported functions."""
        tables = [elf.symtab() if self._has_symtab() or self.debug is None else self.debug.symtab(), elf.dynsym()]
        if tables[0] is None:
            tables.append(elf.mini_symtab())
        return [t for t in tables if t is not None]

    def _has_symtab(self) -> bool:
        try:
            return self.elf is not None and any(s.type == SHT_SYMTAB for s in self.elf.sections())
        except ElfError:
            return False

    def _open_inlines(self, elf: ElfFile) -> Inlines | None:
        from probescope.debuginfo.dwarf_inlines import open_inlines

        own = open_inlines(self.path, self._root, elf)
        if own is None and self.debug is not None:
            own = open_inlines(self.debug.path, "", self.debug)
        return own


def _variables(tables: Iterable[SymbolTable]) -> list[tuple[int, int, str]]:
    """Where each begins and ends, its name: of several for one place, the one that stands for them. Where a size is
    not told, they end at the next one."""
    found: dict[int, list[Symbol]] = {}
    for table in tables:
        for symbol in table:
            if symbol.type == STT_OBJECT and SHN_UNDEF < symbol.section < SHN_LORESERVE:
                found.setdefault(symbol.address, []).append(symbol)
    starts = sorted(found)
    out = []
    for start, after in zip(starts, [*starts[1:], 0], strict=False):
        symbol = min(found[start], key=alias_rank)
        out.append((start, start + symbol.size if symbol.size else after, symbol.name))
    return out


class Files:
    """``wrong``: why a file could not be used, by its recorded path."""

    def __init__(self, here: Here, search: Search, build_ids: Dict[str, str]) -> None:
        self._here, self._search, self._build_ids = here, search, build_ids
        self._modules: dict[tuple[str, str, int], Module | None] = {}
        self.wrong: dict[str, str] = {}
        self.known_stripped: set[str] = set()  # as another process found

    def of(self, m: Mapping, pid: int = 0) -> Module | None:
        """The file of a mapping."""
        inode = getattr(m, "inode", 0)
        build_id = getattr(m, "build_id", b"").hex() or self._build_ids.get(m.path, "")
        key = (m.path, build_id, inode)
        if key not in self._modules:
            self._modules[key] = self._vdso(build_id) if m.path == VDSO else self._open(m.path, build_id, inode, pid)
        return self._modules[key]

    def stripped(self, path: str) -> bool:
        """Whether a file that was found lacks a whole symbol table."""
        found = [m for (p, _, _), m in self._modules.items() if p == path and m is not None]
        return path in self.known_stripped or any(not m.named for m in found)

    def build_id_of(self, path: str) -> str:
        return self._build_ids.get(path, "")

    def cached(self, build_id: str, *names: str) -> Iterator[str]:
        """Places in perf's cache."""
        if len(build_id) > 2 and self._here.home:
            place = f"{self._here.home}/.debug/.build-id/{build_id[:2]}/{build_id[2:]}"
            yield from (f"{place}/{name}" for name in names)
            yield place

    def debug_of(self, module: Module) -> ElfFile | None:
        """The separate debug file of a module."""
        assert module.elf is not None
        for place in self.cached(module.build_id, "debug"):
            found = _opened(place)
            if found is not None and _build_id(found) == module.build_id:
                return found
        root = module.root or self._search.symfs
        found = debug_file(module.elf, module.path, root) or (debug_file(module.elf, module.path) if root else None)
        build_id = module.build_id or _build_id(module.elf)
        return found or self._fetched(build_id, "debuginfo")

    def _open(self, path: str, build_id: str, inode: int, pid: int) -> Module | None:
        why = "is not here"
        for place, root in self._places(path, build_id, pid):
            elf = _opened(place)
            if elf is None:
                continue
            theirs = _build_id(elf)
            if theirs == build_id if build_id else not inode or _inode(place) == inode:
                return Module(self, path, theirs, elf, root)
            elf.close()
            if place in {path, self._search.symfs + path}:
                told = f"its build-id is {theirs or 'none'}, not {build_id}" if build_id else "it was replaced"
                why = f"is another one now: {told}"
        elf = self._fetched(build_id, "executable")
        if elf is not None:
            return Module(self, path, build_id, elf)
        saved = self.saved(path, build_id)
        if saved is not None:
            return Module(self, path, build_id, None, table=saved)
        self.wrong[path] = why
        return None

    def _fetched(self, build_id: str, kind: Kind) -> ElfFile | None:
        """From a server: the file, if it is what was asked for."""
        path = self._search.fetch(build_id, kind) if build_id else ""
        elf = _opened(path) if path else None
        return elf if elf is not None and _build_id(elf) == build_id else None

    def _places(self, path: str, build_id: str, pid: int) -> Iterator[tuple[str, str]]:
        symfs = self._search.symfs
        yield in_root(symfs, path) if symfs else path, ""
        if not symfs and pid > 0:
            root = self._here.root(pid)
            if root:
                yield in_root(root, path), root
        yield from ((place, "") for place in self.cached(build_id, "elf"))
        if len(build_id) > 2:
            yield f"{symfs}/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug", ""

    def _vdso(self, build_id: str) -> Module | None:
        """Ours, if it is the one that was recorded; perf keeps those of other kernels."""
        data = self._here.vdso()
        try:
            elf = ElfFile(data) if data else None
        except ElfError:
            elf = None
        if elf is not None and (not build_id or _build_id(elf) == build_id):
            return Module(self, VDSO, build_id, elf)
        for place in self.cached(build_id, "vdso"):
            elf = _opened(place)
            if elf is not None and _build_id(elf) == build_id:
                return Module(self, VDSO, build_id, elf)
        saved = self.saved(VDSO, build_id)
        return Module(self, VDSO, build_id, None, table=saved) if saved is not None else None

    def saved(self, path: str, build_id: str) -> SavedSymbols | None:
        """The table of a file that was saved beside the recording."""
        saved = self._search.saved
        try:
            entry = saved.find("file", build_id=bytes.fromhex(build_id), path=path) if saved is not None else None
            return saved.table(entry) if saved is not None and entry is not None else None
        except (FormatError, OSError, ValueError):
            return None

    def saved_frames(self, path: str, build_id: str) -> ElfFile | None:
        """What a file that is not here tells of unwinding."""
        saved = self._search.saved
        try:
            entry = saved.find("frames", build_id=bytes.fromhex(build_id), path=path) if saved is not None else None
            if saved is None or entry is None:
                return None
            return ElfFile(PartsSource(saved.frames(entry).pieces, path))
        except (ElfError, FormatError, OSError, ValueError):
            return None


def _opened(path: str) -> ElfFile | None:
    try:
        return ElfFile(ReopenedSource(path))
    except (ElfError, OSError, ValueError):
        return None


def _build_id(elf: ElfFile) -> str:
    try:
        return elf.build_id()
    except ElfError:
        return ""


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except (OSError, ValueError):
        return 0
