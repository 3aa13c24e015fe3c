"""Probe definitions as perf-probe(1) describes them: every form of place, argument and type, and mistakes with their
places."""

from __future__ import annotations

import pytest

from probescope.errors import ScriptError
from probescope.lang.probe.globs import name_filter
from probescope.lang.probe.parser import parse
from probescope.lang.probe.places import parse_lines
from probescope.model.fetch import Absolute, Deref, FetchType, Immediate, Known, Register, Symbol
from probescope.model.probe_def import Element, LineRange, Member, Place, Star, Var


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("vfs_read", Place("vfs_read")),
        ("vfs_read@fs/read_write.c", Place("vfs_read", "fs/read_write.c")),
        ("vfs_read+16", Place("vfs_read", offset=16)),
        ("vfs_read+0x10", Place("vfs_read", offset=16)),
        ("vfs_read:3", Place("vfs_read", line=3)),
        ("vfs_read@read_write.c:3", Place("vfs_read", "read_write.c", line=3)),
        ("schedule:out", Place("schedule", label="out")),
        ("readline%return", Place("readline", ret=True)),
        ("schedule;rq=cpu_rq*", Place("schedule", lazy="rq=cpu_rq*")),
        ("main.c:120", Place(file="main.c", line=120)),
        ("src/main.c;x=*", Place(file="src/main.c", lazy="x=*")),
        ("0xffffffff81000000", Place(address=0xFFFFFFFF81000000)),
        ("%sdt_libc:setjmp", Place(sdt="setjmp", provider="libc")),
        ("sdt_libc:setjmp", Place(sdt="setjmp", provider="libc")),
        ("%setjmp", Place(sdt="setjmp")),
        (r"malloc\@GLIBC_2.2.5", Place("malloc@GLIBC_2.2.5")),
        ("ns::f(int, char)", Place("ns::f(int, char)")),
        ("ns::f:12", Place("ns::f", line=12)),
        ("V::operator+=", Place("V::operator+=")),
        ("V::operator%=%return", Place("V::operator%=", ret=True)),
        ("operator%%return", Place("operator%", ret=True)),
        ("V::operator<=+4", Place("V::operator<=", offset=4)),
        ("V::operator==@v.cc:3", Place("V::operator==", "v.cc", line=3)),
        ("V::operator char const*() const", Place("V::operator char const*() const")),
        ("(anonymous namespace)::f(int):2", Place("(anonymous namespace)::f(int)", line=2)),
        ("f(int)::{lambda(int)#1}", Place("f(int)::{lambda(int)#1}::operator()")),
    ],
)
def test_places(text, place):
    assert parse(text).place == place


def test_names_of_events():
    d = parse("mine:ev=vfs_read count")
    assert (d.group, d.event, d.place.function) == ("mine", "ev", "vfs_read")
    assert (parse("ev=vfs_read").group, parse("ev=vfs_read").event) == ("", "ev")
    operator = parse("mine:ev=V::operator== o")
    assert (operator.group, operator.event, operator.place.function) == ("mine", "ev", "V::operator==")
    assert [a.text for a in operator.args] == ["o"]


DI = Register("di")


@pytest.mark.parametrize(
    ("text", "name", "x", "kind"),
    [
        ("count", "count", Var("count"), None),
        ("size=%dx:x64", "size", Register("dx"), FetchType("x", 64)),
        ("%DI", "", DI, None),
        ("name=+0(+40(+24(%di))):string", "name", Deref(Deref(Deref(DI, 24), 40), 0), FetchType("string")),
        ("-8(%bp):u32", "", Deref(Register("bp"), -8), FetchType("u", 32)),
        ("+u8(%si):string", "", Deref(Register("si"), 8, user=True), FetchType("string")),
        ("$retval", "", Known("retval"), None),
        ("$stack3", "", Known("stackN", 3), None),
        ("$arg2:s", "", Known("argN", 2), FetchType("s")),
        ("$comm:string", "", Known("comm"), FetchType("string")),
        ("@jiffies+8:u64", "", Symbol("jiffies", 8), FetchType("u", 64)),
        ("@0xffffffff81000000", "", Absolute(0xFFFFFFFF81000000), None),
        ("@+0x4010", "", Absolute(0x4010, in_file=True), None),
        ("\\5", "", Immediate(5), None),
        ("f->a.b[3]", "b", Element(Member(Member(Var("f"), "a", arrow=True), "b"), 3), None),
        ("*p->q", "q", Star(Member(Var("p"), "q", arrow=True)), None),
        ("flags:b4@2/32", "flags_b4_2_32", Var("flags"), FetchType("b", 4, 2, 32)),
        ("buf:u8[4]", "buf_u8_4_", Var("buf"), FetchType("u", 8, count=4)),
        ("+8(file->f_inode)", "", Deref(Member(Var("file"), "f_inode", arrow=True), 8), None),
    ],
)
def test_arguments(text, name, x, kind):
    arg = parse(f"f {text}").args[0]
    assert (arg.name, arg.x, arg.type) == (name, x, kind)


def test_all_variables_and_memory_of_the_process():
    first, second, third = parse("f $params $vars buf:string@user").args
    assert (first.every, second.every, third.user) == ("params", "vars", True)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("f a=%", "5-6", "the name of a register is missing"),
        ("f x:u7", "5-7", "there is no type 'u7'"),
        ("f x:b8@30/32", "5-13", "these bits are not in their container"),
        ("f%ret", "2-6", "only %return may stand here"),
        ("f +8(%di", "9-10", "a ')' is missing"),
        ("f:3+4", "4-6", "exclude each other"),
        ("f:3%return", "4-11", "exclude each other"),
        ("f $nope", "3-8", "$nope is not known"),
        ("f a b a", "7-8", "two arguments are named a"),
        ("f a[", "5-6", "a number is missing"),
        ("f a->", "6-7", "the name of a member is missing"),
        ("9x=f", "1-3", "is no name for an event"),
        ("", "1-2", "there is no place to probe"),
        ("main.c:", "8-9", "a line number is missing"),
        ("f a$", "4-5", "not expected here"),
        ("f " + "+0(" * 100 + "%di" + ")" * 100, None, "nested too deep"),
    ],
)
def test_mistakes_have_places(text, place, words):
    """Every message shows where in the definition it is."""
    with pytest.raises(ScriptError) as caught:
        parse(text)
    d = caught.value.diagnostics[0]
    assert words in d.message
    assert place is None or f"{d.span.column}-{d.span.end_column}" == place


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("schedule", LineRange("schedule")),
        ("schedule:3-9", LineRange("schedule", "", 3, 9, given=True)),
        ("schedule:3+5", LineRange("schedule", "", 3, 7, given=True)),
        ("schedule@core.c:3", LineRange("schedule", "core.c", 3, -1, given=True)),
        ("kernel/sched/core.c:100-120", LineRange("", "kernel/sched/core.c", 100, 120, given=True)),
        ("core.c", LineRange("", "core.c", 1)),
    ],
)
def test_ranges_of_lines(text, wanted):
    assert parse_lines(text) == wanted


@pytest.mark.parametrize(
    ("text", "name", "accepted"),
    [
        ("foo* | bar*", "barrel", True),
        ("!foo* & *bar", "fizzbar", True),
        ("!foo* & *bar", "foobar", False),
        ("!(a* | b*)", "ab", False),
        ("!(a* | b*)", "cd", True),
    ],
)
def test_filters_of_names(text, name, accepted):
    """The examples of perf-probe(1), "FILTER PATTERN"."""
    assert name_filter(text)(name) is accepted
