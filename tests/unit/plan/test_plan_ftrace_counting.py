"""What of a program becomes hist triggers of the kernel, and what must not, because the answer would be another."""

from __future__ import annotations

import pytest

from probescope.collect.stream.kernel_counts import KernelCounts, state_of
from probescope.evaluate.columns.runner import by_rows
from probescope.formats.tracetext.hist import Entry, Span
from probescope.ir import expr as e
from probescope.ir.program import Action, Clause, MapDecl, Program
from probescope.ir.stmt import Emit, MapUpdate
from probescope.model.arch import X86_64
from probescope.model.plan import MakeInstance, RunOnEvents, TraceEvent
from probescope.model.plan_kernel import CountInKernel
from probescope.model.site import CtxBytes, CtxLoad, DataLoc, Field, Site, TracepointAttach
from probescope.model.types import BOOL, I32, I64, U32, U64, Agg, Opaque, String, Tuple
from probescope.plan.ftrace import plan_ftrace
from probescope.plan.request import PlanRequest


class Offers:
    def __init__(self, hist):
        self.hist = hist

    def state(self, name):
        return self.hist if name == "ftrace:hist" else "yes"


NAME, WHY = String(16), String(64)
SWITCH = Site(
    "tracepoint:sched:sched_switch",
    "tracepoint",
    TracepointAttach("sched", "sched_switch", 372),
    (
        Field("prev_prio", I32, CtxLoad(28, 4)),
        Field("weight", U64, CtxLoad(32, 8)),
        Field("next_comm", NAME, CtxBytes(40, 16)),
        Field("why", WHY, DataLoc(56)),
    ),
)
PRIO = e.Field(I32, "prev_prio")
WIDE = e.Cast(I64, PRIO)
WEIGHT = e.Field(U64, "weight")
ABOVE = e.Binary(BOOL, "gt", WIDE, e.Const(I64, 4))


def plan(body, maps, predicate=None, hist="yes", others=(), actions=(), **request):
    clauses = (Clause(0, (SWITCH,), tuple(body), predicate), *others)
    program = Program(clauses, tuple(maps), actions=tuple(actions))
    return plan_ftrace(program, PlanRequest(Offers(hist), **request), by_rows, X86_64)


def triggers(p):
    return [s.trigger for s in p.plan.steps if isinstance(s, CountInKernel)]


def test_a_count():
    """Nothing is recorded, and nothing is evaluated."""
    p = plan([MapUpdate("", None)], [MapDecl("", None, Agg("count"))], ABOVE)
    assert triggers(p) == ["hist:keys=common_cpu:size=4096 if prev_prio > 4"]
    assert not any(isinstance(s, TraceEvent | RunOnEvents) for s in p.plan.steps)
    assert any(isinstance(s, MakeInstance) for s in p.plan.steps)
    assert p.kinds == ()
    assert p.plan.choices[0].mechanism == "ftrace hist trigger"


def test_keys_and_sums():
    """Fields, texts of a fixed size, the thread and the CPU; casts that keep values are seen through."""
    key = e.Pack(Tuple((NAME, I64, U32)), (e.Field(NAME, "next_comm"), WIDE, e.Context(U32, "cpu")))
    maps = [MapDecl("s", Tuple((NAME, I64, U32)), Agg("sum", U64)), MapDecl("t", U32, Agg("count"))]
    p = plan([MapUpdate("s", key, WEIGHT), MapUpdate("t", e.Context(U32, "tid"))], maps)
    assert triggers(p) == [
        "hist:keys=next_comm,prev_prio,common_cpu:vals=weight:size=4096",
        "hist:keys=common_pid:size=4096",
    ]


def test_linear_histograms():
    """Beyond the range everything is one bucket of ours, and any number of the kernel's: it is counted by itself. The
    language's numbers are signed: what has the highest bit is below."""
    decl = MapDecl("", None, Agg("lhist", I64, (200, 1000, 100)))
    p = plan([MapUpdate("", None, e.Cast(I64, WEIGHT))], [decl], ABOVE)
    assert triggers(p) == [
        "hist:keys=weight.buckets=100:size=4096 if (prev_prio > 4) && weight >= 200 && weight < 1000",
        "hist:keys=common_cpu:size=4096 if (prev_prio > 4) && weight >= 1000 && weight < 9223372036854775808",
        "hist:keys=common_cpu:size=4096 if (prev_prio > 4) && weight < 200",
        "hist:keys=common_cpu:size=4096 if (prev_prio > 4) && weight >= 9223372036854775808",
    ]
    assert [s.bucket for s in p.plan.steps if isinstance(s, CountInKernel)] == [-1, 9, 0, 0]


def test_what_else_a_program_does():
    """An action of no map has no name of a map, which is that of the nameless map too."""
    other = Clause(1, (SWITCH,), (Emit(0),))
    maps = [MapDecl("", None, Agg("count"))]
    assert len(triggers(plan([MapUpdate("", None)], maps, others=(other,), actions=(Action("exit"),)))) == 1


COMM = MapDecl("", NAME, Agg("count"))
STACK = Opaque("kstack", "bpftrace", 127)


@pytest.mark.parametrize(
    ("body", "decl"),
    [
        (MapUpdate("", None, WEIGHT), MapDecl("", None, Agg("hist", U64, (0,)))),
        (MapUpdate("", None, WEIGHT), MapDecl("", None, Agg("max", U64))),
        (MapUpdate("", None, WIDE), MapDecl("", None, Agg("lhist", I64, (0, 10, 5)))),
        (MapUpdate("", None, WEIGHT), MapDecl("", None, Agg("lhist", U64, (0, 10, 3)))),
        (MapUpdate("", None, WEIGHT), MapDecl("", None, Agg("lhist", U64, (5, 25, 10)))),
        (MapUpdate("", e.Context(NAME, "comm")), COMM),
        (MapUpdate("", e.Context(U32, "pid")), MapDecl("", U32, Agg("count"))),
        (MapUpdate("", e.Field(WHY, "why")), MapDecl("", WHY, Agg("count"))),
        (MapUpdate("", e.Stack(STACK)), MapDecl("", STACK, Agg("count"))),
        (MapUpdate("", e.Binary(I64, "add", WIDE, e.Const(I64, 1))), MapDecl("", I64, Agg("count"))),
        (MapUpdate("", WEIGHT), MapDecl("", U64, Agg("count"), kind="lruhash")),
    ],
)
def test_what_is_evaluated(body, decl):
    """The kernel's bounds, names or keys are not the program's."""
    p = plan([body], [decl])
    assert triggers(p) == []
    assert "not counted by the kernel: " in p.plan.choices[0].reason


def test_where_nothing_is_counted():
    """Without hist triggers; where only a process counts; where the predicate says more than a filter can."""
    body, maps = [MapUpdate("", None)], [MapDecl("", None, Agg("count"))]
    more = e.Logic(BOOL, "and", ABOVE, e.Binary(BOOL, "eq", e.Context(U32, "pid"), e.Const(U32, 3)))
    assert triggers(plan(body, maps, hist="no")) == []
    assert triggers(plan(body, maps, hist="unknown")) == []
    assert triggers(plan(body, maps, pid=3)) == []
    assert triggers(plan(body, maps, more)) == []


def test_maps_that_are_used():
    """Printing looks at what the kernel has; clearing and reading would want it in the program's hands."""
    body, maps = [MapUpdate("m", None)], [MapDecl("m", None, Agg("count"))]
    for kind, counted in (("print_map", 1), ("clear", 0), ("zero", 0)):
        other = Clause(1, (SWITCH,), (Emit(0),))
        p = plan(body, maps, others=(other,), actions=(Action(kind, map="m"),))
        assert len(triggers(p)) == counted, kind


def test_states():
    """Numbers are shown as unsigned ones; a sum wraps as the program's does; keys are of the map's types."""
    step = CountInKernel(0, "a:b", "hist:keys=x", "m", "y")
    decl = MapDecl("m", I32, Agg("avg", I64))
    entry = Entry(((1 << 64) - 5,), (("hitcount", 2), ("y", (1 << 64) - 8)))
    assert state_of(step, decl, Agg("avg", I64), entry) == (-5, (-8, 2))
    linear = Agg("lhist", U64, (0, 1000, 100))
    step = CountInKernel(0, "a:b", "hist:keys=x,y.buckets=100", "m")
    entry = Entry(("bash", Span(200, 299)), (("hitcount", 3),))
    assert state_of(step, MapDecl("m", NAME, linear), linear, entry) == (b"bash", {3: 3})


def test_triggers_wait():
    """Nothing is counted before the session begins: triggers are set as paused, each once."""
    steps = [CountInKernel(0, "a:b", "hist:keys=x:size=128 if y > 1", m) for m in "mn"]
    (setup,) = KernelCounts(steps).setups()
    assert (setup.name, setup.recorded) == ("a:b", False)
    assert setup.triggers == ("hist:keys=x:size=128:pause if y > 1",)
