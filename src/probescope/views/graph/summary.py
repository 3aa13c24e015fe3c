"""Totals of a function graph as tables.

CALLS      TOTAL us       OWN us    AVG us    MAX us  FUNCTION
   12       345.678      123.456    28.807    99.001  do_sys_openat2
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from probescope.formats.tracing.call_totals import FunctionTotal

WIDTH = 40


def table(totals: Sequence[FunctionTotal], name: Callable[[int], str]) -> Iterator[str]:
    yield f"{'CALLS':>10} {'TOTAL us':>14} {'OWN us':>14} {'AVG us':>10} {'MIN us':>10} {'MAX us':>10}  FUNCTION\n"
    for t in totals:
        average = t.total / t.calls
        yield (
            f"{t.calls:>10} {_us(t.total):>14} {_us(t.own):>14} {_us(average):>10} {_us(t.least):>10}"
            f" {_us(t.most):>10}  {name(t.func)}\n"
        )


def histogram(total: FunctionTotal, name: Callable[[int], str]) -> Iterator[str]:
    """Calls by their time, in powers of two of ns."""
    yield f"{name(total.func)}: {total.calls} calls\n"
    used = [b for b, n in enumerate(total.hist) if n]
    most = max(total.hist)
    for b in range(used[0], used[-1] + 1):
        low, high = (0, 1) if b == 0 else (1 << (b - 1), 1 << b)
        bar = "@" * round(total.hist[b] * WIDTH / most)
        yield f"{_span(low):>9} .. {_span(high):<9} {total.hist[b]:>8} |{bar:<{WIDTH}}|\n"


def callers(pairs: dict[tuple[int, int], tuple[int, int]], name: Callable[[int], str]) -> Iterator[str]:
    """Who calls what how often, most time first."""
    yield f"{'CALLS':>10} {'TOTAL us':>14}  FUNCTION <- CALLER\n"
    for (caller, func), (calls, total) in sorted(pairs.items(), key=lambda item: (-item[1][1], item[0])):
        by = name(caller) if caller else "(not traced)"
        yield f"{calls:>10} {_us(total):>14}  {name(func)} <- {by}\n"


def as_json(total: FunctionTotal, name: Callable[[int], str]) -> dict[str, Any]:
    """Times in ns; ``hist``: pairs of the bucket's lower end and its calls."""
    hist = [[0 if b == 0 else 1 << (b - 1), n] for b, n in enumerate(total.hist) if n]
    return {
        "function": name(total.func),
        "calls": total.calls,
        "total_ns": total.total,
        "own_ns": total.own,
        "min_ns": total.least,
        "max_ns": total.most,
        "hist": hist,
    }


def _us(ns: float) -> str:
    return f"{ns / 1000:.3f}"


def _span(ns: int) -> str:
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns} ns"
