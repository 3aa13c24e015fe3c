"""What a selection of time and tracks holds: stacks, latencies, who used the CPUs, states, system calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from probescope.errors import UsageError
from probescope.frozen import dataclass
from probescope.views.timeline.answers.stacks import flame
from probescope.views.timeline.filters.masks import may_match
from probescope.views.timeline.filters.parse import parse
from probescope.views.timeline.filters.sql import condition
from probescope.views.timeline.opened import Opened, Ticket
from probescope.views.timeline.protocol import Reply
from probescope.views.timeline.tree import number_of, split

Array = np.ndarray[Any, Any]

MOST_ROWS = 500
OF_THREADS = ("thread", "syscall", "func", "span", "sample")
"""Kinds of tracks whose number is a thread's."""
NS = "ns"


@dataclass(frozen=True, slots=True)
class Selected:
    """``start``, ``end``: of the recordings' clock. ``utids``, ``cpus``: which are meant; None for all."""

    start: int
    end: int
    utids: list[int] | None
    cpus: list[int] | None
    filter: str

    def where(self, cpu: str = "cpu") -> str:
        """On the threads and CPUs."""
        parts = []
        if self.utids is not None:
            parts.append(f"utid in ({', '.join(map(str, self.utids)) or '-1'})")
        if self.cpus is not None and cpu:
            parts.append(f"{cpu} in ({', '.join(map(str, self.cpus)) or '-1'})")
        return " or ".join(parts).join("()") if parts else "true"

    @property
    def params(self) -> dict[str, int]:
        return {"start": self.start, "end": self.end}


def answer_select(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    what = str(args["what"])
    if what not in ANSWERS:
        raise UsageError(f"a selection tells {', '.join(ANSWERS)}")
    return ANSWERS[what](opened, selected(opened, args), ticket)


def selected(opened: Opened, args: Mapping[str, Any]) -> Selected:
    start, end = int(args["start"]) + opened.origin, int(args["end"]) + opened.origin
    text = str(args.get("filter", ""))
    utids: set[int] | None = None
    cpus: set[int] | None = None
    if args.get("tracks") is not None:
        utids, cpus = _meant(opened, args["tracks"])
    node = parse(text)
    if node is not None:
        known = np.array(sorted(utids) if utids is not None else _all_threads(opened), np.int64)
        kept = set(known[may_match(opened, node, known, None)].tolist()) if len(known) else set()
        if utids is not None or len(kept) < len(known):
            utids = kept
    return Selected(start, end, None if utids is None else sorted(utids), None if not cpus else sorted(cpus), text)


def _all_threads(opened: Opened) -> list[int]:
    found: list[int] = opened.remembered(
        "utids", lambda: [r[0] for r in opened.asked.query("select utid from thread order by 1").tuples()]
    )
    return found


def _meant(opened: Opened, tracks: list[str]) -> tuple[set[int], set[int]]:
    """Threads and CPUs of tracks; those of groups and of what is not about either: all."""
    from probescope.views.timeline.answers.opening import tree

    utids: set[int] = set()
    cpus: set[int] = set()
    for track in tracks:
        found = split(track)
        if found is None or found[1] >= len(opened.shown):
            continue
        kind, number, of = found
        base = opened.shown[number].base["thread"]
        if kind == "process":
            utids |= {dict(t.more)["utid"] for t in tree(opened).children(track)}
        elif kind in ("cpu", "irq", "softirq") or of.startswith("c"):
            cpus |= {cpu} if (cpu := number_of(of.lstrip("c"))) is not None else set()
        elif (kind in OF_THREADS or of.startswith("t")) and (utid := number_of(of.lstrip("t"))) is not None:
            utids.add(utid + base)
        else:
            utids |= set(_all_threads(opened))
    return utids, cpus


# --- what it tells


def _flame(opened: Opened, chosen: Selected, ticket: Ticket) -> Reply:
    found = condition(opened, chosen.filter)
    where = f"e.ts >= $start and e.ts < $end and e.callsite is not null and {found.sql}"
    people = chosen.where().replace("utid in", "e.utid in").replace("cpu in", "e.cpu in")
    weights = "sum(e.period)::double as weight, count(*) as n"
    sql = f"select e.callsite, {weights} from event e where {where} and {people} group by 1"
    rows = ticket.columns(sql, {**chosen.params, **found.params})
    units = ticket.rows(
        "select distinct unit from event_kind where id in (select distinct kind from event where ts >= $start"
        " and ts < $end and callsite is not null)",
        chosen.params,
    )
    unit = NS if [u for (u,) in units] == [NS] else "samples"
    weight = rows["weight"] if unit == NS else rows["n"].astype(np.float64)
    return flame(opened, np.ma.getdata(rows["callsite"]), np.ma.getdata(weight), unit, ticket)


def _latency(opened: Opened, chosen: Selected, ticket: Ticket) -> Reply:
    where = f"ts >= $start and ts < $end and dur is not null and {chosen.where()}"
    sql = f"select dur from thread_state where state = 'runnable' and wakeup is not null and {where}"
    return _spread("from wake-up to running", ticket.columns(sql, chosen.params)["dur"])


def _calls(opened: Opened, chosen: Selected, ticket: Ticket) -> Reply:
    where = f"ts >= $start and ts < $end and dur is not null and {chosen.where()}"
    return _spread("of system calls", ticket.columns(f"select dur from syscall where {where}", chosen.params)["dur"])


def _spread(about: str, durations: Array) -> Reply:
    values = np.ma.getdata(durations)
    return Reply({"about": about, **quantiles(values)}, log2_histogram(values))


def quantiles(values: Array) -> dict[str, Any]:
    if not len(values):
        return {"count": 0, "p50": None, "p90": None, "p99": None, "max": None}
    at = np.quantile(values, (0.5, 0.9, 0.99))
    told = {name: float(v) for name, v in zip(("p50", "p90", "p99"), at, strict=True)}
    return {"count": len(values), **told, "max": float(values.max())}


def log2_histogram(values: Array) -> dict[str, Array]:
    """``edges`` has one more than ``counts``: powers of 2, and 0."""
    if not len(values):
        return {"edges": np.zeros(1), "counts": np.empty(0)}
    top = int(np.ceil(np.log2(max(float(values.max()), 1) + 1)))
    low = int(np.floor(np.log2(max(float(values.min()), 1))))
    edges = np.append(0.0 if values.min() < 1 else 2.0**low, 2.0 ** np.arange(low + 1, top + 1))
    counts, _ = np.histogram(values, edges)
    return {"edges": edges, "counts": counts.astype(np.float64)}


def _table(
    opened: Opened, ticket: Ticket, sql: str, params: Mapping[str, Any], columns: list[tuple[str, str]]
) -> Reply:
    """Where there is a column ``track``, rows have ``utid`` in its place."""
    from probescope.views.timeline.answers.asking import cell

    rows = [[cell(v) for v in r] for r in ticket.rows(f"{sql} limit {MOST_ROWS}", params)]
    for row in rows if TRACK in columns else ():
        row[columns.index(TRACK)] = track_of(opened, row[columns.index(TRACK)])
    return Reply({"columns": [{"name": n, "unit": u} for n, u in columns], "rows": rows})


_PEOPLE = "(select utid, name, tid from thread)"
_CLIPPED = "greatest(least(until, $end) - greatest(since, $start), 0)"
_TOUCHES = "since < $end and until > $start"


def _bounded(table: str, key: str) -> str:
    """Rows with ``since`` and ``until``. What had not ended with the recording goes on, and what was there before it
    had been going on; but a row whose other end was lost in between, as what follows it on its CPU, or of its thread,
    shows, is as long as nothing: nobody knows."""
    first, last = "min(coalesce(ts, end_ts)) as first", "max(coalesce(end_ts, ts)) as last"
    edges = f"select {key}, {first}, {last} from {table} group by {key}"
    since = "coalesce(ts, if(end_ts <= first, least(end_ts, begun), end_ts))"
    until = "coalesce(end_ts, if(ts >= last, greatest(ts, over), ts))"
    lengths = "select id as recording, start_ts as begun, end_ts as over from recording"
    joined = f"{table} join ({edges}) using ({key}) join ({lengths}) using (recording)"
    return f"(select *, {since} as since, {until} as until from {joined})"


_RAN = _bounded("sched_slice", "recording, cpu")
#: What is on a CPU has its end from what follows there.
_DID = (
    f"(select utid, cpu, ts, 'running' as state, false as preempted, since, until from {_RAN} union all"
    f" select utid, cpu, ts, state, preempted, since, until from {_bounded('thread_state', 'recording, utid')}"
    " where state <> 'running')"
)


TRACK = ("track", "")


def track_of(opened: Opened, utid: int) -> str:
    """Of a thread, by its number among all recordings."""
    shown = [s for s in opened.shown if s.base["thread"] <= utid][-1]
    return f"thread:{shown.number}:{utid - shown.base['thread']}"


def _idle(opened: Opened) -> str:
    return ", ".join(str(s.base["thread"]) for s in opened.shown)


def _top(opened: Opened, chosen: Selected, ticket: Ticket) -> Reply:
    sql = (
        f"select any_value(t.name), any_value(t.tid), utid, sum({_CLIPPED})::bigint as ran, count(*) as slices,"
        f" max({_CLIPPED})::bigint as longest, sum({_CLIPPED}) * 100.0 / greatest($end - $start, 1) as share"
        f" from {_RAN} join {_PEOPLE} t using (utid) where {_TOUCHES}"
        f" and utid not in ({_idle(opened)}) and {chosen.where()} group by utid order by ran desc, utid"
    )
    columns = [("task", ""), ("tid", ""), TRACK, ("on CPU", NS), ("slices", ""), ("longest", NS), ("share", "%")]
    return _table(opened, ticket, sql, chosen.params, columns)


def _states(opened: Opened, chosen: Selected, ticket: Ticket) -> Reply:
    sums = ", ".join(
        f"coalesce(sum({_CLIPPED}) filter (where state = '{s}'), 0)::bigint"
        for s in ("running", "runnable", "sleeping", "blocked")
    )
    preempted = "count(*) filter (where preempted and ts >= $start)"
    sql = (
        f"select any_value(t.name), any_value(t.tid), utid, {sums}, {preempted} from {_DID} join {_PEOPLE} t"
        f" using (utid) where {_TOUCHES} and utid not in ({_idle(opened)}) and {chosen.where()}"
        " group by utid order by 4 desc, utid"
    )
    times = [(s, NS) for s in ("running", "runnable", "sleeping", "blocked")]
    return _table(opened, ticket, sql, chosen.params, [("task", ""), ("tid", ""), TRACK, *times, ("preempted", "")])


def _syscalls(opened: Opened, chosen: Selected, ticket: Ticket) -> Reply:
    sql = (
        "select name, count(*) as calls, count(error) as errors, coalesce(sum(dur), 0)::bigint as total,"
        " coalesce(avg(dur), 0)::bigint, coalesce(quantile_disc(dur, 0.99), 0)::bigint, coalesce(max(dur), 0)::bigint"
        f" from syscall where ts >= $start and ts < $end and {chosen.where()} group by name order by total desc, name"
    )
    times = [(n, NS) for n in ("total", "mean", "p99", "max")]
    return _table(opened, ticket, sql, chosen.params, [("call", ""), ("calls", ""), ("errors", ""), *times])


def _counted(by: str, name: str) -> Callable[[Opened, Selected, Ticket], Reply]:
    """How many events there are, by something."""

    def counts(opened: Opened, chosen: Selected, ticket: Ticket) -> Reply:
        found = condition(opened, chosen.filter)
        people = chosen.where().replace("utid in", "e.utid in").replace("cpu in", "e.cpu in")
        # filters know the threads of their events themselves
        where = f"e.ts >= $start and e.ts < $end and {people} and {found.sql}"
        sql = (
            f"select {by} as what, count(*) as n, count(*) * 100.0 / sum(count(*)) over () as share,"
            f" min(e.ts) - {opened.origin} as first, max(e.ts) - {opened.origin} as last"
            " from event e left join event_kind k on k.id = e.kind left join (select utid, name, tid from thread) t"
            f" using (utid) where {where} group by what order by n desc, what"
        )
        columns = [(name, ""), ("events", ""), ("share", "%"), ("first", "ts"), ("last", "ts")]
        return _table(opened, ticket, sql, {**chosen.params, **found.params}, columns)

    return counts


ANSWERS: dict[str, Callable[[Opened, Selected, Ticket], Reply]] = {
    "kinds": _counted("k.name", "event"),
    "tasks": _counted("concat(t.name, '-', t.tid)", "task"),
    "cpus": _counted("e.cpu", "cpu"),
    "flame": _flame,
    "latency": _latency,
    "syscall_latency": _calls,
    "top": _top,
    "states": _states,
    "syscalls": _syscalls,
}
