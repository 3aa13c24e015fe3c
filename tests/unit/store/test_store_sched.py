"""Scheduling out of switches and wake-ups: slices of CPUs, states of threads, latencies. All worked out by hand."""

from __future__ import annotations

from store_fakes import WAKEUP, WAKEUP_NEW, built, rows, switch, wake

from probescope.model.recording import LostEvents

STATES = """select t.tid, s.state, s.ts, s.end_ts, s.dur, s.preempted, w.tid
    from thread_state s join thread t using (utid) left join thread w on w.utid = s.waker_utid
    where t.tid = {} order by coalesce(s.ts, s.end_ts), s.ts nulls first"""
SLICES = """select s.cpu, t.tid, s.ts, s.end_ts, s.dur, s.end_state
    from sched_slice s join thread t using (utid) where t.tid <> 0 order by coalesce(s.ts, s.end_ts)"""

#  cpu 0:  100 [7 .... 200] idle  [250 ... 7 ... 300 preempted] 8
WORK = [
    switch(100, 0, 0, 0, 7),
    switch(200, 0, 7, 1, 0),
    wake(230, 1, 9, 7),
    switch(250, 0, 0, 0, 7),
    switch(300, 0, 7, 0x100, 8),
    switch(350, 0, 8, 2, 7),
]


def test_slices_are_from_switch_to_switch():
    """Who was on a CPU, and why it left; what has not ended at the end has no end."""
    assert rows(built(WORK), SLICES) == [
        (0, 7, 100, 200, 100, "S"),
        (0, 7, 250, 300, 50, "R+"),
        (0, 8, 300, 350, 50, "D"),
        (0, 7, 350, None, None, None),
    ]


def test_states_follow_each_other():
    """Asleep until it is woken up, runnable until it runs, and preempted where it could have gone on."""
    assert rows(built(WORK), STATES.format(7)) == [
        (7, "runnable", None, 100, None, None, None),  # since when is not known
        (7, "running", 100, 200, 100, None, None),
        (7, "sleeping", 200, 230, 30, None, None),
        (7, "runnable", 230, 250, 20, False, 9),
        (7, "running", 250, 300, 50, None, None),
        (7, "runnable", 300, 350, 50, True, None),
        (7, "running", 350, None, None, None, None),
    ]


def test_batches_do_not_matter():
    """What begins in one batch and ends in another is the same as in one."""
    for cut in range(1, len(WORK)):
        for sql in (SLICES, STATES.format(7), STATES.format(8)):
            assert rows(built(WORK[:cut], WORK[cut:]), sql) == rows(built(WORK), sql)


def test_of_two_wakeups_the_first_counts():
    """sched_waking, then sched_wakeup of the same: latency is from the first, as perf-sched(1) has it."""
    db = built([switch(10, 0, 7, 1, 0), wake(20, 1, 9, 7), wake(25, 0, 0, 7, WAKEUP), switch(30, 0, 0, 0, 7)])
    found = rows(db, STATES.format(7))
    assert (7, "runnable", 20, 30, 10, False, 9) in found
    assert len([r for r in found if r[1] == "runnable"]) == 1
    assert rows(db, "select count(*) from wakeup") == [(2,)]


def test_a_wakeup_of_who_runs_changes_nothing():
    """It comes between the look at a condition and the switch away."""
    db = built([switch(10, 0, 0, 0, 7), wake(20, 1, 9, 7), switch(30, 0, 7, 1, 0)])
    assert ("runnable", 20) not in rows(db, "select state, ts from thread_state")
    assert (7, "sleeping", 30, None, None, None, None) in rows(db, STATES.format(7))


def test_a_wakeup_may_seem_to_come_after_what_it_led_to():
    """Clocks of two CPUs are a little apart: who was asleep and runs was woken up by the wake-up that comes at once."""
    slept = [switch(10, 0, 7, 1, 0), switch(28, 0, 0, 0, 7)]
    db = built([*slept, wake(30, 1, 9, 7), wake(31, 0, 0, 7, WAKEUP), switch(50, 0, 7, 1, 0)])
    found = [r for r in rows(db, STATES.format(7)) if r[2]]
    assert sorted(found, key=lambda r: (r[2], r[3] or 99)) == [
        (7, "sleeping", 10, 28, 18, None, None),
        (7, "runnable", 28, 28, 0, False, 9),
        (7, "running", 28, 50, 22, None, None),
        (7, "sleeping", 50, None, None, None, None),
    ]
    much_later = built([*slept, wake(28 + 10_000_001, 1, 9, 7)])
    assert "runnable" not in [r[1] for r in rows(much_later, STATES.format(7)) if r[2]]
    preempted = built([switch(10, 0, 7, 0x100, 8), switch(28, 0, 8, 1, 7), wake(30, 1, 9, 7)])
    assert (7, "runnable", 10, 28, 18, True, None) in rows(preempted, STATES.format(7))


def test_a_wakeup_of_who_was_preempted_is_told_but_begins_nothing():
    db = built([switch(10, 0, 7, 0x101, 8), wake(20, 1, 9, 7), switch(30, 0, 8, 1, 7)], [])
    found = [r for r in rows(db, STATES.format(7)) if r[1] in ("sleeping", "runnable") and r[2]]
    assert found == [(7, "sleeping", 10, 20, 10, None, None), (7, "runnable", 20, 30, 10, False, 9)]
    db = built([switch(10, 0, 7, 0x100, 8), wake(20, 1, 9, 7), switch(30, 0, 8, 1, 7)])
    assert (7, "runnable", 10, 30, 20, True, 9) in rows(db, STATES.format(7))


def test_the_middle_of_a_sleep_is_not_invented():
    """A recording that begins while a thread sleeps: until when is known, since when and how deeply is not."""
    found = rows(built([wake(20, 1, 9, 7), switch(30, 0, 0, 0, 7)]), STATES.format(7))
    assert found[0] == (7, None, None, 20, None, None, None)
    assert found[1] == (7, "runnable", 20, 30, 10, False, 9)


def test_a_new_thread_did_not_sleep_before():
    db = built([wake(20, 1, 9, 7, WAKEUP_NEW), switch(30, 0, 0, 0, 7)])
    assert rows(db, STATES.format(7))[0][:4] == (7, "runnable", 20, 30)
    assert rows(db, "select fresh, interrupt from wakeup") == [(True, False)]


def test_interrupts_wake():
    """common_flags of the wake-up tell: 8 hard, 16 soft (include/linux/trace_events.h)."""
    db = built([wake(20, 1, 9, 7, flags=8), wake(21, 1, 9, 8, flags=16), wake(22, 1, 9, 10, flags=1)])
    assert rows(db, "select interrupt from wakeup order by ts") == [(True,), (True,), (False,)]


def test_a_missing_switch_gives_no_wrong_slice():
    """7 got the CPU, 8 leaves it: neither the end of one nor the begin of the other is known, and it is told."""
    db = built([switch(10, 0, 0, 0, 7), switch(50, 0, 8, 1, 0)])
    assert rows(db, SLICES) == [(0, 7, 10, None, None, None), (0, 8, None, 50, None, "S")]
    assert ("switches", "warning", 1) in rows(db, "select name, severity, count from stats")


def test_lost_events_cut_slices():
    """The same thread before and after a loss may have been away meanwhile; other CPUs are not concerned."""
    db = built(
        [
            switch(10, 0, 0, 0, 7),
            switch(11, 1, 0, 0, 8),
            LostEvents(time=20, cpu=0, count=5),
            switch(30, 0, 7, 1, 0),
            switch(31, 1, 8, 1, 0),
        ]
    )
    assert rows(db, SLICES) == [
        (0, 7, 10, None, None, None),
        (1, 8, 11, 31, 20, "S"),
        (0, 7, None, 30, None, "S"),
    ]
    assert rows(db, "select name, severity, count, cpu, ts from stats where name = 'lost'") == [
        ("lost", "error", 5, 0, 20)
    ]


def test_times_that_go_back():
    """Clocks of CPUs that are apart: no length is negative, and nothing is left out."""
    db = built([switch(100, 0, 0, 0, 7), switch(150, 0, 7, 1, 0), wake(130, 1, 9, 7), switch(110, 1, 0, 0, 7)])
    assert rows(db, "select count(*) from thread_state where dur < 0") == [(0,)]
    assert rows(db, "select name, count from stats where name = 'skew'") == [("skew", 2)]
    assert rows(db, "select count(*) from event") == [(4,)]


def test_states_of_old_kernels():
    """Before 4.14 the letters stood for other numbers; the event's own print format tells."""
    from store_fakes import KINDS, SWITCH, SWITCH_FMT

    from probescope.frozen import replace

    old = SWITCH_FMT.replace('{ 0x10, "X" }, { 0x20, "Z" }', '{ 0x10, "Z" }, { 0x20, "X" }')
    kinds = tuple(replace(k, print_fmt=old) if k.name == SWITCH.name else k for k in KINDS)
    db = built([switch(10, 0, 0, 0, 7), switch(50, 0, 7, 0x10, 0)], kinds=kinds)
    assert rows(db, "select end_state from sched_slice where ts = 10") == [("Z",)]
