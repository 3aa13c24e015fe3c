"""The list of events: as many as fit on the screen, from anywhere in it, whatever the filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from probescope.errors import LimitError
from probescope.formats.tracing.text import latency
from probescope.frozen import dataclass
from probescope.store.columns import Table, quoted
from probescope.store.schema import BY_NAME, FIELDS
from probescope.views.timeline.answers.wording import words_of
from probescope.views.timeline.filters.sql import condition
from probescope.views.timeline.opened import Opened, Shown, Ticket
from probescope.views.timeline.protocol import Reply

Array = np.ndarray[Any, Any]

MOST_ROWS = 1000
MOST_MATCHES = 20_000_000
MOST_KEPT = 30_000_000
MOST_INFO = 2000
MOST_LOST = 1000
"""Losses that are told of with the rows of one answer."""
_OWN = frozenset(c.name for c in FIELDS)


@dataclass(frozen=True, slots=True)
class Listed:
    """Numbers of events that match, in order of time, with their times. ``every`` of one recording: numbers are places,
    and there are no columns."""

    total: int
    ids: Array
    ts: Array
    every: bool = False


def listed(opened: Opened, text: str, ticket: Ticket) -> Listed:
    """Raises ScriptError, and LimitError where too many match."""
    text = text.strip()
    kept: dict[str, Listed] = opened.caches.setdefault("lists", {})
    if text not in kept:
        made = _listed(opened, text, ticket)
        with opened.guard:
            while kept and sum(len(k.ids) for k in kept.values()) + len(made.ids) > MOST_KEPT:
                kept.pop(next(iter(kept)))
            kept[text] = made
    return kept[text]


def _listed(opened: Opened, text: str, ticket: Ticket) -> Listed:
    found = condition(opened, text)
    nothing = np.empty(0, np.int64)
    if not text and len(opened.shown) == 1:
        total = sum(n for _, _, n in opened.kinds)
        return Listed(total, nothing, nothing, every=True)
    total = int(ticket.rows(f"select count(*) from event e where {found.sql}", found.params)[0][0])
    if total > MOST_MATCHES:
        hints = ["a filter that leaves fewer"]
        raise LimitError(f"{total:,} events match, and no more than {MOST_MATCHES:,} can be listed", hints=hints)
    order = "e.ts, e.id" if len(opened.shown) > 1 else "e.id"
    sql = f"select e.id::uinteger as id, e.ts from event e where {found.sql} order by {order}"
    rows = ticket.columns(sql, found.params)
    return Listed(total, np.ma.getdata(rows["id"]), np.ma.getdata(rows["ts"]))


def answer_events(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    found = listed(opened, str(args.get("filter", "")), ticket)
    first = min(max(int(args.get("offset", 0)), 0), found.total)
    last = min(first + min(max(int(args.get("limit", 100)), 0), MOST_ROWS), found.total)
    ids = list(range(first, last)) if found.every else found.ids[first:last].tolist()
    rows = event_rows(opened, ids, ticket)
    lost = _lost_before(opened, found, rows, (first, last), ticket)
    return Reply({"total": found.total, "rows": rows, **({"lost": lost} if lost else {})})


def _lost_before(
    opened: Opened, found: Listed, rows: Sequence[Sequence[Any]], places: tuple[int, int], ticket: Ticket
) -> list[list[Any]]:
    """[number of the row, CPU, count, ns] of what is missing before each row; behind the last one of all, before that.
    ``places``: of the first row in the list, and beyond the last one."""
    if not rows or not any_lost(opened):
        return []
    times = np.array([r[1] for r in rows], np.int64) + opened.origin
    before = _time_of(found, places[0] - 1, ticket) if places[0] else None
    last = None if places[1] >= found.total else int(times[-1])
    where = "($after is null or ts > $after) and ($last is null or ts <= $last)"
    sql = f"select ts, cpu, count from lost where {where} order by ts limit {MOST_LOST}"
    told = ticket.rows(sql, {"after": before, "last": last})
    at = np.minimum(np.searchsorted(times, [r[0] for r in told]), len(rows) - 1).tolist()
    return [[i, cpu, count, ts - opened.origin] for i, (ts, cpu, count) in zip(at, told, strict=True)]


def _time_of(found: Listed, place: int, ticket: Ticket) -> int | None:
    if not found.every:
        return int(found.ts[place])
    rows = ticket.rows("select ts from event where id = ?", [place])
    return int(rows[0][0]) if rows else None


def any_lost(opened: Opened) -> bool:
    """Whether it is known of any place that events are missing there."""
    return bool(
        opened.remembered("lost", lambda: opened.asked.query("select count(*) from lost where ts >= 0").value())
    )


def event_rows(opened: Opened, ids: Sequence[int], ticket: Ticket) -> list[list[Any]]:
    """[id, ts, cpu, task, kind, info, utid] of each, in the order of ``ids``; and the letters of its flags, where they
    were recorded."""
    if not ids:
        return []
    names = {number: name for number, name, _ in opened.kinds}
    sql = (
        "select e.id, e.ts, e.cpu, e.utid, e.kind, t.name, t.tid, e.period, e.flags, e.preempt, e.recording"
        " from event e left join thread t using (utid)"
        " where e.id between $low and $high and e.id in (select unnest($ids))"
    )
    rows = {r[0]: r for r in ticket.rows(sql, {"low": min(ids), "high": max(ids), "ids": list(ids)})}
    by_kind: dict[tuple[int, int], list[int]] = {}
    for number, row in rows.items():
        by_kind.setdefault((row[-1], row[4]), []).append(number)
    info: dict[int, str] = {}
    for (recording, kind), some in by_kind.items():
        info |= _infos(opened, opened.shown[recording], (kind, names.get(kind, "")), some, ticket)
    out = []
    for number in ids:
        if number in rows:
            _, ts, cpu, utid, kind, comm, tid, period, flags, preempt, _ = rows[number]
            task = f"{comm or ''}-{tid if tid is not None else '?'}"
            told = info.get(number, f"period={period}" if period not in (None, 1) else "")
            letters = [latency(flags, preempt or 0)] if flags is not None else []
            out.append([number, ts - opened.origin, cpu, task, names.get(kind, ""), told, utid, *letters])
    return out


def table_of(opened: Opened, one: Shown, kind: tuple[int, str]) -> Table | None:
    """Of the fields of a kind of a recording. Kinds may share their name with each other, or with a table of all."""
    number, name = kind
    words = words_of(opened, one)
    called = words.table(number - one.base.get("event_kind", 0), name) if words is not None else None
    called = called or name
    return None if called in BY_NAME else opened.asked.tables.get(called)


def _infos(opened: Opened, one: Shown, kind: tuple[int, str], ids: Sequence[int], ticket: Ticket) -> dict[int, str]:
    """Of events of one kind of one recording, by their numbers: as the kernel words them, or their fields."""
    table = table_of(opened, one, kind)
    names = [c.name for c in table.columns if c.name not in _OWN] if table is not None else []
    if table is None or not names:
        return {}
    sql = (
        f"select x.event, x.cpu, t.tid, {', '.join('x.' + quoted(n) for n in names)}"
        f" from {quoted(table.name)} x left join thread t using (utid)"
        " where x.event between $low and $high and x.event in (select unnest($ids))"
    )
    found = opened.asked.query(sql, {"low": min(ids), "high": max(ids), "ids": list(ids)}, ticket.cursor())
    rows = list(found.tuples())
    words = words_of(opened, one)
    number = kind[0] - one.base.get("event_kind", 0)
    if words is not None and words.table(number, kind[1]) is not None:
        texts = words.texts(number, names, [r[1:] for r in rows], MOST_INFO)
        if texts is not None:
            return {r[0]: text for r, text in zip(rows, texts, strict=True)}
    if names[-1] in ("text", "text_") and str(one.row["format"]).startswith("text"):
        return {r[0]: str(r[-1])[:MOST_INFO] for r in rows}  # the line that the fields before it were read from
    return {r[0]: info(names, r[3:]) for r in rows}


def info(names: Sequence[str], values: Sequence[Any]) -> str:
    """Fields as a line."""
    parts = (f"{n.removeprefix('field_')}={shown(v)}" for n, v in zip(names, values, strict=True) if v is not None)
    return " ".join(parts)[:MOST_INFO]


def shown(value: Any) -> str:
    if isinstance(value, bytes | bytearray):
        return value[:64].hex()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(shown(v) for v in value[:64]) + "]"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1 << 32:
        return hex(value)
    return str(value)


def answer_locate(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    found = listed(opened, str(args.get("filter", "")), ticket)
    ts = int(args["ts"]) + opened.origin
    if found.every:
        return Reply({"row": int(ticket.rows("select count(*) from event where ts < ?", [ts])[0][0])})
    return Reply({"row": int(np.searchsorted(found.ts, ts))})


def answer_row_of(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    """-1 where the event is not in the list."""
    found = listed(opened, str(args.get("filter", "")), ticket)
    number = int(args["id"])
    if found.every:
        return Reply({"row": number if 0 <= number < found.total else -1})
    places = np.flatnonzero(found.ids == number)
    return Reply({"row": int(places[0]) if len(places) else -1})
