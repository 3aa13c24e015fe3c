"""The next thing with a name, from a time on, forward or back; and the next slice of a track."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from probescope.errors import UsageError
from probescope.frozen import dataclass
from probescope.store.columns import quoted
from probescope.store.lod.families import LANES, POINTS, points_of
from probescope.views.timeline.answers.drawing import found_track, number
from probescope.views.timeline.filters.sql import condition
from probescope.views.timeline.opened import Opened, Shown, Ticket
from probescope.views.timeline.protocol import Reply

KINDS = ("event", "name", "task", "any")
NAMED = {
    "syscall": ("name", "utid"),
    "irq": ("name", "cpu"),
    "softirq": ("name", "cpu"),
    "func": ("function", "utid"),
    "span": ("name", "utid"),
    "marker": ("text", "utid"),
}
"""Tables of things with names: the column of the name, and whose track they are on."""
SPLIT = {"utid": "thread", "cpu": ""}


@dataclass(frozen=True, slots=True)
class Place:
    """Where something may be found: ``rows`` is a query of (ts, end, id, of, recording); ``params`` are its."""

    kind: str
    rows: str
    params: Mapping[str, Any]


def places(opened: Opened, args: Mapping[str, Any]) -> Iterator[Place]:
    """Raises ScriptError, UsageError."""
    text, kind = str(args.get("text", "")), str(args.get("kind", "any"))
    if kind not in KINDS:
        raise UsageError(f"what is looked for is one of {', '.join(KINDS)}")
    like = {"text": text}
    if kind in ("event", "any"):
        yield _events(opened, text, str(args.get("filter", "")))
        if text:
            yield from _fields(opened, text)
    if kind in ("name", "any") and text:
        for table, (column, of) in NAMED.items():
            end, id_ = ("ts", "event") if table == "marker" else ("end_ts", "id")
            columns = f"ts, {end} as stop, {id_} as id, {of} as of, recording"
            sql = f"select {columns} from {table} where contains(lower({column}), lower($text))"
            yield Place(table, sql, like)
    if kind in ("task", "any") and text:
        sql = (
            "select ts, end_ts as stop, id, cpu as of, recording from sched_slice where utid in"
            " (select utid from thread where contains(lower(name), lower($text)) or tid::varchar = $text)"
        )
        yield Place("sched_slice", sql, like)


def _events(opened: Opened, text: str, filter_: str) -> Place:
    made = condition(opened, filter_)
    kinds = [i for i, name, _ in opened.kinds if text.lower() in name.lower()]
    named = f"e.kind in ({', '.join(map(str, kinds)) or '-1'})" if text else "true"
    where = f"{made.sql} and {named}"
    return Place("event", f"select ts, ts as stop, id, kind as of, recording from event e where {where}", made.params)


def _fields(opened: Opened, text: str) -> Iterator[Place]:
    """Texts in the fields of events."""
    from probescope.store.schema import BY_NAME

    numbers = {name: i for i, name, _ in opened.kinds}
    for name, table in opened.asked.tables.items():
        texts = [quoted(c.name) for c in table.columns if c.type == "VARCHAR"]
        if name not in BY_NAME and texts and name in numbers:
            where = " or ".join(f"contains(lower({c}), lower($text))" for c in texts)
            columns = f"ts, ts as stop, event as id, {numbers[name]} as of, recording"
            sql = f"select {columns} from {quoted(name)} where {where}"
            yield Place("event", sql, {"text": text})


def answer_find(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    since = int(args["from"]) + opened.origin
    forward = bool(args.get("forward", True))
    op, order = (">", "asc") if forward else ("<", "desc")
    best: tuple[str, tuple[Any, ...]] | None = None
    for place in places(opened, args):
        sql = f"select * from ({place.rows}) where ts {op} $since order by ts {order} limit 1"
        for row in ticket.rows(sql, {**place.params, "since": since}):
            if best is None or (row[0] < best[1][0]) == forward:
                best = place.kind, row
    if best is None:
        return Reply({"none": True})
    kind, (ts, stop, id_, of, recording) = best
    end = (stop if stop is not None else ts) - opened.origin
    track = track_of(opened, kind, of, recording)
    name = text_of(opened, kind, id_, ticket)
    return Reply({"track": track, "ts": ts - opened.origin, "end": end, "thing": id_, "kind": kind, "name": name})


def text_of(opened: Opened, kind: str, number: int, ticket: Ticket) -> str:
    """What it is called."""
    if kind == "event":
        sql = "select k.name from event e join event_kind k on k.id = e.kind where e.id = ?"
    elif kind in NAMED:
        sql = f"select {NAMED[kind][0]} from {kind} where {'event' if kind == 'marker' else 'id'} = ?"
    else:
        sql = "select t.name from sched_slice s join thread t using (utid) where s.id = ?"
    rows = ticket.rows(sql, [number])
    return str(rows[0][0] or "") if rows else ""


def track_of(opened: Opened, kind: str, of: int | None, recording: int) -> str:
    base = opened.shown[recording].base
    if kind == "marker":
        return f"marker:{recording}:0"
    if kind == "event":
        return f"event:{recording}:{(of or 0) - base['event_kind']}"
    if kind in ("sched_slice", "irq", "softirq"):
        return f"{'cpu' if kind == 'sched_slice' else kind}:{recording}:{of}"
    family = {"thread_state": "thread"}.get(kind, kind)
    return f"{family}:{recording}:{(of or 0) - base['thread']}"


def answer_count(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    total = 0
    for place in places(opened, args):
        total += int(ticket.rows(f"select count(*) from ({place.rows})", place.params)[0][0])
    return Reply({"count": total})


# --- along a track


def answer_step(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    kind, shown, of = found_track(opened, args["track"])
    ts, forward = int(args["ts"]) - shown.shift, bool(args.get("forward", True))
    if kind in LANES:
        found = _slice(opened, shown, kind, number(of), ts, args.get("id"), forward)
        return Reply(found or {"none": True})
    instants = points_of(kind, of)
    if instants is None:
        raise UsageError(f"tracks of the kind '{kind}' have no steps")
    family, track = instants[0], number(instants[1])
    times = shown.levels.points(family).times(track)
    at = int(np.searchsorted(times, ts, "right")) if forward else int(np.searchsorted(times, ts, "left")) - 1
    if not 0 <= at < len(times):
        return Reply({"none": True})
    return Reply(_instant(opened, shown, family, track, int(times[at]), ticket))


def _slice(
    opened: Opened, shown: Shown, kind: str, track: int, ts: int, id_: float | None, forward: bool
) -> dict[str, Any] | None:
    file = shown.levels.lanes(kind)
    base = shown.base[LANES[kind].table if kind != "marker" else "event"]
    known = None if id_ is None or id_ < 0 else int(id_) - base
    best: tuple[int, int, int] | None = None
    for lane in file.lanes(track):
        found = file.next_to(lane, ts, known, forward)
        if found is not None and (best is None or (found[0] < best[0]) == forward):
            best = found
    if best is None:
        return None
    start, end, row = best
    return {
        "start": start + shown.shift,
        "end": end + shown.shift,
        "thing": int(file.columns["id0"][row]) + base,
        "kind": LANES[kind].table,
        "name": slice_name(opened, shown, kind, row),
    }


def slice_name(opened: Opened, shown: Shown, kind: str, row: int) -> str:
    from probescope.views.timeline.answers.drawing import STATE, STATE_NAMES, thread_names

    file = shown.levels.lanes(kind)
    key = int(file.columns["key0"][row])
    if kind == "cpu":
        return opened.names.text(int(thread_names(opened)[key + shown.base["thread"]]))
    if kind == "thread":
        return STATE_NAMES[int(file.columns["kind0"][row]) & STATE]
    return file.names[key] if key < len(file.names) else ""


def _instant(opened: Opened, shown: Shown, family: str, track: int, ts: int, ticket: Ticket) -> dict[str, Any]:
    points = POINTS[family]
    sample = points.table == "sample"
    rows = ticket.rows(
        f"select {'event' if sample else 'id'} from {points.table} where ts = ? and {points.track} = ?"
        f" and recording = {shown.number} limit 1",
        [ts + shown.shift + opened.origin, shown.stored(points, track)],
    )
    found = {"start": ts + shown.shift, "end": ts + shown.shift, "thing": rows[0][0] if rows else -1}
    return {**found, "kind": points.table, "name": ""}
