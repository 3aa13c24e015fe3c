"""How loops run and where variables live: bpf/scan.py, on clauses without a kernel."""

from __future__ import annotations

import pytest

from probescope.bpf.scan import FALLBACK_TURNS, LIVENESS, scan, turns
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import Clause
from probescope.model.features import BASELINE_6_1, Features
from probescope.model.types import BOOL, I64, U32, Int, String, Tuple

OLD = Features(frozenset(), frozenset({"helper:loop", "isa:may_goto"}))
NEW = Features(BASELINE_6_1.yes | {"isa:may_goto", LIVENESS})


def n(value):
    return x.Const(I64, value)


def v(name):
    return x.Local(I64, name)


def plus(name):
    return s.Assign(name, x.Binary(I64, "add", v(name), n(1)))


def scanned(*body, features=BASELINE_6_1, predicate=None):
    return scan(Clause(0, (), body, predicate), features, 1 << 20)


def way(loop, features):
    return scanned(loop, features=features).ways[id(loop)]


def test_few_turns_are_walked_by_the_verifier():
    loop = s.ForRange("i", I64, n(0), n(9), (plus("t"),))
    assert way(loop, NEW) == way(loop, BASELINE_6_1) == way(loop, OLD) == "bounded"


def test_many_or_unknown_turns_take_what_the_kernel_offers():
    for loop in (
        s.ForRange("i", I64, n(0), n(100000), (plus("t"),)),
        s.ForRange("i", I64, n(0), x.Arg(I64, 0), (plus("t"),)),
        s.While(x.Const(BOOL, 1), (plus("t"),)),
    ):
        assert (way(loop, NEW), way(loop, BASELINE_6_1), way(loop, OLD)) == ("goto", "callback", "bounded")
    assert scanned(s.While(x.Const(BOOL, 1), ()), features=OLD).fallback


def test_a_few_turns_of_much_are_not_walked():
    """Comparing two texts is a loop of its own: eight walks through it are too many."""
    text = x.ReadStr(String(512), "user", x.Arg(I64, 0))
    body = s.If(x.Binary(BOOL, "eq", text, text), (plus("t"),))
    assert way(s.ForRange("i", I64, n(0), n(8), (body,)), NEW) == "callback"
    inner = s.ForRange("j", I64, n(0), n(2), ())
    assert way(s.ForRange("i", I64, n(0), n(8), (inner,)), NEW) == "callback"


@pytest.mark.parametrize(("start", "end", "expected"), [(0, 5, 5), (5, 0, 0), (-3, 3, 6)])
def test_turns_of_a_range(start, end, expected):
    assert turns(s.ForRange("i", I64, n(start), n(end), ())) == expected
    assert turns(s.ForRange("i", I64, x.Arg(I64, 0), n(end), ())) is None


def test_variables_that_may_be_read_before_they_are_assigned():
    """Only these are zeroed at the start of the program."""
    cond = x.Arg(BOOL, 0)
    assert scanned(s.Assign("a", n(1)), s.Discard(v("a"))).unset == set()
    assert scanned(s.Discard(v("a")), s.Assign("a", n(1))).unset == {"a"}
    assert scanned(plus("a")).unset == {"a"}
    assert scanned(s.If(cond, (s.Assign("a", n(1)),)), s.Discard(v("a"))).unset == {"a"}
    assert scanned(s.If(cond, (s.Assign("a", n(1)), s.Discard(v("a"))))).unset == set()
    assert scanned(s.While(cond, (s.Assign("a", n(1)), s.Discard(v("a"))))).unset == set()
    assert scanned(s.While(x.Binary(BOOL, "lt", v("a"), n(1)), (s.Assign("a", n(1)),))).unset == {"a"}
    assert scanned(
        s.Discard(x.Logic(BOOL, "and", cond, x.Block(BOOL, (s.Assign("a", n(1)),), cond))), s.Discard(v("a"))
    ).unset == {"a"}
    assert scanned(s.Assign("a", n(1)), predicate=x.Binary(BOOL, "eq", v("a"), n(0))).unset == {"a"}


def test_variables_shared_with_a_callback_live_in_the_frame():
    """Inside and outside of a function, or from one of its turns to the next."""
    forever = x.Const(BOOL, 1)
    outside = scanned(s.Assign("a", n(1)), s.While(forever, (s.Discard(v("a")),)))
    assert outside.captured == {"a"}
    assert scanned(s.While(forever, (s.Assign("a", n(1)), s.Discard(v("a"))))).captured == set()
    assert scanned(s.While(forever, (plus("a"),))).captured == {"a"}
    assert scanned(s.Assign("a", n(1)), s.While(forever, (plus("a"),)), features=NEW).captured == set()


def test_a_pair_used_by_a_function_inside_is_captured():
    pair = x.Local(Tuple((U32, I64)), "kv")
    inner = s.ForMap("other", "m", (s.Discard(x.Item(I64, pair, 1)),))
    assert scanned(s.ForMap("kv", "m", (inner,))).captured == {"kv"}
    assert scanned(s.ForMap("kv", "m", (s.Discard(x.Item(I64, pair, 1)),))).captured == set()


def test_fallback_is_not_more_than_the_verifier_bears():
    assert FALLBACK_TURNS <= 128


def test_only_simple_loops_are_jumps_in_the_program_itself():
    """Many ways through a body are many states; a callback leaves nothing behind but its variables."""
    simple = s.While(x.Const(BOOL, 1), (plus("t"),))
    many = s.While(x.Const(BOOL, 1), tuple(s.If(x.Arg(BOOL, i), (plus("t"),)) for i in range(30)))
    nested = s.While(x.Const(BOOL, 1), (s.While(x.Arg(BOOL, 0), (plus("t"),)),))
    assert [way(loop, NEW) for loop in (simple, many, nested)] == ["goto", "callback", "callback"]


def counted(body, cond=None, first=0, features=NEW):
    loop = s.While(cond or x.Binary(BOOL, "lt", v("i"), n(1000)), body)
    return scanned(s.Assign("i", n(first)), loop, features=features).counted.get(id(loop))


def test_a_loop_that_only_calculates_is_counted():
    """1,000 turns by ones, 500 by twos, 334 by threes; from -1, and up to and with the last."""

    def step(by):
        return s.Assign("i", x.Binary(I64, "add", v("i"), n(by)))

    total = s.Assign("t", x.Binary(I64, "mul", v("i"), x.Field(I64, "fd")))
    assert [counted((total, step(by))) for by in (1, 2, 3)] == [1000, 500, 334]
    assert counted((step(1), total), x.Binary(BOOL, "le", v("i"), n(10)), -1) == 12
    assert counted((step(2),), x.Binary(BOOL, "ne", v("i"), n(10))) == 5


def test_what_cannot_be_counted_is_not():
    """Steps that miss the end, go the wrong way, happen twice or never, numbers that wrap around, other effects."""
    step = plus("i")
    assert counted((s.Assign("i", x.Binary(I64, "add", v("i"), n(3))),), x.Binary(BOOL, "ne", v("i"), n(10))) is None
    assert counted((s.Assign("i", x.Binary(I64, "add", v("i"), n(-1))),)) is None
    assert counted((step, step)) is None
    assert counted((plus("t"),)) is None
    assert counted((step,), first=1000) is None
    assert counted((step, s.If(x.Arg(BOOL, 0), (plus("t"),)))) is None
    assert counted((step, s.Break())) is None
    assert counted((step, s.Assign("t", x.MapGet(I64, "m", None)))) is None
    small = x.Local(Int(1, False), "i")
    by = s.Assign("i", x.Binary(Int(1, False), "add", small, x.Const(Int(1, False), 2)))
    loop = s.While(x.Binary(BOOL, "lt", small, x.Const(Int(1, False), 255)), (by,))
    assert not scanned(s.Assign("i", x.Const(Int(1, False), 0)), loop).counted
    assert not scanned(s.If(x.Arg(BOOL, 0), (s.Assign("i", n(0)),)), s.While(x.Arg(BOOL, 0), (step,))).counted


def test_a_counted_loop_has_a_limit():
    """What the verifier walks: 30,000 nodes; and the program's own limit."""
    assert counted((plus("i"),), x.Binary(BOOL, "lt", v("i"), n(1 << 19))) is None
    loop = s.While(x.Binary(BOOL, "lt", v("i"), n(1000)), (plus("i"),))
    assert not scan(Clause(0, (), (s.Assign("i", n(0)), loop)), NEW, 999).counted
