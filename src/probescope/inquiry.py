"""Questions about this host, put together from what the rooms know: how a probe or a program would be traced here.

api.py and cli/ use it, as they use front.py; the answers are those of plan/explain.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from probescope.errors import KernelError, ProbeError, ProbescopeError
from probescope.frozen import replace
from probescope.model.probe import SHORT_NAMES, SOURCES, ProbeSpec

if TYPE_CHECKING:
    from probescope.api import Request
    from probescope.ir.program import Program
    from probescope.model.site import Site
    from probescope.plan.costs import Costs
    from probescope.plan.explain_rows import Facts
    from probescope.plan.explain_stacks import Compiled
    from probescope.plan.explanation import Explained
    from probescope.plan.request import BpfPlan
    from probescope.sources.context import ResolveContext

MOST_CANDIDATES = 24
SEARCHED = ("tracepoint", "kprobe", "fentry", "rawtracepoint", "iter", "software", "hardware")


def facts(*, pid: int = 0, costs: Costs | None = None) -> Facts:
    """What explanations are made from on this host. ``costs``: as measured; by default those remembered since this
    boot."""
    from probescope.collect import host, measured
    from probescope.collect.options import SessionOptions
    from probescope.kernel.features import describe
    from probescope.kernel.privileges import privileges
    from probescope.plan.costs import Costs
    from probescope.plan.explain_rows import Facts

    return Facts(
        request=host.plan_request(SessionOptions(pid=pid)),
        privileges=privileges(),
        costs=Costs(measured.load().costs) if costs is None else costs,
        events=_events,
        get=lambda name: describe(name).get,
        setup=_setup,
        arch=host.arch().name,
        compiled=lambda: _compiled(pid),
    )


def _compiled(pid: int) -> Sequence[Compiled]:
    """The files that a process runs, and whether they were compiled with frame pointers. Small ones say nothing."""
    from probescope.collect.unwind_files import FEW
    from probescope.debuginfo.elf import ElfFile
    from probescope.debuginfo.locate import in_root
    from probescope.debuginfo.unwind_table import framed_share
    from probescope.kernel import procfs
    from probescope.plan.explain_stacks import Compiled

    out: list[Compiled] = []
    root = procfs.root(pid) if pid else ""
    for path in dict.fromkeys(m.path for m in (procfs.maps(pid) if pid else ()) if m.executable and m.path[:1] == "/"):
        with suppress(ProbescopeError), ElfFile.open(in_root(root, path)) as elf:
            functions, share = framed_share(elf)
            if functions >= FEW:
                out.append(Compiled(path, share))
    return out


def _setup(program: Program, plan: BpfPlan) -> Sequence[str]:
    """Maps and types that exist before the first program is loaded: known when it is compiled."""
    from probescope.bpf.compile import compile_program
    from probescope.collect import host
    from probescope.kernel.uapi.bpf import MAP_TYPES

    try:
        made = compile_program(program, plan.units, host.compile_options(program, plan, 0))
    except ProbescopeError:  # what this kernel cannot load is explained all the same
        return ()
    out = [f"bpf(BPF_BTF_LOAD) names of programs, types of callbacks, {len(made.btf):,} bytes"] if made.btf else []
    for m in made.maps:
        kind = MAP_TYPES[m.type] if m.type < len(MAP_TYPES) else str(m.type)
        out.append(
            f"bpf(BPF_MAP_CREATE) {m.name}: {kind}, key {m.key_size}, value {m.value_size}, entries {m.max_entries:,}"
        )
    return out


def _events() -> Sequence[str]:
    from probescope.sources import events

    try:
        return events.names()
    except KernelError:  # tracefs is not for everybody
        return ()


def explain(what: str, *, pid: int = 0) -> list[Explained]:
    """``what``: a probe, which may hold globs, or a program (it has a brace). One answer, or several where the source
    is a glob. Raises ScriptError, ProbeError, KernelError or FormatError."""
    if "{" in what:
        from probescope.api import Request

        return [explain_script(Request(what, pid=pid), facts(pid=pid))]
    return explain_point(what, facts(pid=pid))


def explain_script(request: Request, known: Facts, peer: str = "") -> Explained:
    """A whole program. ``peer``: the command with which bpftrace runs it, if it is in a file. Raises ScriptError,
    UsageError or KernelError."""
    import shlex

    from probescope.front import lower
    from probescope.plan.equivalents import Equivalent
    from probescope.plan.explain import explain_program

    program, _ = lower(request)
    where = f" -p {request.pid}" if request.pid else ""
    words = "".join(f" {shlex.quote(w)}" for w in request.parameters)
    command = f"{peer or 'bpftrace'}{where}{'' if peer else ' -e ' + shlex.quote(request.text)}{words}"
    whole = (Equivalent("bpftrace", command, "the same program; needs LLVM"),)
    return replace(explain_program(program, known), whole=() if beyond_bpftrace(program) else whole)


def beyond_bpftrace(program: Program) -> bool:
    """Whether it uses what only probescope knows (docs/language.md, "More than bpftrace")."""
    from probescope.ir.expr import Call, MapPart
    from probescope.ir.walk import clause_nodes

    if any(c.chosen or c.own for c in program.clauses) or program.settings.map_format != "lines":
        return True
    if any(a.kind == "print_map" and a.format is not None for a in program.actions):
        return True
    nodes = (n for c in program.clauses for n in clause_nodes(c))
    return any(isinstance(n, MapPart) or (isinstance(n, Call) and n.name in ("strglob", "strmatch")) for n in nodes)


def nothing_like(word: str) -> ProbeError:
    """The error for a word that no probe has in its name, with the nearest names."""
    from probescope.diagnostics import nearest
    from probescope.sources import registry

    names: set[str] = set()
    for source in ("tracepoint", "software", "hardware"):
        with suppress(ProbescopeError):
            found = registry.list_probes(f"{source}:*", _context(0))
            names |= {n.rstrip(":").rpartition(":")[2].removeprefix("sys_enter_") for n in found}
    near = [f"did you mean {n}?" for n in nearest(word, names)]
    hints = near or [f"probescope list '*{word[:4]}*'", "functions of programs: probescope explain uprobe:BINARY:NAME"]
    return ProbeError(f"no probe of the kernel has '{word}' in its name", hints=hints)


def explain_point(text: str, known: Facts) -> list[Explained]:
    """A probe as it is written before the brace; several, where its source is a glob. Of ``a ?? b`` the one that a
    program would use."""
    from probescope.plan.explain import explain_probe

    if len(row := [part.strip() for part in re.split(r"\s\?\?\s", text)]) > 1:
        return _explain_first(row, known)

    out: list[Explained] = []
    specs = _specs(text, known.request.pid)
    for spec in specs:
        try:
            sites, arguments = _found(spec, known.request.pid)
        except (ProbeError, KernelError):
            if len(specs) == 1:
                raise
            continue
        e = explain_probe(spec.text or text, sites, known, arguments)
        out.append(replace(e, notes=(*e.notes, *_limits(len(sites)))))
    if not out:
        raise ProbeError(f"no source has a probe {text}", hints=["probescope list 'GLOB' shows what there is"])
    return out


def _explain_first(row: Sequence[str], known: Facts) -> list[Explained]:
    passed: list[str] = []
    for text in row:
        try:
            found = explain_point(text, known)
        except (ProbeError, KernelError) as e:
            passed.append(f"{text}: {e.what}")
            continue
        refused = next((p.reason for e in found for p in e.parts if p.reason), "")
        if not refused or text == row[-1]:
            note = f"of {' ?? '.join(row)} it is the one that is there"
            return [replace(e, notes=(*e.notes, note, *passed)) for e in found]
        passed.append(f"{text}: {refused}")
    raise ProbeError(f"none of {' ?? '.join(row)} can be used here", hints=passed)


def _limits(count: int) -> Sequence[str]:
    """What a program that names so many probes has to say."""
    from probescope.lang.bt.config import Config

    most = Config().max_probes
    if count <= most:
        return ()
    return (f"a program may have {most:,} probes, unless it begins with config = {{ max_probes = {count} }}",)


def _specs(text: str, pid: int) -> list[ProbeSpec]:
    from probescope.lang.bt.attachpoint import parse
    from probescope.lang.bt.pointtext import PointError

    try:
        return parse(text, pid=pid > 0)
    except PointError as e:
        raise ProbeError(e.what, where=text, hints=e.hints) from None


def _found(spec: ProbeSpec, pid: int) -> tuple[list[Site], list[str]]:
    """The sites, and how C declares the arguments of the first. Fields are looked into for one site alone: of
    thousands it would take minutes, and tell nothing more."""
    from probescope.sources import registry

    wide = replace(_context(pid), need_fields=not spec.is_glob)
    sites = registry.resolve(spec, wide)
    try:
        return sites, registry.describe(sites[0], _context(pid))
    except ProbescopeError:
        return sites, []


def _context(pid: int) -> ResolveContext:
    from probescope.api import resolve_context

    # an address in the kernel's code is explained, whatever running it would need
    context = resolve_context(pid=pid or -1)
    context.unsafe = True
    return context


def is_word(text: str) -> bool:
    """Whether it names neither a source nor a program: a word to search for."""
    return ":" not in text and "{" not in text and text not in SOURCES and text not in SHORT_NAMES


def candidates(word: str, *, pid: int = 0) -> list[str]:
    """Probes that a bare word may mean: those whose last part it is, a system call's two tracepoints, the kernel
    function of that name even where it cannot be probed; else those that hold it. At most a few."""
    from probescope.sources import registry

    context = _context(pid)
    exact: list[str] = []
    loose: list[str] = []
    wanted = {word, f"sys_enter_{word}", f"sys_exit_{word}"}
    for source in SEARCHED:
        try:
            names = list(registry.list_probes(f"{source}:*{word}*", context))
        except ProbescopeError:
            continue
        same = [n for n in names if n.rstrip(":").rpartition(":")[2] in wanted]
        exact += same
        loose += [n for n in names if n not in same][:MOST_CANDIDATES]
    exact += [p for p in _functions(word, context) if p not in exact]
    return (exact or loose)[:MOST_CANDIDATES]


def _functions(word: str, context: ResolveContext) -> list[str]:
    from probescope.lang.bt.pointtext import is_glob
    from probescope.sources import registry

    out: list[str] = []
    for source in ("fentry", "kprobe") if not is_glob(word) else ():
        with suppress(ProbescopeError):
            out += [s.name for s in registry.resolve(ProbeSpec(source, name=word), context)]
    return out
