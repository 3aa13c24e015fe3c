"""The plan of the ftrace collector: what is set up, what is refused, what is said."""

import pytest

from probescope.errors import ScriptError
from probescope.evaluate.columns.runner import by_rows
from probescope.ir import expr as e
from probescope.ir.program import Clause, MapDecl, Program
from probescope.ir.stmt import MapUpdate
from probescope.model.arch import X86_64
from probescope.model.plan import DefineEvent, MakeInstance, RunOnEvents, TraceEvent
from probescope.model.site import (
    CtxLoad,
    FentryAttach,
    Field,
    IntervalAttach,
    IterAttach,
    KprobeAttach,
    PerfAttach,
    RawTracepointAttach,
    Reg,
    RegMem,
    Site,
    TracepointAttach,
    UprobeAttach,
)
from probescope.model.types import BOOL, I32, I64, U32, U64, Agg, Opaque
from probescope.plan.ftrace import plan_ftrace
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
PROBE = Site("uprobe:/bin/x:f", "uprobe", UprobeAttach("/bin/x", 0x1000))
COUNT = MapUpdate("", None)
MAPS = (MapDecl("", None, Agg("count")),)


def above(value):
    return e.Binary(BOOL, "gt", e.Cast(I64, e.Field(I32, "prev_prio")), e.Const(I64, value))


def by(x):
    """``@s = sum(x)``"""
    return MapUpdate("", None, x)


SUM = (MapDecl("", None, Agg("sum")),)


def plan(*clauses, maps=MAPS, no=(), follow=False, nested=False, **request):
    made = tuple(Clause(i, (site,), tuple(body), predicate) for i, (site, body, predicate) in enumerate(clauses))
    asked = PlanRequest(Offers(*no), **request)
    return plan_ftrace(Program(made, maps), asked, by_rows, X86_64, follow=follow, nested=nested)


def texts(p, kind):
    return [str(s) for s in p.plan.steps if isinstance(s, kind)]


def test_a_tracepoint_with_a_filter():
    p = plan((SWITCH, [COUNT], above(4)), no=("ftrace:hist",))
    assert p.plan.collector == "ftrace"
    own = "probescope_PID_NS_run"
    assert texts(p, MakeInstance) == [f"mkdir instances/{own}; trace_clock <- boot; buffer_size_kb <- 4096"]
    folder = "events/sched/sched_switch"
    assert texts(p, TraceEvent) == [
        f"{folder}/filter <- prev_prio > 4; {folder}/enable <- 1 -> per_cpu/cpu*/trace_pipe_raw"
    ]
    assert p.kinds == ((0, 0, (0,)),)
    assert "the kernel filters by prev_prio > 4" in p.plan.choices[0].reason


def test_an_event_has_one_filter_for_all_its_clauses():
    """What any of them may accept passes; one without a predicate accepts everything."""
    p = plan((SWITCH, [COUNT], above(4)), (SWITCH, [COUNT], above(9)), no=("ftrace:hist",))
    (event,) = [s for s in p.plan.steps if isinstance(s, TraceEvent)]
    assert event.filter == "(prev_prio > 4) || (prev_prio > 9)"
    assert [k for _, _, k in p.kinds] == [(0,), (0,)]
    p = plan((SWITCH, [COUNT], above(4)), (SWITCH, [COUNT], None), no=("ftrace:hist",))
    assert [s.filter for s in p.plan.steps if isinstance(s, TraceEvent)] == [""]


def test_probes_are_defined_with_the_registers_that_are_asked_for():
    """The third argument of a function is in dx; what it returns in ax; a USDT argument where its note says."""
    ret = Site("uretprobe:/bin/x:f", "uretprobe", UprobeAttach("/bin/x", 0x1000, ret=True))
    usdt = Site(
        "usdt:/bin/x:a:b", "usdt", UprobeAttach("/bin/x", 0x2000, ref_ctr=0x30), args=(Field("0", U64, Reg("r12d", 4)),)
    )
    kernel = Site("kretprobe:m:f", "kretprobe", KprobeAttach("f", module="m", ret=True))
    clauses = [(PROBE, [by(e.Arg(U64, 2))], None), (PROBE, [by(e.Reg(U64, "rip"))], None)]
    clauses += [(ret, [by(e.Ret(U64))], None), (usdt, [by(e.Arg(U64, 0))], None), (kernel, [by(e.Ret(U64))], None)]
    p = plan(*clauses, maps=SUM)
    own = "probescope_PID_NS_run"
    assert texts(p, DefineEvent) == [
        f"uprobe_events <- p:{own}/uprobe_0 /bin/x:0x1000 dx=%dx:u64 ip=%ip:u64",
        f"uprobe_events <- r:{own}/uprobe_1 /bin/x:0x1000 ax=%ax:u64",
        f"uprobe_events <- p:{own}/uprobe_2 /bin/x:0x2000(0x30) r12=%r12:u64",
        f"kprobe_events <- r:{own}/kprobe_3 m:f ax=%ax:u64",
    ]
    assert [k for _, _, k in p.kinds] == [(0,), (0,), (1,), (2,), (3,)]


def test_dynamic_events_are_filtered_by_what_they_fetch():
    """By whole registers, as unsigned numbers; what a predicate takes as signed, user space looks at."""
    third, second = e.Arg(U64, 2), e.Cast(I64, e.Arg(U64, 1))
    small = e.Binary(BOOL, "le", third, e.Const(U64, 2))
    negative = e.Binary(BOOL, "lt", second, e.Const(I64, 0))
    own = e.Binary(BOOL, "eq", e.Context(U32, "tid"), e.Const(U32, 7))
    p = plan((PROBE, [COUNT], e.Logic(BOOL, "and", e.Logic(BOOL, "and", small, negative), own)))
    assert [s.filter for s in p.plan.steps if isinstance(s, TraceEvent)] == ["dx <= 2 && common_pid == 7"]
    assert "user space has the rest" in p.plan.choices[0].reason
    usdt = Site("usdt:/bin/x:a:b", "usdt", UprobeAttach("/bin/x", 1), args=(Field("0", I32, Reg("di", 4, True)),))
    p = plan((usdt, [COUNT], e.Binary(BOOL, "eq", e.Arg(I32, 0), e.Const(I32, 2))))
    assert [s.filter for s in p.plan.steps if isinstance(s, TraceEvent)] == [""]


def test_names_and_processes_are_told_by_events_of_their_own():
    """Only where they are asked for; and what tells of everybody has no filter."""
    by_pid = e.Binary(BOOL, "eq", e.Context(U32, "pid"), e.Const(U32, 3))
    p = plan((SWITCH, [COUNT], by_pid))
    assert [s.event for s in p.plan.steps if isinstance(s, TraceEvent)][1:] == ["task:task_newtask", "task:task_rename"]
    assert "user space has the rest of the predicate: pid" in p.plan.choices[0].reason


def test_one_process_and_what_it_forks():
    (made,) = texts(plan((SWITCH, [COUNT], None), pid=42), MakeInstance)
    assert made.endswith("set_event_pid <- threads of 42; trace_options <- event-fork")
    p = plan((SWITCH, [COUNT], None), follow=True)
    assert "set_event_pid <- the program of -c" in texts(p, MakeInstance)[0]
    assert [s.pid for s in p.plan.steps if isinstance(s, RunOnEvents)] == [0]


def test_what_probescope_fires_itself_needs_no_instance():
    every = Site("interval:s:1", "interval", IntervalAttach(10**9))
    assert not texts(plan((every, [COUNT], None)), MakeInstance)


def test_buffers_of_many_cpus_are_smaller():
    made = plan((SWITCH, [COUNT], None), cpus=tuple(range(512))).plan.steps[0]
    assert isinstance(made, MakeInstance)
    assert made.buffer_kb == 1024


STACK = MapUpdate("k", e.Stack(Opaque("ustack", "bpftrace", 127)))
STACKS = MapDecl("k", Opaque("ustack", "bpftrace", 127), Agg("count"))


@pytest.mark.parametrize(
    ("site", "body", "why"),
    [
        (Site("rawtracepoint:x", "rawtracepoint", RawTracepointAttach("x")), COUNT, "by their category"),
        (Site("fentry:f", "fentry", FentryAttach("f", 1)), COUNT, "kprobe:f is the same place"),
        (Site("iter:task", "iter", IterAttach("task")), COUNT, "a walk over kernel objects"),
        (Site("profile:hz:99", "profile", PerfAttach(1, 0, frequency=99)), COUNT, "no timers and counters"),
        (Site("watchpoint:1:8:w", "watchpoint", PerfAttach(5, 0, bp_addr=1)), COUNT, "no timers and counters"),
        (Site("uprobe:/a b:f", "uprobe", UprobeAttach("/a b", 1)), COUNT, "blanks in its path"),
        (SWITCH, STACK, "stacks of programs are not in ftrace's records"),
        (SWITCH, by(e.Arg(U64, 0)), "args.NAME reads its fields"),
        (SWITCH, by(e.Context(U64, "cgroup")), "--via perf does"),
        (PROBE, by(e.Arg(U64, 7)), "arg7 is passed in memory"),
        (
            Site("usdt:/x:a:b", "usdt", UprobeAttach("/x", 1), args=(Field("0", U64, RegMem("bp", -8, 8)),)),
            by(e.Arg(U64, 0)),
            "arg0 is passed in memory, which fetched registers do not hold",
        ),
    ],
)
def test_what_ftrace_does_not_have_is_refused_with_its_reason(site, body, why):
    with pytest.raises(ScriptError, match="cannot be traced via ftrace") as found:
        plan((site, [body], None), maps=(*SUM, STACKS))
    assert why in str(found.value)


def test_what_this_kernel_lacks():
    with pytest.raises(ScriptError, match="this kernel has no uprobe events"):
        plan((PROBE, [COUNT], None), no=("ftrace:uprobe_events",))


def test_numbers_of_another_pid_namespace_are_none():
    plan((SWITCH, [COUNT], None), nested=True)
    with pytest.raises(ScriptError, match="pid namespace"):
        plan((SWITCH, [COUNT], None), nested=True, pid=3)
