"""Pairs of events, from one to the next of the same key, and how long each took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probescope.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class End:
    """One side of a pair. ``probe`` in full, ``tracepoint:sched:sched_waking``; ``predicate`` in the language, without
    its slashes; ``keys``: what a pair has in common, names of fields or of what is known of the thread (``tid``)."""

    probe: str
    predicate: str = ""
    keys: tuple[str, ...] = ("tid",)

    @property
    def event(self) -> str:
        """``system:event`` of a tracepoint; empty for other probes."""
        kind, _, rest = self.probe.partition(":")
        return rest if kind == "tracepoint" and rest.count(":") == 1 else ""


@dataclass(frozen=True, slots=True)
class By:
    """What latencies are told apart by: a field, or ``comm``, ``tid``, ``cpu``, of the end or of the ``start``."""

    name: str
    start: bool = False

    def __str__(self) -> str:
        return f"start.{self.name}" if self.start else self.name


@dataclass(frozen=True, slots=True)
class Asked:
    """``stack``: the kernel's stack at the end."""

    start: End
    end: End
    by: tuple[By, ...] = ()
    stack: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Columns of equal length, in order of time. ``time`` of the end, in ns of the clock that is traced with;
    ``latency`` in ns; ``comm`` and ``by`` are objects (texts or integers); ``stack``: a list of frames each, or
    nothing."""

    time: Column
    latency: Column
    cpu: Column
    tid: Column
    comm: Column
    by: tuple[Column, ...] = ()
    stack: Column | None = None

    def __len__(self) -> int:
        return len(self.latency)
