"""``--latency``: how long threads waited for a CPU, after wake-ups and after having had to leave one: a histogram in
powers of two over all, and a small one for each thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from probescope.views.latency.text import span
from probescope.views.summaries.drawing import histogram, spark
from probescope.views.summaries.said import WIDTH, Said, Window, cell, more

if TYPE_CHECKING:
    from probescope.store.session import Stores

ALL = """select case when dur <= 0 then -1 else floor(log2(dur))::int end as bucket, count(*) as waits
from thread_state where state = 'runnable' and dur is not null and end_ts between $first and $last
group by all order by bucket"""
THREADS = """with waits as (
  select utid, dur, case when dur <= 0 then -1 else floor(log2(dur))::int end as bucket
  from thread_state where state = 'runnable' and dur is not null and end_ts between $first and $last
)
select t.tid, t.name, count(*) as waits, sum(dur)::bigint as total, avg(dur) as average,
  quantile_cont(dur, 0.5) as p50, quantile_cont(dur, 0.99) as p99, max(dur) as longest, histogram(bucket) as buckets,
  count(*) over () as threads
from waits join thread t using (utid)
group by t.utid, t.tid, t.name order by total desc, t.tid limit $most"""
OVER_TIME = """select least((ts - $first) * $width // greatest($last - $first, 1), $width - 1)::int as bucket,
  max(dur) as longest
from thread_state where state = 'runnable' and dur is not null and ts >= $first and end_ts between $first and $last
group by all"""


def say(store: Stores, window: Window, most: int) -> Iterator[Said]:
    found = {int(b): int(n) for b, n in store.query(ALL, window.params).tuples()}
    line = {int(b): n for b, n in store.query(OVER_TIME, {**window.params, "width": 2 * WIDTH}).tuples()}
    yield Said(f"\n  Waits for a CPU: {sum(found.values()):,}\n\n" + "".join(histogram(found)), _all(found))
    drawn = spark([line.get(i, 0) for i in range(2 * WIDTH)])
    yield Said(f"\n  Longest over time |{drawn}|  up to {span(max(line.values(), default=0))}\n\n")
    rows = store.query(THREADS, {**window.params, "most": most}).all()
    low, high = (min(found), max(found)) if found else (0, 0)
    head = f"{'Task':<24}{'Waits':>8}" + "".join(f"{n:>11}" for n in ("Total", "Avg", "P50", "P99", "Max"))
    yield Said(f"  {head}  {span(1 << max(low, 0))} .. {span(2 << max(high, 0))}\n")
    for row in rows:
        yield _row(row, low, high)
    yield from more((rows[0]["threads"] if rows else 0) - len(rows), "threads")


def _all(found: dict[int, int]) -> dict[str, Any]:
    """Bounds in ns: ``[low, high)``."""
    told = [{"low_ns": 1 << b if b >= 0 else 0, "high_ns": 1 << (b + 1), "waits": n} for b, n in found.items()]
    return {"type": "histogram", "waits": sum(found.values()), "buckets": told}


def _row(r: dict[str, Any], low: int, high: int) -> Said:
    own = {int(k): int(v) for k, v in dict(r["buckets"]).items()}
    drawn = spark([own.get(b, 0) for b in range(low, high + 1)])
    task = cell(r["name"], 22 - len(str(r["tid"]))) + f":{r['tid']}"
    times = "".join(f"{span(float(r[k])):>11}" for k in ("total", "average", "p50", "p99", "longest"))
    data = {
        "type": "task",
        "name": r["name"],
        "tid": r["tid"],
        "waits": r["waits"],
        "total_ns": r["total"],
        "avg_ns": float(r["average"]),
        "p50_ns": float(r["p50"]),
        "p99_ns": float(r["p99"]),
        "max_ns": r["longest"],
        "buckets": _all(own)["buckets"],
    }
    return Said(f"  {task:<24}{r['waits']:>8}{times}  {drawn}".rstrip() + "\n", data)
