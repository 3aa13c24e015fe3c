"""What is open, and which tracks there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from probescope._version import __version__
from probescope.views.timeline.opened import Opened, Ticket
from probescope.views.timeline.plots import plot
from probescope.views.timeline.protocol import Reply
from probescope.views.timeline.tree import PLOTS, SORTS, Track, Tree

MOST_TRACKS = 2000
MOST_LOSSES = 200


def tree(opened: Opened) -> Tree:
    made: Tree = opened.remembered("tree", lambda: Tree(opened))
    return made


def answer_open(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    asked = opened.asked
    head = {
        "product": "probescope",
        "version": __version__,
        "recordings": [_recording(opened, i) for i in range(len(opened.shown))],
        "origin": str(opened.origin),
        "start": 0,
        "end": opened.length,
        "live": opened.live,
        "wall": _wall(opened),
        "losses": _losses(opened),
        "kinds": _kinds(opened),
        "tracks": tree(opened).count,
        "library": [{"name": v.name, "about": v.about, "sql": f"select * from {v.name}"} for v in asked.views.values()],
        "tables": {name: [c.name for c in table.columns] for name, table in asked.tables.items()},
    }
    return Reply(head)


def _recording(opened: Opened, i: int) -> dict[str, Any]:
    shown = opened.shown[i]
    row = shown.row
    told = {c: row[c] for c in ("path", "format", "host", "release", "arch", "cpus", "command", "events")}
    return {**told, "start": shown.start + shown.shift, "end": shown.end + shown.shift, "offset": row["offset_ns"] or 0}


def _wall(opened: Opened) -> str | None:
    """Of the origin, in ns since 1970."""
    row = opened.shown[0].row
    return None if row["wall_offset"] is None else str(opened.origin + row["wall_offset"])


def _losses(opened: Opened) -> list[dict[str, Any]]:
    sql = (
        "select recording, name, severity, sum(count)::bigint as count, min(ts) as ts, any_value(about) as about,"
        " any_value(advice) as advice from stats group by 1, 2, 3"
        f" order by severity = 'info', severity = 'warning', count desc limit {MOST_LOSSES}"
    )
    rows = opened.asked.query(sql).all()
    for row in rows:
        row["ts"] = None if row["ts"] is None else row["ts"] - opened.origin
    return rows


def _kinds(opened: Opened) -> list[dict[str, Any]]:
    from probescope.store.schema import FIELDS

    tables, own = opened.asked.tables, {c.name for c in FIELDS}
    out = []
    for number, name, events in opened.kinds:
        table = tables.get(name)
        fields = [c.name for c in table.columns if c.name not in own] if table is not None else []
        out.append({"id": number, "name": name, "events": events, "fields": fields})
    return out


def answer_plot(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    """A track of one's own, out of a query; one of the same title takes its place."""
    made = plot(opened, str(args["title"]), str(args["sql"]), ticket)
    track = next(t for t in tree(opened).children(PLOTS) if t.id == f"plot:0:{made.of}")
    return Reply({"track": track.to_json()})


def answer_tracks(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    if "ids" in args:
        return Reply(
            {"total": len(args["ids"]), "tracks": list(_by_id(opened, args["ids"], str(args.get("sort", ""))))}
        )
    find, sort = str(args.get("find", "")).strip().lower(), str(args.get("sort", ""))
    found = opened.remembered("every", tree(opened).every) if find else tree(opened).children(args.get("parent"))
    if find:
        found = [t for t in found if _matches(t, find)]
    found = _sorted(found, sort)
    begin = max(int(args.get("offset", 0)), 0)
    end = begin + min(max(int(args.get("limit", MOST_TRACKS)), 0), MOST_TRACKS)
    return Reply({"total": len(found), "tracks": [t.to_json() for t in found[begin:end]]})


def _sorted(tracks: list[Track], sort: str) -> list[Track]:
    ordered = sort in SORTS and not (tracks and tracks[0].kind == "group")
    return sorted(tracks, key=SORTS[sort]) if ordered else tracks


def _by_id(opened: Opened, ids: list[str], sort: str) -> Iterator[dict[str, Any]]:
    """Those that there are, each with its place among its parent's children."""
    made = tree(opened)
    for wanted in ids[:MOST_TRACKS]:
        parent = made.parent(wanted)
        if parent is ...:
            continue
        for i, track in enumerate(_sorted(made.children(parent), sort)):
            if track.id == wanted:
                yield {**track.to_json(), "index": i}
                break


def _matches(track: Track, text: str) -> bool:
    return track.kind != "group" and (text in track.name.lower() or text in track.sub.lower())
