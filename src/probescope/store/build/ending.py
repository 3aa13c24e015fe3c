"""What is known at the end of a recording alone: threads, processes, names, stacks, losses, the recording itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.sniff import recording_kind
from probescope.store.build.interning import clean
from probescope.store.build.reading import machine_texts, units
from probescope.store.build.sink import none
from probescope.store.columns import NO_NUMBER, quoted
from probescope.store.schema import COUNTER, COUNTER_TRACK, EVENT_KIND, PROCESS, RECORDING, SLICES, THREAD, THREAD_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probescope.store.build.builder import Builder
    from probescope.store.build.people import People

    Array = np.ndarray[Any, Any]

COUNTING: tuple[tuple[str, str, str, str, str], ...] = (
    # event, name of its counters, unit, value, CPU
    ("power:cpu_frequency", "cpu_frequency", "kHz", "state", "cpu_id"),
    ("power:cpu_idle", "cpu_idle", "", "case when state = 4294967295 then -1 else state end", "cpu_id"),
)
"""Events that set something's value. Idle states are numbers, and -1 is: not idle."""


def write_ending(b: Builder) -> None:
    _late_names(b)
    _people(b.people, b)
    _kinds(b)
    b.sites.write(b.sink)
    b.sink.flush()
    _counters(b)
    _recording(b)
    if b.switched and not b.woken:
        b.losses.count("no-wakeups", 1)
    if b.events and not b.forks:
        b.losses.count("no-forks", 1)
    b.losses.count("switches", max(0, b.missing_switches))
    b.losses.count("stacks", b.sites.cut)
    b.losses.count("skew", _skewed(b))
    b.losses.write(b.sink, b.source.recording.damage)


def _skewed(b: Builder) -> int:
    """What ends before it begins."""
    counts = [f"(select count(*) from {t.name} where end_ts < ts)" for t in SLICES]
    found = b.sink.db.execute(f"select {' + '.join(counts)}").fetchone()
    return int(found[0]) if found else 0


def _late_names(b: Builder) -> None:
    """Names that the file has for numbers, as of its end: of threads that have none otherwise."""
    people = b.people
    if not b.source.comms:
        return
    last = {t.tid: utid for utid, t in enumerate(people.threads)}
    for tid, name in b.source.comms.items():
        utid = last.get(tid, 0)
        if utid > 0 and people.names.of(utid) < 0:
            people.names.mention(0, utid, -1, people.pool.number(clean(name)))
    people.names.batch_done()


def _people(people: People, b: Builder) -> None:
    threads, processes = people.threads, people.processes
    names = [people.names.of(u) for u in range(len(threads))]
    upid = np.array([t.upid for t in threads], np.int64)
    tid = np.array([t.tid for t in threads], np.int64)
    end = np.array([t.end for t in threads], np.int64)
    pid = np.array([p.pid for p in processes], np.int64)
    main = np.where(upid >= 0, pid[upid] == tid, False)
    b.sink.add(
        THREAD,
        {
            "utid": np.arange(len(threads)),
            "tid": tid,
            "upid": upid,
            "name": _texts(people.pool.texts[n] if n >= 0 else None for n in names),
            "start_ts": np.array([t.start for t in threads], np.int64),
            "end_ts": end,
            "main": np.where(upid >= 0, main, -1).astype(np.int8),
        },
    )
    b.sink.make(THREAD_NAME)
    utids, times, codes = people.names.told()
    b.sink.add(THREAD_NAME, {"utid": utids, "ts": times, "name": people.pool.strings(codes)})
    count = len(processes)
    named: list[str | None] = [None] * count
    for u in np.flatnonzero(upid >= 0).tolist():
        p = int(upid[u])
        if names[u] >= 0 and (main[u] or named[p] is None):
            named[p] = people.pool.texts[names[u]]
    ends, alive = none(count), np.zeros(count, np.bool_)
    placed = np.flatnonzero(upid >= 0)
    np.maximum.at(ends, upid[placed], end[placed])
    alive[upid[placed[end[placed] < 0]]] = True
    b.sink.add(
        PROCESS,
        {
            "upid": np.arange(count),
            "pid": pid,
            "parent_upid": np.array([p.parent for p in processes], np.int64),
            "name": _texts(named),
            "start_ts": np.array([p.start for p in processes], np.int64),
            "end_ts": np.where(alive, -1, ends),
            "cmdline": _texts(p.cmdline or None for p in processes),
        },
    )


def _kinds(b: Builder) -> None:
    present = np.flatnonzero(b.counts)
    some = [b.kinds[i] for i in present.tolist()]
    b.sink.make(EVENT_KIND)
    b.sink.add(
        EVENT_KIND,
        {
            "id": present,
            "name": _texts(clean(e.name) for e in some),
            "events": b.counts[present],
            "fields": np.array([b.shapes[i].count if i in b.shapes else 0 for i in present.tolist()], np.int64),
            "unit": _texts(units(e) for e in some),
        },
    )


def _counters(b: Builder) -> None:
    """Out of the tables of their events; after those that programs wrote."""
    db = b.sink.db
    tracks = [(i, name, unit, cpu, b.people._process.get(pid, -1)) for i, name, unit, cpu, pid in b.marks.counters]
    first = len(tracks)
    if tracks:
        ids, names, kinds, cpus, upids = zip(*tracks, strict=True)
        columns = {"id": np.array(ids), "name": _texts(names), "unit": _texts(kinds)}
        b.sink.add(COUNTER_TRACK, {**columns, "cpu": np.array(cpus), "upid": np.array(upids)})
        b.sink.flush()
    present = {e.name for e, n in zip(b.kinds, b.counts.tolist(), strict=True) if n}
    for event, name, unit, value, cpu in COUNTING:
        if event not in present:
            continue
        db.execute(
            f"insert into {COUNTER_TRACK.name} select {first} + row_number() over (order by cpu) - 1, ?, ?, cpu, null"
            f" from (select distinct try_cast({cpu} as integer) as cpu from {quoted(event)}) where cpu is not null",
            [name, unit],
        )
        db.execute(
            f"insert into {COUNTER.name} select t.id, e.ts, {value} from {quoted(event)} e"
            f" join {COUNTER_TRACK.name} t on t.cpu = try_cast(e.{cpu} as integer) and t.name = ? and t.id >= {first}"
            " order by e.ts",
            [name],
        )
        row = db.execute(f"select count(*) from {COUNTER_TRACK.name}").fetchone()
        first = int(row[0]) if row else first


def _recording(b: Builder) -> None:
    m = b.source.recording.machine
    wall = b.source.wall_offset()
    numbers = {"id": 0, "cpus": m.cpus or -1, "memory": m.memory or -1, "offset_ns": 0, "events": b.events}
    numbers |= {"start_ts": b.first, "end_ts": b.last, "wall_offset": NO_NUMBER if wall is None else wall}
    texts = machine_texts(m) | {
        "path": clean(os.path.realpath(b.source.recording.name)),
        "format": recording_kind(b.source.recording.name) or "perf.data",
    }
    columns = {n: np.array([v], np.int64) for n, v in numbers.items()}
    columns |= {n: _texts([t or None]) for n, t in texts.items()}
    b.sink.add(RECORDING, columns)


def _texts(found: Iterable[str | None]) -> Array:
    texts = list(found)
    out: Array = np.empty(len(texts), object)
    out[:] = texts
    return out
