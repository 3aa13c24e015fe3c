"""perf's event grammar. What is accepted, and as what, is that of perf-list(1) and perf-record(1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.errors import ScriptError
from probescope.lang.perf.events import parse_events
from probescope.model.perf_spec import EventSpec, Term


def one(text: str) -> EventSpec:
    ((spec,),) = [g.events for g in parse_events(text)]
    return spec


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cycles", ("name", "cycles", "", 0, "")),
        ("cycles:u", ("name", "cycles", "", 0, "u")),
        ("cycles:ppp", ("name", "cycles", "", 0, "ppp")),
        ("L1-dcache-load-misses:k", ("name", "L1-dcache-load-misses", "", 0, "k")),
        ("r1a8", ("raw", "r1a8", "", 0x1A8, "")),
        ("r0x1A8:u", ("raw", "r0x1A8", "", 0x1A8, "u")),
        ("sched:sched_switch", ("tracepoint", "sched_switch", "sched", 0, "")),
        ("sched:*", ("tracepoint", "*", "sched", 0, "")),
        ("sys*:sys_enter_*:u", ("tracepoint", "sys_enter_*", "sys*", 0, "u")),
        ("block:block_rq_issue", ("tracepoint", "block_rq_issue", "block", 0, "")),
    ],
)
def test_events(text: str, expected: tuple[object, ...]) -> None:
    e = one(text)
    assert (e.kind, e.name, e.group, e.number, e.modifiers) == expected
    assert e.text == text


@pytest.mark.parametrize("text", ["cpu/event=0x3c,umask=1,name=mine/u", "cpu/event=0x3c,umask=1,name=mine/:u"])
def test_pmu_terms(text: str) -> None:
    e = one(text)
    assert (e.kind, e.name, e.modifiers) == ("pmu", "cpu", "u")
    assert e.terms == (Term("event", "0x3c"), Term("umask", "1"), Term("name", "mine"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mem:0x1000", (0x1000, 0, "rw", "")),
        ("mem:4096/8:w", (4096, 8, "w", "")),
        ("mem:0xffffffff81000000:x", (0xFFFFFFFF81000000, 0, "x", "")),
        ("mem:0x1000/2:rw:u", (0x1000, 2, "rw", "u")),
        ("mem:0x1000/4:k", (0x1000, 4, "rw", "k")),
    ],
)
def test_breakpoints(text: str, expected: tuple[object, ...]) -> None:
    e = one(text)
    assert (e.number, e.length, e.access, e.modifiers) == expected


def test_groups() -> None:
    groups = parse_events(" {cycles , instructions:u}:S, task-clock,{r1}")
    assert [(g.braces, g.modifiers, [e.text for e in g.events]) for g in groups] == [
        (True, "S", ["cycles", "instructions:u"]),
        (False, "", ["task-clock"]),
        (True, "", ["r1"]),
    ]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "an event is missing"),
        ("cycles,", 8, "an event is missing"),
        ("cycles,,faults", 8, "there is no event before ','"),
        ("{cycles", 1, "this group has no end"),
        ("cycles}", 7, "'}' is not expected here"),
        ("cycles:", 8, "'' is not a modifier"),
        ("cycles:pppp", 8, "'pppp' is not a modifier"),
        ("sched:sched_switch:x", 20, "'x' is not a modifier"),
        ("cpu/event=1", 1, "the terms of cpu/ have no end"),
        ("cpu/=1/", 5, "this is not a term"),
        ("mem:xyz", 5, "this is not an address"),
        ("mem:0x1000/3", 1, "a breakpoint watches 1, 2, 4 or 8 bytes"),
        ("cycles faults", 8, "'f' is not expected here"),
        ("mem:0x1000:rr", 1, "an access is named twice"),
    ],
)
def test_mistakes_have_a_place(text: str, column: int, message: str) -> None:
    with pytest.raises(ScriptError) as e:
        parse_events(text)
    (found,) = e.value.diagnostics
    assert (found.span.column, found.message) == (column, message)


@given(st.text(st.sampled_from("cycles:{},/=rmx019uk*? \t\né\0")))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    """And what is parsed lies in the text, in order."""
    try:
        groups = parse_events(text)
    except ScriptError:
        return
    columns = [e.span.column for g in groups for e in g.events]
    assert columns == sorted(columns)
    assert all(text[e.span.column - 1 :].startswith(e.text) for g in groups for e in g.events)
