"""Perfetto's own tables, made of what we export, say the same as the store made of the same recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import formats_perf as fp
import pytest
from browser_perfetto import perfetto
from cli_exports import export

from probescope.store.opening import Asked

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EVENTS = "sched:sched_switch sched:sched_waking sched:sched_wakeup_new raw_syscalls:sys_enter raw_syscalls:sys_exit"
WORK = "for i in 1 2 3 4 5 6 7 8 9 10; do ls / > /dev/null & cat /etc/hostname > /dev/null; sleep 0.01; wait; done"


def test_scheduling_and_system_calls(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of CPUs with the states at their ends, waits of threads with who woke them, and system calls: as many,
    and as long. Perfetto knows first wake-ups of new threads from task_newtask alone, so those are left out. The clock
    is one that all CPUs share: where they differ, the store mends the order of wake-ups, and Perfetto does not."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    options = ["-a", "-k", "monotonic", "-m", "4096", "-c", "1", *(w for e in EVENTS.split() for w in ("-e", e))]
    path = fp.recorded(tmp_path / "perf.data", options, ["sh", "-c", WORK])
    export(path, "-o", tmp_path / "a.pftrace")
    with Asked([(str(path), 0)]) as asked:
        slices = set(
            asked.query(
                """select s.cpu, t.tid, s.ts, s.dur, s.end_state from sched_slice s join thread t using (utid)
                where t.tid <> 0 and s.dur is not null"""
            ).tuples()
        )
        waits = set(
            asked.query(
                """select t.tid, r.ts, r.dur, case when r.preempted then -1 else w.tid end
                from thread_state r join thread t using (utid) left join thread w on w.utid = r.waker_utid
                left join wakeup u on u.id = r.wakeup
                where r.state = 'runnable' and r.dur is not null and not coalesce(u.fresh, false)"""
            ).tuples()
        )
        calls = set(
            asked.query(
                "select t.tid, s.ts, s.dur from syscall s join thread t using (utid) where s.dur is not null"
            ).tuples()
        )
        cut = {
            tid
            for (tid,) in asked.query(
                "select distinct tid from sched_slice s join thread using (utid) where s.ts is null or s.end_ts is null"
            ).tuples()
        }
    with perfetto(browser, tmp_path / "a.pftrace") as p:
        theirs = {tuple(r) for r in p.query("select ucpu, tid, ts, dur, end_state from sched join thread using (utid)")}
        runnable = {
            (tid, ts, dur, -1 if state == "R+" else waker)
            for tid, ts, dur, state, waker in p.query(
                """select t.tid, s.ts, s.dur, s.state, w.tid from thread_state s join thread t using (utid)
                left join thread w on w.utid = s.waker_utid where s.state in ('R', 'R+') and s.dur >= 0"""
            )
        }
        entered = {
            tuple(r)
            for r in p.query(
                """select t.tid, s.ts, s.dur from slice s join thread_track k on s.track_id = k.id
                join thread t using (utid) where s.name like 'sys_%' and s.dur >= 0"""
            )
        }
    assert len(slices) > 100
    assert len(calls) > 1000
    assert not {s for s in slices if s[1] not in cut} - theirs
    mine = {w[:3] for w in waits if w[0] not in cut}
    assert mine
    assert not mine - {r[:3] for r in runnable}
    woken = {w for w in waits if w[3] != -1 and w[0] not in cut}
    assert not woken - runnable, {r for r in runnable if r[:3] in {w[:3] for w in woken - runnable}}
    assert not {c for c in calls if c not in entered}
