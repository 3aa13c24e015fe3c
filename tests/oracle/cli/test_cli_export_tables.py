"""DuckDB reads the tables that we export; counts and sums are those of perf's text of the same recording."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import formats_perf as fp
import pytest
from cli_exports import export, profile, switches

FORMATS = ("csv", "jsonl", "parquet")


@pytest.fixture(scope="module")
def duckdb() -> Any:
    return pytest.importorskip("duckdb", reason="duckdb is not installed")


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return profile(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return switches(tmp_path_factory.mktemp("tables"))


@pytest.mark.parametrize("kind", FORMATS)
def test_samples(duckdb: Any, sampled: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    export(sampled, "-o", path)
    rows = duckdb.sql(f"select pid, tid, event, count(*), sum(period), min(time), max(time) from '{path}' group by all")
    theirs: dict[tuple[int, int, str], list] = {}
    for line in fp.samples(sampled, cpu=False):
        theirs.setdefault((line.pid, line.tid, line.event), []).append(line)
    expected = {
        (*key, len(lines), sum(x.period for x in lines), lines[0].time, lines[-1].time) for key, lines in theirs.items()
    }
    assert set(rows.fetchall()) == expected


@pytest.mark.parametrize("kind", FORMATS)
def test_fields_of_one_event_are_columns(duckdb: Any, traced: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    export(traced, "-e", "sched_switch", "-o", path)
    place = "fields.next_pid::int" if kind == "jsonl" else "next_pid"
    found = Counter(dict(duckdb.sql(f"select {place}, count(*) from '{path}' group by 1").fetchall()))
    text = fp.script(traced, "-F", "event,trace")
    theirs = Counter(int(n) for n in re.findall(r"sched_switch:.*next_pid=(\d+)", text))
    assert found == theirs
    assert found.total() > 20


def test_fields_of_several_are_json(duckdb: Any, traced: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    export(traced, "-o", path)
    rows = duckdb.sql(f"select event, fields->>'comm', count(*) from '{path}' where event like '%wakeup' group by all")
    theirs = Counter(re.findall(r"sched_wakeup:\s+comm=(.*?) pid=", fp.script(traced, "-F", "event,trace")))
    assert {name: n for _, name, n in rows.fetchall()} == theirs
    assert theirs.total() > 5
