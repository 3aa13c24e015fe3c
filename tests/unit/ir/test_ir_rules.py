"""The rules catch what would make a collector go wrong; valid programs pass, and survive print and read."""

import json

import pytest

from probescope.errors import FormatError, InternalError
from probescope.ir.expr import Binary, Const, Context, Local, MapGet
from probescope.ir.needs import needs
from probescope.ir.program import Action, Clause, MapDecl, Program, Variable
from probescope.ir.rules import check
from probescope.ir.stmt import Assign, Emit, MapSet, MapUpdate
from probescope.ir.text import from_text, to_json, to_text
from probescope.model.format import parse_format
from probescope.model.site import CtxLoad, Field, Site, TracepointAttach
from probescope.model.types import BOOL, CHAR, I32, I64, U32, Agg, Pointer, String, Tuple

SITE = Site(
    "tracepoint:syscalls:sys_enter_openat",
    "tracepoint",
    TracepointAttach("syscalls", "sys_enter_openat", 5, 257),
    (Field("filename", Pointer(CHAR, "user"), CtxLoad(24, 8)),),
)
KEY = Tuple((String(16), U32))


def program(*body, maps=(), actions=(), predicate=None, variables=()):
    return Program((Clause(0, (SITE,), tuple(body), predicate, variables),), tuple(maps), tuple(actions))


def test_valid():
    p = program(
        Assign("x", Const(I64, -5)),
        MapSet("m", Context(U32, "pid"), Local(I64, "x")),
        Emit(0, (Context(String(16), "comm"),)),
        maps=(MapDecl("m", U32, I64),),
        actions=(Action("printf", (String(16),), parse_format('%s "quoted"\n')),),
        predicate=Binary(BOOL, "ne", Context(U32, "pid"), Const(U32, 0)),
        variables=(Variable("x", I64),),
    )
    assert check(p) is p
    assert from_text(to_text(p)) == p
    json.dumps(to_json(p))


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (program(Assign("x", Const(I64, 1))), "x is not a variable"),
        (program(MapSet("nope", None, Const(I64, 1))), "@nope is not declared"),
        (program(MapSet("m", None, Const(I32, 1)), maps=(MapDecl("m", None, I64),)), "puts int32 into @m"),
        (program(MapSet("m", None, Const(I64, 1)), maps=(MapDecl("m", U32, I64),)), "the key of @m"),
        (program(MapUpdate("m", None, Const(I64, 1)), maps=(MapDecl("m", None, Agg("count")),)), "count with a value"),
        (program(Emit(0, (Const(I64, 1),))), "action 0 is not there"),
        (program(predicate=MapGet(KEY, "m", None), maps=(MapDecl("m", None, KEY),)), "not a condition"),
        (program(MapSet("m", None, Const(I64, 1 << 63)), maps=(MapDecl("m", None, I64),)), "does not fit"),
        (
            program(predicate=Binary(BOOL, "eq", Const(I64, 1), Const(I32, 1))),
            "compares int64 with int32",
        ),
    ],
)
def test_broken(bad, says):
    with pytest.raises(InternalError, match=says):
        check(bad)


@pytest.mark.parametrize(
    "text", ["", "(", "(Nope)", "(Program", "(Program [] ) x", "(Const i64)", '(Const "', "((((", "[" * 1000]
)
def test_bad_text(text):
    """A text that is not a program is refused with a place."""
    with pytest.raises(FormatError):
        from_text(text)


def test_needs():
    p = program(
        MapUpdate("c", Context(String(16), "comm")),
        MapSet("m", None, Const(I64, 1)),
        maps=(MapDecl("c", String(16), Agg("count")), MapDecl("m", None, I64)),
    )
    n = needs(p.clauses[0])
    assert n.context == {"comm"}
    assert n.maps_updated == {"c"}
    assert n.maps_written == {"m"}
    assert not n.site
