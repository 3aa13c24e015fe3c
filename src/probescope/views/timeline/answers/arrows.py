"""Who woke whom, and when that one got a CPU; and where events are missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from probescope.views.timeline.answers.listing import any_lost
from probescope.views.timeline.filters.masks import may_match
from probescope.views.timeline.filters.parse import parse
from probescope.views.timeline.opened import Opened, Ticket
from probescope.views.timeline.protocol import Reply

MOST = 5000
MOST_LOST = 4096
_IN_VIEW = "w.ts >= $start and w.ts < $end"


def answer_arrows(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    start, end = int(args["start"]) + opened.origin, int(args["end"]) + opened.origin
    limit = min(max(int(args.get("limit", MOST)), 0), MOST)
    params = {"start": start, "end": end}
    many = ticket.rows(f"select count(*) from wakeup w where {_IN_VIEW}", params)[0][0]
    if many > limit:
        return Reply({"many": int(many)})
    return Reply({}, arrows(opened, ticket, start, end, str(args.get("filter", ""))))


def arrows(opened: Opened, ticket: Ticket, start: int, end: int, text: str = "") -> dict[str, Any]:
    """As columns; NaN where it is not known when the thread ran."""
    sql = (
        "select w.ts, coalesce(w.waker_utid, 0) as waker, coalesce(w.cpu, -1) as cpu, w.utid,"
        " coalesce(w.target_cpu, -1) as target, s.end_ts as run, w.id"
        " from wakeup w left join (select wakeup, end_ts from thread_state where wakeup is not null"
        " and (end_ts is null or end_ts >= $start) and ts < $end) s on s.wakeup = w.id"
        f" where {_IN_VIEW} order by w.ts"
    )
    rows = ticket.columns(sql, {"start": start, "end": end})
    if text.strip():
        node = parse(text)
        keep = may_match(opened, node, np.ma.getdata(rows["waker"]), np.ma.getdata(rows["cpu"]))
        keep |= may_match(opened, node, np.ma.getdata(rows["utid"]), np.ma.getdata(rows["target"]))
        rows = {n: c[keep] for n, c in rows.items()}
    known = {n: np.ma.getdata(c) for n, c in rows.items()}
    return {
        "at": (known["ts"] - opened.origin).astype(np.float64),
        "from": known["waker"].astype(np.uint32),
        "from_cpu": known["cpu"].astype(np.int32),
        "to": known["utid"].astype(np.uint32),
        "to_cpu": known["target"].astype(np.int32),
        "run": np.ma.filled(rows["run"].astype(np.float64) - opened.origin, np.nan),
        "latency": np.ma.filled((rows["run"] - rows["ts"]).astype(np.float64), np.nan),
        "id": known["id"].astype(np.float64),
    }


def answer_lost(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    """Where events are missing, by recording and CPU: those that are less than a pixel apart together."""
    start, end, width = int(args["start"]) + opened.origin, int(args["end"]) + opened.origin, int(args["width"])
    if not any_lost(opened) or end <= start or not 0 < width <= MOST_LOST:
        return Reply({}, {name: np.empty(0) for name in ("at", "count")} | _no_cpus())
    return Reply({}, lost(opened, ticket, start, end, width))


def _no_cpus() -> dict[str, Any]:
    return {name: np.empty(0, np.int32) for name in ("cpu", "recording")}


def lost(opened: Opened, ticket: Ticket, start: int, end: int, width: int) -> dict[str, Any]:
    """As columns; NaN where it is not told how many."""
    sql = (
        "select min(ts) as first, coalesce(cpu, -1) as cpu, recording, sum(count)::double as count from lost"
        " where ts >= $start and ts < $end"
        " group by cpu, recording, ((ts - $start)::double * $width / ($end - $start))::bigint"
        f" order by first, cpu, recording limit {MOST_LOST}"
    )
    found = ticket.columns(sql, {"start": start, "end": end, "width": width})
    known = {n: np.ma.getdata(c) for n, c in found.items()}
    return {
        "at": (known["first"] - opened.origin).astype(np.float64),
        "cpu": known["cpu"].astype(np.int32),
        "recording": known["recording"].astype(np.int32),
        "count": np.ma.filled(found["count"].astype(np.float64), np.nan),
    }
