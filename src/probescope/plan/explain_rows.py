"""The ways to get at a probe, a row each: those of the ladder, then those of other collectors; and which one is taken.

Comparing what a clause needs with what each way offers gives the reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from probescope.frozen import dataclass
from probescope.ir.needs import Needs
from probescope.ir.program import Program
from probescope.kernel.privileges import Privileges
from probescope.model.site import FentryAttach, IntervalAttach, RawTracepointAttach, Site, TracepointAttach, UserAttach
from probescope.plan.costs import Costs, cost_class, cost_name
from probescope.plan.explain_stacks import Compiled
from probescope.plan.knowledge import OTHERS, PRIVILEGES, SOURCES, Interface, Knowledge, Other, Through
from probescope.plan.ladder import Asked, rungs, site_features
from probescope.plan.mechanism import State, missing
from probescope.plan.request import BpfPlan, PlanRequest

UNKNOWN = "cannot be told without the privileges for it"


@dataclass(frozen=True, slots=True)
class Facts:
    """What an explanation is made from, besides the program. ``events`` gives CATEGORY:EVENT of all tracepoints;
    ``get``: how to get a feature that is missing, by its name. ``setup``: what has to be made before programs are
    loaded, in words. ``compiled``: the files that the process of ``-p`` runs."""

    request: PlanRequest
    privileges: Privileges
    costs: Costs = Costs()
    events: Callable[[], Sequence[str]] = tuple
    get: Callable[[str], str] = lambda _: ""
    setup: Callable[[Program, BpfPlan], Sequence[str]] = lambda _program, _plan: ()
    arch: str = "x86_64"
    compiled: Callable[[], Sequence[Compiled]] = tuple


@dataclass(frozen=True, slots=True)
class Row:
    """One way. ``here``: whether this kernel has it. ``cost_ns``: of one hit, 0 if not known. ``permitted``: whether
    this process holds the privileges."""

    mechanism: str
    through: Through
    here: State
    used: bool
    why: str
    cost_ns: int
    measured: bool
    interface: Interface
    permitted: bool

    def to_json(self) -> dict[str, object]:
        return {
            "mechanism": self.mechanism,
            "through": self.through,
            "here": self.here,
            "used": self.used,
            "why": self.why,
            "cost_ns": self.cost_ns,
            "cost": cost_class(self.cost_ns),
            "measured": self.measured,
            "interface": self.interface,
            "privileges": PRIVILEGES[self.through].text,
            "permitted": self.permitted,
        }


def knowledge(site: Site) -> Knowledge:
    return SOURCES.get(site.source, Knowledge("internal", ""))


def permitted(through: Through, p: Privileges) -> bool:
    wanted = PRIVILEGES[through]
    return all(p.may(c) for c in wanted.capabilities) and (not wanted.root or p.uid == 0 or p.may("dac_override"))


def rows(site: Site, asked: Asked, used: str, facts: Facts) -> tuple[Row, ...]:
    """All ways, the one that is taken (``used``, a mechanism; empty for none) first."""
    found = [*_own(site, used, facts), *_ladder(site, asked, used, facts), *_others(site, asked.needs, facts)]
    return tuple(sorted(found, key=lambda r: not r.used))


def _own(site: Site, used: str, facts: Facts) -> Iterator[Row]:
    if isinstance(site.attach, UserAttach | IntervalAttach):
        taken = used == "evaluate"
        why = "probescope runs it itself: nothing is asked of the kernel" if taken else "it needs the kernel"
        yield _row("evaluate", "probescope", "yes", site, facts, why=why, used=taken)


def _ladder(site: Site, asked: Asked, used: str, facts: Facts) -> Iterator[Row]:
    passed = False
    for rung in rungs(site, asked, facts.request.offers):
        m = rung.mechanism
        features = (*m.features, *site_features(site))
        here = state(features, facts)
        taken = m.name == used
        why = rung.reason or m.about
        if here == "no":
            why = lacking(features, facts)
        elif not taken and not rung.reason and (passed or used):
            why = f"would do; {m.about}"
        elif not taken and not rung.reason and here == "unknown":
            why = UNKNOWN
        passed = passed or taken
        yield _row(m.name, "bpf", here, site, facts, why=why, used=taken)


def _others(site: Site, needs: Needs, facts: Facts) -> Iterator[Row]:
    for name in knowledge(site).others:
        other = OTHERS[name]
        if _fits(other, site):
            here = state((*other.features, *_counters(site, other)), facts)
            why = lacking((*other.features, *_counters(site, other)), facts) if here == "no" else _differs(other, needs)
            yield _row(other.mechanism, other.through, here, site, facts, why=why, cost=other.cost)
    if isinstance(site.attach, TracepointAttach) and site.attach.syscall >= 0:
        other = OTHERS["strace"]
        yield _row(other.mechanism, other.through, "yes", site, facts, why=_differs(other, needs))


def _counters(site: Site, other: Other) -> tuple[str, ...]:
    return site_features(site) if other.through == "perf" else ()


def _fits(other: Other, site: Site) -> bool:
    """Arguments of a raw tracepoint are not to be had in another way; the place is. Of BPF programs nothing is."""
    if isinstance(site.attach, FentryAttach) and site.attach.program:
        return False
    return not (isinstance(site.attach, RawTracepointAttach) and other.mechanism == "ftrace hist")


def _differs(other: Other, needs: Needs) -> str:
    """Why a way cannot give what the clause asks, or what it is like."""
    cannot = ", ".join(f"{e}()" for e in sorted(needs.effects))
    if cannot and other.through != "bpf":
        return f"cannot do {cannot}: it only looks"
    if needs.stacks & {"ustack"} and other.through in ("ftrace", "ptrace"):
        return "gives no user stacks"
    return other.about


def state(features: Sequence[str], facts: Facts) -> State:
    """``no`` if one of them is missing; ``unknown`` if one could not be tried."""
    states = {facts.request.offers.state(f) for f in features}
    return "no" if "no" in states else "unknown" if "unknown" in states else "yes"


def lacking(features: Sequence[str], facts: Facts) -> str:
    """What is missing, in words, with the way to get it."""
    text = missing(features, facts.request.offers)
    first = next((f for f in features if facts.request.offers.state(f) == "no"), "")
    get = facts.get(first) if first else ""
    return f"{text}: needs {get}" if get else text


def _row(
    mechanism: str,
    through: Through,
    here: State,
    site: Site,
    facts: Facts,
    *,
    why: str,
    used: bool = False,
    cost: str = "",
) -> Row:
    name = cost_name(cost or mechanism, site)
    return Row(
        mechanism,
        through,
        here,
        used,
        why,
        facts.costs.ns(name),
        facts.costs.is_measured(name),
        _interface(site, mechanism),
        permitted(through, facts.privileges),
    )


def _interface(site: Site, mechanism: str) -> Interface:
    """A raw tracepoint looked at through its record is as stable as the record."""
    if isinstance(site.attach, RawTracepointAttach) and mechanism in ("perf stat", "perf record", "ftrace event"):
        return "stable"
    return knowledge(site).interface
