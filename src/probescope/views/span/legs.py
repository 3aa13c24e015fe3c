"""Maps of the program as totals by leg, and their text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from probescope.model.visible import visible
from probescope.views.latency.text import histogram, span
from probescope.views.span.program import WHOLE

if TYPE_CHECKING:
    from probescope.views.latency.totals import Total
    from probescope.views.span.points import Point

Leg = tuple[int, int]
PERCENTILES = ((0.5, "p50"), (0.9, "p90"), (0.99, "p99"))


def totals(maps: Mapping[str, Any]) -> dict[tuple[Leg, Any], Total]:
    """By leg and key: numbers of the first and last point. ``maps`` as ``LiveSession.maps`` gives them."""
    from probescope.views.latency.totals import Total

    out: dict[tuple[Leg, Any], Total] = {}
    for key, stats in (maps.get("@sum") or {}).items():
        first, last, by = key
        buckets = {
            (low or 0).bit_length(): count for (low, _), count in (maps["@hist"].get(key) or {}).items() if count
        }
        out[(int(first), int(last)), by] = Total(
            int(stats["count"]), int(stats["total"]), int(maps["@least"][key]), int(maps["@most"][key]), buckets
        )
    return out


def name(leg: Leg, points: Sequence[Point]) -> str:
    if leg[0] == WHOLE:
        return f"{points[0].text} to {points[-1].text}"
    return f"{points[leg[0]].text} to {points[leg[1]].text}"


def told(found: Mapping[tuple[Leg, Any], Total], points: Sequence[Point], by: str, most: int = 20) -> Iterator[str]:
    """Legs in the order of the code, the whole last; below each its keys, the longest total first."""
    from probescope.views.latency.totals import Total

    merged: dict[Leg, Total] = {}
    for (leg, _), total in found.items():
        merged.setdefault(leg, Total()).merge(total)
    for leg in sorted(merged, key=lambda x: (x[0] == WHOLE, x)):
        yield f"{visible(name(leg, points))}\n"
        yield f"  {line(merged[leg])}\n"
        if by:
            rows = sorted(((k, t) for (x, k), t in found.items() if x == leg), key=lambda r: -r[1].total)
            yield from (f"    {visible(_key(k)):<20} {line(t)}\n" for k, t in rows[:most])
            if len(rows) > most:
                yield f"    ... and {len(rows) - most:,} more\n"
        yield from (f"    {row}" for row in histogram(merged[leg]))


def _key(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def line(t: Total) -> str:
    parts = [f"{t.count:,} spans", f"min {span(t.least)}", f"avg {span(t.average)}"]
    parts += [f"{label} <= {span(t.percentile(part))}" for part, label in PERCENTILES]
    return "  ".join([*parts, f"max {span(t.most)}", f"total {span(t.total)}"])


def documents(found: Mapping[tuple[Leg, Any], Total], points: Sequence[Point], by: str) -> Iterator[dict[str, Any]]:
    """A document a leg and key; times in ns, histograms as ``[low, high, count]``."""
    for (leg, key), t in sorted(found.items(), key=lambda item: (item[0][0][0] == WHOLE, item[0][0], -item[1].total)):
        yield {
            "from": points[0].text if leg[0] == WHOLE else points[leg[0]].text,
            "to": points[-1].text if leg[0] == WHOLE else points[leg[1]].text,
            **({"by": key if isinstance(key, int) else _key(key)} if by else {}),
            "count": t.count,
            "total_ns": t.total,
            "min_ns": t.least,
            "avg_ns": t.average,
            "max_ns": t.most,
            "histogram": [[1 << (b - 1) if b else 0, 1 << b, n] for b, n in sorted(t.buckets.items())],
        }
