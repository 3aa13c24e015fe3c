"""Text of traces: what was written in a form of the kernel's is what is read, whatever the names and numbers are."""

from __future__ import annotations

import formats_tracemaker as tm
import formats_tracetext as texts
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.formats.tracing.event_format import parse_event_format
from probescope.model.recording import EventType

TICK = parse_event_format(tm.TICK, "test")
NAMES = st.text("abcXYZ019 _-.:/<>[]()#", min_size=1, max_size=15).map(str.strip).filter(bool)
COMMS = st.text("abcXYZ019_./:#<>", min_size=1, max_size=15)
FLAGS = st.sampled_from(["", ".....", "d..2.", "dNh4.", "-----", "D.Zf1"])
EVENT = st.tuples(
    st.integers(0, 200),  # CPU
    st.integers(1, 4_000_000),  # thread
    st.integers(0, 0xFFFFFFFF),  # n
    st.integers(-(1 << 31), (1 << 31) - 1),  # small
    NAMES,
)


def known(name: str) -> EventType | None:
    return TICK if name == "tick" else None


def line(i: int, event: tuple[int, int, int, int, str], comm: str, flags: str) -> str:
    cpu, tid, n, small, name = event
    head = f"{comm:>16}-{tid:<7d} [{cpu:03d}] {flags}{' ' if flags else ''}"
    text = f"n={n} small={small} name={name} kind={'odd' if n % 2 else 'even'}"
    return f"{head}{i // 1000000:5d}.{i % 1000000:06d}: tick: {text}"


@settings(max_examples=150, deadline=None)
@given(st.lists(EVENT, min_size=1, max_size=30), COMMS, FLAGS)
def test_what_is_written_is_read(events: list[tuple[int, int, int, int, str]], comm: str, flags: str) -> None:
    """Protects heads, the print format backwards and records: every field, in order, and the same text again."""
    lines = [line(i, event, comm, flags) for i, event in enumerate(events)]
    found = texts.of_trace("# tracer: nop\n" + "\n".join(lines) + "\n", known)
    assert found.damage == ()
    rows = list(texts.rows(found))
    assert [(r[1], r[2], r[3]) for r in rows] == [(i * 1000, e[0], e[1]) for i, e in enumerate(events)]
    assert [(r[4]["n"], r[4]["small"], r[4]["name"]) for r in rows] == [e[2:] for e in events]
    again = [one.partition(": tick:")[2].strip() for one in texts.printed(found)[1:]]
    assert again == [one.partition(": tick:")[2].strip() for one in lines]


@settings(max_examples=100, deadline=None)
@given(st.lists(EVENT, min_size=1, max_size=20))
def test_without_formats_fields_are_the_same(events: list[tuple[int, int, int, int, str]]) -> None:
    """A text alone says what fields there are, and which of them are numbers."""
    named = [(*e[:4], f"x{e[0]}") for e in events]
    lines = [line(i, event, "task", ".....") for i, event in enumerate(named)]
    found = texts.of_trace("# tracer: nop\n" + "\n".join(lines) + "\n")
    rows = list(texts.rows(found))
    assert [(r[4]["n"], r[4]["small"], r[4]["name"]) for r in rows] == [e[2:] for e in named]


@settings(max_examples=100, deadline=None)
@given(st.lists(EVENT, min_size=2, max_size=20), st.integers(0, 4000))
def test_a_text_that_is_cut_gives_its_first_events(events: list[tuple[int, int, int, int, str]], at: int) -> None:
    """Whole lines are not changed by what becomes of later ones."""
    text = "# tracer: nop\n" + "\n".join(line(i, event, "task", "") for i, event in enumerate(events)) + "\n"
    whole = list(texts.rows(texts.of_trace(text, known)))
    cut = text[: max(at % len(text), text.index("\n", 15) + 1)]
    rows = list(texts.rows(texts.of_trace(cut, known)))
    count = cut.count("\n") - 1
    assert [r[:4] for r in rows[:count]] == [r[:4] for r in whole[:count]]
    assert [r[4]["n"] for r in rows[:count]] == [r[4]["n"] for r in whole[:count]]
