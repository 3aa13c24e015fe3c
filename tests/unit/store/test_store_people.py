"""Threads and processes: numbers that are used again, names over time, who made whom."""

from __future__ import annotations

import time

from store_fakes import EXEC, EXIT, FORK, KINDS, SWITCH, Event, built, rows, switch, wake

from probescope.model.recording import Ended, MappedFile, Named, Started
from probescope.store.build.interning import Pool
from probescope.store.build.naming import Naming
from probescope.store.build.people import People


def fork(at: int, parent: int, child: int) -> Event:
    values = {"parent_comm": f"t{parent}", "parent_pid": parent, "child_comm": f"t{parent}", "child_pid": child}
    return Event(at, 0, parent, FORK, values)


def leave(at: int, tid: int) -> Event:
    return Event(at, 0, tid, EXIT, {"comm": f"t{tid}", "pid": tid})


def test_a_number_that_is_used_again_is_another_thread():
    """Side-band of perf: FORK, EXIT, FORK of one number, in one batch and in several."""
    first = [
        Started(time=10, pid=7, tid=7, parent=1, parent_tid=1),
        Named(time=11, pid=7, tid=7, comm="one", exec=True),
        switch(20, 0, 0, 0, 7, next_comm="one"),
        switch(30, 0, 7, 0x10, 0, prev_comm="one"),
        Ended(time=29, pid=7, tid=7, parent=1, parent_tid=1),
    ]
    second = [
        Started(time=40, pid=7, tid=7, parent=2, parent_tid=2),
        Named(time=41, pid=7, tid=7, comm="two", exec=True),
        switch(50, 0, 0, 0, 7, next_comm="two"),
        switch(60, 0, 7, 1, 0, prev_comm="two"),
    ]
    for batches in ([first, second], [first + second]):
        db = built(*batches, sideband=True)
        told = rows(db, "select name, start_ts, end_ts from thread where tid = 7 order by start_ts")
        assert told == [("one", 10, 29), ("two", 40, None)]
        slices = "select t.name, ts, s.end_ts from sched_slice s join thread t using (utid) where tid = 7 order by ts"
        assert rows(db, slices) == [("one", 20, 30), ("two", 50, 60)]
        made = """select p.name, q.pid from process p join process q on q.upid = p.parent_upid
            where p.pid = 7 order by p.start_ts"""
        assert rows(db, made) == [("one", 1), ("two", 2)]


def test_forks_without_side_band():
    """trace.dat: sched_process_fork and _exit tell; a thread that has left its CPU dead does not come back."""
    db = built(
        [fork(10, 1, 7), switch(20, 0, 0, 0, 7), leave(25, 7), switch(30, 0, 7, 0x20, 0)],
        [switch(40, 0, 0, 0, 7), switch(50, 0, 7, 1, 0)],
    )
    told = rows(db, "select start_ts, end_ts from thread where tid = 7 order by utid")
    assert told == [(10, 25), (None, None)]
    assert rows(db, "select count(*) from stats where name = 'no-forks'") == [(0,)]


def test_exec_is_the_same_process_with_another_name():
    db = built(
        [
            Started(time=5, pid=7, tid=7, parent=1, parent_tid=1),
            switch(6, 0, 0, 0, 7, next_comm="sh"),
            Named(time=8, pid=7, tid=7, comm="cat", exec=True),
            MappedFile(time=8, pid=7, tid=7, start=4096, size=4096, path="/usr/bin/cat"),
            MappedFile(time=9, pid=7, tid=7, start=8192, size=4096, path="/usr/lib/libc.so.6"),
            switch(10, 0, 7, 1, 0, prev_comm="cat"),
        ],
        sideband=True,
    )
    assert rows(db, "select name, cmdline from process where pid = 7") == [("cat", "/usr/bin/cat")]
    names = "select n.ts, n.name from thread_name n join thread using (utid) where tid = 7 order by n.ts"
    assert rows(db, names) == [(6, "sh"), (8, "cat")]


def test_exec_without_side_band_tells_of_the_process():
    db = built([Event(10, 0, 7, EXEC, {"filename": "/usr/bin/true", "pid": 7, "old_pid": 7})])
    assert rows(db, "select p.pid, p.cmdline, t.main from thread t join process p using (upid) where t.tid = 7") == [
        (7, "/usr/bin/true", True)
    ]


def test_threads_of_a_process():
    db = built(
        [
            Started(time=5, pid=7, tid=7, parent=1, parent_tid=1),
            Started(time=6, pid=7, tid=8, parent=7, parent_tid=7),
            Ended(time=20, pid=7, tid=8, parent=7, parent_tid=7),
            Ended(time=30, pid=7, tid=7, parent=1, parent_tid=1),
        ],
        sideband=True,
    )
    told = (
        "select t.tid, t.main, p.pid, p.end_ts from thread t join process p using (upid) where p.pid = 7 order by t.tid"
    )
    assert rows(db, told) == [(7, True, 7, 30), (8, False, 7, 30)]


def test_names_that_the_file_has_for_numbers_are_the_last_choice():
    db = built([switch(10, 0, 5, 1, 7), Event(20, 0, 11, SWITCH, {})], comms={7: "late", 11: "eleven"})
    assert rows(db, "select tid, name from thread where tid in (7, 11) order by tid") == [(7, "t7"), (11, "eleven")]


def test_control_characters_and_bytes_that_are_no_text():
    """They are data: kept as they are, or shown as \\xff where no text can hold them."""
    names = ["a\x1b[31m", "<script>", "x;y", "z\nw"]
    events = [switch(10 * i, 0, 0, 0, 20 + i, next_comm=n) for i, n in enumerate(names)]
    events.append(switch(90, 0, 0, 0, 30, next_comm=b"\xff\xfe"))
    db = built(events)
    assert rows(db, "select name from thread where tid between 20 and 30 order by tid") == [
        *((n,) for n in names),
        ("\\xff\\xfe",),
    ]
    assert rows(db, "select count(*) from \"sched:sched_switch\" where next_comm = '<script>'") == [(1,)]


def test_a_hundred_thousand_threads():
    """Each with a few events: seconds, not minutes."""
    start, batches, tid = time.monotonic(), [], 0
    for _ in range(10):
        batch = []
        for _ in range(10_000):
            tid += 1
            batch += [wake(tid * 10, 0, 1, tid), switch(tid * 10 + 5, 0, tid - 1, 1, tid)]
        batches.append(batch)
    db = built(*batches)
    assert rows(db, "select count(*), count(distinct tid) from thread") == [(100_001, 100_001)]
    assert rows(db, "select count(*) from thread_state where state = 'runnable' and dur = 5") == [(100_000,)]
    assert time.monotonic() - start < 120


def test_numbers_beyond_all_bounds():
    """Damage: negative numbers and ones that no kernel gives have no thread, and no memory either."""
    db = built([switch(10, 0, 0, 0, 7), Event(20, 0, 1 << 30, SWITCH, {"prev_pid": -5, "next_pid": (1 << 31) - 1})])
    assert rows(db, "select max(tid) from thread") == [(7,)]
    assert rows(db, "select count(*) from event where utid is null") == [(1,)]


def test_names_of_events_and_fields_that_tables_have_themselves():
    from store_fakes import kind

    strange = kind("event", 40, [("ts", "q"), ("CPU", "i"), ("cpu", "i"), ("recording", "i")])
    db = built([Event(5, 0, 7, strange, {"ts": 1, "CPU": 2, "cpu": 3, "recording": 4})], kinds=(*KINDS, strange))
    found = rows(db, "select * exclude (utid) from event_")
    assert found == [(0, 5, 0, 1, 2, 3, 4)]


def test_changes_of_one_number_within_a_batch():
    """Places before, between and after two changes."""
    import numpy as np

    from probescope.model.recording import EventBatch

    people = People(Pool())
    tids = np.full(6, 9, np.int32)
    none = np.zeros(6, np.uint64)
    batch = EventBatch(6, tids, none, tids, tids, tids, none)
    people.begin(batch, tids, [])
    first = int(people.of(tids)[0])
    people.place(people.of(tids), tids)
    people.begin(batch, tids, [(2, Started(time=5, pid=9, tid=9, parent=1, parent_tid=1))])
    assert people.of(tids).tolist() == [first, first, *[first + 2] * 4]  # + 1 is the parent


def test_names_in_order_of_their_places():
    """A switch that is looked at later, but was before, does not win."""
    import numpy as np

    naming = Naming(0)
    naming.mention(3, 1, 30, 11)
    naming.mentions(np.array([1, 5]), np.array([1, 1]), np.array([10, 50]), np.array([10, 11]))
    naming.batch_done()
    utids, times, names = naming.told()
    assert list(zip(utids.tolist(), times.tolist(), names.tolist(), strict=True)) == [
        (0, -1, 0),
        (1, 10, 10),
        (1, 30, 11),
    ]
