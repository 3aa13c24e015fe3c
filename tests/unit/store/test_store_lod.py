"""Levels of detail: what is drawn of them agrees with the slices they are made of, at every scale."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from probescope.errors import FormatError
from probescope.store.lod import counters, lanes, points
from probescope.store.lod.counters import CounterFile
from probescope.store.lod.cutting import LaneFile
from probescope.store.lod.families import OPEN_BEGIN, OPEN_END, Lanes, Points
from probescope.store.lod.files import Reader, Writer
from probescope.store.lod.levels import level_counts
from probescope.store.lod.points import PointFile

SHOWN = Lanes("t", "track", key="key", kind="kind", depth="depth")


def table(rows: list[tuple[Any, ...]]) -> duckdb.DuckDBPyConnection:
    db = duckdb.connect()
    db.execute(
        "create table t (id bigint, track int, depth int, ts bigint, end_ts bigint, key int, kind int, name varchar)"
    )
    columns = {f"c{i}": np.array(c) for i, c in enumerate(zip(*rows, strict=True))}
    db.register("given", columns)
    picked = ", ".join(f"nullif(c{i}, -1)" if i < 7 else f"c{i}" for i in range(8))
    db.execute(f"insert into t select {picked} from given")
    return db


def random_rows(count: int, tracks: int, seed: int) -> list[tuple[Any, ...]]:
    rng = random.Random(seed)
    now = dict.fromkeys(range(tracks), 1000)
    out = []
    for i in range(count):
        track = rng.randrange(tracks)
        start = now[track] + rng.choice((0, 1, 5, 1000, 200_000))
        now[track] = start + rng.choice((1, 3, 100, 50_000))
        out.append((i, track, 0, start, now[track], rng.randrange(5), 1, "n"))
    return out


def file_of(rows: list[tuple[Any, ...]], path: Path, last: int, shown: Lanes = SHOWN) -> LaneFile:
    db = table(rows)
    try:
        lanes.write(db, "t", shown, str(path), (0, last), lambda *_: None)
    finally:
        db.close()
    return LaneFile(str(path))


@pytest.mark.parametrize("seed", range(4))
def test_a_cut_tells_of_every_slice_in_view_once(seed: int, tmp_path: Path) -> None:
    """Counts and covered time against a plain walk through the rows, for many views and widths."""
    rows = random_rows(6000, 3, seed)
    last = max(r[4] for r in rows)
    file = file_of(rows, tmp_path / "l", last)
    rng = random.Random(seed)
    for _ in range(60):
        a = rng.randrange(last)
        b = min(a + rng.choice((1, 50, 10_000, 1_000_000, last)), last) + 1
        width, track = rng.choice((1, 10, 300, 2000)), rng.randrange(3)
        cut = file.cut(track, a, b, width)
        pixel = (b - a) / width
        inside = [r for r in rows if r[1] == track and r[4] > a and r[3] < b]
        touching = [r for r in rows if r[1] == track and r[4] >= a - pixel and r[3] < b + pixel]
        assert len(inside) <= cut.count.sum() <= max(len(touching), 0) + 8**3
        assert len(cut.start) <= 4 * width + 16
        assert (cut.start[1:] >= cut.end[:-1]).all()
        single = cut.count == 1
        known = {(r[0], r[3], r[4], r[5]) for r in rows}
        got = zip(*(getattr(cut, c)[single].tolist() for c in ("id", "start", "end", "key")), strict=True)
        assert all((int(i), s, e, k) in known for i, s, e, k in got)
        merged = ~single
        assert ((cut.end - cut.start)[merged] <= 2 * pixel + 1).all()


def test_zoomed_out_the_time_that_is_covered_is_the_slices(tmp_path: Path) -> None:
    """A picture of everything shows as much as the rows say, whatever its width."""
    rows = random_rows(5000, 1, 7)
    last = max(r[4] for r in rows)
    file = file_of(rows, tmp_path / "l", last)
    true = sum(r[4] - r[3] for r in rows)
    for width in (10, 200, 3000):
        cut = file.cut(0, 0, last + 1, width)
        drawn = float(((cut.end - cut.start) * (cut.fill / 255.0)).sum())
        assert cut.count.sum() == len(rows)
        assert drawn == pytest.approx(true, rel=0.03)


def test_a_bin_tells_the_key_with_most_time(tmp_path: Path) -> None:
    rows = [(i, 0, 0, i * 10, i * 10 + (9 if i % 3 else 2), 4 if i % 3 else 2, 1, "n") for i in range(1000)]
    file = file_of(rows, tmp_path / "l", 10_000)
    assert file.cut(0, 0, 10_000, 5).key.tolist() == [4] * 5
    assert file.cut(0, 0, 10_000, 5).count.sum() == 1000


def test_ends_that_are_not_known_reach_to_the_neighbours(tmp_path: Path) -> None:
    """Nothing overlaps, and what was made up is marked."""
    rows = [
        (0, 0, 0, -1, 50, 1, 1, "n"),
        (1, 0, 0, 60, -1, 2, 1, "n"),
        (2, 0, 0, 80, 90, 3, 1, "n"),
        (3, 0, 0, -1, 95, 4, 1, "n"),
        (4, 0, 0, 97, -1, 5, 1, "n"),
    ]
    cut = file_of(rows, tmp_path / "l", 100).cut(0, 0, 101, 1000)
    assert list(zip(cut.start.tolist(), cut.end.tolist(), strict=True)) == [
        (0, 50),
        (60, 80),
        (80, 90),
        (90, 95),
        (97, 100),
    ]
    assert (cut.kind & (OPEN_BEGIN | OPEN_END)).tolist() == [OPEN_BEGIN, OPEN_END, 0, OPEN_BEGIN, OPEN_END]


def test_depths_are_lanes_and_names_are_numbered(tmp_path: Path) -> None:
    rows = [(0, 5, 0, 10, 90, -1, 0, "outer"), (1, 5, 1, 20, 30, -1, 0, "inner"), (2, 5, 1, 40, 50, -1, 0, "inner")]
    file = file_of(rows, tmp_path / "l", 100, Lanes("t", "track", name="name", depth="depth"))
    cut = file.cut(5, 0, 100, 1000)
    assert [(d, file.names[k]) for d, k in zip(cut.depth.tolist(), cut.key.tolist(), strict=True)] == [
        (0, "outer"),
        (1, "inner"),
        (1, "inner"),
    ]
    assert len(file.cut(6, 0, 100, 10).start) == 0


def test_large_tracks_are_written_in_parts_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file, whatever is held at once."""
    rows = random_rows(4000, 2, 3)
    whole = file_of(rows, tmp_path / "a", 10**9)
    monkeypatch.setattr(lanes, "BATCH", 300)
    parts = file_of(rows, tmp_path / "b", 10**9)
    assert whole.columns.keys() == parts.columns.keys()
    for name, column in whole.columns.items():
        assert (column == parts.columns[name]).all(), name


def test_density_and_elapsed_time_of_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "BATCH", 100)
    rows = random_rows(1000, 3, 5)
    db = table(rows)
    points.write(db, "t", Points("t", "track", sums=True), str(tmp_path / "p"), (0, 10**9), lambda *_: None)
    db.close()
    file = PointFile(str(tmp_path / "p"))
    edges = np.array([0, 5000, 10_000_000, 40_000_000, 10**9])
    for track in range(3):
        times = np.array(sorted(r[3] for r in rows if r[1] == track))
        assert file.density(track, edges).tolist() == np.histogram(times, edges)[0].tolist()
        assert file.elapsed(track, edges).tolist() == [int((e - times[times <= e]).sum()) for e in edges]
    assert file.density(9, edges).sum() == 0


def test_counters_keep_their_least_and_greatest_values(tmp_path: Path) -> None:
    db = duckdb.connect()
    db.execute("create table c as select 0 as track, i * 10 as ts, (case when i = 4321 then 999 else i % 7 end)::double"
               " as value from range(10000) r(i)")  # fmt: skip
    counters.write(db, "c", str(tmp_path / "c"), (0, 100_000), lambda *_: None)
    db.close()
    file = CounterFile(str(tmp_path / "c"))
    at, low, high, mean = file.cut(0, 0, 100_000, 20)
    assert len(at) <= 200
    assert (low.min(), high.max()) == (0, 999)
    assert np.median(mean) == pytest.approx(3, abs=0.1)
    at, low, high, mean = file.cut(0, 43_200, 43_230, 1000)
    assert dict(zip(at.tolist(), mean.tolist(), strict=True))[43_210] == 999
    assert [len(c) for c in file.cut(3, 0, 10, 10)] == [0] * 4


def test_counts_of_levels() -> None:
    assert [c.tolist() for c in level_counts(np.array([1000, 64, 65]))] == [[1000, 64, 65], [125, 0, 9], [16, 0, 0]]


@pytest.mark.parametrize("data", [b"", b"x" * 100, b"PSLOD\x01\0\0" + bytes(100), b"PSLOD\x01\0\0" + b"\xff" * 100])
def test_files_that_are_none_are_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(FormatError):
        Reader(str(tmp_path / "f"))


def test_a_column_that_reaches_beyond_the_file_is_refused(tmp_path: Path) -> None:
    with Writer(str(tmp_path / "f")) as out:
        out.column("a", "<i8", 10)
        out.put("a", 0, np.arange(10))
        out.finish({})
    data = (tmp_path / "f").read_bytes().replace(b'"<i8", 64, 10]', b'"<i8", 64, 99]')
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(FormatError):
        Reader(str(tmp_path / "f"))
