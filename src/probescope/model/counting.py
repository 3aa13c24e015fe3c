"""Counts of events: what was read, how it is put together, and what is worked out from it. Pure.

A counter that shared its hardware with others ran for a part of the time only; its count is then scaled up:
value * enabled / running. Source: tools/perf/design.txt, "multiplexing"; perf-stat(1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """One counter on one CPU (-1: any) for one thread (-1: all). ``value`` is as the kernel counted; times in ns.
    ``supported`` False: it could not be opened here."""

    counter: int
    cpu: int
    tid: int
    value: int
    enabled: int
    running: int
    supported: bool = True

    def __sub__(self, earlier: Reading) -> Reading:
        return Reading(
            self.counter,
            self.cpu,
            self.tid,
            self.value - earlier.value,
            self.enabled - earlier.enabled,
            self.running - earlier.running,
            self.supported,
        )


@dataclass(frozen=True, slots=True)
class Total:
    """Readings of one counter put together under one ``key`` (a CPU, a core, a thread...; empty: all). ``value`` is
    scaled, ``deviation`` the standard error of its mean over several runs as a fraction, -1 for a single run."""

    counter: int
    key: tuple[int, ...]
    value: float
    enabled: int
    running: int
    parts: int
    supported: bool = True
    deviation: float = -1.0

    @property
    def counted(self) -> bool:
        return self.supported and self.running > 0

    @property
    def share(self) -> float:
        """Of the time in which it was enabled, the part in which it counted, in percent."""
        return 100.0 * self.running / self.enabled if self.enabled else 100.0


Key = Callable[[Reading], tuple[int, ...]]


def together(readings: Iterable[Reading], key: Key) -> list[Total]:
    """Sums by counter and key, in the order of counters, then of keys. Each reading is scaled by its own times."""
    sums: dict[tuple[int, tuple[int, ...]], list[float]] = {}
    for r in readings:
        s = sums.setdefault((r.counter, key(r)), [0.0, 0, 0, 0, 0])
        s[0] += r.value * r.enabled / r.running if 0 < r.running < r.enabled else r.value
        s[1] += r.enabled
        s[2] += r.running
        s[3] += 1
        s[4] += r.supported
    return [
        Total(counter, k, s[0], int(s[1]), int(s[2]), int(s[3]), supported=s[4] > 0)
        for (counter, k), s in sorted(sums.items())
    ]


def averaged(runs: Sequence[Sequence[Total]]) -> list[Total]:
    """The mean of several runs with the same counters; a counter that some runs lack is the mean of the others."""
    values: dict[tuple[int, tuple[int, ...]], list[Total]] = {}
    for run in runs:
        for t in run:
            values.setdefault((t.counter, t.key), []).append(t)
    return [_mean(v) for _, v in sorted(values.items())]


def _mean(totals: list[Total]) -> Total:
    first, n = totals[0], len(totals)
    value = sum(t.value for t in totals) / n
    deviation = deviation_of([t.value for t in totals])
    return Total(
        first.counter,
        first.key,
        value,
        sum(t.enabled for t in totals) // n,
        sum(t.running for t in totals) // n,
        first.parts,
        supported=any(t.supported for t in totals),
        deviation=deviation / value if value and n > 1 else -1.0,
    )


def deviation_of(values: Sequence[float]) -> float:
    """Standard error of the mean: the sample's standard deviation by the root of the number of values."""
    n = len(values)
    if n < 2:
        return 0.0
    mean = sum(values) / n
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n)


# --- what is worked out

_BRANCHES, _MISSES = ("branches", "branch-instructions"), ("branch-misses",)
_OF: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = (
    (_MISSES, _BRANCHES, "of all branches"),
    (("cache-misses",), ("cache-references",), "of all cache refs"),
    (("L1-dcache-load-misses",), ("L1-dcache-loads",), "of all L1-dcache accesses"),
    (("L1-icache-load-misses",), ("L1-icache-loads",), "of all L1-icache accesses"),
    (("LLC-load-misses",), ("LLC-loads",), "of all LL-cache accesses"),
    (("dTLB-load-misses",), ("dTLB-loads",), "of all dTLB cache accesses"),
    (("iTLB-load-misses",), ("iTLB-loads",), "of all iTLB cache accesses"),
)
CLOCKS = ("task-clock", "cpu-clock")


def plain_name(name: str) -> str:
    """Without modifiers: ``cycles:u`` is ``cycles``."""
    return name if "/" in name else name.partition(":")[0]


def metric(name: str, value: float, others: dict[str, float], elapsed_ns: float) -> tuple[float, str, str] | None:
    """(number, its format, what it is), or nothing. ``others``: values of the same key by plain name, clocks in ns.
    ``name`` with its modifiers; a tracepoint's has its category."""
    plain = plain_name(name)
    if plain in CLOCKS and ":" not in name.replace(":u", "").replace(":k", ""):
        return (value / elapsed_ns, "%8.3f", "CPUs utilized") if elapsed_ns else None
    clock = next((others[c] for c in CLOCKS if others.get(c)), 0.0)
    if plain == "instructions":
        cycles = others.get("cycles") or others.get("cpu-cycles") or 0.0
        return (value / cycles, "%7.2f ", "insn per cycle") if cycles else None
    if plain in {"cycles", "cpu-cycles"}:
        return (value / clock, "%8.3f", "GHz") if clock else None
    for names, whole, about in _OF:
        if plain in names:
            base = next((others[w] for w in whole if others.get(w)), 0.0)
            if base:
                return 100.0 * value / base, "%7.2f%%", about
    if plain.startswith("stalled-cycles-") and others.get("cycles"):
        return 100.0 * value / others["cycles"], "%7.2f%%", f"{plain.rpartition('-')[2]} cycles idle"
    return _slots(name, value, others) or (_rate(value, clock) if clock else None)


_TOPDOWN = {
    "topdown-retiring": "Retiring",
    "topdown-bad-spec": "Bad Speculation",
    "topdown-fe-bound": "Frontend Bound",
    "topdown-be-bound": "Backend Bound",
}


def _slots(name: str, value: float, others: dict[str, float]) -> tuple[float, str, str] | None:
    """Of a CPU's pipeline, by the names that sysfs has for its counters: shares of the four together."""
    kind = next((k for k in _TOPDOWN if k in name), "")
    whole = sum(v for n, v in others.items() if any(k in n for k in _TOPDOWN))
    return (100.0 * value / whole, "%8.1f%%", _TOPDOWN[kind]) if kind and whole else None


def _rate(value: float, clock_ns: float) -> tuple[float, str, str]:
    rate = value / clock_ns * 1e9
    for unit in ("", "K", "M", "G"):
        if rate < 1000 or unit == "G":
            return rate, "%8.3f", f"{unit}/sec"
        rate /= 1000
    raise AssertionError
