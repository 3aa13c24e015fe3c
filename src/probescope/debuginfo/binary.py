"""A binary as a target of uprobes: functions by name, by glob, by demangled name, by address; their file offsets.

What the file itself does not name is looked for in its separate debug file. Addresses always go through the segments of
the file that runs: those of a debug file describe bytes that it does not have.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from probescope.debuginfo import insn
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_symbols import STT_GNU_IFUNC, Symbol, SymbolSet, best
from probescope.debuginfo.locate import DEBUG_DIRS, debug_file, in_root, stranger
from probescope.errors import ElfError, ProbeError
from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class FunctionSite:
    """A function of a binary. ``offset`` is its first byte in the file, as uprobes want it, ``address`` the virtual
    address, ``size`` in bytes (0 if unknown). ``indirect``: its code only chooses the function that is then called."""

    name: str
    offset: int
    address: int
    size: int
    indirect: bool = False


class Binary:
    """An ELF file and its debug file, opened on first need. ``path`` is as inside ``root`` ("" for our own). ``dirs``:
    where debug files are looked for first; relative ones start at the file's own folder. ``elf``: the file, where it is
    open already.

    Methods raise ElfError where the file is malformed."""

    def __init__(self, path: str, root: str = "", dirs: Sequence[str] = (), elf: ElfFile | None = None) -> None:
        self.path, self.root = path, root
        folder = os.path.dirname(os.path.abspath(path)) if dirs else ""
        self.debug_dirs = (*(os.path.normpath(os.path.join(folder, d)) for d in dirs), *DEBUG_DIRS)
        self.elf = elf if elf is not None else ElfFile.open(in_root(root, path))
        self._debug: ElfFile | None = None
        self._looked = False

    def close(self) -> None:
        self.elf.close()
        if self._debug is not None:
            self._debug.close()

    @property
    def debug(self) -> ElfFile | None:
        if not self._looked:
            self._looked = True
            self._debug = debug_file(self.elf, self.path, self.root, self.debug_dirs)
        return self._debug

    def _symbol_sets(self) -> Iterable[SymbolSet]:
        """The file's own, then those of the debug file; a malformed debug file is as good as none."""
        yield self.elf.symbols()
        if self.elf.symtab() is None and self.debug is not None:
            try:
                yield self.debug.symbols()
            except ElfError:
                return

    # --- functions ----------------------------------------------------------------------------------------------------

    def function(self, name: str) -> FunctionSite | None:
        """By its exact name. Also a symbol that is not typed as a function, if it lies in code."""
        for symbols in self._symbol_sets():
            found = best(s for s in symbols.find_all(name) if self._in_code(s))
            if found is not None:
                return self._site(found)
        return None

    def functions(self, glob: str = "*") -> list[FunctionSite]:
        """Functions whose name matches, each name and place once, by name."""
        seen: dict[tuple[str, int], FunctionSite] = {}
        for symbols in self._symbol_sets():
            for s in symbols.match(glob):
                site = self._site(s)
                if site is not None:
                    seen.setdefault((s.name, s.address), site)
        return sorted(seen.values(), key=lambda f: (f.name, f.offset))

    def demangled(self, name: str) -> list[FunctionSite]:
        """C++ and Rust functions by demangled name: with parameters (``ns::f(int)``), or without any (``ns::f``), which
        may be several; of a template then all that it was made into. Where none is called so, those whose name ends
        like that: ``V::operator+=``."""
        from probescope.debuginfo import cpp_names

        wanted = cpp_names.Wanted(name)
        ranked: dict[int, list[FunctionSite]] = {}
        for f in self.functions(wanted.glob):
            rank = wanted.rank(f.name)
            if rank is not None:
                ranked.setdefault(rank, []).append(f)
        return ranked[min(ranked)] if ranked else []

    def function_at(self, offset: int) -> tuple[FunctionSite, int] | None:
        """The function that covers a file offset, and how far into it that is."""
        address = self.elf.to_vaddr(offset)
        if address is None:
            return None
        for symbols in self._symbol_sets():
            found = symbols.at(address)
            site = self._site(found) if found is not None else None
            if site is not None:
                return site, address - site.address
        return None

    def place(self, name: str, extra: int = 0) -> int:
        """File offset of ``name+extra``. Raises ProbeError if there is no such function, or it is not that long."""
        site = self.function(name)
        if site is None:
            raise ProbeError(f"no function {name} in {self.path}", hints=self.suggestions(name))
        if extra < 0 or (site.size and extra >= site.size):
            raise ProbeError(f"offset {extra} is outside of {name}, which has {site.size} bytes")
        return site.offset + extra

    def suggestions(self, name: str) -> list[str]:
        from probescope.diagnostics import nearest

        near = nearest(name, {f.name for f in self.functions()})
        return [f"did you mean {n}?" for n in near] or self._stripped_hint()

    def _stripped_hint(self) -> list[str]:
        if self.elf.symtab() is not None or self.debug is not None:
            return []
        why = stranger(self)
        more = f" ({why})" if why else ""
        return [f"{self.path} is stripped: only exported functions have names; install its debug symbols{more}"]

    def slow(self, offset: int) -> bool:
        """Whether a uprobe at a file offset has to single-step."""
        try:
            code = self.elf.source.read(offset, min(insn.MAX_INSN, self.elf.source.size - offset))
        except ElfError:
            return False
        return insn.is_slow(code, self.elf.machine)

    def _in_code(self, s: Symbol) -> bool:
        if not s.is_defined:
            return False
        return s.is_function or any(
            seg.type == 1 and seg.flags & 1 and seg.vaddr <= s.address < seg.vaddr + seg.filesz
            for seg in self.elf.segments()
        )

    def _site(self, s: Symbol) -> FunctionSite | None:
        offset = self.elf.to_offset(s.address)
        if offset is None:
            return None
        return FunctionSite(s.name, offset, s.address, s.size, s.type == STT_GNU_IFUNC)
