"""Which mechanism serves what, and why: plans are data, so they are tested without a kernel."""

import pytest

from probescope.diagnostics import Span
from probescope.errors import ScriptError
from probescope.ir.expr import Arg, Const, Context, MapGet, ReadStr
from probescope.ir.expr import Field as Asked
from probescope.ir.program import Action, Clause, MapDecl, Program, Settings
from probescope.ir.stmt import Discard, Emit, MapSet, MapUpdate
from probescope.model.plan import (
    AttachKprobeMulti,
    AttachPerf,
    AttachRaw,
    AttachTracepoint,
    AttachTracing,
    AttachUprobe,
    AttachUprobeMulti,
    Load,
    UserRun,
)
from probescope.model.site import (
    CtxArg,
    CtxLoad,
    Field,
    IntervalAttach,
    KprobeAttach,
    PerfAttach,
    Site,
    SyscallArg,
    TracepointAttach,
    UprobeAttach,
    UserAttach,
)
from probescope.model.types import CHAR, I64, U64, Agg, Opaque, Pointer, String
from probescope.plan.bpf import plan_bpf
from probescope.plan.request import PlanRequest

FILENAME = Field("filename", Pointer(CHAR, "user"), CtxLoad(24, 8))


class Offers:
    def __init__(self, *no):
        self.no = no

    def state(self, name):
        return "no" if name in self.no else "yes"


def syscall(name, number, *fields):
    return Site(
        f"tracepoint:syscalls:{name}", "tracepoint", TracepointAttach("syscalls", name, 100 + number, number), fields
    )


def plan(*clauses, maps=(), actions=(), no=(), **request):
    p = Program(tuple(Clause(i, tuple(sites), tuple(body)) for i, (sites, body) in enumerate(clauses)), maps, actions)
    return p, plan_bpf(p, PlanRequest(Offers(*no), **request))


COUNT = (MapDecl("", None, Agg("count")),)
HIT = (MapUpdate("", None),)


def test_system_calls_share_one_raw_tracepoint():
    """360 perf tracepoints take half a minute to close; one program on sys_enter takes none."""
    sites = [syscall(f"sys_enter_x{i}", i) for i in range(360)]
    _, made = plan((sites, HIT), maps=COUNT)
    loads = [s for s in made.plan.steps if isinstance(s, Load)]
    attaches = [s for s in made.plan.steps if isinstance(s, AttachTracing)]
    assert len(loads) == len(attaches) == 1
    assert loads[0].btf_target == "btf_trace_sys_enter"
    assert made.units[0].syscalls[-1] == (359, 359)
    assert made.plan.probes == 360


def test_fields_move_with_the_mechanism():
    """``filename`` of openat lies at 24 of the record: the second argument register of the raw tracepoint."""
    body = (Discard(ReadStr(String(64), "user", Asked(FILENAME.type, "filename"))),)
    _, made = plan(([syscall("sys_enter_openat", 257, FILENAME)], body))
    assert made.units[0].fields == (Field("filename", FILENAME.type, SyscallArg(1)),)


def test_ladder_goes_down():
    """Without BTF the raw tracepoint; when that is refused too, the perf tracepoint with the record's own offsets."""
    sites = [syscall("sys_exit_openat", 257, Field("ret", I64, CtxLoad(16, 8)))]
    body = (Discard(Asked(I64, "ret")),)
    _, made = plan((sites, body), no=("attach:tp_btf",))
    assert isinstance(made.plan.steps[1], AttachRaw)
    assert made.units[0].fields[0].where == CtxArg(1)
    _, made = plan((sites, body), no=("attach:tp_btf", "attach:raw_tracepoint"))
    assert isinstance(made.plan.steps[1], AttachTracepoint)
    assert made.units[0].fields[0].where == CtxLoad(16, 8)
    assert [r.mechanism for r in made.plan.choices[0].rejected] == ["tp_btf", "raw_tracepoint"]


def test_records_need_the_perf_tracepoint():
    """Fields of other tracepoints exist only in the record."""
    site = Site(
        "tracepoint:sched:x", "tracepoint", TracepointAttach("sched", "x", 3), (Field("a", U64, CtxLoad(8, 8)),)
    )
    _, made = plan(([site], (Discard(Asked(U64, "a")),)))
    assert isinstance(made.plan.steps[1], AttachTracepoint)
    _, made = plan(([site], HIT), maps=COUNT)
    assert isinstance(made.plan.steps[1], AttachTracing)


def test_unknown_is_not_no():
    class Unknown:
        def state(self, name):
            return "unknown"

    p = Program((Clause(0, (syscall("sys_enter_x", 1),), HIT),), COUNT)
    assert plan_bpf(p, PlanRequest(Unknown())).units[0].kind == "tp_btf"


def test_nothing_serves():
    site = Site("kprobe:f", "kprobe", KprobeAttach("f", traceable=True))
    with pytest.raises(ScriptError, match="kprobe:f cannot be used here"):
        plan(([site], HIT), maps=COUNT, no=("attach:kprobe", "attach:kprobe_multi"))


NO_KPROBES = Offers("attach:kprobe", "attach:kprobe_multi")
POINT = Span(3, 1, 3, 9)


def mixed(policy, *more):
    """Two kprobes of one pattern and, if asked for, a tracepoint."""
    bad = tuple(Site(f"kprobe:{f}", "kprobe", KprobeAttach(f, traceable=True)) for f in "fg")
    sites = (*bad, *more)
    clause = Clause(0, sites, HIT, points=(*(POINT for _ in bad), *(Span(4, 1, 4, 2) for _ in more)))
    return Program((clause,), COUNT, settings=Settings(missing_probes=policy))


def test_what_nothing_serves_is_told_at_its_place():
    """One finding for all of a pattern, at the attach point, with the way on."""
    with pytest.raises(ScriptError) as e:
        plan_bpf(mixed("error", syscall("sys_enter_x", 1)), PlanRequest(NO_KPROBES))
    (found,) = e.value.diagnostics
    assert found.span == POINT
    assert found.message.startswith("kprobe:f and 1 more cannot be used here: ")
    assert found.hints[-1] == "config = { missing_probes = warn } goes on without it"


@pytest.mark.parametrize(("policy", "warned"), [("warn", 1), ("ignore", 0)])
def test_a_program_may_go_on_without_what_nothing_serves(policy, warned):
    """``missing_probes`` holds for probes that no mechanism serves as for those that are not there."""
    made = plan_bpf(mixed(policy, syscall("sys_enter_x", 1)), PlanRequest(NO_KPROBES))
    assert [u.sites for u in made.units] == [(2,)]
    assert made.plan.probes == 1
    assert [(w.severity, w.span) for w in made.warnings] == [("warning", POINT)] * warned


def test_a_program_of_which_nothing_is_left_is_refused():
    with pytest.raises(ScriptError, match="kprobe:f and 1 more"):
        plan_bpf(mixed("ignore"), PlanRequest(NO_KPROBES))


def test_a_site_with_a_reason_is_not_planned():
    """What a source knows to be of no use is refused with its words, though a mechanism would take it."""
    site = Site("kprobe:f", "kprobe", KprobeAttach("f", traceable=True), reason="it is on the kernel's blacklist")
    with pytest.raises(ScriptError, match="cannot be used here: it is on the kernel's blacklist"):
        plan(([site], HIT), maps=COUNT)


def test_kprobes_by_one_link():
    sites = [Site(f"kprobe:f{i}", "kprobe", KprobeAttach(f"f{i}", traceable=True)) for i in range(3)]
    body = (MapUpdate("", Context(Opaque("probe"), "probe")),)
    _, made = plan((sites, body), maps=(MapDecl("", Opaque("probe"), Agg("count")),))
    step = made.plan.steps[1]
    assert isinstance(step, AttachKprobeMulti)
    assert step.cookies == (0, 1, 2)
    assert made.units[0].site_by == "cookie"


def test_kprobe_inside_a_function_needs_its_own():
    sites = [Site("kprobe:f+4", "kprobe", KprobeAttach("f", 4, traceable=True))]
    _, made = plan((sites, HIT), maps=COUNT)
    assert made.plan.choices[0].mechanism == "kprobe"


def test_uprobes_by_file_and_return():
    """One link per file and kind; the program is shared."""
    sites = [
        Site("uprobe:/bin/a:f", "uprobe", UprobeAttach("/bin/a", 16)),
        Site("uprobe:/bin/a:g", "uprobe", UprobeAttach("/bin/a", 32)),
        Site("uprobe:/bin/b:f", "uprobe", UprobeAttach("/bin/b", 16)),
    ]
    _, made = plan((sites, (Discard(Arg(U64, 0)),)))
    steps = [s for s in made.plan.steps if isinstance(s, AttachUprobeMulti)]
    assert [(s.path, s.offsets) for s in steps] == [("/bin/a", (16, 32)), ("/bin/b", (16,))]
    assert len(made.units) == 1
    assert made.units[0].in_user


def test_begin_runs_in_user_space():
    begin = Site("begin", "begin", UserAttach("begin"))
    _, made = plan(([begin], (Emit(0, (Const(I64, 0),)),)), actions=(Action("exit", (I64,)),))
    assert made.units == ()
    assert made.plan.steps == (UserRun(0, 0, "begin"),)
    _, forced = plan(([begin], (Emit(0, (Const(I64, 0),)),)), actions=(Action("exit", (I64,)),), via="bpf")
    assert forced.units[0].kind == "syscall"


def test_interval_that_races_goes_into_the_kernel():
    """Reading, changing and writing back a map from user space while a probe updates it would lose updates."""
    tick = Site("interval:s:1", "interval", IntervalAttach(10**9))
    enter = syscall("sys_enter_x", 1)
    _, made = plan(([enter], HIT), ([tick], HIT), maps=COUNT)
    assert any(isinstance(s, AttachPerf) for s in made.plan.steps)
    reads = (Emit(0, (MapGet(I64, "", None),)),)
    _, made = plan(([enter], HIT), ([tick], reads), maps=COUNT, actions=(Action("print", (I64,)),))
    assert any(isinstance(s, UserRun) for s in made.plan.steps)


def test_profile_is_on_every_cpu():
    site = Site("profile:hz:99", "profile", PerfAttach(1, 0, frequency=99))
    _, made = plan(([site], HIT), maps=COUNT, cpus=(0, 1, 2))
    step = made.plan.steps[1]
    assert isinstance(step, AttachPerf)
    assert (step.cpus, step.frequency) == ((0, 1, 2), 99)


def test_writing_a_plain_map_from_an_interval_is_fine():
    tick = Site("interval:s:1", "interval", IntervalAttach(10**9))
    _, made = plan(([tick], (MapSet("m", None, Const(I64, 1)),)), maps=(MapDecl("m", None, I64),))
    assert made.units == ()


@pytest.mark.parametrize(
    ("no", "pid", "kind"),
    [
        ((), 7, AttachUprobeMulti),
        (("attach:uprobe_multi_pid",), 0, AttachUprobeMulti),
        (("attach:uprobe_multi_pid",), 7, AttachUprobe),
    ],
)
def test_a_process_is_traced_with_all_its_threads(no, pid, kind):
    """Linux 6.6 to 6.9 filter multi links by thread: what the other threads of -p PID do would be missed in silence."""
    site = Site("uprobe:/bin/x:f", "uprobe", UprobeAttach("/bin/x", 0x40, pid=pid or -1))
    _, made = plan(([site], HIT), maps=COUNT, no=no)
    assert [type(s) for s in made.plan.steps if isinstance(s, AttachUprobe | AttachUprobeMulti)] == [kind]
