"""What levels of detail are made of: which table gives the lanes of which tracks, as data.

A *lane* is a row of slices that do not overlap; a track has one for each depth. The key of a slice is what it is
coloured by, and what is told of a bin of many: the one with most time in it.
"""

from __future__ import annotations

from probescope.frozen import dataclass
from probescope.store.lasting import STATES

STATE_CODES = {name: code for code, name in enumerate(STATES, 1)}
"""running 1, runnable 2, sleeping 3, blocked 4, stopped 5, dead 6; 0: not known."""
PREEMPTED, WOKEN, OPEN_BEGIN, OPEN_END, FAILED = 0x08, 0x10, 0x20, 0x40, 0x80
"""Bits of ``kind`` above the state: it had to leave the CPU, or could run because it was woken up; its begin or its end
is not in the recording; a system call returned an error."""

_STATE = "case state " + " ".join(f"when '{n}' then {c}" for n, c in STATE_CODES.items()) + " else 0 end"
_FLAGS = f"case when preempted then {PREEMPTED} when wakeup is not null then {WOKEN} else 0 end"
_END_STATE = f"1 + case when end_state like 'R%' then {PREEMPTED} else 0 end"


@dataclass(frozen=True, slots=True)
class Lanes:
    """``track``, ``depth``, ``kind``: expressions of SQL over the table. ``key``: one that gives a number; or ``name``:
    a column of texts, which are numbered. ``instant``: it has no end."""

    table: str
    track: str
    key: str = ""
    name: str = ""
    kind: str = "0"
    depth: str = "0"
    where: str = "true"
    id: str = "id"
    instant: bool = False


LANES: dict[str, Lanes] = {
    "cpu": Lanes("sched_slice", "cpu", key="utid", kind=_END_STATE, where="utid <> 0 and cpu is not null"),
    "thread": Lanes("thread_state", "utid", key="coalesce(cpu, 65535)", kind=f"{_STATE} + {_FLAGS}"),
    "syscall": Lanes("syscall", "utid", name="name", kind=f"case when error is not null then {FAILED} else 0 end"),
    "irq": Lanes("irq", "cpu", name="name", where="cpu is not null"),
    "softirq": Lanes("softirq", "cpu", name="name", where="cpu is not null"),
    "func": Lanes("func", "utid", name="function", depth="least(greatest(coalesce(depth, 0), 0), 254)"),
    "span": Lanes("span", "utid", name="name", depth="least(greatest(coalesce(depth, 0), 0), 254)"),
    "marker": Lanes("marker", "0", name="text", id="event", instant=True),
}


@dataclass(frozen=True, slots=True)
class Points:
    """Instants by track. ``track``, ``ts``: expressions over the table; ``with_threads``: it is joined with thread as
    ``t``. ``sums``: running totals are kept."""

    table: str
    track: str
    ts: str = "ts"
    where: str = "true"
    with_threads: bool = False
    sums: bool = False

    @property
    def numbers(self) -> str:
        """The table whose rows ``track`` numbers; empty for CPUs."""
        return {"kind": "event_kind", "utid": "thread"}.get(self.track, "")


UNKNOWN = -1
"""The process of threads whose process is not known."""
_PROCESS = f"coalesce(t.upid, {UNKNOWN})"
POINTS: dict[str, Points] = {
    "event": Points("event", "kind"),
    "event_cpu": Points("event", "cpu"),
    "event_thread": Points("event", "utid", where="utid <> 0"),
    "sample_cpu": Points("sample", "cpu"),
    "sample": Points("sample", "utid"),
    "begun": Points("sched_slice", _PROCESS, "coalesce(s.ts, $first)", "s.utid <> 0", with_threads=True, sums=True),
    "ended": Points("sched_slice", _PROCESS, "coalesce(s.end_ts, $last)", "s.utid <> 0", with_threads=True, sums=True),
}
ORDER = (
    *("cpu", "thread", "begun", "ended", "event", "irq", "softirq", "syscall", "func", "span", "marker", "counter"),
    *("sample_cpu", "sample", "event_cpu", "event_thread"),
)
"""In which families are made: what a page shows first comes first."""


def points_of(kind: str, of: str) -> tuple[str, str] | None:
    """Family and track of instants that a track of the page shows: of a kind of events (``event``, 5), of a CPU (c3),
    of a thread (t17); of samples, a thread has no letter. None where a track shows no instants."""
    letter = of[:1] if of[:1] in ("c", "t") else ""
    family = {
        ("event", ""): "event",
        ("event", "c"): "event_cpu",
        ("event", "t"): "event_thread",
        ("sample", ""): "sample",
        ("sample", "c"): "sample_cpu",
    }.get((kind, letter))
    return (family, of[len(letter) :]) if family else None
