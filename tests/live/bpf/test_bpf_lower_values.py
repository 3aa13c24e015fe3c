"""Each kind of expression, compiled and run in this kernel, against results written down by hand.

The programs are fired by BPF_PROG_TEST_RUN with arguments that the tests choose; texts are read from this process.
"""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

import pytest
from bpf_object import FEATURES, load, program

from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.context import CONTEXT
from probescope.ir.program import MapDecl, Variable
from probescope.model.types import (
    BOOL,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Array,
    Buffer,
    Opaque,
    String,
    Tuple,
)

MEMORY = ctypes.create_string_buffer(b"hello world\0rubbish" + bytes(range(1, 101)) + b"y" * 1000 + b"\0")
AT = ctypes.addressof(MEMORY)
FAR = 19  # offset of the bytes 1, 2, 3...


@pytest.fixture(params=list(FEATURES))
def features(request):
    """What 6.1 offers, and what this kernel does: older ways are taken on newer kernels too."""
    return FEATURES[request.param]


def number(value, t=I64):
    return x.Const(t, value)


def text(value, size):
    return x.Const(String(size), value)


def arg(i, t=I64):
    return x.Arg(t, i)


def read(size, limit=None, address=0):
    return x.ReadStr(String(size), "user", arg(address, U64), limit)


def evaluated(e, *args, features, variables=(), before=()):
    """The value of an expression, and the errors counted on the way."""
    p = program([*before, s.MapSet("r", None, e)], maps=(MapDecl("r", None, e.type),), variables=variables)
    with load(p, features) as loaded:
        loaded.run(*args)
        return loaded.map("r")[None], loaded.counters()


VALUES = {
    # --- memory
    "text": (read(64), (AT,), b"hello world"),
    "text that fills its size": (read(11), (AT,), b"hello world"),
    "text cut at its size": (read(5), (AT,), b"hello"),
    "long text": (read(1024), (AT,), b"hello world"),
    "long text cut at its size": (read(300), (AT + FAR + 100,), b"y" * 300),
    "text with a limit": (read(64, arg(1)), (AT, 3), b"hel"),
    "text with limit 0": (read(64, arg(1)), (AT, 0), b""),
    "text with a negative limit": (read(1024, arg(1)), (AT, -5), b""),
    "text with a limit beyond its size": (read(1024, arg(1, U64)), (AT, 1 << 40), b"hello world"),
    "number": (x.Load(U32, "user", arg(0, U64)), (AT,), 0x6C6C6568),
    "signed number": (x.Load(I8, "user", arg(0, U64)), (AT + FAR + 99,), 100),
    "buffer": (x.ReadBuf(Buffer(20), "user", arg(0, U64), arg(1)), (AT + FAR, 3), b"\1\2\3"),
    "buffer cut at its size": (x.ReadBuf(Buffer(4), "user", arg(0, U64), arg(1)), (AT + FAR, 99), b"\1\2\3\4"),
    "long buffer": (x.ReadBuf(Buffer(300), "user", arg(0, U64), arg(1)), (AT + FAR + 100, 200), b"y" * 200),
    "array": (x.Load(Array(U8, 3), "user", arg(0, U64)), (AT + FAR,), (1, 2, 3)),
    "element of an array in memory": (
        x.Index(U16, x.Load(Array(U16, 3), "user", arg(0, U64)), arg(1)),
        (AT + FAR, 2),
        0x0605,
    ),
    "byte of a text": (x.Index(I8, read(64), arg(1)), (AT, 4), ord("o")),
    "byte of a long text": (x.Index(I8, read(1024), arg(1)), (AT, 10), ord("d")),
    "byte past a text": (x.Index(I8, read(1024), arg(1)), (AT, 12), 0),
    # --- texts
    "equal to a constant": (x.Binary(BOOL, "eq", read(1024), text(b"hello world", 64)), (AT,), True),
    "not equal to its beginning": (x.Binary(BOOL, "eq", read(1024), text(b"hello", 64)), (AT,), False),
    "not equal to something longer": (x.Binary(BOOL, "ne", read(64), text(b"hello world!", 64)), (AT,), True),
    "constant longer than the text's size": (x.Binary(BOOL, "eq", read(5), text(b"hello world", 64)), (AT,), False),
    "equal at different sizes": (x.Binary(BOOL, "eq", read(5), x.Cast(String(9), read(5))), (AT,), True),
    "two texts, less": (x.Binary(BOOL, "lt", read(64), read(200, address=1)), (AT, AT + 6), True),
    "two texts, a prefix is less": (x.Binary(BOOL, "lt", read(5), read(64)), (AT,), True),
    "two texts, greater or equal": (x.Binary(BOOL, "ge", read(1024), read(500)), (AT,), True),
    "is not empty": (x.Unary(BOOL, "not", x.Unary(BOOL, "not", read(64))), (AT,), True),
    "strlen": (x.Call(U64, "strlen", (read(64),)), (AT,), 11),
    "strlen of a long one": (x.Call(U64, "strlen", (read(1024),)), (AT,), 11),
    "strlen of a full one": (x.Call(U64, "strlen", (read(7),)), (AT,), 7),
    "strncmp, equal": (x.Call(I64, "strncmp", (read(64), text(b"help", 16), number(3, U64))), (AT,), 0),
    "strncmp, different": (x.Call(I64, "strncmp", (read(64), text(b"help", 16), number(4, U64))), (AT,), 1),
    "strstr": (x.Call(I64, "strstr", (read(64), text(b"o w", 16))), (AT,), 4),
    "strstr at the end": (x.Call(I64, "strstr", (read(1024), text(b"world", 16))), (AT,), 6),
    "strstr does not look behind the NUL": (x.Call(I64, "strstr", (read(64), text(b"rubbish", 16))), (AT,), -1),
    "strstr of an unknown text": (x.Call(I64, "strstr", (read(64), read(64, address=1))), (AT, AT + 3), 3),
    "strcontains": (x.Call(BOOL, "strcontains", (read(1024), text(b"lo wor", 16))), (AT,), True),
    "strcontains the empty text": (x.Call(BOOL, "strcontains", (read(64), text(b"", 4))), (AT,), True),
    "strcat": (x.Call(String(64), "strcat", (read(64), text(b"-tail", 9))), (AT,), b"hello world-tail"),
    "strcat, cut": (x.Call(String(14), "strcat", (read(64), text(b"-tail", 9))), (AT,), b"hello world-ta"),
    "strcat of long ones": (
        x.Call(String(700), "strcat", (read(1024, address=1), read(1024))),
        (AT, AT + FAR + 500),
        b"y" * 600 + b"hello world",
    ),
    "strcap": (x.Call(String(64), "strcap", (read(64), arg(1, U64))), (AT, 4), b"hell"),
    "memcmp counts zeros after the end": (
        x.Call(I64, "memcmp", (read(64), text(b"hello world", 16), number(16, U64))),
        (AT,),
        0,
    ),
    "array_of": (x.Call(Array(U8, 13), "array_of", (read(16),)), (AT,), (*b"hello world", 0, 0)),
    "shorter text": (x.Cast(String(5), read(64)), (AT,), b"hello"),
    "longer text": (x.Cast(String(100), read(8)), (AT,), b"hello wo"),
    # --- numbers
    "wrap-around": (x.Binary(I8, "add", arg(0, I8), arg(1, I8)), (127, 1), -128),
    "unsigned wrap-around": (x.Binary(U32, "sub", arg(0, U32), arg(1, U32)), (0, 1), 0xFFFFFFFF),
    "division truncates toward zero": (x.Binary(I64, "div", arg(0), arg(1)), (-7, 2), -3),
    "least by minus one": (x.Binary(I64, "div", arg(0), arg(1)), (-(1 << 63), -1), -(1 << 63)),
    "remainder has the dividend's sign": (x.Binary(I32, "mod", arg(0, I32), arg(1, I32)), (-7, 3), -1),
    "shift count modulo the width": (x.Binary(U16, "shl", arg(0, U16), arg(1)), (1, 17), 2),
    "arithmetic shift": (x.Binary(I16, "shr", arg(0, I16), arg(1)), (-16, 2), -4),
    "negation": (x.Unary(I8, "neg", arg(0, I8)), (-128,), -128),
    "complement": (x.Unary(U8, "inv", arg(0, U8)), (1,), 254),
    "sign of the source extends": (x.Cast(U64, arg(0, I8)), (-1,), (1 << 64) - 1),
    "truncation": (x.Cast(I8, arg(0)), (0x1FF,), -1),
    "bool of a number": (x.Cast(BOOL, arg(0)), (256,), True),
    "bswap": (x.Call(I16, "bswap", (arg(0, I16),)), (0x0180,), -0x7FFF),
    "bytes as a number": (x.Cast(U32, x.Load(Array(U8, 4), "user", arg(0, U64))), (AT + FAR,), 0x04030201),
    "number as bytes": (x.Cast(Array(U8, 4), arg(0, U32)), (0x04030201,), (1, 2, 3, 4)),
    "either": (x.Select(I64, x.Binary(BOOL, "gt", arg(0), number(5)), arg(1), arg(2)), (3, 1, 2), 2),
    "either text": (x.Select(String(99), arg(1), read(99), text(b"no", 99)), (AT, 0), b"no"),
    "and, not evaluated": (
        x.Logic(BOOL, "and", arg(0, BOOL), x.Binary(BOOL, "eq", x.Load(U8, "user", number(8, U64)), number(0, U8))),
        (0,),
        False,
    ),
    # --- addresses
    "inet4": (x.Call(Opaque("inet"), "inet4", (arg(0, U32),)), (0x0100007F,), b"\x7f\0\0\1"),
    "inet6": (
        x.Call(Opaque("inet"), "inet6", (x.Load(Array(U8, 16), "user", arg(0, U64)),)),
        (AT + FAR,),
        bytes(range(1, 17)),
    ),
    "inet by family": (
        x.Call(Opaque("inet"), "inet", (arg(1), x.Load(Array(U8, 16), "user", arg(0, U64)))),
        (AT + FAR, 2),
        b"\1\2\3\4",
    ),
    "inet of no family": (
        x.Call(Opaque("inet"), "inet", (arg(1), x.Load(Array(U8, 16), "user", arg(0, U64)))),
        (AT + FAR, 1),
        b"",
    ),
    "mac": (x.Call(Opaque("mac"), "mac", (x.Load(Array(U8, 6), "user", arg(0, U64)),)), (AT + FAR,), b"\1\2\3\4\5\6"),
    "usym": (x.Call(Opaque("usym"), "usym", (arg(0, U64),)), (1234,), (1234, os.getpid())),
}


@pytest.mark.parametrize("name", VALUES)
def test_value(name, features):
    """One expression each: a wrong instruction shows here, with the expression's name."""
    e, args, expected = VALUES[name]
    assert evaluated(e, *args, features=features) == (expected, {})


PAIR = Tuple((U8, I64, String(16), U16))
LONG = Tuple((String(100), U8))


def pair(first=None):
    return x.Pack(PAIR, (first or arg(0, U8), arg(1), text(b"abc", 16), arg(2, U16)))


TUPLES = {
    "put together": (pair(), (1, 2, 3), (1, 2, b"abc", 3)),
    "an item": (x.Item(String(16), pair(), 2), (1, 2, 3), b"abc"),
    "equal": (x.Binary(BOOL, "eq", pair(), pair()), (1, 2, 3), True),
    "not equal": (x.Binary(BOOL, "eq", pair(), pair(number(9, U8))), (1, 2, 3), False),
    "with a long text": (x.Pack(LONG, (read(100), number(7, U8))), (AT,), (b"hello world", 7)),
    "converted": (
        x.Cast(Tuple((I64, U64)), x.Pack(Tuple((U8, I32)), (arg(0, U8), arg(1, I32)))),
        (255, -1),
        (255, (1 << 64) - 1),
    ),
    "array by a variable index": (
        x.Index(I32, x.Pack(Array(I32, 3), (arg(0, I32), arg(1, I32), arg(2, I32))), arg(3)),
        (1, 2, 3, 1),
        2,
    ),
}


@pytest.mark.parametrize("name", TUPLES)
def test_tuple(name, features):
    e, args, expected = TUPLES[name]
    assert evaluated(e, *args, features=features) == (expected, {})


def test_variable_of_a_tuple_keeps_its_own_copy(features):
    """A variable assigned from itself must be read before it is overwritten."""
    kept = x.Local(PAIR, "t")
    again = s.Assign("t", x.Pack(PAIR, (x.Item(U8, kept, 0), x.Item(I64, kept, 1), text(b"zz", 16), arg(2, U16))))
    value, _ = evaluated(
        kept, 1, 2, 3, features=features, variables=[Variable("t", PAIR)], before=[s.Assign("t", pair()), again]
    )
    assert value == (1, 2, b"zz", 3)


def test_unset_variables_are_zero(features):
    """Registers and stack hold rubbish when a program starts."""
    variables = [Variable("n", I64), Variable("t", PAIR), Variable("long", String(500))]
    maybe = s.If(arg(0, BOOL), (s.Assign("n", number(5)), s.Assign("t", pair()), s.Assign("long", read(500))))
    whole = Tuple((I64, PAIR, String(500)))
    e = x.Pack(whole, tuple(x.Local(v.type, v.name) for v in variables))
    got, _ = evaluated(e, 0, features=features, variables=variables, before=[maybe])
    assert got == (0, (0, 0, b"", 0), b"")


ERRORS = {
    "unreadable text": (read(64), (8,), b"", "read"),
    "unreadable number": (x.Load(I16, "user", arg(0, U64)), (1,), 0, "read"),
    "unreadable kernel memory": (x.Load(U64, "kernel", arg(0, U64)), (8,), 0, "read"),
    "unreadable buffer": (x.ReadBuf(Buffer(4), "user", arg(0, U64), number(2)), (8,), b"\0\0", "read"),
    "division by zero": (x.Binary(I64, "div", arg(0), arg(1)), (7, 0), 1, "div0"),
    "remainder by zero": (x.Binary(U8, "mod", arg(0, U8), arg(1, U8)), (7, 0), 1, "div0"),
    "index out of range": (x.Index(I32, x.Pack(Array(I32, 1), (arg(0, I32),)), arg(1)), (7, 1), 0, "bounds"),
    "negative index": (x.Index(I8, read(64), arg(1)), (AT, -1), 0, "bounds"),
    "constant index out of range": (x.Index(I32, x.Pack(Array(I32, 1), (arg(0, I32),)), number(1)), (7,), 0, "bounds"),
    "element behind an array": (x.Call(U64, "within", (arg(0, U64), x.Const(U64, 4))), (4,), 4, "outside"),
    "element before an array": (x.Call(I64, "within", (arg(0, I64), x.Const(U64, 4))), (-1,), -1, "outside"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_gives_zero_and_is_counted(name, features):
    e, args, expected, kind = ERRORS[name]
    assert evaluated(e, *args, features=features) == (expected, {kind: 1})


CONTEXTS = {
    "pid": os.getpid,
    "tid": os.getpid,
    "uid": os.getuid,
    "gid": os.getgid,
    "comm": lambda: Path("/proc/self/comm").read_bytes().strip(),
    "probe": lambda: 0,
    "cpid": lambda: 0,
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_context(name, features):
    """Against what this process knows of itself."""
    value, _ = evaluated(x.Context(CONTEXT[name].type, name), features=features)
    assert value == CONTEXTS[name]()


@pytest.mark.parametrize(
    ("clock", "number"), [("monotonic", time.CLOCK_MONOTONIC), ("boot", time.CLOCK_BOOTTIME), ("", 7), ("tai", 11)]
)
def test_clock(clock, number, features):
    before = time.clock_gettime_ns(number)
    value, _ = evaluated(x.Context(U64, "nsecs", clock), features=features)
    assert before <= value <= time.clock_gettime_ns(number)


def test_asked_once_and_kept():
    """The same fact asked three times costs one helper call; asked only in a branch it is not kept beyond it."""
    ask = x.Context(U32, "pid")
    p = program(
        [
            s.MapSet("a", None, ask),
            s.If(arg(0, BOOL), (s.MapSet("b", None, x.Context(U32, "tid")), s.MapSet("a", None, ask))),
            s.If(arg(0, BOOL), (s.MapSet("b", None, x.Context(U32, "uid")),)),
            s.MapSet("b", None, x.Context(U32, "gid")),
        ],
        maps=(MapDecl("a", None, U32), MapDecl("b", None, U32)),
    )
    with load(p) as loaded:
        calls = [
            i for i in range(0, len(loaded.object.programs[0].insns), 8) if loaded.object.programs[0].insns[i] == 0x85
        ]
        assert len(calls) == 3
