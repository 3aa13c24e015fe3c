"""What of a predicate the kernel's filters can say. A filter that drops what the predicate accepts would lose events
without a word: each translation is worked out by hand from Documentation/trace/events.rst."""

import pytest

from probescope.ir import expr as e
from probescope.model.site import CtxBytes, CtxLoad, DataLoc, Field, PerfAttach, Site, TracepointAttach
from probescope.model.types import BOOL, I16, I32, I64, U8, U32, U64, String
from probescope.plan.filters import filtered

FIELDS = (
    Field("prio", I32, CtxLoad(8, 4)),
    Field("size", U64, CtxLoad(16, 8)),
    Field("small", U8, CtxLoad(24, 1)),
    Field("name", String(16), CtxBytes(32, 16)),
    Field("path", String(1024), DataLoc(48)),
)
SITE = Site("tracepoint:a:b", "tracepoint", TracepointAttach("a", "b", 1), FIELDS)
CALL = Site("tracepoint:syscalls:sys_enter_x", "tracepoint", TracepointAttach("syscalls", "sys_enter_x", 2, 9), FIELDS)

PRIO, SIZE, SMALL = e.Field(I32, "prio"), e.Field(U64, "size"), e.Field(U8, "small")
NAME, PATH, COMM = e.Field(String(16), "name"), e.Field(String(1024), "path"), e.Context(String(16), "comm")


def compare(op, a, b):
    return e.Binary(BOOL, op, a, b)


def both(a, b):
    return e.Logic(BOOL, "and", a, b)


def either(a, b):
    return e.Logic(BOOL, "or", a, b)


WIDE = compare("gt", e.Cast(I64, PRIO), e.Const(I64, 4))
PID = compare("eq", e.Context(U32, "pid"), e.Const(U32, 7))


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (WIDE, "prio > 4"),
        (compare("ge", e.Const(I32, -3), PRIO), "prio <= -3"),
        (compare("eq", e.Context(U32, "tid"), e.Const(U32, 7)), "common_pid == 7"),
        (compare("ne", e.Context(U32, "cpu"), e.Const(U32, 1)), "CPU != 1"),
        (compare("eq", COMM, e.Const(String(16), b"bash")), 'COMM == "bash"'),
        (compare("ne", NAME, e.Const(String(16), b"a b")), 'name != "a b"'),
        (compare("eq", PATH, e.Const(String(16), b"/bin/true")), 'path == "/bin/true"'),
        (e.Call(BOOL, "strglob", (PATH, e.Const(String(8), b"/lib/*"))), 'path ~ "/lib/*"'),
        (e.Cast(BOOL, e.Binary(U64, "and", SIZE, e.Const(U64, 6))), "size & 6"),
        (e.Cast(BOOL, SMALL), "small != 0"),
        (both(WIDE, e.Cast(BOOL, SMALL)), "prio > 4 && small != 0"),
        (either(WIDE, e.Cast(BOOL, SMALL)), "(prio > 4 || small != 0)"),
    ],
)
def test_what_filters_say_wholly(predicate, text):
    found = filtered(predicate, SITE)
    assert (found.text, found.whole, found.rest) == (text, True, ())


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (both(WIDE, PID), "prio > 4"),
        (both(PID, both(PID, WIDE)), "prio > 4"),
        (either(WIDE, PID), ""),
        (e.Unary(BOOL, "not", WIDE), ""),
        (compare("gt", e.Cast(I16, PRIO), e.Const(I16, 4)), ""),  # cut: 65541 is 5
        (compare("gt", e.Cast(U64, PRIO), e.Const(U64, 4)), ""),  # -1 is great
        (compare("eq", e.Cast(I64, SMALL), e.Const(I64, 256)), ""),
        (compare("lt", NAME, e.Const(String(16), b"x")), ""),
        (compare("eq", NAME, e.Const(String(16), b'a"b')), ""),
        (compare("eq", NAME, e.Const(String(16), b"")), ""),
        (compare("eq", NAME, e.Const(String(16), b"0123456789abcdef")), ""),
        (e.Call(BOOL, "strglob", (PATH, e.Const(String(8), b"/li[bc]"))), ""),
        (e.Cast(U8, SIZE), ""),
        (e.Cast(BOOL, e.Binary(I64, "and", e.Cast(I64, SMALL), e.Const(I64, 256))), ""),
        (e.Cast(BOOL, e.MapGet(U64, "x", None)), ""),
    ],
)
def test_what_is_left_to_user_space(predicate, text):
    """Never a filter that is narrower than the predicate."""
    found = filtered(predicate, SITE)
    assert (found.text, found.whole) == (text, False)
    assert found.rest


def test_registers_of_system_calls_are_wider_than_their_arguments():
    """The record holds the register, of which the call looks at the low bytes only."""
    assert filtered(WIDE, CALL).text == ""
    assert filtered(compare("eq", SIZE, e.Const(U64, 5)), CALL).text == "size == 5"


def test_other_events_have_no_filters():
    timer = Site("profile:hz:99", "profile", PerfAttach(1, 0, frequency=99))
    assert filtered(WIDE, timer).text == ""
    assert filtered(None, timer).whole
