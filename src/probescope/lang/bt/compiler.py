"""The whole way from a script to its program.

    text --frontend--> tree --resolve--> sites --lower, until types stand still--> ir.Program

``compile_text`` is what everybody outside of this package calls. What is wrong with a script comes back as one
``ScriptError`` with everything that was found."""

from __future__ import annotations

from collections.abc import Iterable

from probescope.diagnostics import Diagnostic, Source
from probescope.errors import LimitError, NothingToAttach, ScriptError
from probescope.frozen import dataclass
from probescope.ir.program import Program
from probescope.lang.bt import ast
from probescope.lang.bt.check_program import Environment, ProgramState, UserSymbol
from probescope.lang.bt.compiler_assemble import assemble
from probescope.lang.bt.frontend import Script, read_script
from probescope.lang.bt.lower import EXPRS, STMTS
from probescope.lang.bt.lower_clause import lower_clause
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.node import walk
from probescope.lang.bt.resolve import Resolver, split
from probescope.model.site import Site, UserAttach

__all__ = ["Compiled", "Environment", "UserSymbol", "compile_script", "compile_text"]

MAX_RUNS = 60
NOTHING = "No probes to attach"
"""Greatest number of times that one clause is lowered before its types are said not to settle."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """``warnings`` are for the user; ``script`` has the options that the script knows, for its help."""

    program: Program
    warnings: tuple[Diagnostic, ...]
    script: Script


def compile_text(source: Source, env: Environment) -> Program:
    """The program of a script. Raises ``ScriptError`` with everything that is wrong in it, ``UsageError`` for its
    parameters, ``LimitError`` where it nests too deep, ``KernelError`` and ``FormatError`` where this host cannot be
    looked at."""
    return compile_script(source, env).program


def compile_script(source: Source, env: Environment) -> Compiled:
    """As ``compile_text``, with the warnings and what the script says of itself."""
    script = read_script(source, env.script)
    try:
        return _compiled(script, env)
    except RecursionError:  # the parser's limits on depth assume a stack that is nearly empty; the caller's is not
        raise LimitError("the program nests too deep", hints=["split it with variables"]) from None


def _compiled(script: Script, env: Environment) -> Compiled:
    state = ProgramState(script, env, EXPRS, STMTS)
    findings: list[Diagnostic] = [*_check_c(state, script.program), *declare_maps(state, script.program)]
    resolver = Resolver(state)
    units = _units(state, script.program, resolver)
    findings += resolver.findings
    units = settle_types(state, [*units, *_lone_functions(state, script.program)], whole=not _errors(resolver.findings))
    findings += _findings(units)
    units = [u for u in units if u.alone is None]
    if not _errors(findings):
        findings += _check_whole(state, script.program, units, resolver)
    if _errors(findings):
        nothing = any(d.message == NOTHING for d in findings)
        raise (NothingToAttach if nothing else ScriptError)(_ordered(findings))
    program = assemble(state, units)
    return Compiled(program, tuple(_ordered([*script.warnings, *findings])), script)


def _check_c(state: ProgramState, tree: ast.Program) -> list[Diagnostic]:
    if not tree.declarations:
        return []
    from probescope.lang.bt.check_ctypes import check_c

    return check_c(state, tree)


def declare_maps(state: ProgramState, tree: ast.Program) -> list[Diagnostic]:
    """``let @m = lruhash(100)``."""
    from probescope.lang.bt.check_decls import declare

    return [d for decl in tree.map_decls for d in declare(state, decl)]


def _units(state: ProgramState, tree: ast.Program, resolver: Resolver) -> list[Unit]:
    out = []
    for probe in tree.probes:
        sites = resolver.sites(probe)
        if sites:
            out.append(Unit(state, probe, sites))
    return out


def _lone_functions(state: ProgramState, tree: ast.Program) -> list[Unit]:
    """Functions that no probe calls are checked all the same, as if called at begin."""
    called = {n.function for n in walk(tree) if isinstance(n, ast.Call)} if tree.subprogs else set[str]()
    out = []
    for fn in tree.subprogs:
        if fn.name not in called:
            site = Site("begin", "begin", UserAttach("begin"))
            unit = Unit(state, ast.Probe(fn.span, (), None, fn.body), (site,))
            unit.alone = fn
            out.append(unit)
    return out


def settle_types(state: ProgramState, units: list[Unit], *, whole: bool = True) -> list[Unit]:
    """Lowers every unit until no type changes any more; returns the units, split by what their bodies ask of the
    sites. ``whole``: no clause is missing; else what it alone would have given a type is no finding of its own."""
    order: dict[Unit, list[Unit]] = {u: [u] for u in units}
    state.queue.extend(units)
    while True:
        while state.queue:
            _lower(state, state.queue.popleft(), order)
        if not state.maps.defaults():
            break
    found = [u for first in units for u in order[first]]
    if whole:
        _report_unresolved(found)
    return found


def _lower(state: ProgramState, u: Unit, order: dict[Unit, list[Unit]]) -> None:
    if not u.dirty:
        return
    lower_clause(u)
    groups = split(u.sites, u.asks)
    if len(groups) > 1:
        _replace(state, u, groups, order)
    elif u.scopes.changed and u.runs < MAX_RUNS:
        u.wake()
    elif u.runs >= MAX_RUNS:
        u.dirty = True  # stays out of the queue
        u.error("the types of this clause do not settle", u.probe.span, "declare its variables: let $x: uint64")


def _replace(state: ProgramState, u: Unit, groups: list[tuple[Site, ...]], order: dict[Unit, list[Unit]]) -> None:
    """New units for the groups of a unit's sites, in its place."""
    for m in u.reads:
        m.readers.discard(u)
    new = [Unit(state, u.probe, g) for g in groups]
    for parts in order.values():
        if u in parts:
            at = parts.index(u)
            parts[at : at + 1] = new
    state.queue.extend(new)


def _report_unresolved(units: Iterable[Unit]) -> None:
    """What is still unknown will stay so: lowers once more, to say where."""
    if any(u.failed for u in units):
        return
    for u in units:
        if u.unresolved:
            u.final = True
            lower_clause(u)


# --- findings ---------------------------------------------------------------------------------------------------------


def _check_whole(state: ProgramState, tree: ast.Program, units: list[Unit], resolver: Resolver) -> list[Diagnostic]:
    from probescope.lang.bt.check_decls import check_maps

    found = check_maps(state, tree)
    if not units and not resolver.missing and tree.probes:
        span = tree.probes[0].span
        found.append(
            Diagnostic("error", "no probe of this script runs here (test and bench probes need their mode)", span)
        )
    elif not units:
        message = NOTHING if tree.probes else "the script has no probes"
        found.append(Diagnostic("error", message, source=state.source))
    return found


def _findings(units: Iterable[Unit]) -> list[Diagnostic]:
    """Those of all units; the same one from several groups of a clause's sites counts once."""
    seen: set[tuple[object, ...]] = set()
    out: list[Diagnostic] = []
    for u in units:
        for d in u.found:
            key = (d.severity, d.message, d.span)
            if key not in seen:
                seen.add(key)
                out.append(d)
    return out


def _errors(findings: Iterable[Diagnostic]) -> bool:
    return any(d.severity == "error" for d in findings)


def _ordered(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    return sorted(findings, key=lambda d: (d.severity != "error", d.span.line, d.span.column))
