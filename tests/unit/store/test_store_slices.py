"""System calls, interrupts, calls of functions, spans and counters out of events, worked out by hand."""

from __future__ import annotations

from store_fakes import (
    CALL,
    ENTER,
    FREQUENCY,
    IRQ_ENTRY,
    IRQ_EXIT,
    LEAVE,
    PRINT,
    RAISE,
    RETURN,
    SOFT_ENTRY,
    SOFT_EXIT,
    Event,
    built,
    kind,
    rows,
)

from probescope.model.recording import Damage


def enter(at: int, tid: int, nr: int, *args: int) -> Event:
    return Event(at, 0, tid, ENTER, {"id": nr, "args": (*args, *[0] * (6 - len(args)))})


def leave(at: int, tid: int, nr: int, ret: int) -> Event:
    return Event(at, 1, tid, LEAVE, {"id": nr, "ret": ret})


def test_system_calls():
    """read (0) and openat (257) of x86-64; what has no begin or no end is told as far as it is known."""
    events = [
        leave(5, 7, 1, 3),  # it began before
        enter(10, 7, 0, 3, 4096, 512),
        enter(11, 8, 257, 100),
        leave(20, 7, 0, 100),
        leave(31, 8, 257, -2),
        enter(40, 7, 0, 3),
        enter(50, 7, 257),  # the return was lost
        enter(60, 8, 231),  # never returns
    ]
    sql = """select tid, s.name, ts, s.end_ts, dur, arg0, ret, error from syscall s join thread t using (utid)
        order by coalesce(ts, s.end_ts)"""
    whole = rows(built(events), sql)
    assert whole == [
        (7, "write", None, 5, None, None, 3, None),
        (7, "read", 10, 20, 10, 3, 100, None),
        (8, "openat", 11, 31, 20, 100, -2, "ENOENT"),
        (7, "read", 40, None, None, 3, None, None),
        (7, "openat", 50, None, None, 0, None, None),
        (8, "exit_group", 60, None, None, 0, None, None),
    ]
    for cut in range(1, len(events)):
        assert rows(built(events[:cut], events[cut:]), sql) == whole


def test_system_calls_by_their_own_events():
    """The event's name says which call it is: in the text of a trace the field for its number is 0."""
    begin = kind("syscalls:sys_enter_openat", 90, [("__syscall_nr", "i"), ("dfd", "q")])
    end = kind("syscalls:sys_exit_openat", 91, [("__syscall_nr", "i"), ("ret", "q")])
    events = [Event(10, 0, 7, begin, {"dfd": 4}), Event(30, 0, 7, end, {"ret": 3})]
    db = built(events, kinds=(begin, end))
    assert rows(db, "select nr, name, ts, dur, arg0, ret from syscall") == [(257, "openat", 10, 20, 4, 3)]


def test_interrupts():
    db = built(
        [
            Event(10, 0, 7, IRQ_ENTRY, {"irq": 33, "name": "eth0"}),
            Event(11, 1, 8, IRQ_ENTRY, {"irq": 34, "name": "nvme"}),
            Event(15, 0, 7, IRQ_EXIT, {"irq": 33, "ret": 1}),
            Event(19, 1, 8, IRQ_EXIT, {"irq": 34, "ret": 0}),
            Event(20, 1, 8, IRQ_EXIT, {"irq": 35, "ret": 1}),
        ]
    )
    sql = "select cpu, irq, name, ts, dur, handled from irq order by end_ts"
    assert rows(db, sql) == [
        (0, 33, "eth0", 10, 5, True),
        (1, 34, "nvme", 11, 8, False),
        (1, 35, None, None, None, True),
    ]


def test_soft_interrupts_know_since_when_they_were_raised():
    """The first raise since it ran last counts, on its CPU alone; over batches as well."""
    events = [
        Event(5, 0, 7, RAISE, {"vec": 3}),
        Event(6, 1, 7, RAISE, {"vec": 3}),
        Event(7, 0, 7, RAISE, {"vec": 3}),
        Event(10, 0, 7, SOFT_ENTRY, {"vec": 3}),
        Event(14, 0, 7, SOFT_EXIT, {"vec": 3}),
        Event(20, 0, 7, SOFT_ENTRY, {"vec": 3}),
        Event(21, 0, 7, SOFT_EXIT, {"vec": 3}),
        Event(22, 0, 7, RAISE, {"vec": 1}),
        Event(30, 0, 7, SOFT_ENTRY, {"vec": 1}),
        Event(33, 0, 7, SOFT_EXIT, {"vec": 1}),
    ]
    sql = "select cpu, name, ts, dur, raised_ts from softirq order by ts"
    whole = [(0, "NET_RX", 10, 4, 5), (0, "NET_RX", 20, 1, None), (0, "TIMER", 30, 3, 22)]
    assert rows(built(events), sql) == whole
    for cut in range(1, len(events)):
        assert rows(built(events[:cut], events[cut:]), sql) == whole


def call(at: int, tid: int, cpu: int, func: int, depth: int) -> Event:
    return Event(at, cpu, tid, CALL, {"func": func, "depth": depth})


def back(at: int, tid: int, cpu: int, func: int, depth: int) -> Event:
    return Event(at, cpu, tid, RETURN, {"func": func, "depth": depth})


def test_calls_nest():
    """Parents, depths, and time of a call's own; the idle threads of two CPUs do not mix."""
    events = [
        call(10, 7, 0, 100, 0),
        call(12, 7, 0, 101, 1),
        back(15, 7, 0, 101, 1),
        call(16, 0, 1, 100, 0),
        call(17, 0, 0, 100, 0),
        call(18, 7, 0, 102, 1),
        call(19, 7, 0, 103, 2),
        back(21, 0, 0, 100, 0),
        back(22, 7, 0, 103, 2),
        back(25, 7, 0, 102, 1),
        back(26, 0, 1, 100, 0),
        back(30, 7, 0, 100, 0),
        back(40, 7, 0, 104, 0),
    ]
    names = {100: "outer", 101: "one", 102: "two", 103: "three"}
    sql = """select f.function, f.depth, f.ts, f.dur, f.self_dur, p.function from func f join thread t using (utid)
        left join func p on p.id = f.parent where t.tid = 7 order by coalesce(f.ts, f.end_ts)"""
    whole = [
        ("outer", 0, 10, 20, 20 - 3 - 7, None),
        ("one", 1, 12, 3, 3, "outer"),
        ("two", 1, 18, 7, 7 - 3, "outer"),
        ("three", 2, 19, 3, 3, "two"),
        ("0x68", 0, None, None, None, None),
    ]
    assert rows(built(events, symbols=names), sql) == whole
    for cut in range(1, len(events)):
        assert rows(built(events[:cut], events[cut:], symbols=names), sql) == whole
    idle = "select cpu, ts, dur from func join thread using (utid) where tid = 0 order by cpu"
    assert rows(built(events), idle) == [(0, 17, 4), (1, 16, 10)]


def mark(at: int, tid: int, text: str) -> Event:
    return Event(at, 0, tid, PRINT, {"buf": text + "\n"})


def test_markers_spans_and_counters():
    db = built(
        [
            mark(10, 7, "hello <b>"),
            mark(20, 7, "B|7|frame"),
            mark(25, 7, "B|7|draw|x"),
            mark(30, 7, "E|7"),
            mark(31, 8, "S|7|load|c1"),
            mark(40, 7, "E"),
            mark(45, 7, "F|7|load|c1"),
            mark(50, 7, "C|7|queue|3.5"),
            mark(51, 7, "C|7|queue|x"),
            mark(60, 7, "B|7|open"),
        ]
    )
    assert rows(db, "select text from marker order by ts limit 1") == [("hello <b>",)]
    spans = "select name, ts, dur, depth, cookie, parent is not null from span order by ts"
    assert rows(db, spans) == [
        ("frame", 20, 20, 0, None, False),
        ("draw|x", 25, 5, 1, None, True),
        ("load", 31, 14, None, "c1", False),
        ("open", 60, None, 0, None, False),
    ]
    assert rows(db, "select t.name, c.ts, c.value from counter c join counter_track t on t.id = c.track") == [
        ("queue", 50, 3.5)
    ]


def test_counters_of_the_kernel():
    db = built([Event(10 * i, 0, 7, FREQUENCY, {"state": 1000 + i, "cpu_id": i % 2}) for i in range(4)])
    sql = "select t.cpu, t.unit, c.ts, c.value from counter c join counter_track t on t.id = c.track order by c.ts"
    assert rows(db, sql) == [(i % 2, "kHz", 10 * i, 1000.0 + i) for i in range(4)]


def test_a_recording_without_events():
    db = built([])
    assert rows(db, "select events, start_ts from recording") == [(0, None)]
    assert rows(db, "select count(*) from event") == [(0,)]
    assert rows(db, "select utid, tid from thread") == [(0, 0)]


def test_damage_is_told():
    db = built([], damage=(Damage("cut", "the file ends in the middle of a record", 77, 2),))
    assert rows(db, "select name, severity, count, about from stats") == [
        ("cut", "warning", 2, "the file ends in the middle of a record, first at byte 0x4d")
    ]
