"""An instance whose events act by triggers: they count into histograms, make synthetic events, take stacks.

Only events that are switched on are recorded; an event that has a trigger costs what that does. Everything is undone in
the order that the kernel asks for: triggers that read variables before those that set them, then the instance, and then
the synthetic events, which are of the whole machine and carry our prefix.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Self

from probescope.collect.ftrace import stats
from probescope.collect.ftrace.arming import reap_after
from probescope.diagnostics import nearest
from probescope.errors import KernelError, ProbeError, ProbescopeError
from probescope.formats.tracetext.hist import Histogram, parse
from probescope.kernel import tracefs
from probescope.kernel import triggers as kernel_triggers
from probescope.kernel.host import host
from probescope.kernel.leftovers import owner_prefix, reap
from probescope.kernel.watchdog import Watchdog


class Triggered:
    """Nothing is recorded before ``start``; triggers act from the moment that they are set, unless they say
    ``:pause``. ``tag``: the end of the instance's name. Raises KernelError."""

    def __init__(self, tag: str, *, clock: str = "boot", buffer_kb: int = 0) -> None:
        reap()
        self._events: list[str] = []
        self._synthetic: list[str] = []
        self._instance: tracefs.Instance | None = None
        self._dog = Watchdog(partial(reap_after, host().getpid()))
        try:
            self._instance = tracefs.Instance(tag)
            self.base = self._instance.path
            self._instance.write("tracing_on", "0")
            self._instance.write("trace_clock", clock)
            if buffer_kb:
                tracefs.size_buffer(self._instance.path, buffer_kb)
        except BaseException:
            self.close()
            raise

    def synthetic(self, tag: str, fields: str) -> str:
        """Makes an event with fields such as ``u64 lat; char comm[16]``; its name, without the system."""
        name = owner_prefix() + tag
        tracefs.write("synthetic_events", f"{name} {fields}")
        self._synthetic.append(name)
        return name

    def trigger(self, event: str, text: str) -> None:
        """``event`` as ``system:event``. Raises ProbeError for what the kernel does not take."""
        known_event(event)
        folder = f"events/{event.replace(':', '/', 1)}"
        try:
            tracefs.write(f"{folder}/trigger", text, self.base)
        except KernelError as e:
            raise _refused(event, text, self.base, e) from e
        if event not in self._events:
            self._events.append(event)

    def enable(self, event: str) -> None:
        known_event(event)
        tracefs.write(f"events/{event.replace(':', '/', 1)}/enable", "1", self.base)

    def option(self, option: str) -> None:
        tracefs.write("trace_options", option, self.base)

    def histograms(self, event: str) -> list[Histogram]:
        """What the hist triggers of an event have counted. Raises KernelError, FormatError."""
        return parse(tracefs.read(f"events/{event.replace(':', '/', 1)}/hist", self.base))

    def start(self) -> None:
        tracefs.write("tracing_on", "1", self.base)

    def lost(self, cpus: list[int]) -> int:
        """Records that were overwritten or dropped before they could be read."""
        return stats.total(self.base, cpus)

    def stop(self) -> None:
        with suppress(KernelError):
            tracefs.write("tracing_on", "0", self.base)

    def close(self) -> None:
        if self._instance is not None:
            self.stop()
            kernel_triggers.remove(self.base, self._events)
            self._instance.close()
            self._instance = None
        for name in self._synthetic:
            with suppress(KernelError):
                tracefs.write("dynamic_events", f"-:synthetic/{name}")
        self._synthetic = []
        self._dog.dismiss()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def named(name: str) -> list[str]:
    """``SYSTEM:EVENT`` of the events of this name, which stands without its system: for hints."""
    try:
        return [f"{system}:{event}" for system, event in tracefs.available_events() if event == name][:3]
    except ProbescopeError:
        return []


def known_event(event: str) -> None:
    """Raises ProbeError, with near names, for an event that is not there."""
    system, _, name = event.partition(":")
    if not tracefs.has_event(system, name):
        near = nearest(event, [f"{a}:{b}" for a, b in tracefs.available_events()])
        hints = [f"did you mean {' or '.join(near)}?"] if near else ["probescope list 'tracepoint:*'"]
        raise ProbeError(f"there is no event {event}", hints=hints)


def _refused(event: str, text: str, base: str, e: KernelError) -> ProbescopeError:
    from probescope.collect.ftrace.refusals import refused_trigger

    return refused_trigger(event, text, base, e)
