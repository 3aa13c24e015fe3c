"""The tracks, as a tree whose branches are made when they are asked for: 100,000 threads cost nothing that is not seen.

(recording R, of several)
  CPUs          cpu: who runs       ─ irq, softirq, samples, events
  Counters      counter
  Markers       marker
  Events        event: density of a kind
  Processes     process: use of the CPUs ─ thread: its states ─ syscall, func, span, samples, events
"""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from probescope.frozen import dataclass, replace
from probescope.store.lod.families import UNKNOWN

if TYPE_CHECKING:
    from probescope.views.timeline.opened import Opened, Shown
    from probescope.views.timeline.plots import Plot


@dataclass(frozen=True, slots=True)
class Track:
    """As the page has it. ``more``: what only some kinds have. ``order``: what it is sorted by: pid, CPU..."""

    id: str
    kind: str
    name: str
    sub: str = ""
    parent: str | None = None
    depth: int = 0
    children: int = 0
    busy: float = 0.0
    order: int = 0
    more: tuple[tuple[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "name": self.name,
            "sub": self.sub,
            "depth": self.depth,
            "parent": self.parent,
            "children": self.children,
            "busy": round(min(max(self.busy, 0.0), 1.0), 4),
            **dict(self.more),
        }


NESTED = {"syscall": "system calls", "func": "functions", "span": "spans", "sample": "samples", "event": "events"}
"""What threads have below them: table, and what it is called."""
OF_CPUS = {"irq": "interrupts", "softirq": "soft interrupts", "sample": "samples", "event": "events"}
LETTERS = {"sample": ("", "c"), "event": ("t", "c")}
"""What stands before the number of a thread, and of a CPU, where a kind has tracks of both."""
SORTS: dict[str, Callable[[Track], Any]] = {
    "time": lambda t: (-t.busy, t.order),
    "name": lambda t: (t.name, t.order),
    "cpu": lambda t: t.order,
    "pid": lambda t: t.order,
}


PLOTS = "group:0:plots"
MOST_DIGITS = 12
MOST_OPEN = 200
"""Threads: where there are more, none is open by itself."""


class Tree:
    """``children(None)`` are the uppermost ones."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._branches = [_Branch(opened, s, len(opened.shown) > 1) for s in opened.shown]
        self._made: dict[str | None, list[Track]] = {}

    def children(self, parent: str | None) -> list[Track]:
        plots = self._opened.plots
        if parent == PLOTS:
            return [_plotted(p) for p in plots.values()]
        found = self._own_children(parent)
        if parent is None and plots:
            return [
                *found,
                Track(PLOTS, "group", "Plots", str(len(plots)), None, 0, len(plots), more=(("open", True),)),
            ]
        return found

    def _own_children(self, parent: str | None) -> list[Track]:
        if parent not in self._made:
            if parent is None and len(self._branches) > 1:
                self._made[None] = [b.own() for b in self._branches]
            elif parent is None:
                self._made[None] = self._branches[0].groups(None)
            else:
                self._made[parent] = self._children(parent)
        return self._made[parent]

    def _children(self, parent: str) -> list[Track]:
        found = split(parent)
        if found is None or found[1] >= len(self._branches):
            return []
        return self._branches[found[1]].children(parent, found[0], found[2])

    def parent(self, track: str) -> str | EllipsisType | None:
        """Of a track by its id; ``...`` where there is none such."""
        found = split(track)
        if track == PLOTS or found is None or found[1] >= len(self._branches):
            return None if track == PLOTS and self._opened.plots else ...
        if found[0] == "plot":
            return PLOTS if found[2] in self._opened.plots else ...
        return self._branches[found[1]].parent(found[0], found[2])

    def every(self) -> list[Track]:
        """All of them."""
        out: list[Track] = []

        def walk(parent: str | None) -> None:
            for track in self.children(parent):
                out.append(track)
                if track.children:
                    walk(track.id)

        walk(None)
        return out

    @property
    def count(self) -> int:
        return sum(b.count for b in self._branches) + (len(self._branches) if len(self._branches) > 1 else 0)


def split(track: str) -> tuple[str, int, str] | None:
    """Kind, recording, and what it is of; None where this is no track's id."""
    kind, colon, rest = track.partition(":")
    number, more, of = rest.partition(":")
    if not colon or not number.isascii() or not number.isdigit() or len(number) > 6:
        return None
    return kind, int(number), of if more else ""


def number_of(of: str) -> int | None:
    """Of a CPU, thread or process; None where it is none."""
    digits = of.removeprefix("-")
    return int(of) if digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS else None


def _plotted(plot: Plot) -> Track:
    from probescope.store.lod.counters import CounterFile

    track, sub = f"plot:0:{plot.of}", f"{plot.rows:,} rows"
    if isinstance(plot.file, CounterFile):
        return Track(track, "counter", plot.title, sub, PLOTS, 1)
    return Track(track, "span", plot.title, sub, PLOTS, 1, more=(("lanes", plot.lanes),))


class _Branch:
    """The tracks of one recording."""

    def __init__(self, opened: Opened, shown: Shown, several: bool) -> None:
        self._r, self._several = shown.number, several
        self._row = shown.row
        self._length = max(shown.end - shown.start, 1)
        query = opened.asked.query
        where = f"where recording = {self._r}"
        base = shown.base
        u, p = base["thread"], base["process"]
        self._u, self._p, self._c, self._k = u, p, base["counter_track"], base["event_kind"]
        self.threads: dict[int, tuple[int, int, str]] = {
            r[0] - u: (r[1] if r[1] is not None else -1, UNKNOWN if r[2] is None else r[2] - p, r[3] or "")
            for r in query(f"select utid, tid, upid, name from thread {where}").tuples()
        }
        self.processes: dict[int, tuple[int, str]] = {
            r[0] - p: (r[1] if r[1] is not None else -1, r[2] or "")
            for r in query(f"select upid, pid, name from process {where}").tuples()
        }
        self._threads_of: dict[int, list[int]] = {}
        for utid, (_, upid, _) in self.threads.items():
            if utid:
                self._threads_of.setdefault(upid, []).append(utid)
        self._ran: dict[int, int] = {}
        self._cpus: dict[int, int] = {}
        for cpu, utid, dur in query(
            f"select cpu, utid, sum(dur) from sched_slice {where} and cpu is not null group by 1, 2"
        ).tuples():
            self._cpus.setdefault(cpu, 0)
            if utid is not None and utid - u:
                self._cpus[cpu] += dur or 0
                self._ran[utid - u] = self._ran.get(utid - u, 0) + (dur or 0)
        self._kinds = list(
            query(f"select id, name, events from event_kind {where} and events > 0 order by id").tuples()
        )
        self._below = {t: self._having(query, t, "utid", u) for t in NESTED}
        self._on_cpus = {t: self._having(query, t, "cpu", 0) for t in OF_CPUS}
        self._counters = list(query(f"select id, name, unit, cpu from counter_track {where} order by id").tuples())
        self._markers = int(query(f"select count(*) from marker {where}").value() or 0)
        more = any(found for t, found in (*self._below.items(), *self._on_cpus.items()) if t != "event")
        #: Where events are all that CPUs and threads have, they are shown at once.
        self._bare = (("open", True),) if not (self._cpus or more) and len(self.threads) <= MOST_OPEN else ()
        for cpus in self._on_cpus.values():
            for cpu in cpus:
                self._cpus.setdefault(cpu, 0)
        self._make_known()

    def _having(self, query: Any, table: str, column: str, base: int) -> dict[int, int]:
        """By thread or CPU, how deep its slices nest."""
        if table == "event":
            return self._eventful(query, column, base)
        depth = "max(depth)" if table in ("func", "span") else "0"
        sql = f"select {column}, {depth} from {table} where recording = {self._r} and {column} is not null group by 1"
        return {of - base: min(max(d or 0, 0), 254) + 1 for of, d in query(sql).tuples()}

    def _eventful(self, query: Any, column: str, base: int) -> dict[int, int]:
        """The threads or CPUs whose events are not samples only: those have a track of their own. Where scheduling was
        recorded, nobody need count: all have some."""
        if self._cpus:
            return dict.fromkeys(self._cpus if column == "cpu" else (u for u in self.threads if u), 1)
        where = f"where recording = {self._r} and {column} is not null"
        if sum(n for _, _, n in self._kinds) == query(f"select count(*) from sample {where}").value():
            return {}
        counts = (f"select {column} as of, count(*) as n from {t} {where} group by 1" for t in ("event", "sample"))
        sql = "select of from ({}) e left join ({}) s using (of) where e.n > coalesce(s.n, 0)".format(*counts)
        # number 0 of threads are the idle ones, which have no track
        return {of - base: 1 for (of,) in query(sql).tuples() if column == "cpu" or of > base}

    def _make_known(self) -> None:
        groups = {
            "cpus": ("CPUs", len(self._cpus)),
            "counters": ("Counters", len(self._counters)),
            "markers": ("Markers", min(self._markers, 1)),
            "events": ("Events", len(self._kinds)),
            "processes": ("Processes", len(self._threads_of)),
        }
        self._groups = {name: found for name, found in groups.items() if found[1]}

    @property
    def count(self) -> int:
        leaves = sum(len(t) for t in (*self._below.values(), *self._on_cpus.values()))
        rest = len(self._cpus) + len(self._counters) + len(self._kinds) + bool(self._markers)
        return len(self._groups) + rest + len(self._threads_of) + max(len(self.threads) - 1, 0) + leaves

    def own(self) -> Track:
        import os

        name = os.path.basename(str(self._row["path"]))
        sub = str(self._row["host"] or "")
        return Track(f"recording:{self._r}", "group", name, sub, None, 0, len(self._groups), more=(("open", True),))

    def parent(self, kind: str, of: str) -> str | EllipsisType | None:
        if kind in ("recording", "group"):
            return f"recording:{self._r}" if kind == "group" and self._several else None
        plain = {"cpu": "cpus", "counter": "counters", "marker": "markers", "event": "events", "process": "processes"}
        letter = of[:1] if kind in LETTERS else ""
        if kind in plain and letter not in ("c", "t"):
            return f"group:{self._r}:{plain[kind]}"
        if kind in ("irq", "softirq") or letter == "c":
            return f"cpu:{self._r}:{of.lstrip('c')}"
        number = number_of(of.lstrip("t"))
        if number is None or number not in self.threads:
            return ...
        return f"thread:{self._r}:{number}" if kind != "thread" else f"process:{self._r}:{self.threads[number][1]}"

    def groups(self, parent: str | None) -> list[Track]:
        depth = int(parent is not None)
        return [
            Track(f"group:{self._r}:{name}", "group", text, str(count), parent, depth, count, more=(("open", True),))
            for name, (text, count) in self._groups.items()
        ]

    def children(self, parent: str, kind: str, of: str) -> list[Track]:
        if kind == "recording" and self._several:
            return self.groups(parent)
        if kind == "group":
            makers = {
                "cpus": self._all_cpus,
                "counters": self._all_counters,
                "markers": self._all_markers,
                "events": self._all_events,
                "processes": self._all_processes,
            }
            found = makers[of]() if of in self._groups else []
            return [replace(t, parent=parent, depth=1 + self._several) for t in found]
        number = number_of(of)
        if number is None:
            return []
        makers_of = {"process": self._threads, "thread": self._nested, "cpu": self._of_cpu}
        depth = self._several + (3 if kind == "thread" else 2)
        return makers_of[kind](number, parent, depth) if kind in makers_of else []

    # --- groups

    def _all_cpus(self) -> list[Track]:
        out = []
        for cpu, ran in sorted(self._cpus.items()):
            below = sum(cpu in table for table in self._on_cpus.values())
            more = (("cpu", cpu), *self._bare)
            out.append(
                Track(f"cpu:{self._r}:{cpu}", "cpu", f"CPU {cpu}", "", None, 0, below, ran / self._length, cpu, more)
            )
        return out

    def _all_counters(self) -> list[Track]:
        out = []
        for i, name, unit, cpu in self._counters:
            number = i - self._c
            sub = "" if cpu is None else f"CPU {cpu}"
            more = (("unit", unit or ""), *((("cpu", cpu),) if cpu is not None else ()))
            out.append(Track(f"counter:{self._r}:{number}", "counter", name or "", sub, order=number, more=more))
        return out

    def _all_markers(self) -> list[Track]:
        return [Track(f"marker:{self._r}:0", "marker", "markers", str(self._markers))]

    def _all_events(self) -> list[Track]:
        return [
            Track(f"event:{self._r}:{i - self._k}", "event", name, str(count), order=i - self._k)
            for i, name, count in self._kinds
        ]

    def _all_processes(self) -> list[Track]:
        out = []
        for upid, utids in self._threads_of.items():
            pid, name = self.processes.get(upid, (-1, ""))
            ran = sum(self._ran.get(t, 0) for t in utids)
            name, sub = (name, f"pid {pid}") if upid != UNKNOWN else ("threads", "of processes that are not known")
            more = (("upid", upid + self._p), ("pid", pid)) if upid != UNKNOWN else ()
            busy, more = ran / self._length / max(len(self._cpus), 1), (*more, *self._bare)
            out.append(Track(f"process:{self._r}:{upid}", "process", name, sub, None, 0, len(utids), busy, pid, more))
        return sorted(out, key=SORTS["time"])

    # --- below processes, threads and CPUs

    def _threads(self, upid: int, parent: str, depth: int) -> list[Track]:
        out = []
        with_some = [table for table in self._below.values() if table]
        for utid in self._threads_of.get(upid, []):
            tid, _, name = self.threads[utid]
            below = sum(utid in some for some in with_some)
            more = (("utid", utid + self._u), ("tid", tid), *self._bare)
            busy = self._ran.get(utid, 0) / self._length
            track = f"thread:{self._r}:{utid}"
            out.append(Track(track, "thread", name, str(tid), parent, depth, below, busy, tid, more))
        return sorted(out, key=SORTS["time"])

    def _nested(self, utid: int, parent: str, depth: int) -> list[Track]:
        letters = {t: of_thread for t, (of_thread, _) in LETTERS.items()}
        return [
            Track(
                f"{t}:{self._r}:{letters.get(t, '')}{utid}",
                t,
                text,
                "",
                parent,
                depth,
                order=i,
                more=(("lanes", self._below[t][utid]),),
            )
            for i, (t, text) in enumerate(NESTED.items())
            if utid in self._below[t]
        ]

    def _of_cpu(self, cpu: int, parent: str, depth: int) -> list[Track]:
        letters = {t: of_cpu for t, (_, of_cpu) in LETTERS.items()}
        more = (("cpu", cpu),)
        return [
            Track(f"{t}:{self._r}:{letters.get(t, '')}{cpu}", t, text, "", parent, depth, 0, 0.0, i, more)
            for i, (t, text) in enumerate(OF_CPUS.items())
            if cpu in self._on_cpus[t]
        ]
