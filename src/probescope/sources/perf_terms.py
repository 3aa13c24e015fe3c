"""Terms between slashes that any event may have: not what is counted, but what it is called and how it is sampled.

    cycles/period=1000,name=c/     sched:sched_switch/call-graph=fp/     cpu/event=0x3c,freq=99/

Source: perf-record(1), -e; tools/perf/util/parse-events.l as a description of what is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence

from probescope.diagnostics import nearest
from probescope.frozen import dataclass, field
from probescope.kernel.uapi import perf as u
from probescope.model.perf_spec import Term

SAMPLING = frozenset("name period freq percore no-inherit inherit time call-graph stack-size max-stack nr".split())
_TAKEN = frozenset({"name", "period", "freq"})
TRACEPOINT = SAMPLING - _TAKEN
"""A tracepoint keeps its name, and -c and -F pace it."""


class NoSuchEvent(Exception):
    """What this machine, or perf's language, does not know."""

    def __init__(self, what: str, *hints: str) -> None:
        super().__init__(what)
        self.what = what
        self.hints = hints


@dataclass(frozen=True, slots=True)
class Told:
    """``name``: as ``name=`` has it, else empty. ``period`` and ``flags`` of the attribute; 0 where nothing is said.
    ``how``: terms that whoever samples has to look at."""

    name: str = ""
    period: int = 0
    flags: int = 0
    how: tuple[Term, ...] = field(default=())


def told(terms: Sequence[Term]) -> Told:
    """Of terms with other names nothing is said. Raises NoSuchEvent for a number that is none."""
    name, period, flags = "", 0, 0
    for term in terms:
        if term.name == "name":
            name = term.value or ""
        elif term.name in {"period", "freq"}:
            period = value(term)
            flags = u.FLAG_FREQ if term.name == "freq" else 0
    return Told(name, period, flags, tuple(t for t in terms if t.name in TRACEPOINT))


def refuse_others(event: str, terms: Sequence[Term], known: frozenset[str]) -> None:
    """Raises NoSuchEvent where a term is none of these, of an event that no PMU has given others."""
    for term in terms:
        if term.name not in known:
            near = nearest(term.name, sorted(known))
            hints = [f"did you mean {n}?" for n in near] or [f"its terms: {', '.join(sorted(known))}"]
            raise NoSuchEvent(f"{event} knows no term '{term.name}'", *hints)


def value(term: Term) -> int:
    try:
        number = 1 if term.value is None else int(term.value, 0)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 64:
        raise NoSuchEvent(f"'{term.value}' of {term.name} is not a number of 64 bits")
    return number
