"""The plan of the perf collector: what is opened, what is refused, what is said."""

import pytest

from probescope.errors import ScriptError
from probescope.evaluate.columns.runner import by_rows
from probescope.ir import expr as e
from probescope.ir.program import Action, Clause, MapDecl, Program
from probescope.ir.stmt import Effect, Emit, MapUpdate
from probescope.model.plan import RunOnEvents, SampleEvent, UserRun
from probescope.model.site import (
    Constant,
    CtxLoad,
    FentryAttach,
    Field,
    IntervalAttach,
    IterAttach,
    PerfAttach,
    RawTracepointAttach,
    Reg,
    RegMem,
    Site,
    TracepointAttach,
    UprobeAttach,
    UserAttach,
)
from probescope.model.types import BOOL, CHAR, I32, I64, U64, Agg, Opaque, Pointer, String
from probescope.plan.perf import plan_perf
from probescope.plan.request import PlanRequest


class Offers:
    def __init__(self, *no):
        self.no = no

    def state(self, name):
        return "no" if name in self.no else "yes"


SWITCH = Site(
    "tracepoint:sched:sched_switch",
    "tracepoint",
    TracepointAttach("sched", "sched_switch", 372),
    (Field("prev_prio", I32, CtxLoad(28, 4)),),
)
COUNT = MapUpdate("", None)
MAPS = (MapDecl("", None, Agg("count")),)
STACK = MapDecl("k", Opaque("kstack", "bpftrace", 127), Agg("count"))
HIGH = e.Binary(BOOL, "gt", e.Cast(I64, e.Field(I32, "prev_prio")), e.Const(I64, 4))


def plan(*clauses, maps=MAPS, actions=(), no=(), **request):
    made = tuple(Clause(i, (site,), tuple(body), predicate) for i, (site, body, predicate) in enumerate(clauses))
    return plan_perf(Program(made, maps, actions), PlanRequest(Offers(*no), **request), by_rows)


def steps(p, kind):
    return [s for s in p.plan.steps if isinstance(s, kind)]


def test_a_tracepoint_with_a_filter():
    """Its record comes along, and only what the program asks for beside it."""
    p = plan((SWITCH, [COUNT], HIGH))
    (event,) = steps(p, SampleEvent)
    assert (event.type, event.config, event.filter) == (2, 372, "prev_prio > 4")
    assert event.parts == ("identifier", "tid", "time", "cpu", "raw")
    assert p.kinds == ((0, 0, (0,)),)
    assert "the kernel filters by prev_prio > 4" in p.plan.choices[0].reason
    assert str(event).endswith("ioctl(PERF_EVENT_IOC_SET_FILTER) prev_prio > 4")


def test_clauses_share_an_event_where_they_filter_alike():
    """One event is sampled once; another filter needs another event."""
    update = MapUpdate("k", e.Stack(STACK.key))
    p = plan((SWITCH, [COUNT], None), (SWITCH, [update], None), (SWITCH, [COUNT], HIGH), maps=(*MAPS, STACK))
    first, second = steps(p, SampleEvent)
    assert "callchain" in first.parts
    assert [k for _, _, k in p.kinds] == [(0,), (0,), (1,)]
    assert second.filter


def test_one_process():
    (event,) = steps(plan((SWITCH, [COUNT], None), pid=42), SampleEvent)
    assert event.pid == 42
    assert "of process 42" in str(event)


def test_timers_counters_and_places_in_programs():
    """With the numbers of perf_event_attr, or the place in the file."""
    timer = Site("profile:hz:99", "profile", PerfAttach(1, 0, frequency=99))
    probe = Site("uprobe:/bin/x:f", "uprobe", UprobeAttach("/bin/x", 0x1000, ret=True))
    a, b = steps(plan((timer, [COUNT], None), (probe, [COUNT], None)), SampleEvent)
    assert (a.type, a.config, a.frequency) == (1, 0, 99)
    assert (b.pmu, b.path, b.offset, b.ret) == ("uprobe", "/bin/x", 0x1000, True)


def test_what_probescope_fires_itself():
    every = Site("interval:s:1", "interval", IntervalAttach(10**9))
    begin = Site("begin", "begin", UserAttach("begin"))
    p = plan((every, [COUNT], None), (begin, [COUNT], None), (SWITCH, [COUNT], None))
    assert [s.when for s in steps(p, UserRun)] == ["interval", "begin"]
    assert len(steps(p, RunOnEvents)) == 1


def test_why_a_clause_runs_a_row_at_a_time():
    """explain tells it."""
    p = plan((SWITCH, [Emit(0)], None), actions=(Action("printf"),))
    (run,) = steps(p, RunOnEvents)
    assert run.by_rows == "it says something for each event"


POINTER = e.ReadStr(String(64), "kernel", e.Const(Pointer(CHAR, "kernel"), 8))


@pytest.mark.parametrize(
    ("site", "body", "why"),
    [
        (Site("rawtracepoint:x", "rawtracepoint", RawTracepointAttach("x")), COUNT, "by their category"),
        (Site("fentry:f", "fentry", FentryAttach("f", 1)), COUNT, "kprobe:f is the same place"),
        (Site("iter:task", "iter", IterAttach("task")), COUNT, "a walk over kernel objects"),
        (SWITCH, MapUpdate("t", POINTER), "it reads kernel memory"),
        (SWITCH, Effect("signal", (e.Const(U64, 9),)), "signal() changes the traced system"),
        (SWITCH, MapUpdate("n", e.Context(U64, "uid")), "uid: of the current task"),
        (SWITCH, MapUpdate("n", e.Arg(U64, 0)), "arg0: there is nothing but the record"),
        (Site("hardware:cycles:", "hardware", PerfAttach(0, 0, 10**6)), COUNT, "no hardware counters"),
        (Site("tracepoint:a:b", "tracepoint", TracepointAttach("a", "b", 1), reason="broken"), COUNT, "broken"),
        (
            Site("tracepoint:syscalls:x", "tracepoint", TracepointAttach("syscalls", "x", 1)),
            MapUpdate("k", e.Stack(STACK.key)),
            "whose stack is the user's alone",
        ),
    ],
)
def test_what_it_cannot_do_is_told_before_anything_is_opened(site, body, why):
    maps = (*MAPS, STACK, MapDecl("t", String(64), Agg("count")), MapDecl("n", U64, Agg("count")))
    with pytest.raises(ScriptError) as found:
        plan((site, [body], None), maps=maps, no=("perf:hardware",))
    assert why in found.value.what


def test_arguments_of_functions_come_by_their_registers():
    probe = Site("uprobe:/bin/x:f", "uprobe", UprobeAttach("/bin/x", 0x1000))
    (event,) = steps(
        plan((probe, [MapUpdate("n", e.Arg(U64, 2))], None), maps=(MapDecl("n", U64, Agg("count")),)), SampleEvent
    )
    assert "regs_intr" in event.parts


@pytest.mark.parametrize(
    ("where", "refused"),
    [(Reg("ax", 4, signed=True), False), (Constant(5), False), (RegMem("bp", -20, 4), True)],
)
def test_arguments_of_usdt_probes_are_where_their_notes_say(where, refused):
    """Registers and constants come along; memory does not."""
    args = (Field("arg0", U64, where),)
    probe = Site("usdt:/bin/x:a:b", "usdt", UprobeAttach("/bin/x", 0x1000), args=args)
    clause, maps = (probe, [MapUpdate("n", e.Arg(U64, 0))], None), (MapDecl("n", U64, Agg("count")),)
    if refused:
        with pytest.raises(ScriptError, match="arg0 is passed in memory"):
            plan(clause, maps=maps)
    else:
        assert steps(plan(clause, maps=maps), SampleEvent)


def test_the_seventh_argument_is_not_in_a_register():
    probe = Site("uprobe:/bin/x:f", "uprobe", UprobeAttach("/bin/x", 0x1000))
    with pytest.raises(ScriptError, match="arg6 is passed in memory"):
        plan((probe, [MapUpdate("n", e.Arg(U64, 6))], None), maps=(MapDecl("n", U64, Agg("count")),))


def test_too_many_probes_are_told():
    """Each is an event of its own on every CPU."""
    sites = tuple(Site(f"tracepoint:a:b{i}", "tracepoint", TracepointAttach("a", f"b{i}", i)) for i in range(600))
    with pytest.raises(ScriptError, match="600 probes are too many"):
        plan_perf(Program((Clause(0, sites, (COUNT,)),), MAPS), PlanRequest(Offers()), by_rows)
