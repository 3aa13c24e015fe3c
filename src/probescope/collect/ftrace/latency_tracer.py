"""The kernel's latency tracers at work: the longest time that something was off, or took to wake up, with its trace;
samples of what takes CPUs away.

    irqsoff preemptoff preemptirqsoff wakeup wakeup_rt wakeup_dl     the maximum, and the trace of it
    hwlat osnoise timerlat                                           records, as they are sampled

They work in an instance of ours where the kernel lets them, else in the top buffer, if nobody uses it. Thresholds and
periods are settings of the whole machine: they are borrowed, and put back whatever happens (kernel/borrowed.py).
Source: Documentation/trace/ftrace.rst, hwlat_detector.rst, osnoise-tracer.rst, timerlat-tracer.rst.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Self

from probescope.collect.ftrace.arming import Armed
from probescope.collect.ftrace.setup import EventSetup, Setup
from probescope.errors import KernelError, SessionError
from probescope.frozen import dataclass
from probescope.kernel import machine, tracefs
from probescope.kernel.borrowed import tracers_at_work

if TYPE_CHECKING:
    from probescope.collect.ftrace.live import LiveTrace
    from probescope.model.recording import EventBatch, EventType

SAMPLERS = frozenset({"hwlat", "osnoise", "timerlat"})
NOISE_EVENTS = ("irq_noise", "softirq_noise", "thread_noise", "nmi_noise")
LONGEST_TRACE = 1 << 24
MOST_LOOKS = 1 << 12


@dataclass(frozen=True, slots=True)
class TracerAsked:
    """Times in us, 0: as the machine has them. ``over``: what is shorter does not count; ``stop``: the first that is
    longer ends it."""

    tracer: str
    over: int = 0
    stop: int = 0
    period: int = 0
    runtime: int = 0
    cpus: str = ""
    functions: bool = False


class LatencyTracer:
    """Nothing is recorded before ``start``. Raises KernelError, UsageError, SessionError."""

    def __init__(self, asked: TracerAsked) -> None:
        self.asked = asked
        self.sampler = asked.tracer in SAMPLERS
        threshold = asked.over if asked.tracer != "timerlat" else 0
        options = () if self.sampler else ("function-trace" if asked.functions else "nofunction-trace",)
        events = _noise_events(asked)
        setup = Setup(
            asked.tracer, events=events, options=options, clock="", threshold_us=threshold, tag="latency", follow=False
        )
        self._settings = _settings(asked)
        if self._settings:
            _nobody_else(asked.tracer)
        self._live: LiveTrace | None = None
        self._armed = Armed(setup)
        try:
            for file, text in self._settings:
                self._armed.borrow(file, text)
            if asked.tracer == "hwlat" and asked.cpus:
                self._cpus(cpu_mask(machine.parse_cpus(asked.cpus)))
            if not self.sampler:
                self._reset_maximum()
        except BaseException:
            self._armed.close()
            raise

    @property
    def base(self) -> str:
        return self._armed.base

    @property
    def private(self) -> bool:
        return self._armed.private

    def _cpus(self, mask: str) -> None:
        if self.private:
            tracefs.write("tracing_cpumask", mask, self.base)
        else:
            self._armed.borrow("tracing_cpumask", mask)

    def _reset_maximum(self) -> None:
        if self.private:
            tracefs.write("tracing_max_latency", "0", self.base)
        else:
            self._armed.borrow("tracing_max_latency", "0")

    def start(self) -> None:
        self._armed.start()

    def stop(self) -> None:
        self._armed.stop()

    def maximum(self) -> int:
        """The longest so far, in us; with a threshold the last one beyond it."""
        return int(tracefs.read("tracing_max_latency", self.base).strip() or 0)

    def stopped(self) -> bool:
        """Whether the kernel has ended it, because something took longer than ``stop``."""
        with suppress(KernelError):
            return tracefs.read("tracing_on", self.base).strip() == "0"
        return False

    def text(self) -> str:
        """The kernel's own text of the trace. It is still there afterwards."""
        return tracefs.read("trace", self.base, limit=LONGEST_TRACE)

    def records(self) -> EventBatch | None:
        """What was sampled since the last call."""
        return self._opened().read()

    def rest(self) -> list[EventBatch]:
        """After ``stop``: everything that is left."""
        out: list[EventBatch] = []
        live = self._opened()
        for _ in range(MOST_LOOKS):
            batch = live.read()
            if batch is not None:
                out.append(batch)
            elif not live.busy:
                break
        return out

    @property
    def events(self) -> tuple[EventType, ...]:
        return self._opened().events

    def _opened(self) -> LiveTrace:
        if self._live is None:
            from probescope.collect.ftrace.live import LiveTrace

            names = [e.name for e in self._armed.setup.events]
            self._live = LiveTrace(self.base, names, machine.online_cpus())
        return self._live

    def lost(self) -> int:
        return self._armed.lost(machine.online_cpus())

    def close(self) -> None:
        if self._live is not None:
            self._live.close()
            self._live = None
        self._armed.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _noise_events(asked: TracerAsked) -> tuple[EventSetup, ...]:
    """What took the time, where the trace of what stopped it is to tell."""
    if asked.tracer not in {"osnoise", "timerlat"} or not asked.stop:
        return ()
    return tuple(EventSetup(f"osnoise:{e}") for e in NOISE_EVENTS if tracefs.has_event("osnoise", e))


def _settings(asked: TracerAsked) -> list[tuple[str, str]]:
    """Files of the whole machine, in the order in which they may be written: a runtime is never more than its
    period."""
    out: list[tuple[str, str]] = []
    if asked.tracer == "hwlat":
        pair = [("hwlat_detector/window", asked.period), ("hwlat_detector/width", asked.runtime)]
    elif asked.tracer == "timerlat":
        pair = [("osnoise/timerlat_period_us", asked.period)]
    else:
        pair = [("osnoise/period_us", asked.period), ("osnoise/runtime_us", asked.runtime)]
    wanted = [(file, number) for file, number in pair if number]
    if len(wanted) == 2 and wanted[0][1] < int(tracefs.read(pair[1][0]).strip() or 0):
        wanted.reverse()
    out += [(file, str(number)) for file, number in wanted]
    if asked.tracer in {"osnoise", "timerlat"}:
        if asked.cpus:
            out.append(("osnoise/cpus", asked.cpus))
        if asked.stop:
            out.append(("osnoise/stop_tracing_us", str(asked.stop)))
            if asked.tracer == "timerlat":
                out.append(("osnoise/stop_tracing_total_us", str(asked.stop)))
    return out if asked.tracer in SAMPLERS else []


def cpu_mask(cpus: list[int]) -> str:
    """As tracing_cpumask has it: hexadecimal, words of 32 bits with commas between."""
    bits = sum(1 << cpu for cpu in set(cpus))
    words: list[str] = []
    while bits or not words:
        words.append(f"{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
    return ",".join(reversed(words))


def _nobody_else(tracer: str) -> None:
    for where, other in tracers_at_work():
        if other in SAMPLERS:
            what = f"{other} works in {where} of tracefs, and the settings of {tracer} are one for the machine"
            raise SessionError(what, hints=["leave the settings away, or wait until it has ended"])
