"""What programs mean. Expected values are worked out by hand from the rules in ir/expr.py."""

import pytest

from probescope.diagnostics import Span
from probescope.evaluate.machine import Machine
from probescope.evaluate.store import MemoryStore
from probescope.evaluate.world import Blank
from probescope.ir.expr import (
    Binary,
    Block,
    Call,
    Cast,
    Const,
    Context,
    Index,
    Item,
    Load,
    Local,
    Logic,
    MapAdd,
    MapDelete,
    MapGet,
    MapHas,
    Pack,
    ReadStr,
    Select,
    Unary,
)
from probescope.ir.program import Action, Clause, MapDecl, Program, Settings, Variable
from probescope.ir.stmt import (
    Assign,
    Break,
    Continue,
    Discard,
    Emit,
    ForMap,
    ForRange,
    If,
    MapSet,
    MapUpdate,
    Return,
    While,
)
from probescope.model.site import Site, UserAttach
from probescope.model.types import BOOL, I8, I32, I64, U8, U32, U64, Agg, Array, Opaque, String, Tuple

SITE = Site("begin", "begin", UserAttach("begin"))


class Memory(Blank):
    """An event with eight readable bytes at 0x1000."""

    def context(self, name, arg):
        return {"pid": 7, "comm": b"cat"}[name]

    def read(self, space, address, size):
        data = b"abc\0defg"
        at = address - 0x1000
        return data[at : at + size] if 0 <= at < len(data) else None


def run(*body, maps=(), variables=(), predicate=None, settings=None, event=None):
    """(emitted, store, errors) of one firing."""
    emitted: list[tuple[int, tuple]] = []
    clause = Clause(0, (SITE,), tuple(body), predicate, tuple(variables))
    program = Program((clause,), tuple(maps), (Action("print", (I64,)),), settings or Settings())
    store = MemoryStore(program)
    machine = Machine(program, store, lambda a, v: emitted.append((a, v)))
    machine.run(0, event or Memory())
    return [v[0] for _, v in emitted], store, machine.errors


def value(x):
    """What an expression gives, and the errors it counted."""
    out, _, errors = run(Emit(0, (x,)))
    return out[0], errors


def i(n, t=I64):
    return Const(t, n)


@pytest.mark.parametrize(
    ("op", "t", "a", "b", "want"),
    [
        ("add", I8, 127, 1, -128),
        ("sub", U8, 0, 1, 255),
        ("mul", I32, 1 << 30, 4, 0),
        ("div", I64, -7, 2, -3),  # toward zero, not down
        ("mod", I64, -7, 2, -1),
        ("div", U64, (1 << 64) - 1, 2, (1 << 63) - 1),
        ("div", I64, -(1 << 63), -1, -(1 << 63)),
        ("shl", I32, 1, 33, 2),  # the count is taken modulo the width
        ("shr", I32, -8, 1, -4),
        ("shr", U32, 0xFFFFFFF8, 1, 0x7FFFFFFC),
        ("and", I8, -1, 0x0F, 0x0F),
        ("xor", U8, 0xFF, 0x0F, 0xF0),
    ],
)
def test_arithmetic_wraps_at_its_width(op, t, a, b, want):
    assert value(Binary(t, op, Const(t, a), Const(t, b)))[0] == want


def test_division_by_zero_counts():
    """One, as in bpftrace; never an exception."""
    assert value(Binary(I64, "div", i(7), i(0))) == (1, {("div0", 0): 1})
    assert value(Binary(I64, "mod", i(7), i(0))) == (1, {("div0", 0): 1})


def test_signs_decide_comparisons():
    assert value(Binary(BOOL, "lt", Const(I32, -1), Const(I32, 1)))[0] is True
    assert value(Binary(BOOL, "lt", Const(U32, 0xFFFFFFFF), Const(U32, 1)))[0] is False


def test_strings_compare_to_the_first_nul():
    a, b = Const(String(8), b"ab"), Const(String(4), b"ab")
    assert value(Binary(BOOL, "eq", a, b))[0] is True
    assert value(Binary(BOOL, "lt", Const(String(8), b"a\xff"), Const(String(8), b"b")))[0] is True


def test_short_circuit():
    """The right side is not evaluated when the left one decides: it may fault."""
    fault = Binary(BOOL, "eq", Load(I64, "user", i(0)), i(1))
    assert value(Logic(BOOL, "and", Const(BOOL, 0), fault)) == (False, {})
    assert value(Logic(BOOL, "or", Const(BOOL, 1), fault)) == (True, {})
    assert value(Select(I64, Const(BOOL, 1), i(1), Load(I64, "user", i(0)))) == (1, {})


@pytest.mark.parametrize(
    ("of", "n", "to", "want"),
    [
        (I8, -1, U64, (1 << 64) - 1),
        (U8, 255, I64, 255),
        (I64, 0x1FF, U8, 0xFF),
        (I64, 0x80, I8, -128),
        (I64, 2, BOOL, True),
    ],
)
def test_casts_extend_by_the_source(of, n, to, want):
    assert value(Cast(to, Const(of, n)))[0] == want


def test_cast_array_and_integer():
    """Bytes are reinterpreted in host order (little-endian here)."""
    array = Pack(Array(U8, 4), tuple(Const(U8, n) for n in (1, 2, 3, 4)))
    assert value(Cast(U32, array))[0] == 0x04030201
    assert value(Cast(Array(U8, 4), Const(U32, 0x04030201)))[0] == (1, 2, 3, 4)


def test_memory():
    assert value(ReadStr(String(8), "user", i(0x1000)))[0] == b"abc"
    assert value(ReadStr(String(8), "user", i(0x1000), i(2)))[0] == b"ab"
    assert value(ReadStr(String(8), "user", i(0))) == (b"", {("read", 0): 1})
    assert value(Load(U8, "user", i(0x1001)))[0] == ord("b")
    assert value(Load(U64, "user", i(0x1004))) == (0, {("read", 0): 1})  # half of it is not there


def test_index_out_of_bounds():
    array = Pack(Array(I64, 2), (i(5), i(6)))
    assert value(Index(I64, array, i(1)))[0] == 6
    assert value(Index(I64, array, i(2))) == (0, {("bounds", 0): 1})
    assert value(Index(U8, Const(String(4), b"xy"), i(3))) == (0, {})


@pytest.mark.parametrize(
    ("name", "type_", "args", "want"),
    [
        ("strlen", U64, (Const(String(8), b"abc"),), 3),
        ("strncmp", I64, (Const(String(8), b"abc"), Const(String(8), b"abd"), Const(U64, 2)), 0),
        ("strncmp", I64, (Const(String(8), b"abc"), Const(String(8), b"abd"), Const(U64, 3)), 1),
        ("strstr", I64, (Const(String(8), b"xabc"), Const(String(8), b"bc")), 2),
        ("strstr", I64, (Const(String(8), b"x"), Const(String(8), b"y")), -1),
        ("strcontains", BOOL, (Const(String(8), b"abc"), Const(String(8), b"")), True),
        ("strcat", String(4), (Const(String(8), b"abc"), Const(String(8), b"def")), b"abcd"),
        ("strcap", String(8), (Const(String(8), b"abcdef"), Const(U64, 2)), b"ab"),
        ("bswap", U32, (Const(U32, 0x12345678),), 0x78563412),
        ("inet4", Opaque("inet"), (Const(U32, 0x0100007F),), b"\x7f\0\0\x01"),
    ],
)
def test_intrinsics(name, type_, args, want):
    assert value(Call(type_, name, args))[0] == want


M = MapDecl("m", I64, I64, max_entries=2)


def test_maps():
    _, store, errors = run(
        MapSet("m", i(1), i(10)),
        Discard(MapAdd(I64, "m", i(1), i(5))),
        Discard(MapAdd(I64, "m", i(2), i(1), "old")),
        MapSet("m", i(3), i(0)),  # there is no room
        maps=(M,),
    )
    assert store.state("m") == {1: 15, 2: 1}
    assert errors == {("map_full", 0): 1}


def test_the_key_comes_before_what_is_added():
    """Both may change the map that they are for: compiled programs work out the key first."""
    inner = MapAdd(I64, "m", i(1), i(5), "old")
    _, store, _ = run(Discard(MapAdd(I64, "m", inner, MapGet(I64, "m", i(1)))), maps=(M,))
    assert store.state("m") == {1: 5, 0: 5}
    _, store, _ = run(Discard(MapAdd(I64, "m", MapGet(I64, "m", i(1)), inner)), maps=(M,))
    assert store.state("m") == {1: 5, 0: 0}


def test_map_reads():
    out, _, _ = run(
        MapSet("m", i(1), i(10)),
        Emit(0, (MapGet(I64, "m", i(1)),)),
        Emit(0, (MapGet(I64, "m", i(9)),)),
        Emit(0, (MapHas(BOOL, "m", i(9)),)),
        Emit(0, (MapDelete(BOOL, "m", i(1)),)),
        Emit(0, (MapDelete(BOOL, "m", i(1)),)),
        maps=(M,),
    )
    assert out == [10, 0, False, True, False]


@pytest.mark.parametrize("asked", [False, True])
def test_reads_of_what_is_not_there_are_counted_if_asked_for(asked):
    """By place; a map without key always has its value."""
    span = Span(1, 5, 1, 9)
    clause = Clause(0, (SITE,), (Emit(0, (MapGet(I64, "m", i(9), span=span),)), Emit(0, (MapGet(I64, "s", None),))))
    actions, settings = (Action("print", (I64,)),), Settings(count_misses=asked)
    program = Program((clause,), (M, MapDecl("s", None, I64)), actions, settings)
    machine = Machine(program, MemoryStore(program), lambda _a, _v: None)
    machine.run(0, Memory())
    assert machine.misses == ({span: 1} if asked else {})


def test_aggregations():
    count = MapDecl("c", String(16), Agg("count"))
    average = MapDecl("a", None, Agg("avg"))
    _, store, _ = run(
        MapUpdate("c", Context(String(16), "comm")),
        MapUpdate("c", Context(String(16), "comm")),
        MapUpdate("a", None, i(-1)),
        MapUpdate("a", None, i(-2)),
        maps=(count, average),
    )
    assert store.state("c") == {b"cat": 2}
    assert store.get("a", None) == -1  # -3 / 2 toward zero


def test_loops():
    x = Local(I64, "x")
    body = (
        If(Binary(BOOL, "eq", x, i(1)), (Continue(),)),
        If(Binary(BOOL, "eq", x, i(4)), (Break(),)),
        Emit(0, (x,)),
    )
    assert run(ForRange("x", I64, i(0), i(10), body))[0] == [0, 2, 3]
    out = run(ForRange("x", I64, i(0), i(10), (Emit(0, (x,)), Return())), Emit(0, (i(99),)))[0]
    assert out == [0]  # return ends the clause, not the loop


def test_endless_loop_is_cut():
    _, _, errors = run(
        While(Const(BOOL, 1), (Assign("x", i(1)),)), variables=(Variable("x", I64),), settings=Settings(max_loop=10)
    )
    assert errors == {("loop", 0): 1}


def test_for_over_a_map():
    pair = Local(Tuple((I64, I64)), "kv")
    out, _, _ = run(
        MapSet("m", i(1), i(10)),
        MapSet("m", i(2), i(20)),
        ForMap("kv", "m", (Emit(0, (Item(I64, pair, 1),)),)),
        maps=(M,),
    )
    assert sorted(out) == [10, 20]


def test_predicate_decides():
    assert run(Emit(0, (i(1),)), predicate=Binary(BOOL, "eq", Context(U32, "pid"), Const(U32, 8)))[0] == []
    assert run(Emit(0, (i(1),)), predicate=Binary(BOOL, "eq", Context(U32, "pid"), Const(U32, 7)))[0] == [1]


def test_block_and_unary():
    assert value(Block(I64, (Assign("y", i(3)),), Unary(I64, "neg", Local(I64, "y"))))[0] == -3
    assert value(Unary(BOOL, "not", Const(String(4), b"")))[0] is True
    assert value(Unary(U8, "inv", Const(U8, 0)))[0] == 255
