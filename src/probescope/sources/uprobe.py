"""Functions and instructions of programs and libraries: ``uprobe:/bin/bash:readline``, ``uretprobe:libc:malloc``,
``uprobe:./x:0x1139``.

A uprobe belongs to a file, so it fires in every process that runs it; ``-p`` narrows it to one. Arguments are found by
the calling convention. Addresses are those of the file, as ``nm`` shows them.
"""

from __future__ import annotations

from probescope.debuginfo.elf_symbols import Symbol
from probescope.diagnostics import nearest
from probescope.errors import ElfError, ProbeError
from probescope.model.probe import ProbeSpec
from probescope.model.site import Field, RegRet, Site, UprobeAttach
from probescope.model.types import U64
from probescope.sources import targets
from probescope.sources.binary import Binary, is_indirect, open_binary
from probescope.sources.context import ResolveContext
from probescope.sources.globs import is_glob, select

SOURCES = ("uprobe", "uretprobe")
INDIRECT = "an indirect function: the probe fires when its implementation is chosen, not when it is called"
LIMIT = 1 << 20


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    """``PATH:FUNCTION``; the pattern is ``TARGET:FUNCTION`` (or ``TARGET:cpp:NAME``). Raises ``ProbeError``."""
    target, _, name = pattern.partition(":")
    language, _, rest = name.partition(":")
    if language == "cpp" and rest:
        name = rest
    else:
        language = ""
    several = is_glob(target)
    out: list[str] = []
    for path in targets.paths(source, target, ctx):
        try:
            binary = open_binary(path, ctx)
            if language:
                out += sorted({f'{path}:cpp:"{text}"' for text, _ in _demangled(binary, name or "*")})
            else:
                out += sorted({f"{path}:{s.name}" for s in binary.match(name or "*")})
        except (ElfError, ProbeError):
            if not several:
                raise
    return out


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    try:
        return [s.name for s in resolve(spec, ctx)]
    except ProbeError:
        return []


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    """Raises ``ProbeError``: no such binary or function (with the nearest names), a place where no probe may be. Raises
    ``ElfError`` for a malformed binary."""
    if spec.line:
        hints = [
            "probe a function, or an instruction in it: FUNCTION+OFFSET",
            "objdump -dl shows the lines of instructions",
        ]
        raise ProbeError("probes at source lines need DWARF, which is not read here", hints=hints)
    if spec.source == "uretprobe" and spec.offset:
        raise ProbeError("uretprobe takes no offset: it fires where the function returns")
    found = targets.paths(spec.source, spec.target, ctx)
    sites: list[Site] = []
    for path in found:
        try:
            sites += _in_file(spec, path, ctx)
        except (ElfError, ProbeError):
            if len(found) == 1:
                raise
    if not sites:
        raise ProbeError(f"none of {len(found)} binaries has a function that matches '{spec.name}'")
    return sites


def _in_file(spec: ProbeSpec, path: str, ctx: ResolveContext) -> list[Site]:
    if ctx.unsafe and spec.address is not None:
        return [_anywhere(spec, path, spec.address, ctx)]
    binary = open_binary(path, ctx)
    if spec.address is not None:
        return [_by_address(spec, binary, spec.address, ctx)]
    if spec.language:
        pairs = _demangled(binary, spec.name)
        return [_site(spec, binary, s, ctx, shown=f"cpp:{text}") for text, s in pairs] or _none(spec, binary)
    symbols = binary.match(spec.name) if is_glob(spec.name) else binary.find(spec.name)
    return [_site(spec, binary, s, ctx) for s in symbols] or _none(spec, binary)


def _site(spec: ProbeSpec, binary: Binary, symbol: Symbol, ctx: ResolveContext, *, shown: str = "") -> Site:
    name = f"{spec.source}:{binary.path}:{shown or symbol.name}"
    notes = [INDIRECT] if is_indirect(symbol) else []
    address = symbol.address
    if spec.offset:
        where = f"{symbol.name}+{spec.offset}"
        if spec.offset >= symbol.size > 0:
            raise ProbeError(f"{where} is outside of the function, which has {symbol.size} bytes")
        address += spec.offset
        note = binary.check_boundary(symbol.address, address, where)
        notes += [note] if note else []
        name += f"+{spec.offset}"
    else:
        address = binary.entry(address)
        notes += ["set behind the endbr64 that begins the function"] if address != symbol.address else []
    return _make(spec, binary, name, address, symbol.name, ctx, notes)


def _by_address(spec: ProbeSpec, binary: Binary, address: int, ctx: ResolveContext) -> Site:
    symbol = binary.at(address) if binary.is_code(address) else None
    binary.offset(address)
    notes = ["no function is known there"] if symbol is None else []
    if symbol is not None and address != symbol.address:
        note = binary.check_boundary(symbol.address, address, f"{address:#x} in {symbol.name}")
        notes += [note] if note else []
    name = f"{spec.source}:{binary.path}:{address:#x}"
    return _make(spec, binary, name, address, symbol.name if symbol else "", ctx, notes)


def _make(
    spec: ProbeSpec, binary: Binary, name: str, address: int, func: str, ctx: ResolveContext, notes: list[str]
) -> Site:
    ret = spec.source == "uretprobe"
    cost = binary.cost(address)
    attach = UprobeAttach(binary.path, binary.offset(address), ret, pid=ctx.pid, slow=cost == "stepped")
    reason = f"the kernel takes no probe on the instruction at {address:#x}" if cost == "refused" else ""
    result = Field("retval", U64, RegRet()) if ret else None
    return Site(name, spec.source, attach, ret=result, func=func, pid=ctx.pid, reason=reason, notes=tuple(notes))


def _anywhere(spec: ProbeSpec, path: str, offset: int, ctx: ResolveContext) -> Site:
    """--unsafe: an offset in any file, also one that is no ELF file: code that a program maps by itself."""
    try:
        return _by_address(spec, open_binary(path, ctx), offset, ctx)
    except (ElfError, ProbeError):
        ret = spec.source == "uretprobe"
        attach = UprobeAttach(path, offset, ret, pid=ctx.pid)
        result = Field("retval", U64, RegRet()) if ret else None
        return Site(f"{spec.source}:{path}:{offset:#x}", spec.source, attach, ret=result, pid=ctx.pid)


# --- C++ names
# ----------------------------------------------------------------------------------------------------------


def _demangled(binary: Binary, pattern: str) -> list[tuple[str, Symbol]]:
    """Functions whose C++ name matches, with or without their parameters."""
    from probescope.debuginfo.demangle import demangle

    out: list[tuple[str, Symbol]] = []
    for s in binary.match("_Z*"):
        text = demangle(s.name)
        if text != s.name and select(pattern, (text, without_parameters(text))):
            out.append((text, s))
    return out


def without_parameters(text: str) -> str:
    """``ns::f(int, char*) const`` -> ``ns::f``; the last bracket that closes at the end opens the parameters."""
    end = text.rfind(")")
    depth = 0
    for i in range(end, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if not depth:
            return text[:i] if i > 0 and not text[:i].endswith("operator") else text
    return text


# --- when there is nothing
# ----------------------------------------------------------------------------------------------


def _none(spec: ProbeSpec, binary: Binary) -> list[Site]:
    name = spec.name
    if is_glob(name):
        raise ProbeError(f"no function of {binary.path} matches '{name}'", hints=[_listing(spec, binary)])
    data = [s for s in binary.elf.symbols().find_all(name) if s.is_defined]
    if data:
        raise ProbeError(f"{name} in {binary.path} is data, not a function", hints=["watchpoint can watch data"])
    if any(not s.is_defined for s in binary.elf.symbols().find_all(name)):
        hints = [f"it calls that function in a library: {', '.join(binary.elf.needed()[:6])}"]
        raise ProbeError(f"{binary.path} does not define {name}", hints=hints)
    raise ProbeError(f"there is no function {name} in {binary.path}", hints=_hints(spec, binary))


def _hints(spec: ProbeSpec, binary: Binary) -> list[str]:
    names = binary.names()
    if not names:
        return [f"{binary.path} is stripped: install its debug symbols, or probe an address"]
    if "::" in spec.name and not spec.language:
        return [f'for names of C++ write {spec.source}:{spec.target}:cpp:"{spec.name}"']
    few = [n for n in names if n[:1] == spec.name[:1]] if len(names) > 5000 else names
    return [f"did you mean {spec.source}:{spec.target}:{n}?" for n in nearest(spec.name, few)] or [
        _listing(spec, binary)
    ]


def _listing(spec: ProbeSpec, binary: Binary) -> str:
    return f"probescope list '{spec.source}:{binary.path}:*' shows what there is"


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    """Nothing: the arguments of a user function are not known without DWARF."""
    return []
