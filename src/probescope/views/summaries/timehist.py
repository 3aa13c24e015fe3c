"""``--timehist``: every stretch of a thread on a CPU, as perf sched timehist prints it. What perf prints as 0.000
because it does not know it is a dash here. Source: perf-sched(1), beside perf 6.1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from probescope.views.summaries.said import NS_S, Said, Window, cell

if TYPE_CHECKING:
    from probescope.store.session import Stores

LINES = """with slices as (
  select s.*, s.ts - lag(s.end_ts) over (partition by s.utid order by s.end_ts) as away
  from sched_slice s join thread t using (utid) where t.tid <> 0 and s.end_ts is not null
)
select s.end_ts, s.cpu, t.name, t.tid, p.pid, s.away, s.ts - w.ts as delay, s.dur, s.end_state
from slices s join thread t using (utid) left join process p using (upid)
left join thread_state r on r.utid = s.utid and r.end_ts = s.ts and r.state = 'runnable'
left join wakeup w on w.id = r.wakeup
where s.end_ts between $first and $last
order by s.end_ts"""
HEAD = (
    "           time    cpu  task name                       wait time  sch delay   run time\n"
    "                        [tid/pid]                          (msec)     (msec)     (msec)\n"
    "--------------- ------  ------------------------------  ---------  ---------  ---------\n"
)


def say(store: Stores, window: Window, most: int) -> Iterator[Said]:
    """``most``: lines; 0 for all of them."""
    yield Said(HEAD)
    names = ("ts", "cpu", "name", "tid", "pid", "wait_ns", "delay_ns", "run_ns", "state")
    for n, row in enumerate(store.query(LINES, window.params).tuples()):
        if most and n >= most:
            yield Said("... (--rows)\n")
            return
        end, cpu, name, tid, pid, away, delay, run, _ = row
        who = f"[{tid}/{pid}]" if pid is not None and pid != tid else f"[{tid}]"
        task = cell(name, 30 - len(who)) + who
        time = f"{end // NS_S}.{end % NS_S // 1000:06d}"
        text = f"{time:>15} [{cpu:04d}]  {task:<30}  {ms(away):>9}  {ms(delay):>9}  {ms(run):>9}\n"
        yield Said(text, {"type": "slice", **dict(zip(names, row, strict=True))})


def ms(ns: int | None) -> str:
    """Cut behind microseconds, as perf does."""
    return "-" if ns is None else f"{ns // 1_000_000}.{ns % 1_000_000 // 1000:03d}"
