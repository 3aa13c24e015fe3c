"""Events of perf as they are written: names, terms and letters that a machine has yet to make sense of."""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.frozen import dataclass
from probescope.model.probe_def import ProbeDef


@dataclass(frozen=True, slots=True)
class Term:
    """``name`` or ``name=value`` between the slashes; ``value`` is ``None`` where none is written."""

    name: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class EventSpec:
    """One event as written. ``kind``: ``name``, ``raw``, ``pmu``, ``tracepoint``, ``mem`` or ``probe``. ``name``: of
    the event (``EVENT`` of a tracepoint, whose category is ``group``; the PMU). ``number``: the raw code, or the
    address; ``length`` in bytes and ``access`` (of ``rwx``) of ``mem``. ``span`` is its place in the text."""

    kind: str
    text: str
    name: str = ""
    group: str = ""
    number: int = 0
    length: int = 0
    access: str = ""
    terms: tuple[Term, ...] = ()
    modifiers: str = ""
    span: Span = Span()
    probe: ProbeDef | None = None  # of ``probe(...)``, in the binary ``group`` or, if that is empty, in the kernel


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Events that are counted together or not at all where ``braces``; otherwise a single one."""

    events: tuple[EventSpec, ...]
    braces: bool = False
    modifiers: str = ""
