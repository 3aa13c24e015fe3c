"""What is drawn: slices, and areas under curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from probescope.errors import UsageError
from probescope.store.lod.counters import CounterFile
from probescope.store.lod.cutting import CUT_COLUMNS, Cut, LaneFile
from probescope.store.lod.families import LANES, POINTS, STATE_CODES, Points, points_of
from probescope.views.timeline.filters.masks import may_match
from probescope.views.timeline.filters.parse import parse
from probescope.views.timeline.filters.sql import condition
from probescope.views.timeline.opened import Opened, Shown, Ticket
from probescope.views.timeline.plots import Plot
from probescope.views.timeline.protocol import Reply
from probescope.views.timeline.tree import split

Array = np.ndarray[Any, Any]

MOST_WIDTH = 8192
FAR = 1 << 62
STATE = 7
"""The bits of ``kind`` that hold the state."""
STATE_NAMES = ("", *STATE_CODES)


def view(args: Mapping[str, Any]) -> tuple[int, int, int]:
    """Begin, end and width that were asked for. Raises UsageError."""
    start, end, width = int(args["start"]), int(args["end"]), int(args["width"])
    if end <= start or not 0 < width <= MOST_WIDTH:
        raise UsageError(f"a view is from one time to a later one, and 1 to {MOST_WIDTH} wide")
    return start, end, width


def own(shown: Shown, time: int) -> int:
    """A time of the page as one of the recording; within what numpy can count with."""
    return max(min(time - shown.shift, FAR), -FAR)


def found_track(opened: Opened, track: str) -> tuple[str, Shown, str]:
    """Kind, recording, and what it is of. Raises UsageError."""
    found = split(track)
    if found is None or found[1] >= len(opened.shown):
        raise UsageError(f"there is no track '{track[:60]}'")
    return found[0], opened.shown[found[1]], found[2]


def number(of: str) -> int:
    """Raises UsageError."""
    try:
        return int(of[:20])
    except ValueError:
        raise UsageError(f"there is no track of '{of[:60]}'") from None


def answer_slices(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    return slices(opened, args["track"], *view(args), text=str(args.get("filter", "")))


def slices(opened: Opened, track: str, start: int, end: int, width: int, *, text: str = "") -> Reply:
    """As wide as one likes. ``text``: a filter."""
    kind, shown, of = found_track(opened, track)
    if kind == "plot":
        return _plot_slices(opened, of, start, end, width)
    if kind not in LANES:
        raise UsageError(f"tracks of the kind '{kind}' have no slices")
    cut = shown.levels.lanes(kind).cut(number(of), own(shown, start), own(shown, end), width)
    cut = _filtered(opened, shown, kind, number(of), cut, text)
    name, value = _told(opened, shown, kind, cut)
    arrays = {
        "start": (cut.start + shown.shift).astype(np.float64),
        "end": (cut.end + shown.shift).astype(np.float64),
        "depth": cut.depth,
        "name": name,
        "value": value,
        "kind": cut.kind,
        "count": cut.count,
        "fill": cut.fill,
        "id": np.where(cut.id >= 0, cut.id + shown.base[LANES[kind].table if kind != "marker" else "event"], cut.id),
    }
    return Reply({}, arrays, ("name",))


def found_plot(opened: Opened, of: str) -> Plot:
    """Raises UsageError."""
    if of not in opened.plots:
        raise UsageError("there is no such plot")
    return opened.plots[of]


def _plot_slices(opened: Opened, of: str, start: int, end: int, width: int) -> Reply:
    file = found_plot(opened, of).file
    if not isinstance(file, LaneFile):
        raise UsageError("this plot is a curve")
    cut = file.cut(0, min(start + opened.origin, FAR), min(end + opened.origin, FAR), width)
    names = opened.names.numbers(file.names or [""])[np.minimum(cut.key, max(len(file.names) - 1, 0))]
    arrays = {
        "start": (cut.start - opened.origin).astype(np.float64),
        "end": (cut.end - opened.origin).astype(np.float64),
        "depth": cut.depth,
        "name": names,
        "value": names,
        "kind": cut.kind,
        "count": cut.count,
        "fill": cut.fill,
        "id": np.full(len(cut.start), -1.0),
    }
    return Reply({}, arrays, ("name",))


def _filtered(opened: Opened, shown: Shown, kind: str, track: int, cut: Cut, text: str) -> Cut:
    """Without what the filter leaves out. Of bins it is the thread with most time that counts."""
    node = parse(text)
    if node is None or not len(cut.start) or kind == "marker":
        return cut
    base = shown.base["thread"]
    size = len(cut.start)
    if kind == "cpu":
        keep = may_match(opened, node, cut.key.astype(np.int64) + base, np.full(size, track))
    elif LANES[kind].track == "cpu":
        return cut
    else:
        cpu = np.where(cut.kind & STATE == 1, cut.key.astype(np.int64), -1) if kind == "thread" else None
        keep = may_match(opened, node, np.full(size, track + base), cpu)
    return Cut(*(getattr(cut, c)[keep] for c in CUT_COLUMNS))


def _told(opened: Opened, shown: Shown, kind: str, cut: Cut) -> tuple[Array, Array]:
    """Names, and what colours."""
    if kind == "cpu":
        base = shown.base["thread"]
        return thread_names(opened)[np.minimum(cut.key + base, len(thread_names(opened)) - 1)], cut.key + np.uint32(
            base
        )
    if kind == "thread":
        names: Array = opened.remembered("states", lambda: opened.names.numbers(STATE_NAMES))
        return names[np.minimum(cut.kind & STATE, len(names) - 1)], cut.key
    texts: Array = opened.remembered(
        f"names {shown.number} {kind}", lambda: opened.names.numbers(shown.levels.lanes(kind).names or [""])
    )
    names = texts[np.minimum(cut.key, len(texts) - 1)]
    return names, names


def thread_names(opened: Opened) -> Array:
    """Numbers of names by utid."""

    def made() -> Array:
        rows = list(opened.asked.query("select utid, name from thread").tuples())
        out = np.zeros(max((u for u, _ in rows), default=0) + 1, np.uint32)
        for utid, name in rows:
            out[utid] = opened.names.number(name or "")
        return out

    found: Array = opened.remembered("thread names", made)
    return found


# --- areas


def answer_area(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    return area(opened, args["track"], *view(args), text=str(args.get("filter", "")), ticket=ticket)


def area(
    opened: Opened, track: str, start: int, end: int, width: int, text: str = "", ticket: Ticket | None = None
) -> Reply:
    """As wide as one likes. ``text``: a filter, of events, or of the threads of samples; it needs a ticket."""
    if track == "all":
        return _overview(opened, start, end, width)
    kind, shown, of = found_track(opened, track)
    since, until = own(shown, start), own(shown, end)
    if kind == "plot":
        file = found_plot(opened, of).file
        if not isinstance(file, CounterFile):
            raise UsageError("this plot has slices")
        at, low, high, mean = file.cut(0, min(start + opened.origin, FAR), min(end + opened.origin, FAR), width)
        return Reply({}, _columns(at - opened.origin, low, high, mean))
    if kind == "counter":
        at, low, high, mean = shown.levels.counters().cut(number(of), since, until, width)
        return Reply({}, _columns(at + shown.shift, low, high, mean))
    edges = _edges(since, until, width)
    if kind == "process":
        values = _usage(shown, number(of), edges)
    elif instants := points_of(kind, of):
        values = _instants(opened, shown, instants[0], number(instants[1]), edges, text, ticket)
    else:
        raise UsageError(f"tracks of the kind '{kind}' have no area")
    values = values.astype(np.float64)
    return Reply({}, _columns(edges[:-1] + shown.shift, values, values, values))


def _instants(
    opened: Opened, shown: Shown, family: str, track: int, edges: Array, text: str, ticket: Ticket | None
) -> Array:
    """How many there are between each edge and the next."""
    points = POINTS[family]
    if text and ticket and points.table == "event":
        return _matching(opened, shown, points, track, edges, text, ticket)
    values = shown.levels.points(family).density(track, edges)
    if text and points.track == "utid":
        values = values * may_match(opened, parse(text), np.array([track + shown.base["thread"]]), None)
    return values


def _matching(
    opened: Opened, shown: Shown, points: Points, track: int, edges: Array, text: str, ticket: Ticket
) -> Array:
    """Of events that fit a filter: the database counts them, for levels of detail are of all. What lies within a
    nanosecond of an edge may count for its neighbour."""
    counts = np.zeros(len(edges) - 1, np.int64)
    if len(counts):
        found = condition(opened, text)
        since, until = (int(e) + shown.shift + opened.origin for e in (edges[0], edges[-1]))
        of = shown.stored(points, track)
        sql = (
            f"select ((e.ts - {since})::hugeint * {len(counts)} // {until - since})::integer, count(*) from event e"
            f" where e.recording = {shown.number} and e.{points.track} = {of} and e.ts >= {since} and e.ts < {until}"
            f" and {found.sql} group by 1"
        )
        for at, count in ticket.rows(sql, found.params):
            counts[at] = count
    return counts


def _columns(at: Array, low: Array, high: Array, mean: Array) -> dict[str, Array]:
    return {
        "at": at.astype(np.float64),
        "low": np.nan_to_num(low.astype(np.float64)),
        "high": np.nan_to_num(high.astype(np.float64)),
        "mean": np.nan_to_num(mean.astype(np.float64)),
    }


def _edges(start: int, end: int, width: int) -> Array:
    return np.unique(np.linspace(start, end, min(width, end - start) + 1).astype(np.int64))


def _usage(shown: Shown, process: int, edges: Array) -> Array:
    """CPUs that a process had, between each edge and the next."""
    with np.errstate(over="ignore"):
        had = shown.levels.points("begun").elapsed(process, edges) - shown.levels.points("ended").elapsed(
            process, edges
        )
        found: Array = np.diff(had) / np.diff(edges)
    return found


def _overview(opened: Opened, start: int, end: int, width: int) -> Reply:
    """The share of all CPUs that was used; without switches, how many events there were."""
    edges = _edges(max(start, -FAR), min(end, FAR), width)
    parts = [s for s in opened.shown if len(s.levels.lanes("cpu").track)]
    total = np.zeros(len(edges) - 1)
    cpus = 0
    for shown in parts:
        file = shown.levels.lanes("cpu")
        for cpu in file.track.tolist():
            cut = file.cut(cpu, own(shown, start), own(shown, end), width)
            total += spread(cut, edges - shown.shift) / np.diff(edges)
            cpus += 1
    if cpus:
        total /= cpus
    else:
        for shown in opened.shown:
            points = shown.levels.points("event")
            for kind in points.tracks.tolist():
                total += points.density(kind, edges - shown.shift)
    return Reply({"unit": "share" if cpus else "events"}, _columns(edges[:-1], total, total, total))


def spread(cut: Cut, edges: Array) -> Array:
    """The time that is covered between each edge and the next."""
    if not len(cut.start):
        return np.zeros(len(edges) - 1)
    covered = (cut.end - cut.start) * (cut.fill / 255.0)
    at = np.stack((cut.start, cut.end), 1).ravel()
    before = np.cumsum(covered)
    until = np.stack((before - covered, before), 1).ravel()
    found: Array = np.diff(np.interp(edges, at, until))
    return found
