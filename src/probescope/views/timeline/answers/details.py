"""All that is known of one thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from probescope.errors import UsageError
from probescope.store.columns import quoted
from probescope.store.schema import FIELDS
from probescope.views.timeline.answers.finding import track_of
from probescope.views.timeline.answers.listing import shown, table_of
from probescope.views.timeline.answers.stacks import stack_of
from probescope.views.timeline.opened import Opened, Ticket
from probescope.views.timeline.protocol import Reply

Row = dict[str, Any]
Related = list[dict[str, Any]]
Finder = Callable[[Opened, Row, Ticket], Related]

#: Kinds of things: table, the column of its number, and the expression that is its title.
THINGS: dict[str, tuple[str, str, str]] = {
    "sched_slice": ("sched_slice", "id", "x.task || ' on CPU ' || x.cpu"),
    "thread_state": ("thread_state", "id", "x.task || ': ' || coalesce(x.state, 'not known')"),
    "syscall": ("syscall", "id", "x.name"),
    "irq": ("irq", "id", "'interrupt ' || coalesce(x.name, x.irq::varchar)"),
    "softirq": ("softirq", "id", "'soft interrupt ' || coalesce(x.name, x.vec::varchar)"),
    "func": ("func", "id", "x.function"),
    "span": ("span", "id", "x.name"),
    "marker": ("marker", "event", "x.text"),
    "event": ("event", "id", "x.kind_name"),
    "sample": ("sample", "event", "x.kind_name"),
    "wakeup": ("wakeup", "id", "x.task || ' is woken up'"),
}
_SKIPPED = ("utid", "recording", "task", "title", "tid", "pid", "process", "kind_name", "kind", "callsite", "waker")


def answer_detail(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    kind, number = str(args["kind"]), int(args["id"])
    kind = {"cpu": "sched_slice", "thread": "thread_state"}.get(kind, kind)
    if kind == "counter":
        return _counter(opened, number, ticket)
    if kind not in THINGS:
        raise UsageError(f"of '{kind[:40]}' nothing more is known")
    row = _row(opened, kind, number, ticket)
    pairs = [[n, _said(opened, n, v)] for n, v in row.items() if n not in _SKIPPED and v is not None]
    if kind in ("event", "sample"):
        pairs += _fields(opened, row, int(row["id" if kind == "event" else "event"]), ticket)
    head = {
        "title": row["title"] or kind,
        "pairs": [*_who(row), *pairs],
        "stack": stack_of(opened, row.get("callsite"), ticket),
        "related": _related(opened, kind, row, ticket),
        "track": track_of(opened, kind, _of(kind, row), row["recording"]),
        **_times(opened, row),
    }
    return Reply(head)


def _row(opened: Opened, kind: str, number: int, ticket: Ticket) -> Row:
    table, key, title = THINGS[kind]
    kinds = ", k.name as kind_name" if kind in ("event", "sample") else ""
    join = " left join event_kind k on k.id = s.kind" if kinds else ""
    sql = (
        f"select x.*, {title} as title from (select s.*, t.name as task, t.tid as tid, p.pid as pid, p.name as process"
        f"{kinds} from {table} s left join thread t using (utid) left join process p using (upid){join}"
        f" where s.{key} = ?) x"
    )
    rows = opened.asked.query(sql, [number], ticket.cursor()).all()
    if not rows:
        raise UsageError(f"there is no {kind.replace('_', ' ')} {number}")
    return rows[0]


def _of(kind: str, row: Row) -> int | None:
    found: int | None = row["kind"] if kind == "event" else row.get("cpu" if kind in _ON_CPUS else "utid")
    return found


_ON_CPUS = ("sched_slice", "irq", "softirq")


def _who(row: Row) -> list[list[str]]:
    out = []
    if row.get("task") is not None:
        out.append(["thread", f"{row['task']} ({row['tid']})"])
    if row.get("process") is not None:
        out.append(["process", f"{row['process']} ({row['pid']})"])
    return out


def _times(opened: Opened, row: Row) -> dict[str, int | None]:
    start, end = row.get("ts"), row.get("end_ts", row.get("ts"))
    start, end = (end if start is None else start), (start if end is None else end)
    if start is None or end is None:
        return {"start": None, "end": None}
    return {"start": start - opened.origin, "end": end - opened.origin}


def _said(opened: Opened, name: str, value: Any) -> str:
    if name in ("ts", "end_ts", "raised_ts"):
        return f"{(value - opened.origin) / 1e9:.9f} s"
    if name in ("dur", "self_dur"):
        return duration(value)
    return shown(value)


def duration(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3f} {unit}"
    return f"{ns:.0f} ns"


def _fields(opened: Opened, row: Row, number: int, ticket: Ticket) -> list[list[str]]:
    table = table_of(opened, opened.shown[row["recording"]], (row["kind"], str(row["kind_name"])))
    if table is None:
        return []
    own = {c.name for c in FIELDS} | {"recording"}
    sql = f"select * from {quoted(table.name)} where event = ?"
    rows = opened.asked.query(sql, [number], ticket.cursor()).all()
    return (
        [[n.removeprefix("field_"), shown(v)] for n, v in rows[0].items() if n not in own and v is not None]
        if rows
        else []
    )


def _counter(opened: Opened, number: int, ticket: Ticket) -> Reply:
    rows = opened.asked.query("select * from counter_track where id = ?", [number], ticket.cursor()).all()
    if not rows:
        raise UsageError(f"there is no counter {number}")
    pairs = [[n, shown(v)] for n, v in rows[0].items() if v is not None and n != "recording"]
    return Reply({"title": rows[0]["name"], "pairs": pairs, "stack": [], "related": [], "start": None, "end": None})


# --- what it has to do with


def _link(opened: Opened, label: str, kind: str, row: tuple[Any, ...]) -> dict[str, Any]:
    """``row``: id, ts, whose track, recording."""
    number, ts, of, recording = row
    track = track_of(opened, kind, of, recording)
    return {
        "label": label,
        "kind": kind,
        "id": number,
        "ts": None if ts is None else ts - opened.origin,
        "track": track,
    }


def _related(opened: Opened, kind: str, row: Row, ticket: Ticket) -> Related:
    finder = _FINDERS.get(kind)
    return finder(opened, row, ticket) if finder is not None else []


def _linked(opened: Opened, ticket: Ticket, label: str, kind: str, sql: str, params: list[Any]) -> Related:
    return [_link(opened, label, kind, r) for r in ticket.rows(sql, params)]


_ON_CPU = "select id, ts, cpu, recording from sched_slice where"
_STATE = "select id, ts, utid, recording from thread_state where"
_WOKEN = (
    "select w.id, w.ts, w.waker_utid, w.recording, t.name from wakeup w left join thread t on t.utid = w.waker_utid"
    " where w.id"
)
_IN_CALL = (
    "select id, ts, utid, recording, name from syscall where utid = ? and ts <= ? and end_ts >= ?"
    " order by ts desc limit 1"
)


def _named_links(opened: Opened, ticket: Ticket, label: str, kind: str, sql: str, params: list[Any]) -> Related:
    """Rows end in a name, which goes behind the label."""
    return [_link(opened, f"{label} {name or '?'}", kind, tuple(link)) for *link, name in ticket.rows(sql, params)]


def _of_slice(opened: Opened, row: Row, ticket: Ticket) -> Related:
    out: Related = []
    cpu = [row["cpu"], row["recording"]]
    if row["ts"] is not None:
        sql = f"{_ON_CPU} cpu = ? and recording = ? and end_ts = ? limit 1"
        out += _linked(opened, ticket, "before it on this CPU", "sched_slice", sql, [*cpu, row["ts"]])
        sql = f"{_WOKEN} in (select wakeup from thread_state where utid = ? and end_ts = ?)"
        out += _named_links(opened, ticket, "woken up by", "wakeup", sql, [row["utid"], row["ts"]])
    if row["end_ts"] is not None:
        sql = f"{_ON_CPU} cpu = ? and recording = ? and ts = ? limit 1"
        out += _linked(opened, ticket, "after it on this CPU", "sched_slice", sql, [*cpu, row["end_ts"]])
        sql = f"{_STATE} utid = ? and ts = ? limit 1"
        out += _linked(opened, ticket, "the thread goes on", "thread_state", sql, [row["utid"], row["end_ts"]])
    return out


def _of_state(opened: Opened, row: Row, ticket: Ticket) -> Related:
    out: Related = []
    if row["wakeup"] is not None:
        out += _named_links(opened, ticket, "woken up by", "wakeup", f"{_WOKEN} = ?", [row["wakeup"]])
    if row["state"] == "running":
        sql = f"{_ON_CPU} utid = ? and cpu = ? and (ts = ? or end_ts = ?) limit 1"
        params = [row["utid"], row["cpu"], row["ts"], row["end_ts"]]
        out += _linked(opened, ticket, "on the CPU", "sched_slice", sql, params)
    sql = f"{_STATE} utid = ? and ts = ? limit 1"
    return out + _linked(opened, ticket, "then", "thread_state", sql, [row["utid"], row["end_ts"]])


def _of_event(opened: Opened, row: Row, ticket: Ticket) -> Related:
    """What the thread was doing."""
    at = [row["utid"], row["ts"], row["ts"]]
    out = _named_links(opened, ticket, "in", "syscall", _IN_CALL, at)
    sql = f"{_ON_CPU} utid = ? and ts <= ? and end_ts >= ? limit 1"
    return out + _linked(opened, ticket, "on the CPU", "sched_slice", sql, at)


def _parent(label: str, table: str) -> Finder:
    sql = f"select id, ts, utid, recording from {table} where id = ?"
    return lambda opened, row, ticket: _linked(opened, ticket, label, table, sql, [row["parent"]])


def _of_wakeup(opened: Opened, row: Row, ticket: Ticket) -> Related:
    return _linked(opened, ticket, "then it waits", "thread_state", f"{_STATE} wakeup = ?", [row["id"]])


_FINDERS: dict[str, Finder] = {
    "sched_slice": _of_slice,
    "thread_state": _of_state,
    "func": _parent("called by", "func"),
    "span": _parent("part of", "span"),
    "event": _of_event,
    "sample": _of_event,
    "wakeup": _of_wakeup,
}
