"""Maps that the kernel keeps for a program in histograms of ftrace: read when somebody looks at them.

plan            events/sched/sched_switch/trigger <- hist:keys=next_pid:size=4096 -> @
the hist file   { next_pid:         18 } hitcount:        150
the map         @[18]: 150
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from probescope.collect.ftrace.setup import EventSetup
from probescope.collect.memory import MemoryMaps
from probescope.errors import KernelError
from probescope.formats.tracetext.hist import Entry, Histogram, Span, Trigger, parse, parse_trigger
from probescope.kernel import tracefs
from probescope.model.aggregate import linear_bucket, monoid
from probescope.model.output import Lost
from probescope.model.types import Agg, Int, String, Tuple, Type, signed, width, wrap

if TYPE_CHECKING:
    from probescope.evaluate.store import MemoryStore
    from probescope.ir.program import MapDecl, Program
    from probescope.model.plan_kernel import CountInKernel

States = dict[Any, Any]


class KernelCounts:
    """``base``: the instance's folder, once there is one. Triggers are set as paused; they count between ``start`` and
    ``stop``. One may serve several maps."""

    def __init__(self, steps: Sequence[CountInKernel]) -> None:
        self.steps = list(steps)
        self.base = ""
        self._triggers = dict.fromkeys((s.event, s.trigger) for s in steps)

    def setups(self) -> Iterator[EventSetup]:
        """Events that only have triggers."""
        for event in dict.fromkeys(e for e, _ in self._triggers):
            texts = tuple(_with(t, "pause") for e, t in self._triggers if e == event)
            yield EventSetup(event, triggers=texts, recorded=False)

    def start(self) -> None:
        self._command("cont")

    def stop(self) -> None:
        with suppress(KernelError):
            self._command("pause")

    def _command(self, word: str) -> None:
        for event, trigger in self._triggers if self.base else ():
            tracefs.write(f"events/{event.replace(':', '/', 1)}/trigger", _with(trigger, word), self.base)

    def states(self, decl: MapDecl) -> States:
        """What a map holds by now. Raises KernelError, FormatError."""
        out: States = {}
        assert isinstance(decl.value, Agg)
        merge = monoid(decl.value).merge
        for step in self.steps if self.base else ():
            if step.map != decl.name:
                continue
            for entry in self._histogram(step).entries:
                key, state = state_of(step, decl, decl.value, entry)
                out[key] = merge(out[key], state) if key in out else state
        return out

    def _histogram(self, step: CountInKernel) -> Histogram:
        wanted = parse_trigger(step.trigger)
        found = parse(tracefs.read(f"events/{step.event.replace(':', '/', 1)}/hist", self.base))
        return next((h for h in found if _same(h.trigger, wanted)), Histogram(wanted, ()))

    def losses(self) -> Iterator[Lost]:
        dropped = 0
        for event, trigger in self._triggers if self.base else ():
            step = next(s for s in self.steps if (s.event, s.trigger) == (event, trigger))
            with suppress(KernelError):
                dropped += self._histogram(step).dropped
        if dropped:
            about = "events were not counted: a map was full"
            yield Lost("map_full", dropped, about, "config = { max_map_keys = ... } makes room")


def _with(trigger: str, word: str) -> str:
    head, _, condition = trigger.partition(" if ")
    return f"{head}:{word}" + (f" if {condition}" if condition else "")


def _same(shown: Trigger, wanted: Trigger) -> bool:
    """The kernel adds to what it was given: hitcount, the order."""
    sums = [v for v in shown.values if v.name != "hitcount"]
    return shown.keys == wanted.keys and sums == list(wanted.values) and shown.filter == wanted.filter


def state_of(step: CountInKernel, decl: MapDecl, agg: Agg, entry: Entry) -> tuple[Any, Any]:
    keys = list(entry.keys)
    hits = entry.hits
    state: Any = hits
    if agg.kind == "lhist":
        bucket = step.bucket
        if bucket < 0:
            span = keys.pop()
            assert isinstance(span, Span)
            bucket = linear_bucket(span.low, *agg.args)
        state = {bucket: hits}
    elif step.value:
        total = wrap(int(dict(entry.values).get(step.value, 0)), Int(8, agg.value.signed))
        state = total if agg.kind == "sum" else (total, hits)
    if decl.key is None:
        return None, state
    if isinstance(decl.key, Tuple):
        return tuple(_value(k, t) for k, t in zip(keys, decl.key.items, strict=True)), state
    return _value(keys[0], decl.key), state


def _value(key: Any, type_: Type) -> Any:
    """Numbers are shown as unsigned ones of 64 bits."""
    if isinstance(type_, String):
        return str(key).encode("utf-8", "surrogateescape")[: type_.size]
    return wrap(int(key), Int(width(type_), signed(type_)))


class CountedMaps(MemoryMaps):
    """Maps of memory, with what the kernel has counted."""

    def __init__(self, store: MemoryStore, program: Program, counts: KernelCounts) -> None:
        super().__init__(store)
        self._counts = counts
        mine = {s.map for s in counts.steps}
        self._decls = {m.name: m for m in program.maps if m.name in mine}

    def snapshot(self, name: str) -> list[tuple[Any, Any]]:
        held = dict(super().snapshot(name))
        decl = self._decls.get(name)
        if decl is not None:
            assert isinstance(decl.value, Agg)
            merge = monoid(decl.value).merge
            for key, state in self._counts.states(decl).items():
                held[key] = merge(held[key], state) if key in held else state
        return list(held.items())
