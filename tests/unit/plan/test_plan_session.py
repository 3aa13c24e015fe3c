"""Kprobe sessions: when the entry and the return of functions share a program and a link, and when they must not."""

from __future__ import annotations

from probescope.ir.expr import Context, Ret
from probescope.ir.program import Clause, MapDecl, Program
from probescope.ir.stmt import Discard, MapUpdate
from probescope.model.plan import AttachKprobeMulti, Load
from probescope.model.site import Field, KprobeAttach, RegRet, Site
from probescope.model.types import I64, U64, Agg, Opaque
from probescope.plan.bpf import plan_bpf
from probescope.plan.request import PlanRequest
from probescope.plan.titles import Titles

COUNT = (MapDecl("", None, Agg("count")),)
HIT = (MapUpdate("", None),)
BY_PROBE = (Discard(Context(Opaque("probe"), "probe")),)
SESSION = 56  # BPF_TRACE_KPROBE_SESSION of enum bpf_attach_type


class Offers:
    def __init__(self, *no):
        self.no = no

    def state(self, name):
        return "no" if name in self.no else "yes"


def kprobe(name, *, ret=False, traceable=True, offset=0):
    source = "kretprobe" if ret else "kprobe"
    found = Field("retval", U64, RegRet()) if ret else None
    return Site(f"{source}:{name}", source, KprobeAttach(name, offset, ret=ret, traceable=traceable), ret=found)


def both(*names, **options):
    return [kprobe(n, **options) for n in names], [kprobe(n, ret=True, **options) for n in names]


def planned(*clauses, no=()):
    p = Program(tuple(Clause(i, tuple(sites), tuple(body)) for i, (sites, body) in enumerate(clauses)), COUNT)
    return plan_bpf(p, PlanRequest(Offers(*no)))


def mechanisms(made):
    return [c.mechanism for c in made.plan.choices]


def test_entry_and_return_share_a_program_and_a_link():
    entries, returns = both("f", "g")
    made = planned((entries, HIT), (returns, (Discard(Ret(U64)),)))
    load, attach = made.plan.steps
    assert isinstance(load, Load)
    assert (load.prog_type, load.attach_type) == (2, SESSION)
    assert attach == AttachKprobeMulti(load.program, ("f", "g"), session=True)
    (unit,) = made.units
    assert unit.exit is not None
    assert (unit.clause, unit.exit.clause, unit.exit.ret) == (0, 1, Field("retval", U64, RegRet()))
    assert mechanisms(made) == ["kprobe_session", "kprobe_session"]
    assert made.plan.probes == 2, "the two ends of a function are one probe"


def test_which_site_fired_is_told_by_the_entrys_number():
    """The cookie is the entry's number; the return's is so much more, whoever of the two asks."""
    entries, returns = both("f", "g", "h")
    made = planned((entries, HIT), ([kprobe("x")], HIT), (returns, BY_PROBE))
    attach = next(s for s in made.plan.steps if isinstance(s, AttachKprobeMulti) and s.session)
    unit = made.units[0]
    assert unit.exit is not None
    assert attach.cookies == attach.sites == (0, 1, 2)
    assert unit.exit.sites == (4, 5, 6)
    assert (unit.site_by, unit.exit.site_by, unit.exit.site_shift) == ("constant", "cookie", 4)


def test_the_return_may_come_first():
    entries, returns = both("f")
    made = planned((returns, HIT), (entries, HIT))
    assert [(c.clause, c.joined) for c in made.plan.choices] == [(0, True), (1, False)]
    assert [u.clause for u in made.units] == [1]


def test_two_clauses_at_a_return_keep_their_order():
    """The link attached last fires first at the entry, and last at the return: only one of the two can be right."""
    entries, returns = both("f")
    made = planned((entries, HIT), (returns, HIT), (entries, HIT), (returns, HIT))
    assert set(mechanisms(made)) == {"kprobe_multi"}


def test_other_functions_stay_apart():
    entries, _ = both("f", "g")
    _, returns = both("f")
    assert set(mechanisms(planned((entries, HIT), (returns, HIT)))) == {"kprobe_multi"}


def test_an_older_kernel_has_two_links_and_says_why():
    made = planned(*((sites, HIT) for sites in both("f")), no=("attach:kprobe_session",))
    assert mechanisms(made) == ["kprobe_multi", "kprobe_multi"]
    (rejected,) = made.plan.choices[0].rejected
    assert (rejected.mechanism, rejected.reason) == ("kprobe_session", "this kernel has no kprobe sessions")


def test_what_ftrace_cannot_take_is_probed_one_by_one():
    made = planned(*((sites, HIT) for sites in both("f", traceable=False)))
    assert mechanisms(made) == ["kprobe", "kprobe"]


def test_a_mixed_pattern_is_split_alike_at_both_ends():
    entries = [kprobe("f"), kprobe("g", traceable=False)]
    returns = [kprobe("f", ret=True), kprobe("g", ret=True, traceable=False)]
    made = planned((entries, HIT), (returns, HIT))
    assert mechanisms(made) == ["kprobe_session", "kprobe", "kprobe_session", "kprobe"]
    assert made.plan.probes == 3


def test_places_inside_of_functions_and_func_ip_are_no_matter_for_sessions():
    entries, returns = both("f")
    asking = (Discard(Context(I64, "func_ip")),)
    assert mechanisms(planned((entries, asking), (returns, HIT))) == ["kprobe", "kprobe_multi"]
    assert mechanisms(planned(([kprobe("f", offset=4)], HIT), (returns, HIT))) == ["kprobe", "kprobe_multi"]


def test_programs_are_called_after_their_probes():
    titles = Titles()
    assert titles.of(["kprobe:vfs_read"]) == "kprobe_vfs_read_1"
    assert titles.of(["kprobe:vfs_read"]) == "kprobe_vfs_read_2"
    assert titles.of(["kretprobe:ksys_read", "kretprobe:ksys_lseek", "kretprobe:ksys_write"]) == "kretprobe_ksys__1"
    assert titles.of(["uprobe:/usr/lib/x.so:f"]) == "uprobe__usr_lib_x_so_f_1"
