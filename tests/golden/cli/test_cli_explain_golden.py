"""The pages that ``explain`` and ``doctor`` print, kept in files: a change of wording is seen, and seen to be wanted.

They are made from sites and kernels said by hand. ``PROBESCOPE_GOLDEN=1 pytest tests/golden/cli`` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from plan_facts import NO_FUNCTIONS, NOBODY, facts

from probescope.cli.doctor import text as doctor_text
from probescope.cli.explain_text import cost_table, text
from probescope.cli.tables import Style
from probescope.collect.measure import Measured
from probescope.ir.expr import Context
from probescope.ir.program import Clause, MapDecl, Program
from probescope.ir.stmt import MapUpdate
from probescope.model.site import CtxLoad, Field, KprobeAttach, RegArg, Site, TracepointAttach, UprobeAttach, UserAttach
from probescope.model.types import I32, U64, Agg, Opaque, String
from probescope.plan.costs import Cost, Costs
from probescope.plan.explain import explain_probe, explain_program

HERE = Path(__file__).parent / "pages"
SWITCH = Site(
    "tracepoint:sched:sched_switch",
    "tracepoint",
    TracepointAttach("sched", "sched_switch", 3),
    (Field("prev_pid", I32, CtxLoad(24, 4)),),
)
OPENAT = Site(
    "tracepoint:syscalls:sys_enter_openat", "tracepoint", TracepointAttach("syscalls", "sys_enter_openat", 9, 257)
)
VFS_READ = Site(
    "kprobe:vfs_read",
    "kprobe",
    KprobeAttach("vfs_read", traceable=True),
    (Field("file", U64, RegArg(0)),),
    func="vfs_read",
)
FUNCTIONS = [
    Site(f"uprobe:/bin/a:f{i}", "uprobe", UprobeAttach("/bin/a", 16 * i, slow=i == 2), func=f"f{i}") for i in range(6)
]
MEASURED = Costs({"tp_btf": Cost(19, 18, 20), "tracepoint": Cost(41, 40, 43)})


def page(*answers, known=None, verbose=False):
    return text([(name, False, e) for name, e in answers], known or facts(), verbose=verbose)


def program():
    clauses = (
        Clause(0, (Site("begin", "begin", UserAttach("begin")),), ()),
        Clause(1, (OPENAT,), (MapUpdate("", Context(String(16), "comm")),)),
        Clause(2, (VFS_READ,), (MapUpdate("f", Context(Opaque("probe"), "probe")),)),
    )
    return Program(clauses, (MapDecl("", String(16), Agg("count")), MapDecl("f", Opaque("probe"), Agg("count"))))


FEATURES = [
    ("attach:tracepoint", "tracepoints", "yes", "", []),
    (
        "attach:kprobe",
        "kprobes",
        "no",
        "the kernel was built without CONFIG_KPROBES",
        [("package", "a distribution's standard kernel has it (Debian: linux-image-amd64)")],
    ),
    ("attach:uprobe", "uprobes", "unknown", "not permitted to try (EPERM)", [("privilege", "run as root")]),
]


def report(**more):
    return {
        "probescope": "0.1",
        "kernel": "6.1.0",
        "machine": "x86_64",
        "uid": 1000,
        "can_trace_with_bpf": False,
        "missing_capabilities": ["cap_bpf", "cap_perfmon"],
        "lockdown": "integrity",
        "tracefs": {"path": "", "state": "denied"},
        "kernel_config_known": True,
        "settings": {"kernel.kptr_restrict": {"value": "0", "about": "0: addresses are shown"}},
        "features": [
            {
                "name": name,
                "label": label,
                "answer": answer,
                "reason": reason,
                "remedies": [{"kind": k, "text": t} for k, t in remedies],
                "purpose": "what it is for",
            }
            for name, label, answer, reason, remedies in FEATURES
        ],
        "leftovers": [{"kind": "instance", "name": "probescope_7_x_", "pid": 7, "alive": False}],
        **more,
    }


PAGES = {
    "tracepoint": lambda: page((SWITCH.name, explain_probe(SWITCH.name, [SWITCH], facts(), ["pid_t prev_pid"]))),
    "measured": lambda: page(
        (SWITCH.name, explain_probe(SWITCH.name, [SWITCH], facts(costs=MEASURED))), known=facts(costs=MEASURED)
    ),
    "kprobe_that_cannot_be_used": lambda: page(
        (VFS_READ.name, explain_probe(VFS_READ.name, [VFS_READ], facts(no=NO_FUNCTIONS), ["struct file * file"]))
    ),
    "kprobe_without_privileges": lambda: page(
        (
            VFS_READ.name,
            explain_probe(VFS_READ.name, [VFS_READ], facts(unknown=NO_FUNCTIONS, privileges=NOBODY)),
        )
    ),
    "uprobe_glob": lambda: page(("uprobe:/bin/a:*", explain_probe("uprobe:/bin/a:*", FUNCTIONS, facts()))),
    "several": lambda: page(
        *((s.name, explain_probe(s.name, [s], facts(no=NO_FUNCTIONS))) for s in (SWITCH, OPENAT, VFS_READ))
    ),
    "program": lambda: text(
        [("a.bt", True, explain_program(program(), facts(no=NO_FUNCTIONS)))], facts(), verbose=False
    ),
    "costs": lambda: cost_table(Measured(MEASURED.measured, {"fentry": "the kernel refuses it: EPERM"})),
    "doctor": lambda: doctor_text(report(), verbose=False, look=Style(color=False)),
    "doctor_verbose_narrow": lambda: doctor_text(report(), verbose=True, look=Style(color=False), wide=72),
}


@pytest.mark.parametrize("name", PAGES)
def test_page(name):
    made = PAGES[name]()
    path = HERE / f"{name}.txt"
    if os.environ.get("PROBESCOPE_GOLDEN"):
        HERE.mkdir(exist_ok=True)
        path.write_text(made)
    assert made == path.read_text()
    assert all(line == line.rstrip() for line in made.splitlines())
