"""One binary as probes see it: its functions, their places in the file, and what stands in the way of probing there."""

from __future__ import annotations

from collections.abc import Iterable

from probescope.debuginfo import insn, locate
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_source import FileSource
from probescope.debuginfo.elf_symbols import STB_LOCAL, STT_GNU_IFUNC, STT_NOTYPE, Symbol
from probescope.errors import ElfError, ProbeError
from probescope.sources import boundaries
from probescope.sources.context import ResolveContext

PT_LOAD, PF_X = 1, 1
ENDBR64 = b"\xf3\x0f\x1e\xfa"
_ROOT = "/root/"


class Binary:
    """An opened ELF file. Made by ``open_binary``, which remembers it in the context."""

    def __init__(self, path: str, elf: ElfFile) -> None:
        self.path = path
        self.elf = elf
        self._debug: ElfFile | None = None
        self._debug_sought = False

    # --- symbols
    # --------------------------------------------------------------------------------------------------------

    def find(self, name: str) -> list[Symbol]:
        """Every place that the name means: the global definitions (a library may keep several versions of a function),
        else the local ones of the files that it was made of. Empty if there is none in code."""
        found = self._code(self.elf.symbols().find_all(name))
        if not found:
            debug = self.debug()
            found = self._code(debug.symbols().find_all(name)) if debug else []
        shared = [s for s in found if s.bind != STB_LOCAL]
        return list({s.address: s for s in shared or found}.values())

    def match(self, pattern: str) -> list[Symbol]:
        """Functions by glob, each name at each address once, sorted by name."""
        found = self._code(self.elf.symbols().match(pattern))
        if self.elf.symtab() is None:
            debug = self.debug()
            found += self._code(debug.symbols().match(pattern)) if debug else []
        return sorted({(s.name, s.address): s for s in found}.values())

    def names(self) -> list[str]:
        return [s.name for s in self.match("*")]

    def at(self, address: int) -> Symbol | None:
        found = self.elf.symbols().at(address)
        if found is None:
            debug = self.debug()
            found = debug.symbols().at(address) if debug else None
        return found

    def debug(self) -> ElfFile | None:
        """Its separate debug file, if one is installed."""
        if not self._debug_sought:
            self._debug_sought = True
            # /proc/PID/root/usr/bin/x: the debug file lies in the same root
            root, _, inside = self.path.partition(_ROOT) if self.path.startswith("/proc/") else ("", "", self.path)
            inside, root = ("/" + inside, root + "/root") if root else (self.path, "")
            self._debug = locate.debug_file(self.elf, inside, root)
        return self._debug

    def _code(self, symbols: Iterable[Symbol]) -> list[Symbol]:
        return [
            s
            for s in symbols
            if s.is_defined and (s.is_function or s.type == STT_NOTYPE) and self.is_code(s.address) and s.address
        ]

    # --- places
    # ---------------------------------------------------------------------------------------------------------

    def is_code(self, address: int) -> bool:
        return any(
            s.type == PT_LOAD and s.flags & PF_X and s.vaddr <= address < s.vaddr + s.filesz
            for s in self.elf.segments()
        )

    def offset(self, address: int) -> int:
        """In the file, as the kernel wants it. Raises ``ProbeError`` for an address that is not in code."""
        found = self.elf.to_offset(address)
        if found is None or not self.is_code(address):
            raise ProbeError(f"address {address:#x} is not in the code of {self.path}", hints=[self._code_ranges()])
        return found

    def _code_ranges(self) -> str:
        ranges = [
            f"{s.vaddr:#x}-{s.vaddr + s.filesz:#x}" for s in self.elf.segments() if s.type == PT_LOAD and s.flags & PF_X
        ]
        return f"addresses are those that nm shows; the code is at {', '.join(ranges) or 'no address'}"

    def cost(self, address: int) -> insn.Cost:
        """The class of the instruction at a virtual address: what a probe there costs at each hit."""
        try:
            return insn.cost(self.elf.read_vaddr(address, insn.MAX_INSN), self.elf.machine)
        except ElfError:  # less than 15 bytes before the end of the file
            return "unknown"

    def entry(self, address: int) -> int:
        """Where to probe a function that begins at ``address``. Behind an endbr64, which does nothing but has to be
        single-stepped at ten times the cost, if what follows is emulated: arguments, stack and return address are the
        same there."""
        try:
            code = self.elf.read_vaddr(address, len(ENDBR64) + insn.MAX_INSN)
        except ElfError:
            return address
        if self.elf.machine != "x86_64" or not code.startswith(ENDBR64):
            return address
        cheap = insn.cost(code[len(ENDBR64) :], "x86_64") in {"emulated", "nop5"}
        return address + len(ENDBR64) if cheap else address

    def check_boundary(self, start: int, address: int, where: str) -> str:
        """Raises ``ProbeError`` if ``address`` lies inside an instruction, counted from the function's ``start``. An
        empty text, or a note that it could not be checked."""
        try:
            code = self.elf.read_vaddr(start, min(address - start + insn.MAX_INSN, boundaries.MAX_SCAN))
        except ElfError:
            return "whether an instruction begins there could not be checked"
        answer = boundaries.is_boundary(code, address - start, self.elf.machine)
        if answer is None:
            return "whether an instruction begins there could not be checked"
        if not answer:
            near = _around(code, address - start, self.elf.machine)
            hints = [f"instructions begin at {' and '.join(near)} from the function's start"]
            raise ProbeError(f"no instruction begins at {where}: a probe there would break the program", hints=hints)
        return ""


def _around(code: bytes, offset: int, machine: str) -> list[str]:
    """Offsets of the instructions before and after."""
    near = range(max(offset - insn.MAX_INSN, 0), offset + insn.MAX_INSN)
    good = [n for n in near if boundaries.is_boundary(code, n, machine)]
    before, after = [n for n in good if n < offset][-1:], [n for n in good if n > offset][:1]
    return [f"+{n}" for n in (*before, *after)]


def is_indirect(s: Symbol) -> bool:
    """STT_GNU_IFUNC: the symbol is the function that chooses among implementations when the program starts."""
    return s.type == STT_GNU_IFUNC


def open_binary(path: str, ctx: ResolveContext) -> Binary:
    """Raises ``ProbeError`` for what is no binary of this machine, ``ElfError`` for a malformed one."""
    key = f"binary:{path}"
    found = ctx.cache.get(key)
    if found is None:
        found = ctx.cache[key] = Binary(path, _open(path, ctx))
    assert isinstance(found, Binary)
    return found


def _open(path: str, ctx: ResolveContext) -> ElfFile:
    try:
        elf = ElfFile.open(path)
    except ElfError as e:
        raise _not_elf(path, e) from None
    compatible = {"x86_64": ("x86_64", "i386"), "aarch64": ("aarch64", "arm")}[ctx.arch.name]
    if elf.machine not in compatible:
        elf.close()
        raise ProbeError(f"{path} is for {elf.machine}, this machine runs {ctx.arch.name}")
    return elf


def _not_elf(path: str, error: ElfError) -> Exception:
    try:
        source = FileSource(path)
        start = source.read(0, min(256, source.size))
    except ElfError:
        return error
    if start.startswith(b"#!"):
        interpreter = start[2:].split(b"\n")[0].strip().decode("utf-8", "replace").split(" ")[0]
        hints = [f"probe its interpreter instead: {interpreter}"] if interpreter.isprintable() and interpreter else []
        return ProbeError(f"{path} is a script, not a binary", hints=hints)
    if not start.startswith(b"\x7fELF"):
        return ProbeError(f"{path} is not an ELF binary", hints=["uprobes need a program or library in ELF format"])
    return error
