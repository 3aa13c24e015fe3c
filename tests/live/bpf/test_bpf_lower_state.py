"""Maps, aggregations and loops, compiled and run in this kernel."""

from __future__ import annotations

import pytest
from bpf_object import FEATURES, load, program

from probescope.bpf.words import layout
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import MapDecl, Settings, Variable
from probescope.model.aggregate import monoid
from probescope.model.types import BOOL, I64, U16, U32, U64, Agg, String, Tuple

KEY = x.Arg(U32, 0)
VALUE = x.Arg(I64, 1)


@pytest.fixture(params=list(FEATURES))
def features(request):
    return FEATURES[request.param]


def ran(body, *runs, maps, features, **more):
    """The maps and the counted errors after firing once for each argument list."""
    with load(program(body, maps=maps, **more), features) as loaded:
        for args in runs:
            loaded.run(*args)
        return {m.name: loaded.map(m.name) for m in maps}, loaded.counters()


def number(value, t=I64):
    return x.Const(t, value)


# --- maps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [I64, U16, U32, U64])
def test_set_and_add(t, features):
    """In place for keys that are there, by insertion for new ones; narrow numbers have no atomic instruction."""
    added = s.Discard(x.MapAdd(t, "n", KEY, x.Arg(t, 1)))
    maps, errors = ran([added], (1, 5), (1, 6), (2, 7), maps=(MapDecl("n", U32, t),), features=features)
    assert (maps["n"], errors) == ({1: 11, 2: 7}, {})
    maps, _ = ran([s.MapSet("n", KEY, x.Arg(t, 1))], (1, 5), (1, 6), maps=(MapDecl("n", U32, t),), features=features)
    assert maps["n"] == {1: 6}


@pytest.mark.parametrize("key", [None, KEY])
def test_add_gives_the_value_before_or_after(key, features):
    kind = None if key is None else U32
    maps = (MapDecl("n", kind, I64), MapDecl("old", None, I64), MapDecl("new", None, I64))
    body = [
        s.MapSet("old", None, x.MapAdd(I64, "n", key, VALUE, "old")),
        s.MapSet("new", None, x.MapAdd(I64, "n", key, VALUE, "new")),
    ]
    got, _ = ran(body, (1, 5), (1, 7), maps=maps, features=features)
    assert (got["old"], got["new"]) == ({None: 10}, {None: 24})


def test_full_map_drops_and_counts(features):
    """Two keys fit; the third is lost three times over, in three ways of storing."""
    maps = tuple(MapDecl(n, U32, t, max_entries=2) for n, t in (("a", I64), ("b", I64), ("c", Agg("count"))))
    body = [s.MapSet("a", KEY, VALUE), s.Discard(x.MapAdd(I64, "b", KEY, number(1))), s.MapUpdate("c", KEY)]
    got, errors = ran(body, (1, 1), (2, 2), (3, 3), maps=maps, features=features)
    assert (got["a"], got["b"], got["c"]) == ({1: 1, 2: 2}, {1: 1, 2: 1}, {1: 1, 2: 1})
    assert errors == {"map_full": 3}


def test_delete_and_has(features):
    maps = (MapDecl("n", U32, I64), MapDecl("had", U32, BOOL), MapDecl("gone", U32, BOOL), MapDecl("len", U32, U64))
    body = [
        s.MapSet("had", KEY, x.MapHas(BOOL, "n", number(1, U32))),
        s.MapSet("gone", KEY, x.MapDelete(BOOL, "n", number(1, U32))),
        s.MapSet("n", number(1, U32), VALUE),
        s.MapSet("n", KEY, VALUE),
        s.MapSet("len", KEY, x.MapLen(U64, "n")),
    ]
    got, _ = ran(body, (5, 1), (6, 1), maps=maps, features=features)
    assert got["had"] == got["gone"] == {5: False, 6: True}
    assert got["len"] == {5: 2, 6: 3}


def test_map_without_key_is_unset_again_when_deleted(features):
    maps = (MapDecl("n", None, String(100)), MapDecl("had", U32, BOOL), MapDecl("gone", U32, BOOL))
    body = [
        s.MapSet("had", KEY, x.MapHas(BOOL, "n", None)),
        s.MapSet("gone", KEY, x.MapDelete(BOOL, "n", None)),
        s.If(x.Binary(BOOL, "eq", KEY, number(1, U32)), (s.MapSet("n", None, x.Const(String(100), b"text")),)),
    ]
    got, _ = ran(body, (1, 0), (2, 0), (3, 0), maps=maps, features=features)
    assert got["had"] == got["gone"] == {1: False, 2: True, 3: False}
    assert got["n"] == {}


@pytest.mark.parametrize("size", [16, 64, 300, 1024])
def test_texts_as_keys_and_values(size, features):
    """Keys are compared as bytes: what follows the NUL must be zero even where it was rubbish before."""
    t = String(size)
    pair = Tuple((t, U16))
    maps = (MapDecl("by", pair, I64), MapDecl("held", U32, t), MapDecl("copy", t, t))
    text = x.Select(t, x.Binary(BOOL, "eq", KEY, number(1, U32)), x.Const(t, b"long text"[:size]), x.Const(t, b"x"))
    body = [
        s.MapSet("held", number(0, U32), text),
        s.Discard(x.MapAdd(I64, "by", x.Pack(pair, (x.MapGet(t, "held", number(0, U32)), number(7, U16))), number(1))),
        s.MapSet("copy", x.MapGet(t, "held", number(0, U32)), x.MapGet(t, "held", number(9, U32))),
    ]
    got, _ = ran(body, (1, 0), (2, 0), (1, 0), (2, 0), maps=maps, features=features)
    assert got["by"] == {(b"long text", 7): 2, (b"x", 7): 2}
    assert got["copy"] == {b"long text": b"", b"x": b""}


def test_absent_key_reads_as_zero(features):
    pair = Tuple((I64, String(16)))
    maps = (MapDecl("n", U32, I64), MapDecl("t", U32, pair), MapDecl("r", None, Tuple((I64, pair))))
    e = x.Pack(Tuple((I64, pair)), (x.MapGet(I64, "n", KEY), x.MapGet(pair, "t", KEY)))
    got, _ = ran([s.MapSet("r", None, e)], (1, 0), maps=maps, features=features)
    assert got["r"] == {None: (0, (0, b""))}


# --- aggregations -----------------------------------------------------------------------------------------------------

SEEN = [0, 1, 2, 3, -1, -7, 99, 100, 101, 1 << 40, (1 << 63) - 1, -(1 << 63), 6, 63, 64, 65]
AGGS = [
    Agg("count"),
    Agg("sum"),
    Agg("min"),
    Agg("max"),
    Agg("avg"),
    Agg("stats"),
    Agg("stddev"),
    Agg("hist", I64, (0,)),
    Agg("hist", I64, (3,)),
    Agg("lhist", I64, (0, 100, 7)),
    Agg("lhist", I64, (-10, 100, 8)),
    Agg("lhist", I64, (0, 1 << 40, 1 << 30)),
    Agg("llquantize", I64, (10, 0, 5, 20)),
    Agg("llquantize", I64, (2, 3, 40, 4)),
]


@pytest.mark.parametrize("agg", AGGS, ids=lambda a: f"{a.kind}{a.args}")
@pytest.mark.parametrize("key", [None, KEY], ids=["alone", "keyed"])
def test_aggregation_agrees_with_its_monoid(agg, key, features):
    """model/aggregate.py says what each is; values at the edges of buckets, of signs and of 64 bits."""
    m = monoid(agg)
    state = m.identity()
    for value in SEEN:
        state = m.update(state, value, 1)
    value = None if agg.kind == "count" else VALUE
    maps = (MapDecl("a", None if key is None else U32, agg),)
    got, errors = ran([s.MapUpdate("a", key, value)], *[(1, v) for v in SEEN], maps=maps, features=features)
    assert got["a"] == {None if key is None else 1: state}
    assert errors == {}


@pytest.mark.parametrize("kind", ["min", "max", "avg", "sum"])
def test_unsigned_aggregation(kind, features):
    """-1 is the greatest unsigned number, not the least."""
    agg = Agg(kind, U64)
    m = monoid(agg)
    state = m.identity()
    for value in (5, (1 << 64) - 1, 7):
        state = m.update(state, value, 1)
    maps = (MapDecl("a", None, agg),)
    got, _ = ran([s.MapUpdate("a", None, x.Arg(U64, 1))], (0, 5), (0, -1), (0, 7), maps=maps, features=features)
    assert got["a"] == {None: state}


def test_weight_counts_so_many_times(features):
    agg = Agg("hist", I64, (0,))
    update = s.MapUpdate("a", None, VALUE, x.Arg(U64, 0))
    got, _ = ran([update], (5, 1), (2, 1), (1, 0), maps=(MapDecl("a", None, agg),), features=features)
    assert got["a"] == {None: {1: 1, 2: 7}}


def test_intervals_forget_the_oldest(features):
    """Two slots: the third interval takes the place of the first."""
    agg = Agg("tseries", I64, (1, 2, 3))  # averages of the last two intervals
    update = s.MapUpdate("a", KEY, VALUE, x.Arg(U64, 2))
    runs = [(1, 10, 4), (1, 20, 5), (1, 30, 5), (1, 40, 6)]
    got, _ = ran([update], *runs, maps=(MapDecl("a", U32, agg),), features=features)
    assert got["a"] == {1: {5: (50, 2), 6: (40, 1)}}


def test_intervals_keep_the_last_value(features):
    """What tseries does unless told otherwise."""
    agg = Agg("tseries", I64, (1, 2, 5))
    update = s.MapUpdate("a", KEY, VALUE, x.Arg(U64, 2))
    runs = [(1, 10, 4), (1, 30, 5), (1, -20, 5), (1, 40, 6)]
    got, _ = ran([update], *runs, maps=(MapDecl("a", U32, agg),), features=features)
    assert got["a"] == {1: {5: -20, 6: 40}}


def test_numbers_of_aggregations_are_those_of_all_cpus(features):
    maps = (
        MapDecl("c", U32, Agg("count")),
        MapDecl("lo", None, Agg("min")),
        MapDecl("mean", U32, Agg("avg")),
        MapDecl("r", None, Tuple((I64, I64, I64, I64))),
    )
    whole = Tuple((I64,) * 4)
    asked = [("c", KEY), ("lo", None), ("mean", KEY), ("c", number(99, U32))]
    body = [
        s.MapUpdate("c", KEY),
        s.MapUpdate("lo", None, VALUE),
        s.MapUpdate("mean", KEY, VALUE),
        s.MapSet("r", None, x.Pack(whole, tuple(x.MapGet(I64, name, key) for name, key in asked))),
    ]
    for cpus in (2, 40):  # written out, and as a loop
        with load(program(body, maps=maps), features, cpus=cpus) as loaded:
            for value in (9, -4, 2):
                loaded.run(1, value)
            assert loaded.storages["r"].codec().value(loaded.maps["@r"].lookup(bytes(4))) == (3, -4, 2, 0)


@pytest.mark.parametrize("agg", AGGS, ids=lambda a: f"{a.kind}{a.args}")
def test_shared_rows_are_updated_atomically(agg):
    """In preemptible programs (uprobes) each word is added in one instruction; the state must be the same."""
    value = None if agg.kind == "count" else VALUE
    m = monoid(agg)
    state = m.identity()
    p = program([s.MapUpdate("a", None, value)], maps=(MapDecl("a", None, agg),))
    with load(p, sleepable=True) as loaded:
        for seen in SEEN:
            state = m.update(state, seen, 1)
            loaded.run(1, seen)
        assert loaded.map("a") == {None: state}
        if layout(agg, keyed=False).adds:
            assert any(i == 0xDB for i in loaded.object.programs[0].insns[::8])


# --- loops ------------------------------------------------------------------------------------------------------------

I, T = x.Local(I64, "i"), x.Local(I64, "t")
VARIABLES = (Variable("i", I64), Variable("t", I64))
RESULT = (MapDecl("r", None, I64),)
DONE = s.MapSet("r", None, T)


def plus(name, by):
    return s.Assign(name, x.Binary(I64, "add", x.Local(I64, name), by))


def less(a, b):
    return x.Binary(BOOL, "lt", a, b)


LOOPS = {
    "while": ([s.Assign("i", number(0)), s.While(less(I, VALUE), (plus("t", I), plus("i", number(1)))), DONE], 499500),
    "while to a constant": (
        [s.Assign("i", number(0)), s.While(less(I, number(90000)), (plus("t", I), plus("i", number(1)))), DONE],
        4049955000,
    ),
    "few turns": ([s.ForRange("i", I64, number(0), number(5), (plus("t", I),)), DONE], 10),
    "many turns": ([s.ForRange("i", I64, number(10), number(9000), (plus("t", I),)), DONE], 40495455),
    "unknown turns": ([s.ForRange("i", I64, number(-5), VALUE, (plus("t", I),)), DONE], 499485),
    "no turn": ([s.ForRange("i", I64, VALUE, number(0), (plus("t", I),)), DONE], 0),
    "continue and break": (
        [
            s.ForRange(
                "i",
                I64,
                number(0),
                VALUE,
                (
                    s.If(x.Binary(BOOL, "eq", I, number(3)), (s.Continue(),)),
                    s.If(x.Binary(BOOL, "eq", I, number(6)), (s.Break(),)),
                    plus("t", I),
                ),
            ),
            DONE,
        ],
        12,
    ),
    "return": (
        [
            s.ForRange("i", I64, number(0), VALUE, (plus("t", I), DONE, s.If(less(number(9), I), (s.Return(),)))),
            s.MapSet("r", None, number(-1)),
        ],
        55,
    ),
    "one inside another": (
        [
            s.ForRange(
                "i", I64, number(0), number(50), (s.ForRange("j", I64, I, number(50), (plus("t", number(1)),)),)
            ),
            DONE,
        ],
        1275,
    ),
    "the variable after the loop": ([s.ForRange("i", I64, number(0), number(7), ()), s.MapSet("r", None, I)], 6),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loop(name, features):
    """Each way to loop (walked by the verifier, may_goto, bpf_loop) must come to the same sum."""
    body, expected = LOOPS[name]
    got, errors = ran(body, (0, 1000), maps=RESULT, variables=VARIABLES, features=features)
    assert (got["r"], errors) == ({None: expected}, {})


def test_endless_loop_ends_and_is_counted(features):
    body = [s.While(x.Const(BOOL, 1), (plus("t", number(1)),)), DONE]
    settings = Settings(max_loop=1000)
    got, errors = ran(body, (0, 0), maps=RESULT, variables=VARIABLES, features=features, settings=settings)
    assert (got["r"], errors) == ({None: 1000}, {"loop": 1})


def test_long_range_is_cut_and_counted(features):
    body = [s.ForRange("i", I64, number(0), VALUE, (plus("t", number(1)),)), DONE]
    settings = Settings(max_loop=50)
    got, errors = ran(body, (0, 1000), maps=RESULT, variables=VARIABLES, features=features, settings=settings)
    assert (got["r"], errors) == ({None: 50}, {"loop": 1})


@pytest.mark.parametrize("words", [1, 4, 7, 12, 30])
def test_many_turns_beside_much_on_the_stack(words, features):
    """Loops in a program with a large frame, which the kernel keeps elsewhere, turn as often as others: there are more
    turns than the 65,535 after which it looks at the clock of may_goto."""
    wide = Tuple((I64,) * words)
    maps = (*RESULT, MapDecl("w", wide, I64))
    store = s.MapSet("w", x.Pack(wide, (VALUE,) * words), VALUE)
    body = [s.While(x.Binary(BOOL, "lt", x.Local(I64, "t"), VALUE), (plus("t", number(1)),)), store, DONE]
    settings = Settings(max_loop=1 << 20)
    for _ in range(3):
        got, errors = ran(body, (0, 200_000), maps=maps, variables=VARIABLES, features=features, settings=settings)
        assert (got["r"], errors) == ({None: 200_000}, {})


PAIR = Tuple((U32, I64))


def test_walk_over_a_map(features):
    each = x.Local(PAIR, "kv")
    body = [
        s.MapSet("m", KEY, VALUE),
        s.Assign("t", number(0)),
        s.ForMap(
            "kv",
            "m",
            (
                s.If(x.Binary(BOOL, "eq", x.Item(U32, each, 0), number(2, U32)), (s.Continue(),)),
                plus("t", x.Item(I64, each, 1)),
                s.MapSet("seen", each, number(1)),
            ),
        ),
        DONE,
    ]
    maps = (*RESULT, MapDecl("m", U32, I64), MapDecl("seen", PAIR, I64))
    got, _ = ran(body, (1, 5), (2, 6), (3, 7), maps=maps, variables=VARIABLES, features=features)
    assert got["r"] == {None: 12}
    assert got["seen"] == {(1, 5): 1, (3, 7): 1}


def test_walk_over_an_aggregation_sees_numbers(features):
    body = [
        s.MapUpdate("m", KEY, VALUE),
        s.Assign("t", number(0)),
        s.ForMap("kv", "m", (plus("t", x.Item(I64, x.Local(PAIR, "kv"), 1)),)),
        DONE,
    ]
    maps = (*RESULT, MapDecl("m", U32, Agg("max")))
    got, _ = ran(body, (1, 5), (1, 2), (2, 8), maps=maps, variables=VARIABLES, features=features)
    assert got["r"] == {None: 13}


def test_return_out_of_nested_functions(features):
    """A walk inside a walk: Return must end all of them and the clause."""
    each, other = x.Local(PAIR, "kv"), x.Local(PAIR, "other")
    both = x.Binary(I64, "mul", x.Item(I64, each, 1), x.Item(I64, other, 1))
    inner = s.ForMap("other", "m", (s.If(x.Binary(BOOL, "eq", both, number(42)), (DONE, s.Return())), plus("t", both)))
    body = [s.MapSet("m", KEY, VALUE), s.ForMap("kv", "m", (inner,)), s.MapSet("r", None, number(-1))]
    maps = (*RESULT, MapDecl("m", U32, I64))
    got, _ = ran(body, (1, 6), (2, 7), maps=maps, variables=VARIABLES, features=features)
    assert got["r"][None] >= 36


@pytest.mark.parametrize("kind", ["hash", "lruhash", "percpuhash", "percpulruhash"])
def test_declared_kinds_of_map(kind, features):
    """Set, added to and read in programs, and read from outside, whatever kernel map is behind it."""
    maps = (MapDecl("n", U32, I64, kind, 64), MapDecl("r", None, I64))
    body = [
        s.MapSet("n", KEY, VALUE),
        s.Discard(x.MapAdd(I64, "n", KEY, number(2))),
        s.MapSet("r", None, x.MapGet(I64, "n", KEY)),
    ]
    got, errors = ran(body, (1, 5), (2, 6), maps=maps, features=features)
    assert (got["n"], got["r"], errors) == ({1: 7, 2: 8}, {None: 8}, {})


def test_least_recently_used_key_gives_way(features):
    """An LRU map never refuses a new key."""
    maps = (MapDecl("n", U32, I64, "lruhash", 16),)
    got, errors = ran([s.MapSet("n", KEY, VALUE)], *[(i, i) for i in range(200)], maps=maps, features=features)
    assert errors == {}
    assert 0 < len(got["n"]) <= 200
    assert all(k == v for k, v in got["n"].items())
