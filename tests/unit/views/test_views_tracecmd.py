"""Filters and lines of `ftrace report` over a recording made by hand: tick events, n from 0, on two CPUs."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from formats_tracemaker import Maker, events

from probescope.errors import UsageError
from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracing.symbols import Context, Symbols
from probescope.model.recording import EventBatch, EventType, Ragged, RawField
from probescope.views.tracecmd.choosing import Choice, Chooser, moved, selected
from probescope.views.tracecmd.filter_text import Binary, Name, Unary, Value, parse
from probescope.views.tracecmd.filtering import Filters
from probescope.views.tracecmd.lines import Look, ReportLines

COUNT = 40


@pytest.fixture
def recording():
    with open_tracedat(io.BytesIO(Maker().build(("", events(COUNT))))) as found:
        yield found


def shown(recording, wanted=(), unwanted=()):
    """Which n pass: the n-th event has n in its field ``n``, -(n % 7) in ``small``, ``tick N`` in ``name``, runs on CPU
    n % 2, in thread 7 + n % 3, called seven, eight and <...>."""
    filters = Filters(list(wanted), list(unwanted), recording.events, recording.context())
    return np.flatnonzero(np.concatenate([filters.mask(batch) for batch in recording.batches()])).tolist()


NUMBERS = range(COUNT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tick", list(NUMBERS)),
        ("test", list(NUMBERS)),
        ("test/tick: n == 3", [3]),
        ("test:tick: n == 3", [3]),
        ("t.ck : n >= 38 || n < 2", [0, 1, 38, 39]),
        ("tick: n > 10 && n < 20 && CPU == 1", [11, 13, 15, 17, 19]),
        ("tick: small == -3 && n < 20", [3, 10, 17]),
        ("tick: name == 'tick 5'", [5]),
        ('tick: name =~ "tick 1.$"', list(range(10, 20))),
        ("tick: name !~ 'tick [0-3]'", [4, 5, 6, 7, 8, 9]),
        (r'TICK: name =~ "TICK \(4\|5\)$"', [4, 5]),
        ("test/: n < 2", [0, 1]),
        ("tick: COMM == eight && n < 9", [1, 4, 7]),
        ("tick: common_pid == 7 && n < 9", [0, 3, 6]),
        ("tick: !(n & 1) && n < 6", [0, 2, 4]),
        ("tick: n + 1 == 4 || n * 2 == 10 || n - 30 == 1", [3, 5, 31]),
        ("tick: n % 10 == 7", [7, 17, 27, 37]),
        ("tick: n >> 3 == 1", list(range(8, 16))),
        ("tick: n / 0 == 0 && n < 3", [0, 1, 2]),
        ("tick: n == 0x0a", [10]),
        ("tick: TIMESTAMP == 1000004000", [4]),
        ("tick: name == 5", []),
        ("tick: n == 1 || n == 2 && CPU == 0", [2]),  # from left to right
        ("tick: n == 1 && CPU == 0 || n == 3", [3]),
        ("tick: !n == 5 && n < 8", [0, 1, 2, 3, 4, 6, 7]),
        ("tick: n == 017", [15]),
        ("test / tick : n == 1", [1]),
        ("tick: small == 0xfffffffffffffffd && n < 20", [3, 10, 17]),
        ("tick: small > 0xfffffffffffffffd && n < 10", [1, 2, 8, 9]),
        ("tick: small < 0 && n < 4", [1, 2, 3]),
        ("tick: n > -1 && n < 2", [0, 1]),
        ("tick: n - 2 < 0", [0, 1]),
        ("tick: n + 0xffffffffffffffff == 1", [2]),
        ("tick: n == '0x1f'", [31]),
        ('tick: small =~ "^0xf*[9a]$" && n < 8', [6]),
        (r'tick: name =~ "\"" || n == 2', [2]),
        ("test,ftrace: n == 1 || ip == 5", [1]),
        ("tick: 5 =~ '5' && n < 2", [0, 1]),
        ("tick: name && n < 2", [0, 1]),
        ("test,ftrace: !(ip == 5) && n < 2", [0, 1]),
    ],
)
def test_filters(recording, text, expected):
    assert shown(recording, [text]) == expected
    assert shown(recording, [], [text]) == [n for n in NUMBERS if n not in expected]


def test_several_filters(recording):
    assert shown(recording, ["tick: n == 1", "tick: n == 5"]) == [1, 5]
    assert shown(recording, ["tick: n < 5"], ["tick: n == 3"]) == [0, 1, 2, 4]


def test_precedence():
    """Weakest first: || and &&, from left to right; ! comparisons | ^ & shifts + - * /."""
    tree = parse("e: a | 1 == 2 || !b && c + 1 * 2 < 3", set()).test
    either = Binary("==", Binary("|", Name("a", 3), Value(1)), Value(2))
    total = Binary("+", Name("c", 23), Binary("*", Value(1), Value(2)))
    assert tree == Binary("&&", Binary("||", either, Unary("!", Name("b", 18))), Binary("<", total, Value(3)))
    assert parse("e: !a == 1", set()).test == Unary("!", Binary("==", Name("a", 4), Value(1)))


def test_stacks_come_with_events_that_are_shown():
    """Of the same CPU, right after them, over batches too; events that go away with -v take theirs with them."""
    types = (EventType("s:a", 1), EventType("s:b", 2), EventType("ftrace:kernel_stack", 3))
    a, b, stack = 0, 1, 2

    def batch(*rows):
        event, cpu = (np.array(column) for column in zip(*rows, strict=True))
        none = np.zeros(len(rows), np.int64)
        return EventBatch(len(rows), event, none.view(np.uint64), cpu, none, none, none)

    first = batch((a, 0), (stack, 1), (stack, 0), (b, 1), (stack, 1), (stack, 0), (a, 1))
    second = batch((stack, 0), (stack, 1), (b, 0), (stack, 0))
    for wanted, unwanted, expected in (
        (["a"], [], ([0, 2, 6], [1])),
        (["a", "b"], ["b"], ([0, 2, 6], [1])),
        (["a"], ["ftrace"], ([0, 6], [])),
        ([], ["b"], ([0, 1, 2, 4, 5, 6], [0, 1, 3])),
        (["ftrace"], [], ([1, 2, 4, 5], [0, 1, 3])),
    ):
        filters = Filters(wanted, unwanted, types, None)
        assert tuple(np.flatnonzero(filters.mask(one)).tolist() for one in (first, second)) == expected


@pytest.mark.parametrize(
    ("text", "word", "hint"),
    [
        ("tick: n = 1", "== compares", "tick: n = 1\n              ^"),
        ("tick: (n == 1", "parenthesis", "^"),
        ("tick: n == ", "value should stand", "^"),
        ("tick: n == 1 2", "operator", "^"),
        ("tick: n @ 1", "no sense", "^"),
        ("tick: nn == 1", "no field nn", "did you mean n"),
        ("tock: n == 1", "no event tock", "tick"),
        (": n == 1", "which event", ""),
        ("tick: " + "(" * 200 + "n" + ")" * 200, "too deeply", "^"),
        ("tick: " + "!" * 3000 + "n", "too deeply", "^"),
        ("tick: name =~ '['", "in '['", ""),
        ("tick: n == 09", "octal", "^"),
        ("tick: name + 1 == 2", "counted with texts: name", ""),
        ("tick: -COMM", "counted with texts: COMM", ""),
        ("tick: n & 'x'", "counted with texts: x", ""),
        ("tick: n == 99999999999999999999", "64 bits", "^"),
        ("test,ftrace: nn == 1", "no field nn", "did you mean n"),
    ],
)
def test_mistakes_are_pointed_at(recording, text, word, hint):
    with pytest.raises(UsageError) as caught:
        shown(recording, [text])
    assert word in str(caught.value)
    assert hint in "\n".join(caught.value.hints)


def lines(recording, look, choose=None):
    made = ReportLines(recording.events, recording.context(), look)
    choose = choose or (lambda batch: batch)
    return b"".join(made.data(choose(b)) for b in recording.batches()).decode().splitlines()


def test_lines(recording):
    """Written down from the forms of trace-cmd 3.3.1."""
    usual = lines(recording, Look())
    assert (
        usual[1]
        == "           eight-8     [001] d..1.     1.000001: tick:                 n=1 small=-1 name=tick 1 kind=odd"
    )
    raw = lines(recording, Look(raw=(".*",)))
    assert raw[1] == "           eight-8     [001]-0x1     1.000001: tick:                  n=1 small=-1 name=tick 1"
    assert lines(recording, Look(raw=("tick",)))[0].endswith("tick:                  n=0 small=0 name=tick 0")
    late = lines(recording, Look(latency=True))
    assert late[1] == "   eight-8       1d..1.     1.000001: tick:                 n=1 small=-1 name=tick 1 kind=odd"
    both = lines(recording, Look(raw=(".*",), latency=True))
    assert both[1] == "   eight-8       1-0x1     1.000001: tick:                  n=1 small=-1 name=tick 1"
    gaps = lines(recording, Look(differences=True, nanoseconds=True))
    assert "1.000000000:          tick:" in gaps[0]
    assert "1.000001000: (+1000)  tick:" in gaps[1]
    assert "2.000021000: (+1000001000) tick:" in gaps[21]


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [("tick", True), ("TI.K", True), ("test", True), ("test/tick", True), (r"tick\|tock", True), ("tic", False),
     ("ti*", False), ("tic*.", True), (r"\(tick\|tock\)", True)],
)  # fmt: skip
def test_raw_events_are_named_by_expressions(recording, pattern, meant):
    """Basic ones without regard to case, of all of an event's or a system's name, as trace-cmd's -r and -n."""
    assert ("kind=" not in lines(recording, Look(raw=(pattern,)))[0]) == meant


@pytest.mark.parametrize(
    ("look", "name"),
    [(Look(), "late"), (Look(raw=("sched",)), "<...>"), (Look(plain=("sched_wak.*",)), "<...>"),
     (Look(raw=(".*",)), "<...>"), (Look(raw=("irq",)), "late"), (Look(plugins=False), "<...>")],
)  # fmt: skip
def test_threads_are_named_by_events_in_their_own_form(look, name):
    """trace-cmd's handlers of scheduler events tell it names; where they do not print they tell none."""
    fields = (RawField("comm", "char", 0, 16, False, 16), RawField("pid", "pid_t", 16, 4, True))
    record = b"late".ljust(16, b"\0") + (77).to_bytes(4, "little")
    none, tid = np.zeros(2, np.int64), np.array([5, 77])
    raw = Ragged(np.frombuffer(record * 2, np.uint8), np.arange(2) * 20, np.full(2, 20))
    batch = EventBatch(2, none, none.view(np.uint64), none, tid, tid, none, raw=raw)
    made = ReportLines((EventType("sched:sched_wakeup", 1, fields),), Context(), look)
    assert made.lines(batch)[1].split()[0] == f"{name}-77"


def test_differences_of_equal_times():
    """Each from the one before, on whatever CPU; a batch with nothing but losses has none."""
    made = [(0, 1000, 7, 0), (1, 1000, 8, 1), (0, 3000, 7, 2), (1, 3000, 8, 3)]
    with open_tracedat(io.BytesIO(Maker(lost={1: 2}).build(("", made)))) as recording:
        found = [line for line in lines(recording, Look(differences=True)) if "tick:" in line]
        assert [re.search(r"\(\+(\d+)\)", line) and re.search(r"\(\+(\d+)\)", line)[1] for line in found] == [
            None, "0", "2000", "0",
        ]  # fmt: skip
        made = ReportLines(recording.events, recording.context(), Look(differences=True))
        batch = next(recording.batches())
        assert made.data(selected(batch, np.zeros(0, np.int64))).count(b"tick") == 0


def test_some_cpus_and_moved_times(recording):
    flags = next(f for f in recording.events[0].fields if f.name == "common_flags")
    choose = Chooser(Choice(cpus=(1,)), None, flags, recording.context())
    found = lines(recording, Look(), lambda b: choose(moved(b, -1_000_000_000)))
    assert len(found) == COUNT // 2
    assert "[001] d..1.     0.000001: tick:" in found[0]


def test_names_that_events_tell(recording):
    """Filters have the names that a report of all events shows: learnt from a batch before it is filtered."""
    filters = Filters(["tick: COMM == nine"], [], recording.events, recording.context())
    choose = Chooser(Choice(), filters, None, recording.context(), lambda _: {5: "nine", 8: "nine"})
    assert choose(next(recording.batches())).count == 2


def test_losses_stay_before_the_next_event():
    """CPU 1 lost five events before its first, which is left out."""
    data = Maker(lost={1: 5}).build(("", events(6)))
    with open_tracedat(io.BytesIO(data)) as recording:
        batch = next(recording.batches())
        some = selected(batch, np.array([0, 3]))
        assert [(i, r.count) for i, r in some.between] == [(1, 5)]
        assert some.count == 2


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("at == 'f'", [0, 1]),
        ("at =~ 'F$'", [0, 1]),
        ("at != 'f'", [2, 3]),
        ("at =~ '^0x10$'", [3]),
        ("at > 0x1000", [0, 1, 2]),
        ("at >> 60 == 15", [0, 1, 2]),
        ("at & 0xffffffff00000000", [0, 1, 2]),
    ],
)
def test_addresses(test, expected):
    """Beside a text they are the function that they lie in; they have no sign."""
    numbers = np.array([0xFFFFFFFF81000000, 0xFFFFFFFF81000010, 0xFFFFFFFF82000000, 0x10], np.uint64)
    types = (EventType("s:a", 1, (RawField("at", "unsigned long", 0, 8, False),)),)
    none = np.zeros(4, np.int64)
    raw = Ragged(numbers.view(np.uint8), np.arange(4) * 8, np.full(4, 8))
    batch = EventBatch(4, none, none.view(np.uint64), none, none, none, none, raw=raw)
    context = Context(symbols=Symbols("ffffffff81000000 T f\nffffffff82000000 T g\n"))
    assert np.flatnonzero(Filters([f"a: {test}"], [], types, context).mask(batch)).tolist() == expected


def test_absolute_symbols_name_no_function():
    """x86 lists places of per-CPU variables so; the end of a stack, 0x7fffffff, lies behind them."""
    text = "0000000000000000 A __per_cpu_start\n0000000000038000 a __per_cpu_end\n"
    symbols = Symbols(text + "ffffffff81000000 T f\nffffffff82000000 T g\n")
    assert symbols.name(0x7FFFFFFF) is None
    assert symbols.name(0xFFFFFFFF81000010) == ("f", 0xFFFFFFFF81000000)
