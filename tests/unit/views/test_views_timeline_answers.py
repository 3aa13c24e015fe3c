"""Answers: each against SQL, or a plain look at what the recording was made of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_fakes import PRINT, Event, switch, wake
from timeline_fakes import asked, busy, made, opened

from probescope.model.recording import LostEvents
from probescope.views.timeline.names import Told
from probescope.views.timeline.opened import Opened

SHIFT = 1_500_000


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    part = made(tmp_path_factory.mktemp("answers") / "a.duckdb", busy())
    with opened(part) as one:
        yield one


def rows(found: Opened, sql: str) -> list[tuple[Any, ...]]:
    return list(found.asked.query(sql).tuples())


def tracks(found: Opened, parent: str | None = None) -> list[dict[str, Any]]:
    head, _ = asked(found, "tracks", parent=parent)
    listed: list[dict[str, Any]] = head["tracks"]
    return listed


def test_open_tells_of_the_recording(found: Opened) -> None:
    head, _ = asked(found, "open")
    (recording,) = head["recordings"]
    (first, last, count) = rows(found, "select min(ts), max(ts), count(*) from event")[0]
    assert (head["origin"], head["end"], recording["events"]) == (str(first), last - first, count)
    assert (recording["start"], recording["end"]) == (0, last - first)
    assert {k["name"]: k["events"] for k in head["kinds"]} == dict(rows(found, "select name, events from event_kind"))
    assert "sched.latency" in {q["name"] for q in head["library"]}
    assert "end_state" in head["tables"]["sched_slice"]


def test_the_tree_is_what_was_recorded(found: Opened) -> None:
    groups = tracks(found)
    assert [g["name"] for g in groups] == ["CPUs", "Counters", "Markers", "Events", "Processes"]
    cpus = tracks(found, "group:0:cpus")
    assert [(c["id"], c["cpu"], c["depth"]) for c in cpus] == [("cpu:0:0", 0, 1), ("cpu:0:1", 1, 1)]
    people = [t for p in tracks(found, "group:0:processes") for t in tracks(found, p["id"])]
    assert {p["name"] for p in people} >= {"t11", "t12", "t13", "t14", "t15"}
    thread = next(p for p in people if p["name"] == "t12")
    assert [t["kind"] for t in tracks(found, thread["id"])] == ["syscall", "event"]
    assert [t["id"] for t in tracks(found, "cpu:0:1") if t["kind"] == "event"] == ["event:0:c1"]
    length = rows(found, "select max(ts) - min(ts) from event")[0][0]
    ran = rows(found, f"select sum(dur) from sched_slice where utid = {thread['utid']}")[0][0]
    assert thread["busy"] == pytest.approx(ran / length, abs=1e-3)


def test_tracks_are_found_paged_and_sorted(found: Opened) -> None:
    head, _ = asked(found, "tracks", find="T1")
    assert {t["name"] for t in head["tracks"] if t["kind"] == "thread"} == {"t11", "t12", "t13", "t14", "t15"}
    head, _ = asked(found, "tracks", parent="group:0:events", offset=1, limit=2, sort="name")
    names = sorted(n for (n,) in rows(found, "select name from event_kind where events > 0"))
    assert [t["name"] for t in head["tracks"]] == names[1:3]
    assert head["total"] == len(names)
    thread = asked(found, "tracks", find="t13")[0]["tracks"][-1]["id"]
    head, _ = asked(found, "tracks", ids=["cpu:0:1", thread, "cpu:9:9", "nonsense", "thread:0:-5"])
    assert head["tracks"][0]["index"] == 1
    assert [t["id"] for t in head["tracks"]] == ["cpu:0:1", thread]


NO_PARENTS = ("", "x", "group:0:none", "group:99:cpus", "thread:0:x", "thread:0:99999", ":", "cpu:0")


@pytest.mark.parametrize("parent", NO_PARENTS)
def test_what_has_no_children_has_none(parent: str, found: Opened) -> None:
    assert tracks(found, parent) == []


@pytest.mark.parametrize("of", ["--5", "9" * 5000, "9" * 30, "\N{SUPERSCRIPT TWO}", "c" + "9" * 5000, ""])
def test_tracks_of_what_is_no_number_are_none(of: str, found: Opened) -> None:
    for kind in ("thread", "process", "cpu", "sample"):
        track = f"{kind}:0:{of}"
        for question in ({"parent": track}, {"ids": [track]}, {"parent": track, "find": "x"}):
            assert asked(found, "tracks", **question)[0]["ok"]
        assert asked(found, "select", what="states", tracks=[track], start=0, end=10)[0]["ok"]


def test_slices_of_a_cpu_are_those_of_the_table(found: Opened) -> None:
    told = Told(found.names)
    head, arrays = asked(found, "slices", told, track="cpu:0:1", start=0, end=500_000, width=8000)
    true = rows(
        found,
        "select s.ts, s.end_ts, t.name, s.utid, s.id from sched_slice s join thread t using (utid)"
        f" where cpu = 1 and utid <> 0 and s.end_ts >= {found.origin} and s.ts < {found.origin + 500_000}"
        " order by s.ts",
    )
    got = [
        (int(a) + found.origin, int(b) + found.origin, head["names"][str(n)], v, int(i))
        for a, b, n, v, i in zip(*(arrays[c].tolist() for c in ("start", "end", "name", "value", "id")), strict=True)
    ]
    assert got == true
    again, _ = asked(found, "slices", told, track="cpu:0:1", start=0, end=500_000, width=8000)
    assert "names" not in again


def test_states_and_calls_of_a_thread(found: Opened) -> None:
    utid = rows(found, "select utid from thread where name = 't13'")[0][0]
    end = 2_000_000
    head, arrays = asked(found, "slices", track=f"thread:0:{utid}", start=0, end=end, width=8000)
    names = [head["names"].get(str(n), "") for n in arrays["name"].tolist()]
    true = rows(found, f"select coalesce(state, '') from thread_state where utid = {utid} and"
                       f" coalesce(ts, 0) < {found.origin + end} order by coalesce(ts, 0)")  # fmt: skip
    assert names == [s for (s,) in true]
    head, arrays = asked(found, "slices", track=f"syscall:0:{utid}", start=0, end=found.length, width=8000)
    (count, failed) = rows(found, f"select count(*), count(error) from syscall where utid = {utid}")[0]
    assert (arrays["count"].sum(), set(head["names"].values())) == (count, {"read"})
    assert 0 < (arrays["kind"][arrays["count"] == 1] & 0x80 > 0).sum() <= failed


def test_areas(found: Opened) -> None:
    width, end = 50, found.length
    strips = [("event:0:0", "kind = 0"), ("event:0:c1", "cpu = 1"), ("event:0:t2", "utid = 2")]
    for track, table in (*((t, f"event where {w}") for t, w in strips), ("process:0:0", "")):
        _, arrays = asked(found, "area", track=track, start=0, end=end, width=width)
        assert len(arrays["at"]) == width
        if table:
            last = rows(found, f"select count(*) from {table} and ts >= {found.origin + end}")[0][0]
            assert arrays["mean"].sum() + last == rows(found, f"select count(*) from {table}")[0][0]
    _, arrays = asked(found, "area", track="all", start=0, end=end, width=width)
    ran = sum(r[0] for r in rows(found, "select sum(dur) from sched_slice where utid <> 0"))
    assert arrays["mean"].mean() * 2 * end == pytest.approx(ran, rel=0.02)
    _, arrays = asked(found, "area", track="counter:0:0", start=end - 20_000, end=end + 1, width=1000)
    assert arrays["mean"].tolist() == [800_000, 1_200_000]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("event == sched_switch", "k.name = 'sched:sched_switch'"),
        ("next_prio >= 0", "k.name = 'sched:sched_switch'"),
        ("cpu in 1 and not event ~ sched:*", "e.cpu = 1 and k.name not like 'sched:%'"),
        ("tid == 12", "t.tid = 12"),
    ],
)
def test_strips_of_events_are_filtered(text: str, where: str, found: Opened) -> None:
    """Each part of each strip has as many as SQL counts there."""
    end, width = found.length + 1, 20
    edges = np.linspace(0, end, width + 1).astype(np.int64) + found.origin
    sql = "from event e join event_kind k on k.id = e.kind join thread t using (utid)"
    for track, own in (("event:0:0", "e.kind = 0"), ("event:0:c1", "e.cpu = 1"), ("event:0:t2", "utid = 2")):
        _, arrays = asked(found, "area", track=track, start=0, end=end, width=width, filter=text)
        ts = [t for (t,) in rows(found, f"select e.ts {sql} where {own} and {where}")]
        assert arrays["mean"].tolist() == np.histogram(ts, edges)[0].tolist(), track


def test_use_of_the_cpus_by_processes_is_that_of_their_threads(found: Opened) -> None:
    """Exactly, in each part of the picture."""
    upids = [p["id"] for p in tracks(found, "group:0:processes")]
    edges = np.linspace(0, found.length, 41).astype(np.int64) + found.origin
    total = np.zeros(40)
    for track in upids:
        total += asked(found, "area", track=track, start=0, end=found.length, width=40)[1]["mean"]
    slices = rows(
        found, f"select coalesce(ts, {found.origin}), coalesce(end_ts, {edges[-1]}) from sched_slice where utid <> 0"
    )
    a, b = np.array(slices).T
    true = [
        np.clip(np.minimum(b, high) - np.maximum(a, low), 0, None).sum() / (high - low) for low, high in pairwise(edges)
    ]
    assert total == pytest.approx(true, abs=1e-6)


def test_arrows_are_wakeups(found: Opened) -> None:
    end = 3_000_000
    true = rows(found, f"select count(*) from wakeup where ts < {found.origin + end}")[0][0]
    _, arrays = asked(found, "arrows", start=0, end=end)
    assert len(arrays["at"]) == true > 10
    assert (np.nan_to_num(arrays["run"] - arrays["at"] - arrays["latency"]) == 0).all()
    assert asked(found, "arrows", start=0, end=end, limit=3)[0]["many"] == true
    _, some = asked(found, "arrows", start=0, end=end, filter="task == t12")
    utid = rows(found, "select utid from thread where name = 't12'")[0][0]
    assert set(some["at"][:1]) <= set(arrays["at"])
    assert all(utid in pair for pair in zip(some["from"].tolist(), some["to"].tolist(), strict=True))


def test_the_list_of_events_and_its_places(found: Opened) -> None:
    head, _ = asked(found, "events", offset=100, limit=3)
    assert [r[0] for r in head["rows"]] == [100, 101, 102]
    number, ts, _, task, _, _, utid, flags = head["rows"][0]
    assert flags == "....."
    assert asked(found, "row_of", id=number)[0]["row"] == 100
    assert asked(found, "locate", ts=ts)[0]["row"] <= 100
    comm, tid = rows(found, f"select name, tid from thread where utid = {utid}")[0]
    assert task == f"{comm}-{tid}"
    only = "event == sched_switch and cpu == 1"
    head, _ = asked(found, "events", filter=only, offset=5, limit=2)
    true = [r[0] for r in rows(found, 'select event from "sched:sched_switch" where cpu = 1 order by event')]
    assert (head["total"], [r[0] for r in head["rows"]]) == (len(true), true[5:7])
    assert "next_pid=" in head["rows"][0][5]
    assert asked(found, "row_of", filter=only, id=true[9])[0]["row"] == 9
    assert asked(found, "row_of", filter=only, id=-1)[0]["row"] == -1
    assert asked(found, "locate", filter=only, ts=found.length + 1)[0]["row"] == len(true)


def test_details_tell_fields_and_what_it_has_to_do_with(found: Opened) -> None:
    (number,) = rows(
        found, "select id from sched_slice where utid <> 0 and ts is not null and dur is not null limit 1 offset 20"
    )[0]
    head, _ = asked(found, "detail", kind="sched_slice", id=number)
    assert {"before it on this CPU", "after it on this CPU", "the thread goes on"} <= {
        r["label"] for r in head["related"]
    }
    assert head["track"].startswith("cpu:0:")
    assert head["end"] > head["start"]
    event = rows(found, 'select event from "sched:sched_switch" limit 1 offset 9')[0][0]
    assert dict(asked(found, "detail", kind="event", id=event)[0]["pairs"])["prev_prio"] == "120"
    for kind in ("thread_state", "syscall", "wakeup", "marker"):
        column = "event" if kind == "marker" else "id"
        (number,) = rows(found, f"select {column} from {kind} limit 1")[0]
        assert asked(found, "detail", kind=kind, id=number)[0]["ok"]
    assert not asked(found, "detail", kind="syscall", id=10**9)[0]["ok"]
    assert not asked(found, "detail", kind="recording", id=0)[0]["ok"]


def test_find_goes_both_ways(found: Opened) -> None:
    true = [r[0] for r in rows(found, "select ts from sched_slice join (select utid, name from thread) using (utid)"
                                      " where name = 't12' and ts is not null order by ts")]  # fmt: skip
    middle = true[10] - found.origin
    find = {"text": "t12", "kind": "task"}
    assert asked(found, "find", **find, **{"from": middle})[0]["ts"] == true[11] - found.origin
    assert asked(found, "find", **find, **{"from": middle, "forward": False})[0]["ts"] == true[9] - found.origin
    assert asked(found, "find", **find, **{"from": found.length})[0]["none"]
    marked = asked(found, "find", text="HALF WAY", kind="name", **{"from": 0})[0]
    assert (marked["track"], marked["kind"]) == ("marker:0:0", "marker")
    head, _ = asked(found, "find", kind="event", filter="next_pid == 14", **{"from": 0})
    assert (
        head["ts"] == rows(found, 'select min(ts) from "sched:sched_switch" where next_pid = 14')[0][0] - found.origin
    )
    assert asked(found, "count", text="t12", kind="task")[0]["count"] == len(
        rows(found, "select 1 from sched_slice join (select utid, name from thread) using (utid) where name = 't12'")
    )


def test_steps_along_a_track(found: Opened) -> None:
    true = rows(found, "select coalesce(ts, 0), id from sched_slice where cpu = 0 and utid <> 0 order by 1")
    head, _ = asked(found, "step", track="cpu:0:0", ts=0, forward=True)
    places = [i for _, i in true]
    for _ in range(5):
        at = places.index(head["thing"])
        head, _ = asked(found, "step", track="cpu:0:0", ts=head["start"], id=head["thing"], forward=True)
        assert places.index(head["thing"]) == at + 1
    back, _ = asked(found, "step", track="cpu:0:0", ts=head["start"], id=head["thing"], forward=False)
    assert places.index(back["thing"]) == at
    head, _ = asked(found, "step", track="event:0:0", ts=-1, forward=True)
    assert head["thing"] == rows(found, "select min(id) from event where kind = 0")[0][0]
    assert asked(found, "step", track="event:0:0", ts=found.length + 1, forward=True)[0]["none"]


def test_selections(found: Opened) -> None:
    span = {"start": 0, "end": found.length + 1}
    head, arrays = asked(found, "select", what="latency", **span)
    waits = [r[0] for r in rows(found, "select dur from thread_state where state = 'runnable' and wakeup is not null"
                                       " and dur is not null")]  # fmt: skip
    assert (head["count"], arrays["counts"].sum(), head["max"]) == (len(waits), len(waits), max(waits))
    assert head["p50"] == pytest.approx(np.quantile(waits, 0.5))
    head, _ = asked(found, "select", what="top", **span)
    first = head["rows"][0]
    utid = first[2].removeprefix("thread:0:")
    assert first[3] >= rows(found, f"select sum(dur) from sched_slice where utid = {utid}")[0][0]
    for what, by in (("kinds", "select name from event_kind where id = kind"), ("cpus", "cpu")):
        head, _ = asked(found, "select", what=what, filter="cpu == 1", **span)
        sql = f"select ({by}), count(*) from event where cpu = 1 group by 1 order by 2 desc, 1"
        assert [tuple(r[:2]) for r in head["rows"]] == rows(found, sql)
        assert sum(r[2] for r in head["rows"]) == pytest.approx(100)
    head, _ = asked(found, "select", what="tasks", tracks=["cpu:0:0"], **span)
    assert sum(r[1] for r in head["rows"]) == rows(found, "select count(*) from event where cpu = 0")[0][0]
    head, _ = asked(found, "select", what="states", filter="task == t12", **span)
    assert [r[0] for r in head["rows"]] == ["t12"]
    head, _ = asked(found, "select", what="syscalls", tracks=["cpu:0:1"], **span)
    true = rows(found, "select count(*), count(error) from syscall where cpu = 1 and ts is not null")[0]
    assert head["rows"][0][:3] == ["read", *true]
    half = {"start": 0, "end": found.length // 2}
    assert 0 < asked(found, "select", what="latency", **half)[0]["count"] < len(waits)
    assert not asked(found, "select", what="everything", **span)[0]["ok"]


def test_sql_has_the_selection_and_says_where_it_is_wrong(found: Opened) -> None:
    sql = "select count(*) from event where ts between :start and $end"
    head, _ = asked(found, "sql", sql=sql, start=0, end=1_000_000)
    true = rows(found, f"select count(*) from event where ts between {found.origin} and {found.origin + 1_000_000}")
    assert head["rows"] == [list(true[0])]
    head, _ = asked(found, "sql", sql="select id from event", limit=10)
    assert (len(head["rows"]), head["cut"]) == (10, rows(found, "select count(*) from event")[0][0] - 10)
    head, _ = asked(found, "sql", sql="select 1;\nselect nam from thread")
    assert (head["ok"], head["at"]) == (False, 17)
    head, _ = asked(found, "sql", sql="select 9007199254740993 as big, 'a'::blob as b, null as n, 'nan'::double as x")
    assert head["rows"] == [["9007199254740993", "61", None, "nan"]]
    for wicked in ("copy event to '/tmp/x'", "select * from read_csv('/etc/passwd')", "attach '/tmp/x'", ""):
        assert not asked(found, "sql", sql=wicked)[0]["ok"]


def test_words_that_complete_sql(found: Opened) -> None:
    words = {w["text"] for w in asked(found, "complete", sql="select end_ from sched_slice", at=11)[0]["words"]}
    assert words == {"end_ts", "end_state"}
    words = {w["text"] for w in asked(found, "complete", sql="select * from sched", at=19)[0]["words"]}
    assert {"sched_slice", "sched.latency"} <= words


def test_views_that_are_none_are_refused(found: Opened) -> None:
    for wrong in (
        {"track": "cpu:0:0", "start": 5, "end": 5, "width": 10},
        {"track": "cpu:0:0", "start": 0, "end": 5, "width": 10**6},
        {"track": "cpu:7:0", "start": 0, "end": 5, "width": 10},
        {"track": "event:0:0", "start": 0, "end": 5, "width": 10},
        {"track": "cpu:0:x", "start": 0, "end": 5, "width": 10},
        {"track": "../../etc", "start": 0, "end": 5, "width": 10},
    ):
        assert not asked(found, "slices", **wrong)[0]["ok"]
    far = {"start": -(2**60), "end": 2**60, "width": 10}
    assert asked(found, "slices", track="cpu:0:0", **far)[1]["count"].sum() > 0


def test_two_recordings_share_an_axis(tmp_path: Path) -> None:
    """The second is the first, moved: its slices are the same, that much later, with numbers of their own."""
    parts = (made(tmp_path / "a.duckdb", busy(200)), made(tmp_path / "b.duckdb", busy(200), offset=SHIFT))
    with opened(*parts) as both:
        head, _ = asked(both, "open")
        assert [r["offset"] for r in head["recordings"]] == [0, SHIFT]
        assert [t["id"] for t in tracks(both)] == ["recording:0", "recording:1"]
        assert tracks(both, "recording:1")[0]["id"] == "group:1:cpus"
        view = {"start": 0, "end": both.length + 1, "width": 8000}
        _, first = asked(both, "slices", track="cpu:0:0", **view)
        _, second = asked(both, "slices", track="cpu:1:0", **view)
        assert (second["start"] - first["start"] == SHIFT).all()
        assert (second["count"] == first["count"]).all()
        single = (second["count"] == 1).nonzero()[0][0]
        detail, _ = asked(both, "detail", kind="sched_slice", id=second["id"][single])
        assert (detail["track"], detail["start"]) == ("cpu:1:0", second["start"][single])
        total = asked(both, "events", limit=1000)[0]
        assert [r[1] for r in total["rows"]] == sorted(r[1] for r in total["rows"])
        ids, _ = asked(both, "tracks", ids=["cpu:1:1", "group:1:cpus"])
        assert [t["parent"] for t in ids["tracks"]] == ["group:1:cpus", "recording:1"]
        top = asked(both, "select", what="top", start=0, end=both.length)[0]["rows"]
        named, _ = asked(both, "tracks", ids=[r[2] for r in top])
        assert [(t["name"], t["tid"]) for t in named["tracks"]] == [(r[0], r[1]) for r in top]
        assert {t["id"].split(":")[1] for t in named["tracks"]} == {"0", "1"}


def test_nothing_was_recorded(tmp_path: Path) -> None:
    with opened(made(tmp_path / "a.duckdb", [switch(5, 0, 0, 0, 0)])) as one:
        assert asked(one, "open")[0]["ok"]
        assert asked(one, "slices", track="cpu:0:0", start=0, end=10, width=10)[0]["ok"]
        assert asked(one, "area", track="all", start=0, end=10, width=10)[0]["ok"]
        for what in ("flame", "latency", "top", "states", "syscalls"):
            assert asked(one, "select", what=what, start=0, end=10)[0]["ok"]


def test_wicked_names_come_out_as_they_are(tmp_path: Path) -> None:
    """The page shows them as text; nothing here may lose or interpret them."""
    wicked = "<img src=x>\x1b[1"
    events: list[Any] = [switch(5, 0, 0, 0, 7, next_comm=wicked), switch(90, 0, 7, 1, 0, prev_comm=wicked)]
    events.append(Event(95, 0, 0, PRINT, {"buf": "</script>"}))
    with opened(made(tmp_path / "a.duckdb", events)) as one:
        head, _ = asked(one, "slices", track="cpu:0:0", start=0, end=100, width=100)
        assert list(head["names"].values()) == [wicked[:15]]
        assert "</script>" in asked(one, "slices", track="marker:0:0", start=0, end=100, width=100)[0]["names"].values()


def test_a_hundred_thousand_threads(tmp_path: Path) -> None:
    """Only what is looked at is made."""
    import time

    part = made(tmp_path / "a.duckdb", busy(20))
    import duckdb

    db = duckdb.connect(part.path)
    db.execute("insert into process (upid, pid, name) select 1000 + i, 5000 + i, 'p' || i from range(50000) r(i)")
    columns = "1000 + i, 5000 + i, 1000 + i // 2, 't' || i"
    db.execute(f"insert into thread (utid, tid, upid, name) select {columns} from range(100000) r(i)")
    db.close()
    with opened(part) as one:
        began = time.monotonic()
        head, _ = asked(one, "tracks", parent="group:0:processes", offset=30_000, limit=20)
        assert (len(head["tracks"]), head["total"] > 50_000) == (20, True)
        assert [t["name"] for t in asked(one, "tracks", find="t99999")[0]["tracks"]] == ["t99999"]
        assert time.monotonic() - began < 20


# --- plots


def test_a_curve_of_ones_own(found: Opened) -> None:
    """Values of a field of an event, as a track."""
    head, _ = asked(found, "plot", title="who  comes", sql='select ts, next_pid as value from "sched:sched_switch";')
    track = head["track"]
    assert (track["kind"], track["name"], track["parent"]) == ("counter", "who comes", "group:0:plots")
    assert tracks(found)[-1]["name"] == "Plots"
    assert track["id"] in {t["id"] for t in tracks(found, "group:0:plots")}
    assert asked(found, "tracks", ids=[track["id"]])[0]["tracks"][0]["id"] == track["id"]
    true = rows(found, f'select ts, next_pid from "sched:sched_switch" where ts < {found.origin + 300_000} order by ts')
    _, arrays = asked(found, "area", track=track["id"], start=0, end=300_000, width=8000)
    assert list(zip((arrays["at"] + found.origin).tolist(), arrays["mean"].tolist(), strict=True)) == true


def test_slices_of_ones_own_lie_above_each_other(found: Opened) -> None:
    sql = "select * from (values (100, 50, 'a'), (120, 10, 'b'), (125, 40, '<c>'), (140, 5, 'd')) v(ts, dur, name)"
    head, _ = asked(found, "plot", title="mine", sql=f"select ts + {found.origin} as ts, dur, name from ({sql})")
    track = head["track"]
    assert (track["kind"], track["lanes"]) == ("span", 3)
    head, arrays = asked(found, "slices", track=track["id"], start=0, end=1000, width=1000)
    got = [
        (head["names"][str(n)], a, b, d)
        for n, a, b, d in zip(*(arrays[c].tolist() for c in ("name", "start", "end", "depth")), strict=True)
    ]
    assert got == [("a", 100, 150, 0), ("b", 120, 130, 1), ("d", 140, 145, 1), ("<c>", 125, 165, 2)]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select ts from event", "ts and value"),
        ("select 1", "ts and value"),
        ("select nam from event", "nam"),
        ("select ts, 1 as value from event where false", "nothing to be plotted"),
        ("copy event to '/tmp/x'", "COPY"),
        ("select ts, 1 as value from event) --", "syntax"),
    ],
)
def test_what_is_no_plot_is_refused(sql: str, said: str, found: Opened) -> None:
    head, _ = asked(found, "plot", title="x", sql=sql)
    assert not head["ok"]
    assert said in head["error"]


def test_slices_whose_other_end_was_lost_are_left_out_of_sums(tmp_path: Path) -> None:
    """12 gets a CPU at 100 us, and how it left is lost: at 200 us 13 leaves that CPU, which nobody saw it get, for 11,
    which still has it at the end, at 1000 us. 14 has the other CPU at first, until 400 us."""
    us = 1000
    batch = [switch(100 * us, 0, 0, 1, 12), switch(200 * us, 0, 13, 1, 11), switch(400 * us, 1, 14, 2, 0)]
    part = made(tmp_path / "a.duckdb", [*batch, Event(1000 * us, 1, 0, PRINT, {"buf": "end"})])
    with opened(part) as one:
        whole = {"start": -50 * us, "end": 10 * one.length}
        head, _ = asked(one, "select", what="top", **whole)
        assert {r[0]: r[3] for r in head["rows"]} == {"t14": 300 * us, "t11": 800 * us, "t12": 0, "t13": 0}
        head, _ = asked(one, "select", what="top", start=150 * us, end=250 * us)
        assert {r[0]: r[3] for r in head["rows"]} == {"t14": 100 * us, "t11": 100 * us}
        head, _ = asked(one, "select", what="states", **whole)
        ran = {r[0]: r[3] for r in head["rows"]}
        assert (ran["t14"], ran["t11"], ran.get("t12", 0)) == (300 * us, 800 * us, 0)


def test_missed_events_are_told_at_their_place(tmp_path: Path) -> None:
    """Two losses of CPU 0, one of them of nobody knows how many, and one of CPU 1 behind everything: each before the
    row that follows it, on whichever page that is, with a filter too; and where they are in the picture."""
    us = 1000
    batch: list[object] = [switch(i * 10 * us, i % 2, 0, 0, 11 + i % 2) for i in range(1, 10)]
    batch.insert(5, LostEvents(time=51 * us, cpu=0, count=0, kind="overrun"))
    batch.insert(3, LostEvents(time=31 * us, cpu=0, count=7))
    batch.append(LostEvents(time=95 * us, cpu=1, count=2))
    with opened(made(tmp_path / "a.duckdb", batch)) as one:
        head, _ = asked(one, "events", limit=9)
        assert head["lost"] == [[3, 0, 7, 21 * us], [5, 0, None, 41 * us], [8, 1, 2, 85 * us]]
        assert [asked(one, "events", offset=n, limit=2)[0].get("lost", []) for n in (1, 3, 4)] == [
            [],
            [[0, 0, 7, 21 * us]],
            [[1, 0, None, 41 * us]],
        ]
        head, _ = asked(one, "events", filter="cpu == 1", offset=1, limit=1)
        assert (head["rows"][0][1], head.get("lost", [])) == (20 * us, [])
        head, _ = asked(one, "events", filter="cpu == 1", offset=2, limit=1)
        assert (head["rows"][0][1], head["lost"]) == (40 * us, [[0, 0, 7, 21 * us]])
        _, arrays = asked(one, "lost", start=0, end=200 * us, width=200)
        told = [arrays[n].tolist() for n in ("at", "cpu", "recording")]
        assert told == [[21 * us, 41 * us, 85 * us], [0, 0, 1], [0, 0, 0]]
        assert np.isnan(arrays["count"][1])
        assert arrays["count"][[0, 2]].tolist() == [7, 2]
        _, arrays = asked(one, "lost", start=0, end=200 * us, width=1)  # everything in one pixel
        assert (arrays["cpu"].tolist(), arrays["count"].tolist()) == ([0, 1], [7, 2])
        assert not len(asked(one, "lost", start=100 * us, end=200 * us, width=9)[1]["at"])


def test_who_had_a_cpu_while_events_were_lost_is_not_drawn(tmp_path: Path) -> None:
    """11 got the CPU at 10 us, 12 leaves it at 50 us, and at 30 us it is told that events were lost: up to there it may
    have been 11, from there on 12. Without a loss, 12 has no time of its own."""
    us = 1000
    told = [LostEvents(time=30 * us, cpu=0, count=3), LostEvents(time=35 * us, cpu=1, count=1)]
    drawn = []
    for i, between in enumerate((told, [])):
        switches = [switch(10 * us, 0, 0, 0, 11), *between, switch(50 * us, 0, 12, 1, 11)]
        batch = [*switches, switch(70 * us, 0, 11, 1, 0)]
        with opened(made(tmp_path / f"{i}.duckdb", batch)) as one:
            _, a = asked(one, "slices", track="cpu:0:0", start=0, end=80 * us, width=8000)
            drawn.append(list(zip(a["start"].tolist(), a["end"].tolist(), (a["kind"] & 0x60).tolist(), strict=True)))
    assert drawn[0] == [(0, 20 * us, 0x40), (20 * us, 40 * us, 0x20), (40 * us, 60 * us, 0)]
    assert drawn[1] == [(0, 40 * us, 0x40), (40 * us, 40 * us, 0x20), (40 * us, 60 * us, 0)]


def test_flags_are_listed_and_filtered(tmp_path: Path) -> None:
    """1: interrupts off, 4: to be rescheduled, 8 and 16: in interrupts (include/linux/trace_events.h)."""
    batch = [wake(10 * i, 0, 7, 8, flags=f) for i, f in enumerate((0, 1, 4 | 8, 8 | 16 | 1), 1)]
    with opened(made(tmp_path / "a.duckdb", batch)) as one:
        assert [r[7] for r in asked(one, "events")[0]["rows"]] == [".....", "d....", ".Nh..", "d.H.."]
        for text, ids in (("d*", [1, 3]), ("?N*", [2]), ("*H*", [3]), ("*", [0, 1, 2, 3])):
            head, _ = asked(one, "events", filter=f'common_flags ~ "{text}"')
            assert [r[0] for r in head["rows"]] == ids
        assert [r[0] for r in asked(one, "events", filter="common_flags & 8")[0]["rows"]] == [2, 3]
    with opened(made(tmp_path / "b.duckdb", batch, flagged=False)) as one:
        assert {len(r) for r in asked(one, "events")[0]["rows"]} == {7}


@pytest.mark.parametrize(
    "sql", ["drop view thread", "create table t as select 1", "update extensions", "explain drop view thread", "begin"]
)
def test_sql_of_the_page_changes_nothing(found: Opened, sql: str) -> None:
    """Other pages ask through the same views."""
    head, _ = asked(found, "sql", sql=sql)
    assert "not for queries" in head["error"] or "not understood" in head["error"]
    assert not asked(found, "plot", title="x", sql=sql)[0]["ok"]
    assert asked(found, "sql", sql="select count(*) from thread")[0]["ok"]


def test_what_does_not_fit_into_a_reply_is_cut(found: Opened) -> None:
    head, _ = asked(found, "sql", sql="select repeat('x', 9000) as x, i from range(3000) r(i)", limit=10_000)
    assert len(head["rows"]) == pytest.approx((8 << 20) / 9000, abs=10)
    assert head["cut"] > 0
    assert asked(found, "sql", sql="pivot (select 1 as a, 2 as b) on a")[0]["ok"]
