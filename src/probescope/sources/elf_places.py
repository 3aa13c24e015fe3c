"""Where in a binary a probe may sit: code, at the beginning of an instruction, cheaply; and why not, if so."""

from __future__ import annotations

from probescope.debuginfo import insn
from probescope.debuginfo.binary import Binary, FunctionSite
from probescope.debuginfo.elf_source import FileSource
from probescope.debuginfo.elf_symbols import STB_LOCAL, STT_GNU_IFUNC
from probescope.errors import ElfError, ProbeError
from probescope.sources import boundaries
from probescope.sources.context import ResolveContext

PT_LOAD, PF_X = 1, 1
ENDBR64 = b"\xf3\x0f\x1e\xfa"
_UNCHECKED = "whether an instruction begins there could not be checked"


def open_binary(path: str, ctx: ResolveContext) -> Binary:
    """Remembered in the context. Raises ``ProbeError`` for what is no binary of this machine, ``ElfError`` for a
    malformed one."""
    key = f"binary:{path}"
    found = ctx.cache.get(key)
    if found is None:
        found = ctx.cache[key] = _open(path, ctx)
    assert isinstance(found, Binary)
    return found


def _open(path: str, ctx: ResolveContext) -> Binary:
    # /proc/PID/root/usr/bin/x: its debug file lies in the same root
    root, slash, inside = path.partition("/root/") if path.startswith("/proc/") else ("", "", path)
    try:
        dirs = ctx.debug_dirs
        binary = Binary(f"/{inside}", f"{root}/root", dirs) if slash else Binary(path, dirs=dirs)
    except ElfError as e:
        raise _not_elf(path, e) from None
    compatible = {"x86_64": ("x86_64", "i386"), "aarch64": ("aarch64", "arm")}[ctx.arch.name]
    if binary.elf.machine not in compatible:
        binary.close()
        raise ProbeError(f"{path} is for {binary.elf.machine}, this machine runs {ctx.arch.name}")
    return binary


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


def definitions(binary: Binary, name: str) -> list[FunctionSite]:
    """Every place that a function's name means: a library may keep several versions of one, and files that were linked
    together may each have a local one of that name. Empty if there is none."""
    first = binary.function(name)
    if first is None:
        return []
    found = [s for s in binary.elf.symbols().find_all(name) if s.is_defined and s.is_function]
    shared = [s for s in found if s.bind != STB_LOCAL] or found
    out = {first.address: first}
    for s in shared:
        offset = binary.elf.to_offset(s.address)
        if offset is not None and s.address not in out:
            out[s.address] = FunctionSite(s.name, offset, s.address, s.size, s.type == STT_GNU_IFUNC)
    return list(out.values())


def is_code(binary: Binary, address: int) -> bool:
    return any(
        s.type == PT_LOAD and s.flags & PF_X and s.vaddr <= address < s.vaddr + s.filesz for s in binary.elf.segments()
    )


def offset_of(binary: Binary, address: int) -> int:
    """Place in the file, as the kernel wants it. Raises ``ProbeError`` for an address that is not in code."""
    found = binary.elf.to_offset(address)
    if found is None or not is_code(binary, address):
        raise ProbeError(f"Could not resolve address: {binary.elf.path}:{address:#x}", hints=[_code_ranges(binary)])
    return found


def _code_ranges(binary: Binary) -> str:
    segments = [s for s in binary.elf.segments() if s.type == PT_LOAD and s.flags & PF_X]
    ranges = ", ".join(f"{s.vaddr:#x}-{s.vaddr + s.filesz:#x}" for s in segments)
    return f"addresses are those that nm shows; the code is at {ranges or 'no address'}"


def cost(binary: Binary, address: int) -> insn.Cost:
    """The class of the instruction at a virtual address: what a probe there costs at each hit."""
    try:
        return insn.cost(binary.elf.read_vaddr(address, insn.MAX_INSN), binary.elf.machine)
    except ElfError:  # less than 15 bytes before the end of the file
        return "unknown"


def entry(binary: Binary, address: int) -> int:
    """Where to probe a function that begins at ``address``. Behind an endbr64, which does nothing but has to be
    single-stepped at ten times the cost, if what follows is emulated: arguments, stack and return address are the same
    there."""
    try:
        code = binary.elf.read_vaddr(address, len(ENDBR64) + insn.MAX_INSN)
    except ElfError:
        return address
    if binary.elf.machine != "x86_64" or not code.startswith(ENDBR64):
        return address
    cheap = insn.cost(code[len(ENDBR64) :], "x86_64") in {"emulated", "nop5"}
    return address + len(ENDBR64) if cheap else address


def check_boundary(binary: Binary, start: int, address: int, where: str) -> str:
    """Raises ``ProbeError`` if ``address`` lies inside an instruction, counted from the function's ``start``. An empty
    text, or a note that it could not be checked."""
    try:
        code = binary.elf.read_vaddr(start, min(address - start + insn.MAX_INSN, boundaries.MAX_SCAN))
    except ElfError:
        return _UNCHECKED
    answer = boundaries.is_boundary(code, address - start, binary.elf.machine)
    if answer is None:
        return _UNCHECKED
    if not answer:
        near = boundaries.around(code, address - start, binary.elf.machine)
        hints = [f"instructions begin at {' and '.join(f'+{n}' for n in near)} from the function's start"]
        raise ProbeError(f"no instruction begins at {where}: a probe there would break the program", hints=hints)
    return ""
