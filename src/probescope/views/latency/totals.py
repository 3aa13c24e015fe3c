"""Totals of pairs: batches come, what stays is as large as the number of different keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.frozen import dataclass, field

if TYPE_CHECKING:
    from probescope.model.latency import Pairs

MOST_KEYS = 1 << 16
Key = tuple[Any, ...]


@dataclass(slots=True)
class Total:
    """Of one key, in ns. ``buckets``: how many took at least ``2**k`` and less than ``2**(k+1)``, by ``k + 1``; 0 is
    for those that took no time."""

    count: int = 0
    total: int = 0
    least: int = (1 << 63) - 1
    most: int = 0
    buckets: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def average(self) -> float:
        return self.total / self.count if self.count else 0.0

    def merge(self, other: Total) -> None:
        self.count += other.count
        self.total += other.total
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count

    def percentile(self, part: float) -> int:
        """An upper bound, as fine as the buckets are."""
        wanted, seen = self.count * part, 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen >= wanted:
                return min(self.most, (1 << bucket) - 1 if bucket else 0)
        return self.most


@dataclass(frozen=True, slots=True)
class Case:
    """One pair that took long. ``time`` of its end, in ns."""

    latency: int
    time: int
    cpu: int
    tid: int
    comm: str
    by: Key
    stack: Any = None


class Totals:
    """``keep``: how many of the worst cases."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.by: dict[Key, Total] = {}
        self.worst: list[Case] = []
        self.unkept = 0

    @property
    def all(self) -> Total:
        out = Total()
        for total in self.by.values():
            out.merge(total)
        return out

    def add(self, pairs: Pairs) -> None:
        if not len(pairs):
            return
        codes, keys = _groups(pairs)
        for number, key in enumerate(keys):
            some = pairs.latency[codes == number] if len(keys) > 1 else pairs.latency
            held = self.by.get(key)
            if held is None:
                if len(self.by) >= MOST_KEYS:
                    self.unkept += len(some)
                    continue
                held = self.by[key] = Total()
            held.merge(_total(some))
        self._worst(pairs)

    def _worst(self, pairs: Pairs) -> None:
        if not self._keep:
            return
        floor = self.worst[-1].latency if len(self.worst) >= self._keep else -1
        at = np.flatnonzero(pairs.latency.astype(np.int64) > floor)
        if len(at) > self._keep:
            at = at[np.argsort(pairs.latency[at], kind="stable")[-self._keep :]]
        self.worst = sorted([*self.worst, *cases(pairs, at)], key=lambda c: (-c.latency, c.time))[: self._keep]


def cases(pairs: Pairs, at: Any) -> Iterator[Case]:
    for i in at.tolist():
        by = tuple(column[i] for column in pairs.by)
        stack = pairs.stack[i] if pairs.stack is not None else None
        yield Case(
            int(pairs.latency[i]),
            int(pairs.time[i]),
            int(pairs.cpu[i]),
            int(pairs.tid[i]),
            str(pairs.comm[i]),
            by,
            stack,
        )


def _groups(pairs: Pairs) -> tuple[Any, list[Key]]:
    if not pairs.by:
        return np.zeros(len(pairs), np.int64), [()]
    numbers: dict[Key, int] = {}
    rows = zip(*(column.tolist() for column in pairs.by), strict=True)
    codes = np.fromiter((numbers.setdefault(row, len(numbers)) for row in rows), np.int64, len(pairs))
    return codes, list(numbers)


def _total(latency: Any) -> Total:
    bits = np.frexp(latency.astype(np.float64))[1].astype(np.int64)
    wide = latency >= np.uint64(1 << 53)  # where a float would round up to the next power of two
    if wide.any():
        bits[wide] = [int(v).bit_length() for v in latency[wide].tolist()]
    bits[latency == 0] = 0
    counts = np.bincount(bits)
    buckets = {int(b): int(counts[b]) for b in np.flatnonzero(counts)}
    total = sum(int(part) for part in (latency >> np.uint64(32)).sum(keepdims=True)) << 32
    total += int((latency & np.uint64(0xFFFFFFFF)).sum())
    return Total(len(latency), total, int(latency.min()), int(latency.max()), buckets)
