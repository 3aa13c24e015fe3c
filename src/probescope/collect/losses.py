"""Loss is data: the kernel side's counters, as outputs that say what was lost, where, and what to change."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from probescope.bpf.unit import Counter, CounterKind, Object
from probescope.diagnostics import Diagnostic, Source, place
from probescope.kernel.bpf_map import Map
from probescope.model.output import Lost

ABOUT: dict[CounterKind, tuple[str, str]] = {
    "ring_full": ("events were lost: the ring was full", "print less, aggregate in a map, or raise perf_rb_pages"),
    "map_full": ("updates were dropped: the map was full", "raise max_map_keys, or use fewer keys"),
    "read": ("reads of memory failed: they gave zero", ""),
    "div0": ("divisions by zero: they gave 0", ""),
    "bounds": ("accesses were outside of an array: they gave 0", ""),
    "loop": ("loops were cut: they reached the greatest number of turns", ""),
    "stack": ("stacks were not kept: the stack table was full or two collided", ""),
    "scratch": ("events were skipped: the program was interrupted by itself too deeply", ""),
}

SHOWN: frozenset[CounterKind] = frozenset({"ring_full", "map_full", "loop", "stack", "scratch"})
"""Kinds that are told always; the others (a failed read is often part of the plan) only when asked for with ``-k``."""


class Losses:
    """Reads the counters map; ``new`` gives what came since the last time."""

    def __init__(self, obj: Object, counters: Map | None, source: Source | None) -> None:
        self._counters = obj.counters
        self._map = counters
        self._source = source
        self._told = [0] * len(obj.counters)

    def totals(self) -> list[int]:
        """One number a counter, over all CPUs: the map holds one value, a row of u64 for each CPU."""
        if self._map is None or not self._counters:
            return []
        row = self._map.lookup(bytes(4)) or b""
        count = len(self._counters)
        width = self._map.value_size // 8
        words = struct.unpack(f"={len(row) // 8}Q", row)
        return [sum(words[i::width]) for i in range(count)]

    def new(self, *, everything: bool = False) -> Iterator[Lost]:
        for i, total in enumerate(self.totals()):
            counter = self._counters[i]
            if total > self._told[i] and (everything or counter.kind in SHOWN):
                yield self._lost(counter, total - self._told[i])
                self._told[i] = total

    def _lost(self, counter: Counter, count: int) -> Lost:
        about, hint = ABOUT[counter.kind]
        if counter.map or counter.kind == "map_full":
            about = about.replace("the map", f"@{counter.map}")
        where = place(Diagnostic("warning", "", counter.span, source=self._source))
        return Lost(counter.kind, count, about, hint, where)
