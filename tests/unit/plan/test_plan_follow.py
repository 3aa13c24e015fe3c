"""``--follow``: which clauses ask who it is, and where the kernel's own filters have to go."""

import pytest

from probescope.errors import UsageError
from probescope.ir.expr import Binary, Const, Context, Logic, MapHas
from probescope.ir.program import Clause, MapDecl, Program
from probescope.ir.rules import check
from probescope.model.site import IntervalAttach, PerfAttach, RawTracepointAttach, Site, UprobeAttach, UserAttach
from probescope.model.types import BOOL, U8, U32, Agg
from probescope.plan.follow import FOLLOWED, following

BEGIN = Site("begin", "begin", UserAttach("begin"))
EVERY = Site("interval:s:1", "interval", IntervalAttach(10**9))
RAW = Site("rawtracepoint:sched_switch", "rawtracepoint", RawTracepointAttach("sched_switch"))
FUNCTION = Site("uprobe:/bin/x:f", "uprobe", UprobeAttach("/bin/x", 64, pid=7))
CLOCK = Site("profile:hz:99", "profile", PerfAttach(1, 0, frequency=99, pid=7, every_cpu=False))
KEEPERS = Program(
    tuple(Clause(i, (RAW,), ()) for i in range(3)), (MapDecl(FOLLOWED, U32, U8),)
)  # their bodies do not matter here


def _followed(*clauses, pid=7, maps=()):
    made = following(Program(tuple(clauses), tuple(maps)), KEEPERS, pid)
    check(made)
    assert [c.id for c in made.clauses] == list(range(len(made.clauses)))
    return made, [c for c in made.clauses if not c.own]


def test_events_of_processes_ask_for_membership():
    made, (clause,) = _followed(Clause(0, (RAW,), ()))
    member = clause.predicate
    assert isinstance(member, Logic)
    assert member.a == Binary(BOOL, "eq", Context(U32, "pid", "curr_ns"), Const(U32, 7))
    assert member.b == MapHas(BOOL, FOLLOWED, Context(U32, "pid"))
    own = [c for c in made.clauses if c.own]
    assert [c.predicate for c in own] == [member, None, None], "only who is followed has followed children"
    assert (made.own_sites, made.shown_maps) == (3, ())


def test_the_childs_number_is_known_late():
    _, (clause,) = _followed(Clause(0, (RAW,), ()), pid=0)
    assert Context(U32, "cpid") in (clause.predicate.a.a, clause.predicate.a.b)


def test_the_programs_own_predicate_comes_second():
    """It is not evaluated, nor its failed reads counted, for strangers."""
    asked = Binary(BOOL, "eq", Context(U32, "cpu"), Const(U32, 1))
    _, (clause,) = _followed(Clause(0, (RAW,), (), asked))
    assert clause.predicate.op == "and"
    assert clause.predicate.b == asked


def test_time_and_begin_belong_to_nobody():
    """A clause of both kinds is split; its other half goes on without a question."""
    _, clauses = _followed(Clause(0, (BEGIN, RAW, EVERY), ()))
    assert [([s.name for s in c.sites], c.predicate is None) for c in clauses] == [
        (["begin", "interval:s:1"], True),
        (["rawtracepoint:sched_switch"], False),
    ]


def test_the_kernels_own_filters_go():
    """A uprobe or event of one process would miss its children."""
    _, (clause,) = _followed(Clause(0, (FUNCTION, CLOCK), ()))
    assert [s.attach.pid for s in clause.sites] == [-1, -1]
    assert clause.sites[1].attach.every_cpu


def test_a_map_of_the_same_name():
    with pytest.raises(UsageError, match="@__followed"):
        _followed(Clause(0, (RAW,), ()), maps=[MapDecl(FOLLOWED, None, Agg("count"))])
