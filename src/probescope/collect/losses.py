"""Loss is data: what was lost, where, and what to change, as outputs.

Sources: the counters that programs keep (bpf/unit.py), the kernel's own count of runs that it refused, and what the
side-band of processes missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from probescope.bpf.storage import read_counters
from probescope.bpf.unit import Counter, Object
from probescope.diagnostics import Diagnostic, Span, context, place
from probescope.ir.program import Program
from probescope.kernel.bpf_map import Map
from probescope.model.output import Lost

ABOUT: dict[str, str] = {
    "ring_full": "events were lost: the ring was full",
    "map_full": "updates were dropped: {map} was full",
    "read": "reads of memory failed: they gave zero",
    "lookup": "Can't lookup map element because it does not exist.",
    "div0": "divisions by zero: they gave 1",
    "bounds": "accesses were outside of an array: they gave 0",
    "outside": "accesses were outside of an array: they gave what lies there",
    "loop": "loops were cut: they reached the greatest number of turns",
    "stack": "stacks were not kept: the table of stacks was full, or two collided in it",
    "unwind_late": "stacks were walked by frame pointers. No DWARF unwind data available for this process yet",
    "unwind_table": "stacks end early: at code that has no unwind table and no frame pointer",
    "unwind_rule": "stacks end early: at a place that unwind tables cannot say the caller of",
    "unwind_read": "stacks end early: their memory could not be read",
    "scratch": "events were skipped: the program was interrupted by itself too deeply",
}
_HINTS: dict[str, str] = {
    "unwind_late": "those that follow are whole; trace one process (-p) to have its tables from the start",
    "read": "it gave zero; a probe cannot wait for memory that is not in RAM; kptr() and uptr() say whose memory it is",
    "loop": "let it break out earlier, or go over fewer things",
    "stack": "fewer different stacks collide less: keep fewer frames, as in kstack(3), or add a predicate",
}

SHOWN: frozenset[str] = frozenset(
    {"ring_full", "map_full", "div0", "bounds", "outside", "loop", "stack", "scratch", "unwind_late"}
)
"""Kinds that are told always; the others (a failed read is often part of the plan) only when asked for with ``-k``."""

_EFAULT = 14
OF_HELPERS: dict[str, tuple[str, int]] = {"read": ("Bad address", -_EFAULT), "lookup": (ABOUT["lookup"], 0)}
"""What is told of a helper of the kernel that failed, and its answer: in the words that bpftrace has for it."""

URGENT: frozenset[str] = frozenset({"ring_full"})
"""Kinds that are told while the session runs: who reads a stream must know that there is a hole in it."""

EVERY_NS = 1_000_000_000
DEFAULT_KEYS = 4096


def in_words(kind: str, count: int) -> str:
    """For who has only the kinds and their counts: ``3 events were lost: the ring was full``."""
    return f"{count:,} {ABOUT.get(kind, kind).format(map='a map')}"


def of_clauses(
    program: Program, errors: Mapping[tuple[str, int], int], misses: Mapping[Span, int], *, everything: bool
) -> Iterator[Lost]:
    """What clauses that user space ran could not do: ``errors`` and ``misses`` as ``evaluate.Machine`` counts them, by
    kind and clause, and by place."""
    spans = {c.id: c.span for c in program.clauses}
    for span, count in misses.items():
        yield _of_helper(program, Counter("lookup", span=span, helper="map_lookup_elem"), count)
    for (kind, clause), count in errors.items():
        if kind in SHOWN or everything:
            about = ABOUT[kind].format(map="a map")
            yield Lost(kind, count, about, _HINTS.get(kind, ""), _place(program, spans[clause]))


def _place(program: Program, span: Span) -> str:
    return place(Diagnostic("warning", "", span, source=program.source))


def _of_helper(program: Program, counter: Counter, count: int) -> Lost:
    about, code = OF_HELPERS[counter.kind]
    where = Diagnostic("warning", "", counter.span, source=program.source)
    hint = _HINTS.get(counter.kind, "")
    return Lost(counter.kind, count, about, hint, place(where), counter.helper, code, context(where))


class Losses:
    """``urgent`` and ``final`` give what came since it was last told."""

    def __init__(
        self, program: Program, obj: Object, counters: Map | None, missed: Callable[[], int], ring_bytes: int
    ) -> None:
        self._program = program
        self._counters = obj.counters
        self._map = counters
        self._missed = missed
        self._missed_before = 0
        self._ring_bytes = ring_bytes
        self._told = [0] * len(obj.counters)
        self._urgent = any(c.kind in URGENT for c in obj.counters) and counters is not None
        self._next_ns = 0

    def begin(self) -> None:
        """What the kernel refused until now was before anything counted."""
        self._missed_before = self._missed()

    def totals(self) -> list[int]:
        """One number a counter."""
        if self._map is None or not self._counters:
            return []
        return read_counters(self._map.lookup(bytes(4)) or bytes(self._map.value_size))

    def urgent(self, *, everything: bool = False) -> Iterator[Lost]:
        """At most once a second: what a reader of the stream has to know now, or wants to."""
        now = time.monotonic_ns()
        wanted = URGENT | frozenset(OF_HELPERS) if everything else URGENT
        if now < self._next_ns or not (self._urgent or everything):
            return
        self._next_ns = now + EVERY_NS
        yield from self._new(wanted)

    def final(self, *, everything: bool = False) -> Iterator[Lost]:
        yield from self._new(frozenset(ABOUT) if everything else SHOWN)
        missed = self._missed() - self._missed_before
        if missed > 0:
            about = "hits of probes were passed over: the kernel does not run a program inside itself"
            yield Lost("missed", missed, about, "trace another point, or ask less of this one")

    def _new(self, kinds: frozenset[str]) -> Iterator[Lost]:
        for i, total in enumerate(self.totals()):
            counter, told = self._counters[i], self._told[i]
            if total > told and counter.kind in kinds:
                self._told[i] = total
                yield self._lost(counter, total - told, total)

    def _lost(self, counter: Counter, count: int, total: int) -> Lost:
        if counter.helper:
            return _of_helper(self._program, counter, count)
        about = ABOUT[counter.kind].format(map=f"@{counter.map}")
        if total > count:
            about += f" ({total} in all)"
        return Lost(counter.kind, count, about, self._hint(counter), _place(self._program, counter.span))

    def _hint(self, counter: Counter) -> str:
        """Lines that can be pasted, with numbers of this very session."""
        match counter.kind:
            case "ring_full":
                pages = self._ring_bytes * 4 // 4096
                return f"print less, count in a map, or make room: config = {{ perf_rb_pages = {pages} }}"
            case "map_full":
                decl = next((m for m in self._program.maps if m.name == counter.map), None)
                keys = 4 * (decl.max_entries if decl else DEFAULT_KEYS)
                return f"use fewer keys, or make room: config = {{ max_map_keys = {keys} }}"
            case kind:
                return _HINTS.get(kind, "")
