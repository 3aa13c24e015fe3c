"""Functions and instructions of programs and libraries: ``uprobe:/bin/bash:readline``, ``uretprobe:libc:malloc``,
``uprobe:./x:0x1139``, ``uprobe:./x@file.c:20``.

A uprobe belongs to a file, so it fires in every process that runs it; ``-p`` narrows it to one. Arguments are found by
name where the binary has debug information, else by the calling convention. Addresses are those of the file, as ``nm``
shows them.
"""

from __future__ import annotations

from probescope.debuginfo.binary import Binary, FunctionSite
from probescope.diagnostics import nearest
from probescope.errors import DwarfError, ElfError, NoSuchProbe, ProbeError
from probescope.frozen import replace
from probescope.model.probe import ProbeSpec
from probescope.model.site import Field, RegRet, Site, UprobeAttach
from probescope.model.types import U64, is_scalar
from probescope.sources import elf_places, targets
from probescope.sources.context import ResolveContext, check_count
from probescope.sources.elf_places import open_binary
from probescope.sources.globs import is_glob, select

SOURCES = ("uprobe", "uretprobe")
INDIRECT = "an indirect function: the probe fires when its implementation is chosen, not when it is called"
BEHIND_ENDBR64 = "set behind the endbr64 that begins the function"


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    """``PATH:FUNCTION``; the pattern is ``TARGET:FUNCTION`` (or ``TARGET:cpp:NAME``). Raises ``ProbeError``."""
    target, _, name = pattern.partition(":")
    language, _, rest = name.partition(":")
    if language == "cpp" and rest:
        name = rest.strip('"')
    else:
        language = ""
    several = is_glob(target)
    out: list[str] = []
    for path in targets.paths(source, target, ctx):
        try:
            binary, where = open_binary(path, ctx), targets.shown(target, path)
            if language:
                out += sorted({f'{where}:cpp:"{text}"' for text, _ in _demangled(binary, name or "*")})
            else:
                out += sorted({f"{where}:{f.name}" for f in binary.functions(name or "*")})
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
    if spec.line:
        return _by_line(spec, binary, ctx)
    if spec.language:
        pairs = _demangled(binary, spec.name)
        return [_site(spec, binary, f, ctx, shown=f"cpp:{text}") for text, f in pairs] or _none(spec, binary)
    found = binary.functions(spec.name) if is_glob(spec.name) else elf_places.definitions(binary, spec.name)
    check_count(spec, len(found), ctx)
    return [_site(spec, binary, f, ctx) for f in found if elf_places.is_code(binary, f.address)] or _none(spec, binary)


def _site(spec: ProbeSpec, binary: Binary, f: FunctionSite, ctx: ResolveContext, *, shown: str = "") -> Site:
    name = f"{_prefix(spec, binary)}:{shown or f.name}"
    notes = [INDIRECT] if f.indirect else []
    address = f.address
    if spec.offset:
        where = f"{f.name}+{spec.offset}"
        if spec.offset >= f.size > 0:
            raise ProbeError(f"Offset outside the function bounds ('{f.name}' size is {f.size}): {where}")
        address += spec.offset
        note = elf_places.check_boundary(binary, f.address, address, where)
        notes += [note] if note else []
        name += f"+{spec.offset}"
    else:
        address = elf_places.entry(binary, address)
        notes += [BEHIND_ENDBR64] if address != f.address else []
    return _make(spec, binary, name, address, f, ctx, notes)


def _prefix(spec: ProbeSpec, binary: Binary) -> str:
    return f"{spec.source}:{targets.shown(spec.target, binary.elf.path)}"


def _by_line(spec: ProbeSpec, binary: Binary, ctx: ResolveContext) -> list[Site]:
    from probescope.sources import uprobe_lines

    found = uprobe_lines.find(spec, binary, ctx)
    column = f":{spec.column}" if spec.column else ""
    text = f"{_prefix(spec, binary)}@{spec.name}:{spec.line}{column}"
    out = []
    for address, f in found:
        entered = f is not None and address == f.address
        inside = f" in {f.name}" if f is not None and len(found) > 1 else ""  # every site has a name of its own
        at = elf_places.entry(binary, address) if entered else address
        out.append(_make(spec, binary, text + inside, at, f, ctx, [], entered=entered))
    return out


def _by_address(spec: ProbeSpec, binary: Binary, address: int, ctx: ResolveContext) -> Site:
    found = binary.function_at(elf_places.offset_of(binary, address))
    notes = ["no function is known there"] if found is None else []
    if found is not None and found[1]:
        where = f"{address:#x} in {found[0].name}"
        note = elf_places.check_boundary(binary, found[0].address, address, where)
        notes += [note] if note else []
    name = f"{_prefix(spec, binary)}:{address:#x}"
    entered = found is not None and not found[1]
    return _make(spec, binary, name, address, found[0] if found else None, ctx, notes, entered=entered)


def _make(
    spec: ProbeSpec,
    binary: Binary,
    name: str,
    address: int,
    f: FunctionSite | None,
    ctx: ResolveContext,
    notes: list[str],
    *,
    entered: bool = True,
) -> Site:
    """``entered``: the probe fires when the function ``f`` is entered, and its arguments are where they are passed."""
    ret = spec.source == "uretprobe"
    if ret and not ctx.unsafe:
        from probescope.sources.go_points import check_return

        check_return(binary, address)
    cost = elf_places.cost(binary, address)
    path, offset = binary.elf.in_file(elf_places.offset_of(binary, address))
    attach = UprobeAttach(path, offset, ret, pid=ctx.pid, slow=cost == "stepped")
    reason = f"the kernel takes no probe on the instruction at {address:#x}" if cost == "refused" else ""
    fields: tuple[Field, ...] = ()
    result = _result(ret)
    if ctx.need_fields:
        known = _known(binary, f if entered and not spec.offset else None, ctx)
        fields, result = ((), known[1] or result) if ret else (known[0], None)
        notes = [*notes, *known[2]]
    func = f.name if f is not None else ""
    site = Site(name, spec.source, attach, fields, ret=result, func=func, pid=ctx.pid, reason=reason)
    return replace(site, notes=tuple(notes))


def _known(
    binary: Binary, f: FunctionSite | None, ctx: ResolveContext
) -> tuple[tuple[Field, ...], Field | None, list[str]]:
    """Parameters and result of a function by its debug information, and what cannot be had of them."""
    from probescope.sources.uprobe_types import program_types

    if f is None:
        return (), None, ["arguments have names only where a function is entered"]
    if binary.elf.machine != ctx.arch.name:
        return (), None, [f"arguments of {binary.elf.machine} programs are not read by name"]
    debug = program_types(ctx).debug(binary)
    found = debug.signature(f, ctx)
    if found is None:
        return (), None, [debug.reason]
    fields = tuple(Field(p.name, p.type, p.where) for p in found.parameters if p.where is not None and p.name)
    lost = [f"{p.name} cannot be read: it {p.lost}" for p in found.parameters if p.where is None]
    result = found.result
    if result is None or not is_scalar(result.type):
        return fields, None, lost
    return fields, Field("retval", result.type, RegRet()), lost


def _result(ret: bool) -> Field | None:
    return Field("retval", U64, RegRet()) if ret else None


def _anywhere(spec: ProbeSpec, path: str, offset: int, ctx: ResolveContext) -> Site:
    """--unsafe: an offset in any file, also one that is no ELF file: code that a program maps by itself."""
    try:
        return _by_address(spec, open_binary(path, ctx), offset, ctx)
    except (ElfError, ProbeError):
        ret = spec.source == "uretprobe"
        attach = UprobeAttach(path, offset, ret, pid=ctx.pid)
        return Site(f"{spec.source}:{path}:{offset:#x}", spec.source, attach, ret=_result(ret), pid=ctx.pid)


# --- C++ names
# ----------------------------------------------------------------------------------------------------------


def _demangled(binary: Binary, pattern: str) -> list[tuple[str, FunctionSite]]:
    """Functions whose C++ or Rust name matches, with or without their parameters."""
    from probescope.debuginfo.demangle import demangle, without_parameters

    if not is_glob(pattern):
        return [(demangle(f.name), f) for f in binary.demangled(pattern)]
    named = [(demangle(f.name), f) for f in binary.functions("_[ZR]*")]
    return [(t, f) for t, f in named if t != f.name and select(pattern, (t, without_parameters(t)))]


# --- when there is nothing
# ----------------------------------------------------------------------------------------------


def _none(spec: ProbeSpec, binary: Binary) -> list[Site]:
    name = spec.name
    if is_glob(name):
        raise ProbeError(f"no function of {binary.elf.path} matches '{name}'", hints=[_listing(spec, binary)])
    data = [s for s in binary.elf.symbols().find_all(name) if s.is_defined]
    if data:
        raise ProbeError(f"{name} in {binary.elf.path} is data, not a function", hints=["watchpoint can watch data"])
    if any(not s.is_defined for s in binary.elf.symbols().find_all(name)):
        hints = [f"it calls that function in a library: {', '.join(binary.elf.needed()[:6])}"]
        raise ProbeError(f"{binary.elf.path} does not define {name}", hints=hints)
    raise NoSuchProbe(f"there is no function {name} in {binary.elf.path}", hints=lambda: _like(spec, binary))


def _like(spec: ProbeSpec, binary: Binary) -> list[str]:
    inlined = inlined_hints(spec.name, binary, spec.target)
    if inlined:
        return inlined
    names = [f.name for f in binary.functions()]
    if not names:
        return [f"{binary.elf.path} is stripped: install its debug symbols, or probe an address"]
    if "::" in spec.name and not spec.language:
        return [f'for names of C++ write {spec.source}:{spec.target}:cpp:"{spec.name}"']
    few = [n for n in names if n[:1] == spec.name[:1]] if len(names) > 5000 else names
    return [f"did you mean {spec.source}:{spec.target}:{n}?" for n in nearest(spec.name, few)] or [
        _listing(spec, binary)
    ]


def inlined_hints(name: str, binary: Binary, target: str) -> list[str]:
    """Of a function that is nowhere: whether it was inlined, and what to do then; none if it was not."""
    times = _inlined(name, binary)
    if not times:
        return []
    places = "place" if times == 1 else "places"
    why = f"it was inlined wherever it is called ({times} {places}): it has no code of its own"
    return [why, f"probescope probe -x {target} '{name}' has a probe at each copy"]


def _inlined(name: str, binary: Binary) -> int:
    """How often, by debug information."""
    from probescope.debuginfo.dwarf_find import Finder
    from probescope.debuginfo.dwarf_named import definitions, instances
    from probescope.debuginfo.dwarf_open import open_dwarf

    try:
        dwarf = open_dwarf(binary)
        if dwarf is None:
            return 0
        finder = Finder(dwarf)
        return sum(i.inlined for f in definitions(finder, name) for i in instances(finder, f))
    except (DwarfError, ElfError):
        return 0


def _listing(spec: ProbeSpec, binary: Binary) -> str:
    return f"probescope list '{spec.source}:{binary.elf.path}:*' shows what there is"


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    """Parameters, of return probes the result as ``retval``, as C declares them; nothing without debug information."""
    from probescope.sources.uprobe_types import program_types

    attach = site.attach
    assert isinstance(attach, UprobeAttach)
    binary = open_binary(attach.path, ctx)
    found = binary.function_at(attach.offset)
    if found is None or elf_places.entry(binary, found[0].address) != found[0].address + found[1]:
        return []
    known = program_types(ctx).debug(binary).signature(found[0], ctx)
    if known is None:
        return []
    if attach.ret:
        return [known.result.text] if known.result is not None else []
    return [p.text for p in known.parameters]
