"""Probes that programs carry with them (sys/sdt.h): ``usdt:/bin/x:provider:name``, ``usdt:libc:setjmp``, ``-p PID``
with ``usdt:*:name``.

One probe may stand at several places of a binary (it was inlined, or written twice): each is a site, all of one name. A
semaphore counts who listens, so that programs prepare arguments only then; the kernel raises it while we are attached.
"""

from __future__ import annotations

from probescope.debuginfo import usdt as notes
from probescope.diagnostics import nearest
from probescope.errors import ElfError, ProbeError
from probescope.model.probe import ProbeSpec
from probescope.model.site import Field, Location, Site, UprobeAttach
from probescope.model.types import VOID
from probescope.sources import elf_places, targets
from probescope.sources.context import ResolveContext
from probescope.sources.elf_places import open_binary
from probescope.sources.globs import is_glob, matches

SOURCES = ("usdt",)


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    """``PATH:PROVIDER:NAME``; the pattern is ``TARGET:PROVIDER:NAME`` or ``TARGET:NAME``. Raises ``ProbeError``."""
    target, _, rest = pattern.partition(":")
    provider, colon, name = rest.rpartition(":")
    found = targets.paths(source, target, ctx)
    out: list[str] = []
    for path in found:
        probes = _read(path, ctx, strict=len(found) == 1)
        where = targets.shown(target, path)
        out += sorted({_full(where, p) for p in probes if _wanted(p, provider if colon else "*", name or "*")})
    return out


def _full(path: str, p: notes.UsdtProbe) -> str:
    return f"{path}:{p.provider}:{p.name}"


def _wanted(p: notes.UsdtProbe, provider: str, name: str) -> bool:
    return matches(name, p.name) and matches(provider or "*", p.provider)


def _read(path: str, ctx: ResolveContext, *, strict: bool) -> list[notes.UsdtProbe]:
    key = f"usdt:{path}"
    if key not in ctx.cache:
        try:
            ctx.cache[key] = notes.read(open_binary(path, ctx).elf)
        except (ElfError, ProbeError):
            if strict:
                raise
            ctx.cache[key] = []
    found = ctx.cache[key]
    assert isinstance(found, list)
    return found


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    try:
        return list(dict.fromkeys(s.name for s in resolve(spec, ctx)))
    except ProbeError:
        return []


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    """Raises ``ProbeError`` (no such binary or probe, with the nearest names), ``ElfError`` for a malformed binary."""
    target = spec.target or ("*" if ctx.pid > 0 else "")
    paths = targets.paths("usdt", target, ctx)
    sites: list[Site] = []
    for path in paths:
        probes = _read(path, ctx, strict=len(paths) == 1)
        where = targets.shown(target, path)
        sites += [_site(where, path, p, ctx) for p in probes if _wanted(p, spec.namespace, spec.name)]
    if not sites:
        raise _unknown(spec, paths, ctx)
    return sites


def _site(where: str, path: str, p: notes.UsdtProbe, ctx: ResolveContext) -> Site:
    # an operand that no saved register leads to keeps its position, as an argument without a value
    args = tuple(a or Field(f"arg{i}", VOID, Location()) for i, a in enumerate(p.args))
    unreadable = [f"arg{i} cannot be read ({p.text})" for i, a in enumerate(p.args) if a is None]
    binary = open_binary(path, ctx)
    file, pc = binary.elf.in_file(p.pc)
    semaphore = binary.elf.in_file(p.semaphore)[1] if p.semaphore else 0
    slow = elf_places.cost(binary, p.address) == "stepped"
    attach = UprobeAttach(path if file == binary.elf.path else file, pc, ref_ctr=semaphore, pid=ctx.pid, slow=slow)
    return Site(f"usdt:{_full(where, p)}", "usdt", attach, args=args, func=p.name, pid=ctx.pid, notes=tuple(unreadable))


def _unknown(spec: ProbeSpec, paths: list[str], ctx: ResolveContext) -> ProbeError:
    probes = {(p.provider, p.name) for path in paths for p in _read(path, ctx, strict=False)}
    where = paths[0] if len(paths) == 1 else f"{len(paths)} files"
    if not probes:
        hints = ["programs get them by sys/sdt.h and, often, a build option such as --with-dtrace"]
        return ProbeError(f"there are no USDT probes in {where}", hints=hints)
    wanted = f"{spec.namespace}:{spec.name}" if spec.namespace else spec.name
    names = sorted({f"{p}:{n}" if spec.namespace else n for p, n in probes})
    near = [] if is_glob(wanted) else nearest(wanted, names)
    hints = [f"did you mean usdt:{spec.target}:{n}?" for n in near]
    return ProbeError(f"no USDT probe '{wanted}' in {where}", hints=hints or [f"it has {', '.join(names[:8])}"])


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    """The arguments by their number: ``int32 arg0``; notes carry no names."""
    return [f"{f.type} {f.name}" for f in site.args or ()]
