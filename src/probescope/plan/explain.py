"""A plan in words: which mechanism serves each probe and why, which others could, the exact steps, the peers' commands.

``explain_probe`` answers for a probe alone, whatever state it is in on this machine; ``explain_program`` for a whole
program, clause by clause. Both give data: ``cli/explain.py`` prints it, and ``-f json`` shows it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from probescope.errors import ScriptError
from probescope.frozen import replace
from probescope.ir.needs import NO_NEEDS, Needs, needs
from probescope.ir.program import Clause, MapDecl, Program
from probescope.ir.stmt import MapUpdate
from probescope.model.features import Features
from probescope.model.plan import Choice, Step
from probescope.model.site import RawTracepointAttach, Site, UprobeAttach, UserAttach
from probescope.model.types import Agg
from probescope.plan.bpf import plan_bpf
from probescope.plan.equivalents import Equivalent, equivalents
from probescope.plan.explain_rows import Facts, knowledge, lacking, rows, state
from probescope.plan.explain_stacks import stack_notes
from probescope.plan.explanation import Explained, Explanation, Variant
from probescope.plan.instead import instead
from probescope.plan.knowledge import SETUP_MS
from probescope.plan.ladder import Asked, rungs, site_features
from probescope.plan.mechanism import State
from probescope.plan.request import BpfPlan
from probescope.plan.session import SESSION

MOST_NOTED = 100


# --- a probe alone
# -----------------------------------------------------------------------------------------------------


def explain_probe(text: str, sites: Sequence[Site], facts: Facts, arguments: Sequence[str] = ()) -> Explained:
    """``sites``: what the probe ``text`` resolved to, at least one; ``arguments``: how C declares those of the first.
    The steps are those of counting its hits."""
    good, bad = _sorted(sites, facts)
    elsewhere = not good
    if elsewhere:
        program = _counting([replace(s, reason="") for s in bad])
        planned = plan_bpf(program, _everywhere(facts).request)
    else:
        program = _counting(good)
        planned = plan_bpf(program, facts.request)
    plan = planned.plan
    several = text if len(sites) > 1 else ""
    parts: list[Explanation] = []
    for choice in plan.choices if good else ():
        mine = [good[n] for n in choice.sites]
        parts.append(_part(_title(text, mine, sites), mine, choice.mechanism, "", facts, pattern=several))
    if bad:
        reason = _why_not(bad[0], facts)
        parts.append(_part(_title(text, bad, sites), bad, "", reason, facts, pattern=several))
    parts[0] = replace(parts[0], arguments=tuple(arguments))
    before = _setup(program, planned, facts)
    return Explained(tuple(parts), plan.steps, _setup_ms(plan.steps), plan.notes, elsewhere, before)


def _title(text: str, mine: Sequence[Site], everything: Sequence[Site]) -> str:
    """The probe as written, or what those of its sites have in common that are served alike."""
    if len(everything) == 1:
        return everything[0].name
    if len(mine) == len(everything):
        return text
    return _common(mine) or mine[0].name


def _sorted(sites: Sequence[Site], facts: Facts) -> tuple[list[Site], list[Site]]:
    """Those that something here can serve, and the others."""
    asked = Asked(NO_NEEDS, len(sites))
    known: dict[object, bool] = {}

    def serves(site: Site) -> bool:
        # sites of a kind differ in nothing that the ladder looks at here, and there may be 100,000 of them
        kind = (site.source, getattr(site.attach, "traceable", None), site_features(site))
        if kind not in known:
            known[kind] = _serves(site, asked, facts)
        return known[kind]

    good = [s for s in sites if not s.reason and serves(s)]
    kept = {id(s) for s in good}
    return good, [s for s in sites if id(s) not in kept]


def _counting(sites: Sequence[Site]) -> Program:
    """``{ @ = count(); }``"""
    return Program((Clause(0, tuple(sites), (MapUpdate("", None),)),), (MapDecl("", None, Agg("count")),))


def _setup(program: Program, plan: BpfPlan, facts: Facts) -> tuple[str, ...]:
    return tuple(facts.setup(program, plan)) if plan.units else ()


def _everywhere(facts: Facts) -> Facts:
    return replace(facts, request=replace(facts.request, offers=_Everything()))


class _Everything(Features):
    """A kernel that has it all."""

    __slots__ = ()

    def state(self, name: str) -> State:
        return "yes"


def _part(
    name: str, sites: Sequence[Site], mechanism: str, reason: str, facts: Facts, *, pattern: str = ""
) -> Explanation:
    site = sites[0]
    asked = Asked(NO_NEEDS, len(sites))
    known = knowledge(site)
    return Explanation(
        clause=0,
        line=0,
        probe=name,
        sites=tuple(s.name for s in sites),
        mechanism=mechanism,
        reason=reason,
        asks=(),
        rows=rows(_dearest(sites), asked, mechanism, facts),
        variants=_variants(site, len(sites), mechanism, facts) if not reason else (),
        interface=known.interface,
        stability=known.stability,
        kernel=known.kernel,
        arguments=(),
        notes=_notes(sites),
        instead=instead(site, facts.request.offers, facts.events),
        equivalents=_peers(site, facts, pattern),
    )


def _variants(site: Site, count: int, mechanism: str, facts: Facts) -> tuple[Variant, ...]:
    """Where reading arguments or stacks makes another mechanism the better one."""
    wishes: list[tuple[str, Needs]] = []
    fields = frozenset(f.name for f in site.fields if not f.name.startswith(("common_", "__")))
    if fields:
        wishes.append(("to read its arguments", replace(NO_NEEDS, fields=fields)))
    wishes.append(("for kernel stacks", replace(NO_NEEDS, stacks=frozenset({"kstack"}))))
    out: list[Variant] = []
    for words, wish in wishes:
        reasons: list[str] = []
        for rung in rungs(site, Asked(wish, count), facts.request.offers):
            if rung.reason:
                reasons += [f"{rung.mechanism.name}: {rung.reason}"] if rung.mechanism.name == mechanism else []
                continue
            if mechanism not in {rung.mechanism.name, "evaluate"}:
                ns = next((r.cost_ns for r in rows(site, Asked(wish, count), rung.mechanism.name, facts) if r.used), 0)
                out.append(Variant(words, rung.mechanism.name, ns, "; ".join(reasons)))
            break
    return tuple(out)


def _common(sites: Sequence[Site]) -> str:
    """A glob that several sites have in common, for the peers' command lines; empty for a single one."""
    if len(sites) < 2:
        return ""
    first, last = min(s.name for s in sites), max(s.name for s in sites)
    size = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:size] + "*" if ":" in first[:size] else ""


def _dearest(sites: Sequence[Site]) -> Site:
    """The one whose hits cost most stands for them all."""
    return next((s for s in sites if isinstance(s.attach, UprobeAttach) and s.attach.slow), sites[0])


def _notes(sites: Sequence[Site]) -> tuple[str, ...]:
    """What the sources say of the sites, and what explains their cost."""
    found = dict.fromkeys(n for s in sites[:MOST_NOTED] for n in s.notes)
    slow = sum(isinstance(s.attach, UprobeAttach) and s.attach.slow for s in sites)
    if slow:
        which = "its first instruction" if len(sites) == 1 else f"the first instruction of {slow:,} of them"
        found[f"{which} has to be single-stepped, which costs ten times as much as one that the kernel emulates"] = None
    return tuple(found)


def _why_not(site: Site, facts: Facts) -> str:
    """What stands in the way of a site that nothing here can serve."""
    if site.reason:
        return site.reason
    found = list(rungs(site, Asked(NO_NEEDS, 1), facts.request.offers))
    features = (*(found[-1].mechanism.features if found else ()), *site_features(site))
    if state(features, facts) == "no":
        return lacking(features, facts)
    return "; ".join(dict.fromkeys(r.reason for r in found if r.reason))


def _peers(site: Site, facts: Facts, pattern: str = "") -> tuple[tuple[Equivalent, State], ...]:
    twin = ""
    if isinstance(site.attach, RawTracepointAttach):
        twin = next((e for e in facts.events() if e.partition(":")[2] == site.attach.event), "")
    found = equivalents(site, pattern=pattern, twin=twin, pid=facts.request.pid, arch=facts.arch)
    return tuple((e, _peer_state(e, site, facts)) for e in found)


def _peer_state(e: Equivalent, site: Site, facts: Facts) -> State:
    """The one tool that is built like us can where our own ladder finds a way."""
    if e.tool != "bpftrace":
        return state(e.features, facts)
    if isinstance(site.attach, UserAttach):
        return "yes"
    if site.reason:
        return "no"
    return "yes" if _serves(site, Asked(NO_NEEDS, 1), facts) else "no"


def _setup_ms(steps: Sequence[Step]) -> tuple[float, float]:
    """Milliseconds to attach and to let go."""
    each = [SETUP_MS.get(type(s).__name__, (0.0, 0.0)) for s in steps]
    return sum(a for a, _ in each), sum(d for _, d in each)


# --- a program
# ---------------------------------------------------------------------------------------------------------


def explain_program(program: Program, facts: Facts) -> Explained:
    """Clause by clause; a clause that nothing here can serve is told with its reason, the others as if it were not
    there."""
    refused = {c.id: why for c in program.clauses if (why := _refusal(program, c, facts))}
    usable = replace(program, clauses=tuple(c for c in program.clauses if c.id not in refused))
    planned = plan_bpf(usable, facts.request)
    plan = planned.plan
    sites = usable.sites
    files = tuple(facts.compiled()) if any("ustack" in needs(c).stacks for c in usable.clauses) else ()
    facts = replace(facts, compiled=lambda: files)
    own = {c.id for c in usable.clauses if c.own}
    mine = [c for c in plan.choices if c.clause not in own]
    parts = [_of_choice(usable, choice, [sites[n] for n in choice.sites], facts) for choice in mine]
    parts += [_of_clause(c, list(c.sites), "", refused[c.id], facts) for c in program.clauses if c.id in refused]
    parts.sort(key=lambda p: p.clause)
    notes = (*plan.notes, *plan.warnings)
    before = _setup(usable, planned, facts)
    return Explained(tuple(parts), plan.steps, _setup_ms(plan.steps), notes, setup=before)


def _refusal(program: Program, clause: Clause, facts: Facts) -> str:
    bad = next((s for s in clause.sites if s.reason), None)
    if bad is None:
        try:
            plan_bpf(replace(program, clauses=(clause,)), facts.request)
        except ScriptError as e:
            asked = Asked(needs(clause), len(clause.sites))
            bad = next((s for s in clause.sites if not _serves(s, asked, facts)), None)
            if bad is None:
                return e.what
    if bad is None:
        return ""
    why = _why_not(bad, facts)
    return f"{bad.name}: {why}" if len(clause.sites) > 1 else why


def _serves(site: Site, asked: Asked, facts: Facts) -> bool:
    return any(not r.reason for r in rungs(site, asked, facts.request.offers))


def _of_choice(program: Program, choice: Choice, sites: list[Site], facts: Facts) -> Explanation:
    clause = next(c for c in program.clauses if c.id == choice.clause)
    made = _of_clause(clause, sites, choice.mechanism, "", facts)
    stacks = stack_notes(needs(clause), program.settings.unwind, facts.compiled())
    return replace(made, notes=(*made.notes, *stacks))


def _of_clause(clause: Clause, sites: list[Site], mechanism: str, reason: str, facts: Facts) -> Explanation:
    asked = needs(clause)
    made = _part(sites[0].name, sites, mechanism, reason, facts, pattern=_common(sites))
    return replace(
        made,
        clause=clause.id,
        line=clause.span.line,
        asks=asked.names,
        rows=rows(_dearest(sites), Asked(asked, len(clause.sites), mechanism == SESSION), mechanism, facts),
        variants=(),
    )
