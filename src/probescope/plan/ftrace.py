"""The plan of the ftrace collector: each site is an event of a private instance of tracefs, whose records probescope
reads; what of the predicates the kernel can filter it does, and clauses run on the records in user space.

An event has one filter for all clauses that it fires: what any of them may accept passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from probescope.diagnostics import Diagnostic
from probescope.errors import ScriptError
from probescope.frozen import replace
from probescope.ir.expr import Arg, Expr, Ret
from probescope.ir.expr import Reg as RegRead
from probescope.ir.needs import Needs, needs
from probescope.ir.program import Clause, Program
from probescope.model.arch import Arch
from probescope.model.plan import Choice, DefineEvent, MakeInstance, Plan, RunOnEvents, Step, TraceEvent
from probescope.model.plan_kernel import CountInKernel, PairInKernel
from probescope.model.site import (
    FentryAttach,
    IterAttach,
    KprobeAttach,
    PerfAttach,
    RawTracepointAttach,
    Reg,
    Site,
    TracepointAttach,
    UprobeAttach,
)
from probescope.plan.events import (
    Served,
    StreamPlan,
    Ways,
    for_bpf_alone,
    names_of_sites,
    refusals,
    runs_itself,
    served,
    too_many,
)
from probescope.plan.filters import LONGEST, Fetched, filtered, reason
from probescope.plan.ftrace_counting import Counting
from probescope.plan.mechanism import missing
from probescope.plan.offers import ALWAYS, Offer, lacking
from probescope.plan.perf import in_memory
from probescope.plan.request import PlanRequest
from probescope.plan.user import USER_CONTEXT

CLOCK = "boot"
"""What ``nsecs`` is of."""
COST_NS, UPROBE_NS = 300, 1000
"""Of a record, on the traced side (costs.py, "ftrace event" and "ftrace uprobe")."""
MOST_EVENTS = 2048
BUFFER_KB, MOST_BUFFERS_KB = 4096, 512 << 10
"""Of a CPU, and of all of them."""
TASKS = ("task:task_newtask", "task:task_rename")
"""What tells names of threads, and whose they are, as it changes."""

SYNTHETIC = "synthetic"
"""The category of events that are made of two others."""

_CONTEXT = {
    **dict.fromkeys(("pid", "tid", "cpu", "comm", "nsecs", "cpid"), ""),
    "usermode": "usermode: ftrace's records do not tell where the CPU was",
    "cgroup": "cgroup: ftrace's records do not tell it (--via perf does)",
}
_OFFER = Offer(
    "ftrace",
    {**ALWAYS, **_CONTEXT},
    clocks=frozenset({"", CLOCK}),
    no_user="stacks of programs are not in ftrace's records (--via perf has them)",
)
_PROBES = replace(_OFFER, arguments=True)
_OWN = Offer("ftrace", {**ALWAYS, **dict.fromkeys(USER_CONTEXT, "")}, "probescope itself has none to show")


def plan_ftrace(
    program: Program,
    request: PlanRequest,
    ways: Ways,
    arch: Arch,
    *,
    follow: bool = False,
    nested: bool = False,
    pairs: tuple[PairInKernel, ...] = (),
) -> StreamPlan:
    """``follow``: what the process of -p, or the program of -c, forks is traced with it, and nothing else. ``nested``:
    we are in a pid namespace, whose numbers ftrace does not know. Raises ``ScriptError`` for what ftrace cannot answer,
    or this kernel has no events for. ``pairs``: synthetic events that the program names, of ``SYNTHETIC``."""
    findings = list(_unanswered(program, request, nested))
    if findings:
        raise ScriptError(findings)
    made = _Events(program, arch)
    counting = Counting(program, request, follow=follow)

    def one(c: Clause, numbers: tuple[int, ...], row: str) -> Served:
        if counts := counting.steps(c, numbers):
            return Served(tuple(counts), counting.choice(c, numbers))
        kinds = tuple((made.index(c, site, number),) for number, site in zip(numbers, c.sites, strict=True))
        kind, cost = ("record", COST_NS) if isinstance(c.sites[0].attach, TracepointAttach) else ("probe", UPROBE_NS)
        if pair := _pair(c.sites[0], pairs):
            kind, cost = "synthetic event", COST_NS
            told = f"the kernel pairs it with {pair}; {reason(c, row)}"
        else:
            told = reason(c, row, made.fetched(c.sites[0])) + counting.why_not(c)
        choice = Choice(c.id, numbers, "ftrace", f"ftrace {kind}", told, cost)
        return Served((RunOnEvents(c.id, row, 0 if follow else request.pid),), choice, kinds)

    runs, choices, kinds = served(program, ways, one)
    if made.events and (request.pid or follow or _asks_for_tasks(program)):
        made.tasks()
    steps: tuple[Step, ...] = (*made.defined, *pairs, *made.traced(), *runs)
    if made.events or any(isinstance(s, CountInKernel) for s in runs):
        buffer = max(64, min(BUFFER_KB, MOST_BUFFERS_KB // len(request.cpus)))
        stacks = any(needs(c).stacks for c in program.clauses if not runs_itself(c))
        steps = (MakeInstance(CLOCK, buffer, request.pid, follow, stacks), *steps)
    return StreamPlan(Plan("ftrace", choices, steps, sites=names_of_sites(program)), kinds)


def _pair(site: Site, pairs: tuple[PairInKernel, ...]) -> str:
    """The event that a synthetic one begins with; empty for other sites."""
    mine = site.attach.event if isinstance(site.attach, TracepointAttach) and site.attach.category == SYNTHETIC else ""
    return next((p.start_event for p in pairs if p.event == mine), "")


def _asks_for_tasks(program: Program) -> bool:
    return any(needs(c).context & {"pid", "comm"} for c in program.clauses)


# --- events


class _Events:
    """Events in the order in which they are switched on; each once, however many clauses it fires."""

    def __init__(self, program: Program, arch: Arch) -> None:
        self._arch = arch
        self._needs = {c.id: needs(c) for c in program.clauses}
        self.defined: list[DefineEvent] = []
        self.events: list[TraceEvent] = []
        self._filters: list[dict[str, None]] = []

    def index(self, clause: Clause, site: Site, number: int) -> int:
        text = filtered(clause.predicate, site, self.fetched(site)).text
        match site.attach:
            case TracepointAttach() as a:
                return self._traced(f"{a.category}:{a.event}", text, "", (number,))
            case KprobeAttach() as a:
                place = f"{a.name}+{a.offset}" if a.name and a.offset else a.name or f"{a.address:#x}"
                wanted = DefineEvent("", "kprobe", place, a.ret, self._fetched(clause, site), (number,))
            case UprobeAttach() as a:
                counter = f"({a.ref_ctr:#x})" if a.ref_ctr else ""
                place = f"{a.path}:{a.offset:#x}{counter}"
                wanted = DefineEvent("", "uprobe", place, a.ret, self._fetched(clause, site), (number,))
            case other:
                raise AssertionError(f"{type(other).__name__} is no event of ftrace")
        return self._traced(self._defined(wanted), text, "", (number,))

    def _defined(self, wanted: DefineEvent) -> str:
        """The name of an event that is to be made; one that is there already serves another clause as well."""
        for i, d in enumerate(self.defined):
            if (d.kind, d.place, d.ret) == (wanted.kind, wanted.place, wanted.ret):
                args = tuple(dict.fromkeys((*d.args, *wanted.args)))
                self.defined[i] = replace(d, args=args, sites=(*d.sites, *wanted.sites))
                return d.name
        self.defined.append(replace(wanted, name=f"{wanted.kind}_{len(self.defined)}"))
        return self.defined[-1].name

    def fetched(self, site: Site) -> Fetched | None:
        """Names of fields of the site's event, where it is a dynamic one: those of registers."""
        arch = self._arch

        def field(x: Expr) -> str:
            match x:
                case Arg(index=i) if site.args is None:
                    return arch.arg_regs[i]
                case Arg(index=i) if site.args is not None and isinstance(where := site.args[i].where, Reg):
                    return arch.aliases.get(where.name, where.name) if where.size == 8 else ""
                case RegRead(name=name):
                    return arch.aliases.get(name, name)
                case Ret():
                    return arch.ret_reg
                case _:
                    return ""

        return field if isinstance(site.attach, KprobeAttach | UprobeAttach) else None

    def _fetched(self, clause: Clause, site: Site) -> tuple[str, ...]:
        """Registers by their names: arguments, and what is returned, are in them."""
        n, arch = self._needs[clause.id], self._arch
        names = {arch.aliases.get(r, r) for r in n.regs}
        for i in n.args:
            if site.args is None:
                names.add(arch.arg_regs[i])
            elif isinstance(where := site.args[i].where, Reg):
                names.add(arch.aliases.get(where.name, where.name))
        if n.ret:
            names.add(arch.ret_reg)
        return tuple(f"{r}=%{r}:u64" for r in sorted(names))

    def _traced(self, event: str, text: str, about: str, sites: tuple[int, ...]) -> int:
        for i, e in enumerate(self.events):
            if e.event == event:
                self.events[i] = replace(e, sites=(*e.sites, *sites))
                self._filters[i][text] = None
                return i
        self.events.append(TraceEvent(event, "", about, sites))
        self._filters.append({text: None})
        return len(self.events) - 1

    def tasks(self) -> None:
        for event in TASKS:
            self._traced(event, "", "names of threads, and whose they are", ())

    def traced(self) -> Iterator[TraceEvent]:
        for e, some in zip(self.events, self._filters, strict=True):
            yield replace(e, filter=_either(list(some)))


def _either(filters: Sequence[str]) -> str:
    if "" in filters:
        return ""
    text = filters[0] if len(filters) == 1 else " || ".join(f"({f})" for f in filters)
    return text if len(text) < LONGEST else ""


# --- what it cannot


def _unanswered(program: Program, request: PlanRequest, nested: bool) -> Iterator[Diagnostic]:
    found = too_many(program, MOST_EVENTS, "--via ftrace", "make the patterns narrower")
    if found:
        yield found
        return

    def why(clause: Clause, site: Site) -> str:
        found = site.reason or _barred(site, request) or "; ".join(_missing(program, clause, site))
        return found or (_foreign(clause, request) if nested else "")

    yield from refusals(program, why, "traced via ftrace", ("without --via ftrace another collector may have it",))


def _missing(program: Program, clause: Clause, site: Site) -> tuple[str, ...]:
    if runs_itself(clause):
        return lacking(program, clause, _OWN)
    if isinstance(site.attach, KprobeAttach | UprobeAttach):
        found = in_memory(site, needs(clause), "fetched registers")
        return (*lacking(program, clause, _PROBES), *found)
    return lacking(program, clause, _OFFER)


def _foreign(clause: Clause, request: PlanRequest) -> str:
    """In a pid namespace of our own."""
    n: Needs = needs(clause)
    if runs_itself(clause) or not (request.pid or n.context & {"pid", "tid", "comm"}):
        return ""
    return "its records have the numbers of the machine's own pid namespace, and this is another"


_NO_TIMER = "ftrace has no timers and counters, only events: --via perf samples them"


def _barred(site: Site, request: PlanRequest) -> str:
    """Sites that are no event of tracefs, or that this kernel cannot make one of."""
    match site.attach:
        case RawTracepointAttach(event=event):
            return f"tracefs has tracepoints by their category: tracepoint:CATEGORY:{event} is the same place"
        case FentryAttach() | IterAttach():
            return for_bpf_alone(site)
        case PerfAttach():
            return _NO_TIMER
        case KprobeAttach():
            return missing(("ftrace:kprobe_events",), request.offers)
        case UprobeAttach(path=path):
            if any(c.isspace() for c in path):
                return "uprobe_events of tracefs cannot name a file with blanks in its path"
            return missing(("ftrace:uprobe_events",), request.offers)
        case _:
            return missing(("ftrace:tracefs",), request.offers)
