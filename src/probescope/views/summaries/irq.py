"""``--irq``: interrupts and soft interrupts by CPU, with perf kwork report's columns, and when they came. Source:
perf-kwork(1), beside perf 6.1; it knows irq_handler_* and softirq_*, not the processor's own vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from probescope.views.summaries.drawing import spark, spread
from probescope.views.summaries.said import NS_S, WIDTH, Said, Window, cell, more

if TYPE_CHECKING:
    from probescope.store.session import Stores

ROWS = """with each as (
  select ts, dur, end_ts, cpu, irq as number, name, false as soft, null as waited from irq
  union all
  select ts, dur, end_ts, cpu, vec, name, true, ts - raised_ts from softirq
), kept as (select * from each where dur is not null and end_ts between $first and $last),
placed as (
  select *, least((ts - $first) * $width // greatest($last - $first, 1), $width - 1)::int as bucket from kept
)
select name, number, soft, cpu, count(*) as count, sum(dur)::bigint as total, min(dur) as least, avg(dur) as average,
  max(dur) as most, arg_max(ts, dur) as most_ts, avg(waited) as waited, max(waited) as longest_wait,
  histogram(bucket) as buckets
from placed
group by all order by total desc, name, cpu"""
RULE = " " + "-" * 128 + "\n"
HEAD = (
    "  Kwork Name                     | Cpu  | Total Runtime | Count     | Max runtime   | Max runtime start   |"
    " Max runtime end     | Avg us    | Wait us   | Coming\n"
)


def say(store: Stores, window: Window, most: int) -> Iterator[Said]:
    left = 0
    yield Said("\n" + HEAD + RULE)
    count = total = 0
    for row in store.query(ROWS, {**window.params, "width": WIDTH}):
        count, total = count + row["count"], total + row["total"]
        if most > 0:
            most -= 1
            yield _row(row)
        else:
            left += 1
    yield from more(left, "rows")
    share = 100 * total / max(1, window.last - window.first)
    yield Said(
        f"{RULE}  {count:,} interrupts, {total / 1e6:.3f} ms: {share:.2f}% of the time of one CPU\n",
        {"type": "total", "count": count, "total_ms": total / 1e6},
    )


def _row(r: dict[str, Any]) -> Said:
    line = spread({int(k): float(v) for k, v in dict(r["buckets"]).items()}, WIDTH)
    name = ("(s)" if r["soft"] else "") + f"{cell(r['name'], 24)}:{r['number']}"
    end = r["most_ts"] + r["most"]
    waited = "-" if r["waited"] is None else f"{r['waited'] / 1e3:.1f}"
    text = (
        f"  {name:<30} | {r['cpu']:04d} |{r['total'] / 1e6:>11.3f} ms |{r['count']:>10} |{r['most'] / 1e6:>11.3f} ms |"
        f"{r['most_ts'] / NS_S:>18.6f} s |{end / NS_S:>18.6f} s |{r['average'] / 1e3:>10.1f} |"
        f"{waited:>10} | {spark(line)}"
    )
    data = {
        "type": "softirq" if r["soft"] else "irq",
        "name": r["name"],
        "number": r["number"],
        "cpu": r["cpu"],
        "count": r["count"],
        "total_ms": r["total"] / 1e6,
        "min_ms": r["least"] / 1e6,
        "avg_ms": r["average"] / 1e6,
        "max_ms": r["most"] / 1e6,
        "max_start_ns": r["most_ts"],
        "max_end_ns": end,
        "avg_wait_ms": None if r["waited"] is None else r["waited"] / 1e6,
        "activity": line,
    }
    return Said(text.rstrip() + "\n", data)
