"""The page with its data inside, as one file: what the server would answer, worked out before.

    page/one-file.html ── <!--probescope:data--> ──► <script type="text/plain" id="probescope-data">BASE64(gzip(REPLY))

REPLY is laid out as replies are (``protocol``): the head says what is open, which tracks there are and which levels of
each are there; arrays hold the levels, the events, samples and wake-ups. Texts cannot end the script early: base64 has
no ``<``. Where all of it would be too large, parts are left out, and a banner says which.
"""

from __future__ import annotations

import base64
import gzip
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from probescope.errors import LimitError
from probescope.frozen import dataclass, field
from probescope.views.timeline.answers.arrows import MOST_LOST, arrows, lost
from probescope.views.timeline.answers.drawing import area, slices, thread_names
from probescope.views.timeline.answers.listing import any_lost, event_rows, listed
from probescope.views.timeline.answers.opening import answer_open, tree
from probescope.views.timeline.answers.stacks import sites
from probescope.views.timeline.filters.masks import people
from probescope.views.timeline.opened import Opened, Ticket
from probescope.views.timeline.protocol import encode
from probescope.views.timeline.tree import Track

Array = np.ndarray[Any, Any]
Step = Callable[[int, int, str], None]

MARK = b"<!--probescope:data-->"
WIDTHS = (2000, 16_000, 128_000, 1_000_000)
"""Of pictures of everything, the coarsest first."""
FEW = 1 << 16
"""Slices of a track that are all kept."""
LEAST = 500_000
"""Bytes that no report is smaller than."""
AREAS = ("process", "counter", "event", "sample")
CHUNK = 4000
TRIES = 5


@dataclass(slots=True)
class Report:
    """What is gathered. ``cuts``: what was left out, as sentences."""

    opened: Opened
    ticket: Ticket
    arrays: dict[str, Array] = field(default_factory=dict)
    tiles: dict[str, Any] = field(default_factory=dict)
    cuts: list[str] = field(default_factory=list)


def one_file(opened: Opened, page: bytes, size: int, step: Step = lambda *_: None) -> tuple[bytes, str]:
    """The file, and what was cut, as a text. ``size``: most bytes it may have. Raises LimitError where it cannot be
    that small."""
    before, mark, after = page.partition(MARK)
    room = size - len(page) - 100
    if not mark or room < LEAST:
        hints = [f"--size {-(-(LEAST + len(page)) // 100_000) / 10}MB"]
        raise LimitError(f"the page alone has {len(page):,} bytes: {size:,} are too few", hints=hints)
    scale = 1.0
    for _ in range(TRIES):
        data, cut = _container(opened, room * 0.75 * scale, step)
        if len(data) <= room:
            block = b'<script type="text/plain" id="probescope-data">' + data + b"</script>"
            return before + block + after, cut
        scale *= min(room / len(data), 0.95) * 0.9
    raise LimitError(f"no report of this recording is smaller than {size:,} bytes", hints=["--size 50MB"])


def _container(opened: Opened, budget: float, step: Step) -> tuple[bytes, str]:
    """``budget``: bytes of gzip, about."""
    ticket = Ticket(opened)
    try:
        report = Report(opened, ticket)
        tracks = _tracks(report, budget)
        _tiles(report, tracks, budget * 0.5, step)
        step(8, 10, "events")
        events = _events(report, budget * 0.25)
        _samples(report, budget * 0.15)
        _wakeups(report, budget * 0.1)
        _lost(report)
        cut = " ".join([*report.cuts, "SQL needs the recording itself."] if report.cuts else [])
        head = {
            "id": 0,
            "ok": True,
            "open": {**answer_open(opened, {}, ticket).head, "one_file": True, "tables": {}, "library": []},
            "cut": cut,
            "tracks": [t.to_json() for t in tracks],
            "tiles": report.tiles,
            "events": events,
            "unit": _unit(report),
            "threads": _threads(report),
        }
        head["names"] = {str(i): opened.names.text(i) for i in range(len(opened.names))}
        step(9, 10, "packing")
        packed = base64.b64encode(gzip.compress(encode(head, report.arrays), 6, mtime=0))
        step(10, 10, "packing")
        return packed, cut
    finally:
        ticket.close()


# --- tracks and their levels


def _tracks(report: Report, budget: float) -> list[Track]:
    """Depth first. Where there are too many, threads and processes that used the CPUs least are left out."""
    every = tree(report.opened).every()
    most = max(int(budget / 20_000), 200)
    if len(every) <= most:
        return every
    kept = {t.id for t in every if t.kind not in ("process", "thread")}
    above = {t.id: t.parent for t in every}
    people = sorted((t for t in every if t.kind == "thread"), key=lambda t: -t.busy)
    kept_people = {t.id for t in people[:most]} | {above[t.id] for t in people[:most]}
    out = [t for t in every if t.id in kept_people or (t.id in kept and t.parent not in _left(people[most:]))]
    report.cuts.append(f"{len(people) - most:,} of {len(people):,} threads, which ran least, are left out.")
    return out


def _left(threads: list[Track]) -> frozenset[str]:
    return frozenset(t.id for t in threads)


def _tiles(report: Report, tracks: list[Track], budget: float, step: Step) -> None:
    drawn = [t.id for t in tracks if t.kind != "group"]
    open_ = ["all", *drawn]
    kinds = {t.id: "area" if t.kind in AREAS else "slices" for t in tracks} | {"all": "area"}
    spent, cut = 0.0, 0
    number = {track: i for i, track in enumerate(open_)}
    total = len(open_)
    for level, width in enumerate(WIDTHS):
        unfinished: list[str] = []
        for i, track in enumerate(open_):
            if level and spent > budget:
                cut += 1
                continue
            whole, size = _level(report, track, kinds[track], f"t{number[track]}l{level}", width)
            spent += size
            if not whole:
                unfinished.append(track)
            if not i % 16:
                step(int((level + i / total) * 2), 10, "levels of detail")
        open_ = unfinished
    coarse = cut + sum(kinds[t] == "slices" for t in open_)
    if coarse:
        report.cuts.append(f"{coarse:,} tracks are shown with less detail than was recorded.")


def _level(report: Report, track: str, kind: str, key: str, width: int) -> tuple[bool, int]:
    """Whether nothing finer is to be had, and about how many bytes it takes."""
    length = report.opened.length + 1
    if kind == "area":
        arrays = _steps(area(report.opened, track, 0, length, width).arrays)
        whole = width >= WIDTHS[1]
    else:
        arrays = dict(slices(report.opened, track, 0, length, width).arrays)
        if arrays["count"].sum() <= FEW:  # every slice, at once
            width = length
            arrays = dict(slices(report.opened, track, 0, length, length).arrays)
        whole = width == length or bool((arrays["count"] == 1).all())
    entry = report.tiles.setdefault(track, {"kind": kind, "levels": []})
    entry["levels"] = [{"key": key, "pixel": length / width}, *entry["levels"]]
    report.arrays |= {f"{key}.{name}": values for name, values in arrays.items()}
    return whole, sum(len(zlib.compress(v.tobytes(), 1)) for v in arrays.values())


def _steps(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Without rows that tell what the one before them told: a value holds until the next."""
    fresh = np.ones(len(arrays["at"]), bool)
    told = [arrays[n] for n in ("low", "high", "mean")]
    fresh[1:] = np.logical_or.reduce([v[1:] != v[:-1] for v in told])
    return {n: v[fresh] for n, v in arrays.items()}


# --- events, samples, wake-ups


def _events(report: Report, budget: float) -> dict[str, Any]:
    found = listed(report.opened, "", report.ticket)
    most = min(found.total, int(budget / 14))
    rows: list[list[Any]] = []
    for first in range(0, most, CHUNK):
        last = min(first + CHUNK, most)
        ids = list(range(first, last)) if found.every else found.ids[first:last].tolist()
        rows += event_rows(report.opened, ids, report.ticket)
    if most < found.total:
        report.cuts.append(f"The list of events has the first {most:,} of {found.total:,}.")
    names = report.opened.names
    columns = [[r[i] for r in rows] for i in range(7)]
    report.arrays |= {
        "ev.id": np.array(columns[0], np.float64),
        "ev.ts": np.array(columns[1], np.float64),
        "ev.cpu": np.array([-1 if c is None else c for c in columns[2]], np.int32),
        "ev.task": names.numbers(columns[3]),
        "ev.kind": names.numbers(columns[4]),
        "ev.info": names.numbers(columns[5]),
        "ev.utid": np.array([0 if u is None else u for u in columns[6]], np.uint32),
    }
    if any(len(r) > 7 for r in rows):
        report.arrays["ev.flags"] = names.numbers(r[7] if len(r) > 7 else "" for r in rows)
    return {"total": found.total, "cut": found.total - most}


def _lost(report: Report) -> None:
    """Where events are missing: those of a place that is smaller than the finest picture's pixels together."""
    opened = report.opened
    if any_lost(opened):
        found = lost(opened, report.ticket, opened.origin, opened.origin + opened.length + 1, MOST_LOST)
        report.arrays |= {f"lost.{name}": values for name, values in found.items()}


def _samples(report: Report, budget: float) -> None:
    """Where there are too many, every so many-th, with the weight of all."""
    opened = report.opened
    total = report.ticket.rows("select count(*) from event where callsite is not null")[0][0]
    every = max(1, -(-total // max(int(budget / 10), 1)))
    weight = "period::double" if _unit(report) == "ns" else "1.0::double"
    numbered = "select *, row_number() over (order by id) as nth from event where callsite is not null"
    rows = report.ticket.columns(
        f"select ts, coalesce(utid, 0) as utid, coalesce(cpu, -1) as cpu, callsite, {weight} as weight"
        f" from ({numbered}) where nth % {every} = 0"
    )
    if every > 1:
        report.cuts.append(f"Flame graphs are of every {every}th stack.")
    known = sites(opened)
    columns = {n: np.ma.getdata(c) for n, c in rows.items()}
    report.arrays |= {
        "sample.ts": (columns["ts"] - opened.origin).astype(np.float64),
        "sample.utid": columns["utid"].astype(np.uint32),
        "sample.cpu": columns["cpu"].astype(np.int32),
        "sample.site": known.places(columns["callsite"]).astype(np.int32),
        "sample.weight": columns["weight"].astype(np.float64) * every,
        "site.parent": known.parent.astype(np.int32),
        "site.frame": np.arange(len(known.name), dtype=np.uint32),
        "frame.name": known.name,
    }


def _unit(report: Report) -> str:
    sql = (
        "select distinct unit from event_kind where id in (select distinct kind from event where callsite is not null)"
    )
    return "ns" if [u for (u,) in report.ticket.rows(sql)] == ["ns"] else "samples"


def _wakeups(report: Report, budget: float) -> None:
    opened = report.opened
    total = report.ticket.rows("select count(*) from wakeup")[0][0]
    most = max(int(budget / 20), 1)
    end = opened.origin + opened.length + 1
    if total > most:
        end = report.ticket.rows(f"select max(ts) from (select ts from wakeup order by ts limit {most})")[0][0]
        report.cuts.append(f"Wake-ups are those of the first {(end - opened.origin) / 1e9:.3f} s.")
    found = arrows(opened, report.ticket, opened.origin, end)
    report.arrays |= {f"wake.{name}": values for name, values in found.items()}


def _threads(report: Report) -> dict[str, list[Any]]:
    """Name, tid, pid and track of each, by utid."""
    opened = report.opened
    known, names = people(opened), thread_names(opened)
    out: dict[str, list[Any]] = {}
    for shown in opened.shown:
        base = shown.base["thread"]
        later = [s.base["thread"] for s in opened.shown if s.number == shown.number + 1]
        for utid in range(base, later[0] if later else len(names)):
            pair = [int(known.tid[utid]), int(known.pid[utid])]
            out[str(utid)] = [int(names[utid]), *pair, f"thread:{shown.number}:{utid - base}"]
    return out
