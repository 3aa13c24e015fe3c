"""Steps by which ftrace does in the kernel what a program would do: hist triggers and synthetic events, as data."""

from __future__ import annotations

from probescope.frozen import dataclass, field
from probescope.model.plan import OWN, Step


@dataclass(frozen=True, slots=True)
class CountInKernel(Step):
    """A hist trigger of the instance, that updates ``map`` for a clause. ``value``: the field that is summed, empty
    for none. ``bucket``: of a linear histogram, the one that all of it is; -1: the last key tells which."""

    clause: int
    event: str
    trigger: str
    map: str
    value: str = ""
    bucket: int = -1
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return f"events/{self.event.replace(':', '/')}/trigger <- {self.trigger} -> @{self.map}"


@dataclass(frozen=True, slots=True)
class PairInKernel(Step):
    """A synthetic event, made of two events by the instance's hist triggers: the start's keeps the time, the end's
    makes the event, in whose trigger ``{name}`` stands for it."""

    event: str
    fields: str
    start_event: str
    start: str
    end_event: str
    end: str

    def __str__(self) -> str:
        start, end = (f"events/{e.replace(':', '/')}/trigger" for e in (self.start_event, self.end_event))
        made = f"dynamic_events <- s:{OWN}_{self.event} {self.fields}"
        return f"{made}; {start} <- {self.start}; {end} <- {self.end.format(name=f'{OWN}_{self.event}')}"
