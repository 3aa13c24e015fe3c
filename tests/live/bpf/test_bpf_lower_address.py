"""Addresses of scratch variables: what is read there is what the variable holds, in the kernel and as it is meant."""

from __future__ import annotations

import pytest
from bpf_agree import compiled, evaluated
from bpf_object import FEATURES, program

from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import MapDecl, Variable
from probescope.model.types import BOOL, I8, I64, U16, U32, U64, Array, Int, Pointer, String

PLACE = Pointer(I64, "kernel")
CHARS = Pointer(Array(I8, 31), "kernel")


@pytest.fixture(params=list(FEATURES))
def features(request):
    return FEATURES[request.param]


def at(offset=0, name="v"):
    return x.Binary(PLACE, "add", x.Address(PLACE, name), x.Const(U64, offset))


def put(name, value):
    return s.MapSet(name, None, value)


def same(features, body, variables, maps, run, expected):
    p = program(body, maps=maps, variables=variables)
    found = compiled(p, [run], features)
    assert found == evaluated(p, [run])
    assert found[0] == {name: {None: value} for name, value in expected.items()}
    assert found[2] == {}


def test_a_number_and_its_bytes(features):
    """Later assignments are seen; parts are where C has them."""
    body = [
        s.Assign("v", x.Const(I64, 5)),
        put("first", x.Load(I64, "kernel", at())),
        s.Assign("v", x.Cast(I64, x.Arg(U64, 0))),
        put("low", x.Load(U16, "kernel", at())),
        put("high", x.Load(U32, "kernel", at(4))),
    ]
    maps = (MapDecl("first", None, I64), MapDecl("low", None, U16), MapDecl("high", None, U32))
    expected = {"first": 5, "low": 0x7788, "high": 0x11223344}
    same(features, body, [Variable("v", I64)], maps, (0x1122_3344_5566_7788,), expected)


def test_a_text_and_its_characters(features):
    body = [
        s.Assign("v", x.Const(String(32), b"hello world")),
        put("text", x.ReadStr(String(32), "kernel", x.Address(CHARS, "v"), x.Const(U64, 31))),
        put("letter", x.Load(I8, "kernel", at(6))),
    ]
    maps = (MapDecl("text", None, String(32)), MapDecl("letter", None, I8))
    same(features, body, [Variable("v", String(32))], maps, (), {"text": b"hello world", "letter": ord("w")})


def test_one_that_a_loop_changes(features):
    """The body of a loop may be a function of its own: the variable is one all the same."""
    body = [
        s.Assign("v", x.Const(I64, 0)),
        s.ForRange(
            "i",
            I64,
            x.Const(I64, 0),
            x.Cast(I64, x.Arg(U64, 0)),
            (s.Assign("v", x.Binary(I64, "add", x.Load(I64, "kernel", at()), x.Local(I64, "i"))),),
        ),
        put("sum", x.Load(I64, "kernel", at())),
    ]
    same(features, body, [Variable("v", I64)], (MapDecl("sum", None, I64),), (50,), {"sum": sum(range(50))})


def test_the_address_is_a_number_like_any_other(features):
    """Two variables lie in different places; the difference of an address to itself is nothing."""
    addresses = [x.Cast(U64, x.Address(PLACE, n)) for n in ("v", "w")]
    body = [
        s.Assign("v", x.Const(I64, 1)),
        s.Assign("w", x.Const(I64, 2)),
        put("same", x.Cast(Int(1, False), x.Binary(BOOL, "eq", addresses[0], addresses[0]))),
        put("other", x.Cast(Int(1, False), x.Binary(BOOL, "eq", *addresses))),
    ]
    maps = (MapDecl("same", None, Int(1, False)), MapDecl("other", None, Int(1, False)))
    same(features, body, [Variable("v", I64), Variable("w", I64)], maps, (), {"same": 1, "other": 0})
