"""``--syscalls``: perf trace -s, thread by thread, with when each was in system calls. A call whose begin was not
recorded is counted, and has no time: perf takes it for a call of no length. The kernel tells of returns from signal
handlers as of a call -1, which is none. Source: perf-trace(1), beside perf 6.1."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from probescope.views.summaries.drawing import spark, spread
from probescope.views.summaries.said import WIDTH, Said, Window, cell, more

if TYPE_CHECKING:
    from probescope.store.session import Stores

MOST_CALLS = 25
"""Kinds of calls of a thread; with --rows above it, as many as that."""
THREADS = """with told as (
  select e.utid, count(*) as events from event e join event_kind k on k.id = e.kind
  where (k.name like 'raw_syscalls:sys_%' or k.name like 'syscalls:sys_%') and e.ts between $first and $last
  group by e.utid
)
select t.utid, t.tid, t.name, events, sum(events) over () ::bigint as whole, count(*) over () as threads
from told join thread t using (utid) order by events desc, t.tid limit $most"""
CALLS = """select utid, name, count(*) as calls, count(error) as errors, coalesce(sum(dur), 0)::bigint as total,
  min(dur) as least, avg(dur) as average, max(dur) as most, stddev_samp(dur) as deviation, count(dur) as timed
from syscall where end_ts between $first and $last and nr >= 0 and utid in (select unnest($ids))
group by all order by total desc, calls desc, name"""
ACTIVITY = """select utid, least((ts - $first) * $width // greatest($last - $first, 1), $width - 1)::int as bucket,
  count(*) as calls
from syscall where ts between $first and $last and utid in (select unnest($ids))
group by all"""
HEAD = (
    "   syscall            calls  errors  total       min       avg       max       stddev\n"
    "                                     (msec)    (msec)    (msec)    (msec)        (%)\n"
    "   --------------- --------  ------ -------- --------- --------- ---------     ------\n"
)


def say(store: Stores, window: Window, most: int) -> Iterator[Said]:
    threads = store.query(THREADS, {**window.params, "most": most}).all()
    ids = [t["utid"] for t in threads]
    calls: dict[int, list[dict[str, Any]]] = {}
    for row in store.query(CALLS, {**window.params, "ids": ids}):
        calls.setdefault(row["utid"], []).append(row)
    lines: dict[int, dict[int, float]] = {}
    for utid, bucket, count in store.query(ACTIVITY, {**window.params, "width": WIDTH, "ids": ids}).tuples():
        lines.setdefault(utid, {})[bucket] = count
    yield Said("\n Summary of events:\n")
    for thread in threads:
        line = spread(lines.get(thread["utid"], {}), WIDTH)
        share = 100 * thread["events"] / (thread["whole"] or 1)
        head = f"\n {cell(thread['name'], 40)} ({thread['tid']}), {thread['events']} events, {share:.1f}%"
        yield Said(f"{head}   {spark(line)}".rstrip() + "\n\n" + HEAD)
        own = calls.get(thread["utid"], [])
        shown = max(most, MOST_CALLS)
        for call in own[:shown]:
            yield _call(thread, call)
        yield from more(len(own) - shown, "system calls")
    yield from more((threads[0]["threads"] if threads else 0) - len(threads), "threads")


def _call(thread: dict[str, Any], c: dict[str, Any]) -> Said:
    error = _error(c)
    times = [f"{(v or 0) / 1e6:>9.3f}" if v is not None else f"{'-':>9}" for v in (c["least"], c["average"], c["most"])]
    text = (
        f"   {cell(c['name'], 40):<15} {c['calls']:>8} {c['errors']:>6} {c['total'] / 1e6:>9.3f} "
        + " ".join(times)
        + f" {error:>9.2f}%\n"
    )
    data = {
        "type": "syscall",
        "thread": thread["name"],
        "tid": thread["tid"],
        "name": c["name"],
        "calls": c["calls"],
        "errors": c["errors"],
        "total_ms": c["total"] / 1e6,
        **{f"{n}_ms": None if c[k] is None else c[k] / 1e6 for n, k in _TIMES},
        "stddev_percent": round(error, 4),
    }
    return Said(text, data)


_TIMES = (("min", "least"), ("avg", "average"), ("max", "most"))


def _error(c: dict[str, Any]) -> float:
    """The standard error of the mean, as a share of it: what perf calls stddev."""
    if not c["timed"] or not c["average"] or c["deviation"] is None:
        return 0.0
    return 100 * float(c["deviation"]) / math.sqrt(c["timed"]) / float(c["average"])
