"""``--sched``: perf sched latency -p, with how often a thread had to leave the CPU, and when it ran.

perf counts waits after wake-ups and after a thread left the CPU of its own will while it could have gone on (R); the
first time that a thread is seen to run is a wait of no length, for perf. Waits after being preempted (R+) stand in
columns of their own. Run times are the kernel's (sched_stat_runtime) where these were recorded, else from switch to
switch. Source: perf-sched(1), beside perf 6.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from probescope.views.summaries.drawing import spark, spread
from probescope.views.summaries.said import NS_S, WIDTH, Said, Window, cell, more

if TYPE_CHECKING:
    from probescope.store.session import Stores

RUNTIME = "sched:sched_stat_runtime"
WAITS = """with waits as (
  select r.utid, r.ts, r.end_ts, r.dur, coalesce(r.preempted, false) and s.end_state is distinct from 'R' as forced
  from thread_state r left join sched_slice s on s.utid = r.utid and s.end_ts = r.ts
  where r.state = 'runnable' and r.end_ts between $first and $last
)
select t.utid, t.tid, t.name, count(*) filter (where not forced) as switches,
  coalesce(sum(dur) filter (where not forced), 0)::bigint as waited,
  coalesce(max(dur) filter (where not forced), 0) as longest,
  arg_max(ts, dur) filter (where not forced) as longest_ts,
  count(*) filter (where forced) as preempted, coalesce(sum(dur) filter (where forced), 0)::bigint as preempted_ns
from waits join thread t using (utid)
group by all
order by coalesce(waited / nullif(switches, 0), 0) desc, preempted_ns desc, tid"""
RUNS = """select utid, sum(dur)::bigint from sched_slice
where dur is not null and end_ts between $first and $last group by utid"""
KERNEL_RUNS = """select t.utid, sum(r.runtime)::bigint
from "sched:sched_stat_runtime" r
asof join (select utid, tid, recording, coalesce(start_ts, -9223372036854775807) as since from thread) t
  on t.tid = r.pid and t.recording = r.recording and r.ts >= t.since
where r.ts between $first and $last group by t.utid"""
ACTIVITY = """select utid, least((ts - $first) * $width // greatest($last - $first, 1), $width - 1)::int as bucket,
  sum(dur)::bigint as ns
from sched_slice where dur is not null and ts between $first and $last and utid in (select unnest($ids))
group by all"""
RULE = " " + "-" * 139 + "\n"
HEAD = (
    "  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max delay ms    "
    "| Max delay start           | Max delay end          | Preempted |  for ms    | Running\n"
)


def say(store: Stores, window: Window, most: int) -> Iterator[Said]:
    waits = store.query(WAITS, window.params).all()
    runs = dict(store.query(KERNEL_RUNS if RUNTIME in store.tables else RUNS, window.params).tuples())
    lines = activity(store, window, [r["utid"] for r in waits[:most]])
    yield Said("\n" + RULE + HEAD + RULE)
    for row in waits[:most]:
        yield Said(*_row(row, runs.get(row["utid"], 0), lines.get(row["utid"], [])))
    yield from more(len(waits) - most, "threads")
    total, switches = sum(runs.get(r["utid"], 0) for r in waits), sum(r["switches"] for r in waits)
    foot = f"  TOTAL:                |{total / 1e6:>11.3f} ms |{switches:>9} |\n"
    yield Said(
        RULE + foot + RULE,
        {"type": "total", "runtime_ms": round(total / 1e6, 6), "switches": switches, "threads": len(waits)},
    )


def activity(store: Stores, window: Window, ids: list[int]) -> dict[int, list[float]]:
    """By thread, how long it ran in each piece of the time."""
    found: dict[int, dict[int, float]] = {}
    for utid, bucket, ns in store.query(ACTIVITY, {**window.params, "width": WIDTH, "ids": ids}).tuples():
        found.setdefault(utid, {})[bucket] = ns
    return {utid: spread(buckets, WIDTH) for utid, buckets in found.items()}


def _row(row: dict[str, Any], ran: int, line: list[float]) -> tuple[str, dict[str, Any]]:
    average = row["waited"] / row["switches"] if row["switches"] else 0
    start = row["longest_ts"]
    begin, end = (start / NS_S, (start + row["longest"]) / NS_S) if start is not None else (0.0, 0.0)
    task = cell(row["name"], 21 - len(str(row["tid"]))) + f":{row['tid']}"
    text = (
        f"  {task:<22}|{ran / 1e6:>11.3f} ms |{row['switches']:>9} | avg:{average / 1e6:>8.3f} ms |"
        f" max:{row['longest'] / 1e6:>8.3f} ms | max start: {begin:>12.6f} s | max end: {end:>12.6f} s |"
        f"{row['preempted']:>10} |{row['preempted_ns'] / 1e6:>8.3f} ms | {spark(line)}"
    )
    data = {
        "type": "task",
        "name": row["name"],
        "tid": row["tid"],
        "runtime_ms": ran / 1e6,
        "switches": row["switches"],
        "avg_delay_ms": average / 1e6,
        "max_delay_ms": row["longest"] / 1e6,
        "max_start_ns": start,
        "max_end_ns": None if start is None else start + row["longest"],
        "preempted": row["preempted"],
        "preempted_ms": row["preempted_ns"] / 1e6,
        "activity_ns": line,
    }
    return text.rstrip() + "\n", data
