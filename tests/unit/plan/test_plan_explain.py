"""What explanations say: the mechanism that is taken and why, those that are not, and what helps where none can."""

from __future__ import annotations

import json

import pytest
from plan_facts import NO_FUNCTIONS, NOBODY, facts

from probescope.ir.expr import Context, Stack
from probescope.ir.program import Clause, MapDecl, Program
from probescope.ir.stmt import Effect, MapUpdate
from probescope.model.plan import AttachRaw, AttachTracepoint, Load
from probescope.model.site import (
    CtxArg,
    CtxLoad,
    FentryAttach,
    Field,
    IntervalAttach,
    KprobeAttach,
    PerfAttach,
    RawTracepointAttach,
    RegArg,
    Site,
    TracepointAttach,
    UprobeAttach,
    UserAttach,
)
from probescope.model.types import I32, I64, U64, Agg, Opaque
from probescope.plan.costs import Cost, Costs
from probescope.plan.explain import explain_probe, explain_program
from probescope.plan.explanation import step_text

SWITCH = Site(
    "tracepoint:sched:sched_switch",
    "tracepoint",
    TracepointAttach("sched", "sched_switch", 3),
    (Field("prev_pid", I32, CtxLoad(24, 4)),),
)
READ = Site(
    "tracepoint:syscalls:sys_enter_read",
    "tracepoint",
    TracepointAttach("syscalls", "sys_enter_read", 7, 0),
    (Field("common_pid", I32, CtxLoad(4, 4)), Field("fd", U64, CtxLoad(16, 8))),
)
EXIT = Site(
    "tracepoint:syscalls:sys_exit_read",
    "tracepoint",
    TracepointAttach("syscalls", "sys_exit_read", 8, 0),
    (Field("__syscall_nr", I32, CtxLoad(8, 4)), Field("ret", I64, CtxLoad(16, 8))),
)
VFS_READ = Site(
    "kprobe:vfs_read",
    "kprobe",
    KprobeAttach("vfs_read", traceable=True),
    (Field("file", U64, RegArg(0)),),
    func="vfs_read",
)
FENTRY = Site("fentry:vmlinux:vfs_read", "fentry", FentryAttach("vfs_read", 11), func="vfs_read")
SLOW = Site("uprobe:/bin/a:f", "uprobe", UprobeAttach("/bin/a", 16, slow=True), func="f")
FAST = Site("uprobe:/bin/a:g", "uprobe", UprobeAttach("/bin/a", 32), func="g")
COUNT = (MapDecl("", None, Agg("count")),)
HIT = (MapUpdate("", None),)


def only(explained):
    assert len(explained.parts) == 1
    return explained.parts[0]


def row(part, mechanism):
    return next(r for r in part.rows if r.mechanism == mechanism)


def test_the_cheapest_that_serves_is_used_and_named_first():
    part = only(explain_probe(SWITCH.name, [SWITCH], facts()))
    assert (part.mechanism, part.usable, part.reason) == ("tp_btf", True, "")
    assert part.rows[0].used
    assert part.rows[0].mechanism == "tp_btf"
    assert [r.used for r in part.rows[1:]] == [False] * (len(part.rows) - 1)


def test_reading_the_record_takes_another_mechanism_and_says_why():
    """A tracepoint is cheapest without its record; a user who will read arguments has to know that this changes it."""
    part = only(explain_probe(SWITCH.name, [SWITCH], facts()))
    by_wish = {v.asks: v for v in part.variants}
    args = by_wish["to read its arguments"]
    assert args.mechanism == "tracepoint"
    assert "args.prev_pid" in args.why
    assert by_wish["for kernel stacks"].mechanism == "tracepoint"


def test_fields_that_nobody_means_do_not_change_the_answer():
    """``ret`` is at hand at sys_exit; the record's own number of the call is not, and is not what a user reads."""
    part = only(explain_probe(EXIT.name, [EXIT], facts()))
    assert "to read its arguments" not in {v.asks for v in part.variants}


def test_what_is_missing_is_told_with_the_way_to_get_it():
    part = only(explain_probe(VFS_READ.name, [VFS_READ], facts(no=("attach:kprobe",))))
    assert part.mechanism == "kprobe_multi"
    assert row(part, "kprobe").here == "no"
    assert row(part, "kprobe").why == "this kernel has no kprobes: needs CONFIG_KPROBES"


def test_a_probe_that_cannot_be_used_says_what_works_instead():
    """kprobes on a kernel without them: the reason, the system call's tracepoint, and the steps of a kernel that has
    them."""
    e = explain_probe(VFS_READ.name, [VFS_READ], facts(no=NO_FUNCTIONS))
    part = only(e)
    assert not part.usable
    assert "kprobes" in part.reason
    assert part.mechanism == ""
    assert not any(r.used for r in part.rows)
    assert part.instead[0].probe == "tracepoint:syscalls:sys_enter_read"
    assert e.elsewhere
    assert [type(s).__name__ for s in e.steps] == ["Load", "AttachKprobeMulti"]
    assert {here for tool, here in part.equivalents if tool.tool == "bpftrace"} == {"no"}


def test_a_reason_of_the_source_is_enough():
    """The planner knows mechanisms, the source knows the place: an instruction that takes no probe."""
    site = Site("uprobe:/bin/a:f", "uprobe", UprobeAttach("/bin/a", 16), reason="the kernel takes no probe there")
    part = only(explain_probe(site.name, [site], facts()))
    assert part.reason == "the kernel takes no probe there"


@pytest.mark.parametrize(
    ("site", "feature", "word"),
    [
        (Site("hardware:cycles:", "hardware", PerfAttach(0, 0, 1000)), "perf:hardware", "hardware counters"),
        (
            Site("watchpoint:0x10:8:w", "watchpoint", PerfAttach(5, 0, 1, bp_addr=16, bp_len=8, bp_type=2)),
            "perf:breakpoint",
            "hardware breakpoints",
        ),
        (
            Site("usdt:/bin/a:p:n", "usdt", UprobeAttach("/bin/a", 16, ref_ctr=64)),
            "attach:uprobe_ref_ctr",
            "USDT semaphores",
        ),
    ],
)
def test_sites_have_needs_of_their_own(site, feature, word):
    """The mechanism is there, the counter is not: without this, a plan would fail only when it is attached."""
    assert only(explain_probe(site.name, [site], facts())).usable
    part = only(explain_probe(site.name, [site], facts(no=(feature,))))
    assert word in part.reason


def test_unknown_is_not_no():
    part = only(explain_probe(FENTRY.name, [FENTRY], facts(unknown=("attach:fentry",), privileges=NOBODY)))
    assert part.usable
    assert part.rows[0].here == "unknown"
    assert not part.rows[0].permitted


def test_a_glob_is_summed_up_by_mechanism():
    others = [
        Site(f"tracepoint:sched:e{i}", "tracepoint", TracepointAttach("sched", f"e{i}", 100 + i)) for i in range(20)
    ]
    e = explain_probe("tracepoint:*:*", [READ, EXIT, *others], facts())
    assert [(p.mechanism, len(p.sites)) for p in e.parts] == [("tp_btf", 1), ("tp_btf", 1), ("raw_tracepoint", 20)]
    assert e.parts[2].probe == "tracepoint:sched:e*"
    assert sum(isinstance(s, AttachRaw) for s in e.steps) == 20


def test_a_glob_with_bad_sites_tells_of_both():
    bad = Site("kprobe:f", "kprobe", KprobeAttach("f"), reason="the kernel forbids kprobes on f")
    good = Site("kprobe:g", "kprobe", KprobeAttach("g"))
    e = explain_probe("kprobe:?", [bad, good], facts())
    assert [(p.sites, p.reason) for p in e.parts] == [(("kprobe:g",), ""), (("kprobe:f",), bad.reason)]
    assert not e.elsewhere


def test_single_stepping_is_priced_and_explained():
    """The same uprobe costs ten times as much on another instruction: in a glob the dearest stands for all."""
    part = only(explain_probe("uprobe:/bin/a:*", [FAST, SLOW], facts()))
    assert row(part, "uprobe_multi").cost_ns == 10_500
    assert any("single-stepped" in n for n in part.notes)
    assert row(only(explain_probe(FAST.name, [FAST], facts())), "uprobe_multi").cost_ns == 700


def test_measured_costs_replace_the_usual_ones():
    costs = Costs({"tp_btf": Cost(19, 18, 20)})
    part = only(explain_probe(READ.name, [READ], facts(costs=costs)))
    assert (row(part, "tp_btf").cost_ns, row(part, "tp_btf").measured) == (19, True)
    assert (row(part, "tracepoint").cost_ns, row(part, "tracepoint").measured) == (140, False)


def test_leaving_many_perf_tracepoints_is_told_to_take_long():
    """What makes other tools hang for half a minute at the end is worth a line."""
    sites = [Site(f"tracepoint:a:e{i}", "tracepoint", TracepointAttach("a", f"e{i}", i)) for i in range(100)]
    e = explain_probe("tracepoint:a:*", sites, facts(no=("attach:raw_tracepoint", "attach:tp_btf")))
    assert sum(isinstance(s, AttachTracepoint) for s in e.steps) == 100
    assert e.setup_ms[1] > 1000


def test_user_probes_need_nothing():
    for site in (
        Site("begin", "begin", UserAttach("begin")),
        Site("interval:s:1", "interval", IntervalAttach(10**9)),
    ):
        e = explain_probe(site.name, [site], facts(privileges=NOBODY))
        assert only(e).usable
        assert row(only(e), "evaluate").permitted


def test_raw_tracepoints_name_the_stable_event_for_the_peers():
    site = Site(
        "rawtracepoint:vmlinux:sched_switch",
        "rawtracepoint",
        RawTracepointAttach("sched_switch", 21),
        (Field("prev", U64, CtxArg(1)),),
    )
    part = only(explain_probe(site.name, [site], facts()))
    assert part.interface == "internal"
    assert row(part, "perf record").interface == "stable"
    assert any("-e sched:sched_switch" in e.command for e, _ in part.equivalents)


# --- programs
# ----------------------------------------------------------------------------------------------------------


def program(*clauses, maps=COUNT):
    return Program(tuple(Clause(i, tuple(sites), tuple(body)) for i, (sites, body) in enumerate(clauses)), maps)


def test_a_program_is_told_clause_by_clause():
    by_probe = (MapUpdate("", Context(Opaque("probe"), "probe")),)
    p = program(([READ, SWITCH], by_probe), maps=(MapDecl("", Opaque("probe"), Agg("count")),))
    e = explain_program(p, facts())
    assert [(x.clause, x.mechanism, x.asks) for x in e.parts] == [
        (0, "tp_btf", ("context:probe",)),
        (0, "tp_btf", ("context:probe",)),
    ]


def test_one_clause_that_cannot_run_does_not_hide_the_others():
    e = explain_program(program(([VFS_READ], HIT), ([READ], HIT)), facts(no=NO_FUNCTIONS))
    assert [(p.clause, p.usable) for p in e.parts] == [(0, False), (1, True)]
    assert "kprobe" in e.parts[0].reason
    assert [s.program for s in e.steps if isinstance(s, Load)] == ["c1_0"]


def test_effects_are_what_others_cannot_do():
    body = (Effect("signal", (Context(U64, "pid"),)),)
    e = explain_program(program(([READ], body), maps=()), facts())
    assert "cannot do signal()" in row(e.parts[0], "perf record").why
    assert row(e.parts[0], "tracepoint").why.startswith("would do")


def test_user_stacks_are_not_for_ftrace():
    stack = Opaque("ustack", "bpftrace", 127)
    p = program(([READ], (MapUpdate("", Stack(stack)),)), maps=(MapDecl("", stack, Agg("count")),))
    part = only(explain_program(p, facts()))
    assert part.asks == ("stack:ustack",)
    assert row(part, "ftrace event").why == "gives no user stacks"
    assert row(part, "perf record").why != "gives no user stacks"


def test_everything_is_json():
    """``-f json`` must never meet a value that json cannot write."""
    told = [
        explain_probe(READ.name, [READ], facts()).to_json(),
        explain_probe(VFS_READ.name, [VFS_READ], facts(no=NO_FUNCTIONS), ["struct file * file"]).to_json(),
        explain_program(program(([READ], HIT), ([SLOW], HIT)), facts()).to_json(),
    ]
    again = json.loads(json.dumps(told))
    assert again[0]["parts"][0]["mechanisms"][0] == {
        "mechanism": "tp_btf",
        "through": "bpf",
        "here": "yes",
        "used": True,
        "why": "BTF-typed raw tracepoint: cheapest there is",
        "cost_ns": 55,
        "cost": "very low",
        "measured": False,
        "interface": "stable",
        "privileges": "CAP_BPF and CAP_PERFMON",
        "permitted": True,
    }
    assert again[1]["parts"][0]["arguments"] == ["struct file * file"]
    assert again[1]["steps_hold_elsewhere"]


def test_loads_are_told_with_their_types():
    """Numbers of include/uapi/linux/bpf.h: 26 is tracing, 23 a raw tracepoint by BTF."""
    step = Load("c0_0", 26, 23, "btf_trace_sys_enter")
    assert step_text(step) == (
        "bpf(BPF_PROG_LOAD) c0_0 for btf_trace_sys_enter: type tracing, attach type trace_raw_tp"
    )
