"""A ``TracePlan`` written into tracefs: a buffer for each of its plans, nothing recorded before ``start``.

Before 6.11 ("ftrace: Allow function_graph tracer to be enabled in instances") some tracers exist in the top buffer
only. That one is taken if nobody uses it, and left as it was found.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from probescope.collect.ftrace import refusals
from probescope.collect.ftrace.arming import take_top
from probescope.collect.ftrace.choosing import Chosen, Events
from probescope.collect.ftrace.places import Place
from probescope.collect.ftrace.record_plan import BufferPlan, CpuLoss, EventChoice, TracePlan
from probescope.collect.ftrace.stats import DROPPED, numbers
from probescope.errors import KernelError, PermissionDenied, SessionError, UsageError
from probescope.kernel import tracefs
from probescope.kernel.borrowed import Borrowed, tracers_at_work

MOST_PIDS = 256
"""That one write takes: set_event_pid looks at no more than a page."""


class Buffers:
    """``make(name)`` makes an instance and gives its folder. ``close`` removes all; ``hand_over`` leaves them, and
    gives what undoes the rest. ``owned`` false: the instances are there already and stay, also after a mistake. Raises
    KernelError, SessionError, UsageError and ProbeError for what is not there."""

    def __init__(self, plan: TracePlan, make: Callable[[str], str], *, owned: bool = True) -> None:
        self.plan = plan
        self.owned = owned
        self.borrowed = Borrowed()
        self.places: list[Place] = []
        self.enabled: dict[str, set[str]] = {}
        """Events that may come, by system."""
        self._make = make
        self._events: Events | None = None
        try:
            for buffer in plan.buffers:
                self._place(buffer)
            for buffer, place in zip(plan.buffers, self.places, strict=True):
                self._write(buffer, place)
        except BaseException:
            self.close()
            raise

    # --- places

    def _place(self, b: BufferPlan) -> None:
        known = tracefs.tracers()
        if b.tracer not in known:
            raise refusals.refused_tracer(b.tracer, known)
        base = self._make(b.name)
        self.places.append(Place(b.name, base, self.borrowed, private=True))
        if b.tracer in tracefs.read("available_tracers", base).split():
            return
        if b.name:
            only = f"the tracer {b.tracer} of this kernel exists in the top buffer only, not in {b.name}"
            raise UsageError(only, hints=["leave -B out"])
        self.places.pop()
        tracefs.remove_instance(base)
        take_top(self.borrowed)
        self.borrowed.note("trace", "", truncate=True)
        self.borrowed.note("tracing_on", tracefs.read("tracing_on").strip())
        self.borrowed.note("events/enable", "0")
        self.places.append(Place("", tracefs.find_root(), self.borrowed, private=False))

    # --- writing

    def _write(self, b: BufferPlan, place: Place) -> None:
        if self.owned:
            tracefs.write("tracing_on", "0", place.base)
        self._clock(b, place)
        if b.size_kb:
            place.size(b.size_kb, fresh=self.owned)
        if b.cpumask:
            try:
                place.write("tracing_cpumask", b.cpumask)
            except KernelError as e:
                raise refusals.refused_cpus(b.cpumask, e) from None
        self._functions(b, place)
        self._pids(b, place)
        for event in b.events:
            self._event(event, place)
        self._tracer(b, place)
        for option in b.options:
            self._option(option, b, place)

    @staticmethod
    def _clock(b: BufferPlan, place: Place) -> None:
        if b.clock:
            try:
                place.write("trace_clock", b.clock)
            except KernelError as e:
                raise refusals.refused_clock(b.clock, place.base) from e

    def _functions(self, b: BufferPlan, place: Place) -> None:
        for file, names in (("set_ftrace_filter", b.functions), ("set_ftrace_notrace", b.notrace)):
            for name in names:
                # a word without an end is looked at when the file is closed, and what is wrong with it is not told
                self._function(file, name, lambda text, f=file: place.write(f, text))  # type: ignore[misc]
        if b.graph or (self.plan.depth and b.tracer == "function_graph"):
            self._alone()
        for name in b.graph:
            self._function("set_graph_function", name, lambda text: place.everywhere("set_graph_function", text))
        if self.plan.depth and b.tracer == "function_graph":
            place.everywhere("max_graph_depth", str(self.plan.depth))
        if self.plan.cmdlines and place is self.places[0]:
            place.everywhere("saved_cmdlines_size", str(self.plan.cmdlines))

    @staticmethod
    def _function(file: str, name: str, write: Callable[[str], None]) -> None:
        try:
            write(name + "\n")
        except KernelError as e:
            raise refusals.refused_functions(file, name, e) from e

    def _alone(self) -> None:
        """Roots and depth may be unset, and all the same mean something to whoever traces already."""
        for name, tracer in tracers_at_work({place.base for place in self.places}):
            if tracer == "function_graph":
                what = f"{name} of tracefs is traced by {tracer}, and roots and depth are one for the machine"
                raise SessionError(what, hints=["its owner, or trace-cmd reset, ends it; -l FUNCTION needs no roots"])

    def _pids(self, b: BufferPlan, place: Place) -> None:
        p = self.plan
        functions = b.tracer not in {"nop", "blk", "hwlat", "osnoise", "timerlat"}
        for kind, pids in (("", p.pids), ("no", p.without if not p.pids else ())):
            if not pids:
                continue
            for at in range(0, len(pids), MOST_PIDS):
                place.write(f"set_event_{kind and 'notrace_'}pid", " ".join(map(str, pids[at : at + MOST_PIDS])))
            if functions:
                with suppress(PermissionDenied):
                    place.write(f"set_ftrace_{kind and 'notrace_'}pid", " ".join(map(str, pids)))
        if p.pids and p.follow:
            place.write("trace_options", "event-fork")
            if functions:
                place.write("trace_options", "function-fork")

    # --- events

    def _event(self, event: EventChoice, place: Place) -> None:
        if self._events is None:
            self._events = Events()
        found = self._events.chosen(event.pattern)
        if not found and not self.plan.lenient:
            raise self._events.none_like(event.pattern)
        for chosen in found:
            self._one(event, chosen, place)

    def _one(self, event: EventChoice, chosen: Chosen, place: Place) -> None:
        if event.filter:
            self._filter(event, chosen, place)
        for trigger in event.triggers:
            self._trigger(trigger, chosen, place)
        folder = f"events/{chosen.folder}".rstrip("/")
        place.write(f"{folder}/enable", str(int(event.on)))
        for system, name in chosen.events if event.on else ():
            self.enabled.setdefault(system, set()).add(name)

    def _filter(self, event: EventChoice, chosen: Chosen, place: Place) -> None:
        """Of a whole system: of those of its events that have such fields."""
        if not chosen.folder:
            raise UsageError("a filter is of some event, not of all", hints=["-e SYSTEM:EVENT -f 'FIELD == VALUE'"])
        file = f"events/{chosen.folder}/filter"
        try:
            place.write(file, event.filter)
        except KernelError as e:
            name = ":".join(chosen.events[0]) if len(chosen.events) == 1 else chosen.folder
            raise refusals.refused_filter(name, event.filter, file, place.base, e) from e

    def _trigger(self, trigger: str, chosen: Chosen, place: Place) -> None:
        for system, name in chosen.events:
            try:
                place.write(f"events/{system}/{name}/trigger", trigger)
            except KernelError as e:
                raise refusals.refused_trigger(f"{system}:{name}", trigger, place.base, e) from e
        command, _, rest = trigger.partition(":")
        if command == "enable_event" and rest.count(":") >= 1:
            system, name = rest.split(" ")[0].split(":")[:2]
            self.enabled.setdefault(system, set()).add(name)

    # --- tracer

    def _tracer(self, b: BufferPlan, place: Place) -> None:
        if b.tracer == "nop":
            return
        try:
            place.write("current_tracer", b.tracer)
        except KernelError as e:
            raise refusals.refused_tracer(b.tracer, tracefs.tracers(), e) from e

    def _option(self, option: str, b: BufferPlan, place: Place) -> None:
        try:
            place.write("trace_options", option)
        except KernelError as e:
            raise refusals.refused_option(option, b.tracer, place.base) from e

    # --- running

    def start(self) -> None:
        for place in self.places:
            tracefs.write("tracing_on", "1", place.base)

    def stop(self) -> None:
        for place in self.places:
            with suppress(KernelError):
                tracefs.write("tracing_on", "0", place.base)

    def stats(self, cpus: list[int]) -> list[tuple[Place, int, str]]:
        """The text of per_cpu/cpuN/stats for each buffer and CPU."""
        return [(p, cpu, tracefs.read(f"per_cpu/cpu{cpu}/stats", p.base)) for p in self.places for cpu in cpus]

    def hand_over(self) -> list[tuple[str, str, bool]]:
        undo = self.borrowed.hand_over()
        self.borrowed.close()
        self.places = []
        return undo

    def close(self) -> None:
        """Removes all, and puts back what was borrowed."""
        if not self.owned:
            self.places = []
        self.stop()
        for place in self.places:
            if place.private:
                place.leave()
                tracefs.remove_instance(place.base)
        self.places = []
        self.borrowed.close()


def loss_of(buffer: str, cpu: int, stats: str) -> CpuLoss:
    number = numbers(stats)
    return CpuLoss(buffer, cpu, number.get("overrun", 0), sum(number.get(name, 0) for name in DROPPED))
