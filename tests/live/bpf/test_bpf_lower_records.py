"""Records for user space: written by compiled programs into a ring of this kernel, read back by model/codec.py."""

from __future__ import annotations

import ctypes
import os
import struct

import pytest
from bpf_object import FEATURES, NEW, load, program, unit

from probescope.bpf.compile import compile_program
from probescope.bpf.storage import read_counters
from probescope.bpf.unit import GLOBAL_STOP, Options
from probescope.diagnostics import Span
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import Action, MapDecl
from probescope.kernel.bpf_map import map_create
from probescope.kernel.bpf_prog import Load, prog_load
from probescope.model.features import Features
from probescope.model.types import BOOL, I32, I64, U8, U16, U32, U64, Array, Buffer, Opaque, String, Tuple

MEMORY = ctypes.create_string_buffer(b"hello world\0rubbish".ljust(64) + b"y" * 2000 + b"\0")
AT = ctypes.addressof(MEMORY)


@pytest.fixture(params=list(FEATURES))
def features(request):
    return FEATURES[request.param]


def arg(i, t=I64):
    return x.Arg(t, i)


def read(size, address=0, limit=None):
    return x.ReadStr(String(size), "user", arg(address, U64), limit)


def emitted(*values, args=(), features=NEW, times=1):
    """What comes out of the ring for one record of these values."""
    p = program([s.Emit(0, values)], actions=(Action("print", tuple(v.type for v in values)),))
    with load(p, features) as loaded:
        for _ in range(times):
            loaded.run(*args)
        got = loaded.records()
        assert [a for a, _ in got] == [0] * len(got)
        return [values for _, values in got], loaded.counters()


PAIR = Tuple((U8, String(16), I64))
RECORDS = {
    "numbers": ((arg(0, U8), arg(1, I32), arg(2, U16)), (1, -2, 3), (1, -2, 3)),
    "nothing": ((), (), ()),
    "short text in place": ((read(32), arg(1)), (AT, 5), (b"hello world", 5)),
    "short text that fills its place": ((read(11),), (AT,), (b"hello world",)),
    "long text in the tail": ((arg(1), read(1024), arg(2)), (AT, 5, 6), (5, b"hello world", 6)),
    "full text in the tail": ((read(1024),), (AT + 64,), (b"y" * 1024,)),
    "tails one after the other": (
        (read(1024), x.ReadBuf(Buffer(64), "user", arg(0, U64), arg(2)), read(300, 1), arg(2)),
        (AT, AT + 64, 5),
        (b"hello world", b"hello", b"y" * 300, 5),
    ),
    "short text after a tail": ((read(1024), read(8)), (AT + 64,), (b"y" * 1024, b"y" * 8)),
    "constant texts": (
        (x.Const(String(200), b"abc"), x.Const(String(8), b"xyz"), x.Const(String(500), b"q" * 300)),
        (),
        (b"abc", b"xyz", b"q" * 300),
    ),
    "either text": (
        (x.Select(String(99), x.Binary(BOOL, "gt", arg(1), x.Const(I64, 0)), read(99), x.Const(String(99), b"no")),),
        (AT, 0),
        (b"no",),
    ),
    "a text cut shorter": ((x.Cast(String(40), read(1024)),), (AT + 64,), (b"y" * 40,)),
    "a text with a limit": ((read(1024, 0, arg(1)),), (AT, 4), (b"hell",)),
    "a text put together": (
        (x.Call(String(100), "strcat", (read(64), x.Const(String(9), b"!"))),),
        (AT,),
        (b"hello world!",),
    ),
    "empty buffer": ((x.ReadBuf(Buffer(64), "user", arg(0, U64), arg(1)),), (AT, 0), (b"",)),
    "tuple": ((x.Pack(PAIR, (arg(1, U8), read(16), arg(2))),), (AT, 1, 2), ((1, b"hello world", 2),)),
    "array": ((x.Load(Array(U8, 3), "user", arg(0, U64)),), (AT,), ((104, 101, 108),)),
    "opaque": (
        (x.Call(Opaque("usym"), "usym", (arg(0, U64),)), x.Cast(Opaque("username"), arg(1, U32))),
        (77, 5),
        ((77, os.getpid()), 5),
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_record(name, features):
    values, args, expected = RECORDS[name]
    assert emitted(*values, args=args, features=features) == ([expected], {})


def test_unreadable_text_is_empty_and_counted(features):
    got, errors = emitted(read(1024), arg(1), read(500, 2), args=(8, 5, AT), features=features)
    assert (got, errors) == ([(b"", 5, b"hello world")], {"read": 1})


def test_text_of_a_map_and_of_a_variable(features):
    from probescope.ir.program import Variable

    t = String(700)
    values = (x.MapGet(t, "m", arg(1, U32)), x.Local(t, "v"), x.MapGet(t, "m", arg(2, U32)))
    body = [s.MapSet("m", arg(1, U32), read(700)), s.Assign("v", read(700)), s.Emit(0, values)]
    actions, maps = (Action("print", (t, t, t)),), (MapDecl("m", U32, t),)
    with load(program(body, actions=actions, maps=maps, variables=[Variable("v", t)]), features) as loaded:
        loaded.run(AT, 1, 2)
        assert loaded.records() == [(0, (b"hello world", b"hello world", b""))]


@pytest.mark.parametrize("value", [arg(0), read(1024)], ids=["reserved", "put together"])
def test_full_ring_is_counted(value):
    """Produced is received and lost: 64 KB hold so many records, the others are counted."""
    got, errors = emitted(value, args=(AT,), times=5000)
    assert len(got) + errors["ring_full"] == 5000
    assert got[0] == got[-1]


def test_statement_inside_a_value_may_leave():
    """A record that was reserved could not be given back then: it is put together first."""
    leaving = x.Block(I64, (s.If(x.Cast(BOOL, arg(0)), (s.Return(),)),), arg(1))
    with load(program([s.Emit(0, (leaving, read(8, 2)))], actions=(Action("print", (I64, String(8))),))) as loaded:
        loaded.run(1, 5, AT)
        loaded.run(0, 6, AT)
        assert loaded.records() == [(0, (6, b"hello wo"))]


def test_exit_stops_all_that_follows():
    """Even if nobody reads the record: the word in the globals is set by the program itself."""
    body = [s.MapUpdate("n", None), s.Emit(0, (arg(0),))]
    with load(program(body, actions=(Action("exit", (I64,)),), maps=(MapDecl("n", None, _count()),))) as loaded:
        for _ in range(3):
            loaded.run(7)
        assert loaded.map("n") == {None: 1}
        assert loaded.records() == [(0, (7,))]
        assert struct.unpack_from("=Q", loaded.maps["globals"].lookup(bytes(4)), 8 * GLOBAL_STOP)[0] == 1


def _count():
    from probescope.model.types import Agg

    return Agg("count")


def test_stacks_are_numbers_into_their_tables():
    """Of one depth each, so that equal stacks are equal; the table holds the addresses."""
    values = (x.Stack(Opaque("kstack", depth=5)), x.Stack(Opaque("ustack", depth=127)))
    p = program([s.Emit(0, values)], actions=(Action("print", tuple(v.type for v in values)),))
    with load(p) as loaded:
        loaded.run()
        loaded.run()
        (_, (kernel, (user, pid))), (_, again) = loaded.records()
        assert (kernel, (user, pid)) == again
        assert (kernel >= 0, user >= 0, pid) == (True, True, os.getpid())
        rows = {
            n: loaded.maps[n].lookup(struct.pack("=i", i)) for n, i in (("stacks_k5", kernel), ("stacks_u127", user))
        }
        assert struct.unpack_from("=Q", rows["stacks_k5"])[0]
        assert len(rows["stacks_u127"]) == 127 * 8


def test_perf_buffer_where_there_is_no_ring():
    """On kernels before 5.8 the same records go through the perf buffer; here the verifier must accept that program."""
    features = Features(NEW.yes - {"map:ringbuf"}, frozenset({"map:ringbuf"}))
    values = (arg(0), read(1024, 1), read(8, 1))
    p = program([s.Emit(0, values)], actions=(Action("print", tuple(v.type for v in values)),))
    obj = compile_program(p, (unit(),), Options(features=features, cpus=2))
    assert obj.map("ring").type == 4
    maps = {m.name: map_create(m.type, m.key_size, m.value_size, m.max_entries, flags=m.flags) for m in obj.maps}
    code = bytearray(obj.programs[0].insns)
    for r in obj.programs[0].relocs:
        struct.pack_into("=i", code, r.insn * 8 + 4, maps[r.name].fileno())
    prog_load(Load(17, bytes(code))).close()
    for m in maps.values():
        m.close()


def test_each_failing_read_knows_its_place():
    """The line and column of the expression that failed, for texts in the tail as for others."""
    values = tuple(
        x.ReadStr(String(n), "user", arg(i, U64), span=Span(1, 10 + i, 1, 15 + i))
        for i, n in enumerate((1024, 16, 300))
    )
    p = program([s.Emit(0, values, span=Span(1, 1, 1, 40))], actions=(Action("print", tuple(v.type for v in values)),))
    with load(p) as loaded:
        loaded.run(8, AT, 8)
        counts = read_counters(loaded.maps["counters"].lookup(bytes(4)))
        places = {(c.kind, c.span.column): n for c, n in zip(loaded.object.counters, counts, strict=True)}
        assert {p: n for p, n in places.items() if n} == {("read", 10): 1, ("read", 12): 1}
