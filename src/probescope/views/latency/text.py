"""Totals as text and as JSON. Times are told in the unit that suits them: 830 ns, 12.4 us, 3.02 ms.

comm                 count       min       avg       max
rcu_preempt            187   12.4 us   80.1 us   3.94 ms
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from probescope.views.latency.totals import Case, Total, Totals

WIDTH = 40
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))


def span(ns: float) -> str:
    """Three digits that say something, and the unit."""
    for factor, unit in _UNITS:
        if ns >= factor:
            value = ns / factor
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
    return f"{ns:.0f} ns"


def table(totals: Totals, names: list[str], most: int) -> Iterator[str]:
    """A line for each key, the longest total first; ``most`` of them."""
    from probescope.model.visible import visible

    if not names or not totals.by:
        return
    found = sorted(totals.by.items(), key=lambda item: -item[1].total)
    rows = [([visible(str(k)) for k in key], total) for key, total in found[: max(0, most)]]
    widths = [max([len(n), *(len(row[i]) for row, _ in rows)]) for i, n in enumerate(names)]
    yield _row([f"{n:<{w}}" for n, w in zip(names, widths, strict=False)], ["count", "min", "avg", "max"])
    for row, t in rows:
        cells = [f"{c:<{w}}" for c, w in zip(row, widths, strict=True)]
        yield _row(cells, [f"{t.count:,}", span(t.least), span(t.average), span(t.most)])
    if len(found) > most:
        yield f"... and {len(found) - most:,} more\n"


def _row(keys: list[str], values: list[str]) -> str:
    return "  ".join([*keys, *(f"{v:>10}" for v in values)]) + "\n"


def summary(total: Total) -> str:
    if not total.count:
        return "no pairs\n"
    spread = "  ".join(f"{name} {span(value)}" for name, value in _spread(total))
    return f"{total.count:,} pairs  {spread}\n"


def _spread(total: Total) -> Iterator[tuple[str, float]]:
    yield "min", total.least
    yield "avg", total.average
    yield "max", total.most


def histogram(total: Total) -> Iterator[str]:
    if not total.buckets:
        return
    largest = max(total.buckets.values())
    for bucket in range(min(total.buckets), max(total.buckets) + 1):
        count = total.buckets.get(bucket, 0)
        low, high = (1 << bucket - 1, 1 << bucket) if bucket else (0, 1)
        bar = "@" * (count * WIDTH // largest)
        yield f"{f'[{span(low)}, {span(high)})':<22}{count:>10,} |{bar:<{WIDTH}}|\n"


def worst(cases: list[Case], names: list[str], frames: Callable[[Any], list[str]]) -> Iterator[str]:
    if cases:
        yield "the longest:\n"
    for case in cases:
        yield line(case, names)
        yield from (f"        {frame}\n" for frame in frames(case.stack))


def line(case: Case, names: list[str]) -> str:
    from probescope.model.visible import visible

    by = "".join(f"  {n}={visible(str(v))}" for n, v in zip(names, case.by, strict=True) if n != "comm")
    seconds, rest = divmod(case.time, 1_000_000_000)
    return f"{span(case.latency):>10}  {seconds}.{rest // 1000:06} [{case.cpu:03}] {visible(case.comm)}{by}\n"


def document(case: Case, names: list[str], frames: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "case", "latency_ns": case.latency, "time_ns": case.time, "cpu": case.cpu}
    out |= {"comm": case.comm, "by": dict(zip(names, case.by, strict=True))}
    return out | ({"stack": frames} if frames else {})


def as_json(total: Total, names: list[str], key: tuple[Any, ...]) -> dict[str, Any]:
    """``histogram``: [low, high, count] in ns, ``high`` excluded."""
    out: dict[str, Any] = {"type": "total", "by": dict(zip(names, key, strict=True)), "count": total.count}
    if total.count:
        out |= {"sum_ns": total.total, "min_ns": total.least, "avg_ns": round(total.average, 3), "max_ns": total.most}
    ends = [(b, (1 << b - 1, 1 << b) if b else (0, 1)) for b in sorted(total.buckets)]
    return out | {"histogram": [[low, high, total.buckets[b]] for b, (low, high) in ends]}
