"""Stores that are open: what queries may do, several recordings together, the cache, Parquet."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest
from formats_tracemaker import Maker

import probescope
from probescope.errors import FormatError, LimitError, ScriptError, UsageError
from probescope.kernel.filelock import FileLock
from probescope.store import cache, library, schema
from probescope.store.columns import Column, Table, created, quoted
from probescope.store.duck import connect, error_of
from probescope.store.opening import Asked, named
from probescope.store.parts import is_parquet, write_parquet

EVENTS = [(0, 1000, 7, 1), (1, 1500, 8, 2), (0, 2000, 7, 3), (0, 5000, 9, 4)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "cache" / "probescope" / "store"


@pytest.fixture
def traced(tmp_path: Path) -> str:
    path = tmp_path / "trace.dat"
    path.write_bytes(Maker(version=6).build(("", EVENTS)))
    return str(path)


@pytest.fixture
def scheduled(tmp_path: Path) -> str:
    path = tmp_path / "sched.txt"
    fields = "prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120"
    path.write_text(f"# tracer: nop\n   a-7   [000] d..2. 100.000000: sched_switch: {fields}\n")
    return str(path)


@pytest.fixture
def asked(traced: str):
    with Asked([(traced, 0)]) as found:
        yield found


def test_events_and_fields(asked: Asked) -> None:
    found = asked.query(
        'select e.ts, e.cpu, t.tid, n, e.name from "test:tick" e join thread t using (utid) order by e.ts'
    )
    assert [tuple(r.values())[:4] for r in found] == [(t, c, tid, n) for c, t, tid, n in EVENTS]


def test_every_table_is_there_with_its_columns(asked: Asked) -> None:
    """The pages that are made of the schema must be true of stores."""
    for table in schema.TABLES:
        described = [(r["column_name"], r["column_type"]) for r in asked.query(f"describe {table.name}")]
        wanted = [(c.name, c.type) for c in table.columns]
        assert described == (wanted if table is schema.RECORDING else [*wanted, ("recording", "INTEGER")])


def test_every_view_can_be_asked(asked: Asked) -> None:
    for name in asked.views:
        assert asked.query(f"select * from {name}").all() is not None
        assert asked.columns(name)
    assert {v.domain for v in library.views()} == set(library.DOMAINS)
    assert all(v.about.endswith(".") for v in library.views())
    assert set(asked.lacking) | set(asked.views) == {v.name for v in library.views()}


@pytest.mark.parametrize(
    "sql",
    [
        "select * from '/etc/passwd'",
        "select * from read_text('/etc/passwd')",
        "select * from read_csv('/etc/passwd')",
        "select * from glob('/*')",
        "copy event to '{}/x.csv'",
        "copy (select 1) to '{}/x.parquet' (format parquet)",
        "explain analyze copy event to '{}/x.csv'",
        "prepare p as copy event to '{}/x.csv'",
        "attach '{}/x.db'",
        "export database '{}/x'",
        "install httpfs",
        "load '{}/x.so'",
        "set enable_external_access = true",
        "set memory_limit = '100GB'",
        "set temp_directory = '/etc'",
        "pragma memory_limit = '100GB'",
        "insert into s0.event select * from s0.event",
        "drop table s0.event",
        "detach s0",
        "select * from read_parquet('https://example.com/x.parquet')",
    ],
)
def test_queries_reach_nothing_else(asked: Asked, tmp_path: Path, sql: str) -> None:
    """No file, no network, no other settings, and no change of a store."""
    with pytest.raises((UsageError, ScriptError)):
        asked.query(sql.format(tmp_path)).all()
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("x")]
    assert asked.query("select count(*) from event").value() == len(EVENTS)


def test_memory_is_bounded(traced: str) -> None:
    with Asked([(traced, 0)], memory="100MB") as asked, pytest.raises(LimitError) as e:
        asked.query("select list(i) from range(1000000000) t(i)").all()
    assert any("--memory" in h for h in e.value.hints)


def test_threads_may_ask_at_once(asked: Asked) -> None:
    found: list[int] = []

    def ask() -> None:
        found.extend(asked.query("select count(*) from event").value() for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [len(EVENTS)] * 80


def test_a_query_can_be_interrupted_from_another_thread(asked: Asked) -> None:
    done = threading.Event()

    def interrupt() -> None:
        while not done.wait(0.05):
            asked.interrupt()

    other = threading.Thread(target=interrupt)
    other.start()
    try:
        with pytest.raises(LimitError, match="interrupted"):
            asked.query("select count(*) from range(100000000000) t(i) where i % 3 = 1").all()
    finally:
        done.set()
        other.join()


@pytest.mark.parametrize(
    ("sql", "line", "column", "end"),
    [
        ("selct 1", 1, 1, 6),
        ("select\n  nme\nfrom thread", 2, 3, 6),
        ("select 'é', foo(1)", 1, 13, 19),
        ("select * from evnt", 1, 15, 19),
    ],
)
def test_mistakes_have_places(asked: Asked, sql: str, line: int, column: int, end: int) -> None:
    with pytest.raises(ScriptError) as e:
        asked.query(sql)
    span = e.value.diagnostics[0].span
    assert (span.line, span.column, span.end_column) == (line, column, end)


def test_mistakes_have_hints(asked: Asked) -> None:
    for sql, hint in (
        ("select * from evnt", "did you mean event?"),
        ("select * from tick", 'names with colons stand in quotes: "test:tick"'),
        ("select * from io.latency", "block:block_rq_issue"),
        ("select nam from thread", "did you mean name?"),
        ("", "select count(*)"),
    ):
        with pytest.raises((ScriptError, UsageError)) as e:
            asked.query(sql)
        hints = e.value.diagnostics[0].hints if isinstance(e.value, ScriptError) else e.value.hints
        assert any(hint in h for h in hints), (sql, hints)


def test_parameters(asked: Asked) -> None:
    assert asked.query("select tid from thread where tid = ?", [8]).all() == [{"tid": 8}]
    assert asked.query("select tid from thread where tid = $tid", {"tid": 9}).value() == 9


def test_columns_of_one_name_do_not_hide_each_other(asked: Asked) -> None:
    assert asked.query("select 1 as a, 2 as a").all() == [{"a": 1, "a_2": 2}]
    assert {n: c.tolist() for n, c in asked.query("select 1 as a, 2 as a").numpy().items()} == {"a": [1], "a_2": [2]}


def test_several_recordings(traced: str) -> None:
    """Numbers stay unique, times are moved, and every row knows its recording."""
    with Asked([(traced, 0), (traced, 10_000)]) as both:
        told = both.query("select recording, min(ts), max(ts), count(*) from event group by 1 order by 1")
        assert list(told.tuples()) == [(0, 1000, 5000, 4), (1, 11_000, 15_000, 4)]
        assert both.query("select count(*) - count(distinct id) from event").value() == 0
        assert both.query("select count(*) - count(distinct utid) from thread").value() == 0
        names = (
            'select e.recording, t.tid, n from "test:tick" e join thread t using (utid) where t.recording = e.recording'
        )
        assert len(both.query(names).all()) == 8
        assert both.query("select list(offset_ns order by id) from recording").value() == [0, 10_000]


def test_offsets_of_names(tmp_path: Path) -> None:
    (tmp_path / "a@1.5").write_bytes(b"")
    assert named(str(tmp_path / "a@1.5")) == (str(tmp_path / "a@1.5"), 0)
    assert named("a.dat@-1.25") == ("a.dat", -1_250_000_000)
    assert named("a.dat") == ("a.dat", 0)
    assert named("a.dat@+20ms") == ("a.dat", 20_000_000)
    assert named("a.dat@-1us") == ("a.dat", -1000)
    assert named("a.dat@1.000000001") == ("a.dat", 1_000_000_001)
    assert named("a@b@2m") == ("a@b", 120_000_000_000)
    for word in ("soon", "nan", "inf", "1e300", "9999d9", "99999999d", "1 week", "٣", "--1"):
        with pytest.raises(UsageError, match="no time to move"):
            named(f"a.dat@{word}")


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from sched.latency",
        'select count(*) from "sched" . latency',
        "select count(*) from sched/* x */.latency",
        "select count(*) from sched -- x\n.latency",
        "select count(*) from query('select * from sched.' || 'latency')",
        "select count(*) from information_schema.tables where table_schema = 'sched' and table_name = 'latency'",
    ],
)
def test_views_of_the_library_are_there_whoever_asks_first(scheduled: str, sql: str) -> None:
    with Asked([(scheduled, 0)]) as asked:
        assert asked.query("select count(*) from event").value() == 1
        assert asked.query(sql).value() in (0, 1)
        assert "sched.latency" in asked.views
        assert asked.columns("sched.latency")


def _as_the_first_layout(folder: str, old: str) -> None:
    """A copy without what came later: events had no flags, and losses no table of their own."""
    shutil.copytree(folder, old)
    told = json.loads(Path(old, "tables.json").read_text())
    told["version"] = 1
    Path(old, told["tables"].pop("lost")).unlink()
    Path(old, "tables.json").write_text(json.dumps(told))
    events = Path(old, "event.parquet")
    sql = "copy (select * exclude (flags, preempt) from '{0}/event.parquet') to '{1}' (format parquet)"
    events.unlink()
    duckdb.sql(sql.format(folder, events))


def test_parquet_out_and_in(traced: str, tmp_path: Path) -> None:
    """The same answers from a folder, which is not written to by queries."""
    folder = str(tmp_path / "tables")
    with Asked([(traced, 0)]) as asked:
        write_parquet(asked.parts[0], folder, lambda *_: None)
        wanted = asked.query('select * from "test:tick"').all()
    assert is_parquet(folder)
    assert not is_parquet(traced)
    _as_the_first_layout(folder, str(tmp_path / "old"))
    with Asked([(str(tmp_path / "old"), 0), (folder, 0)]) as both:
        said = both.query("select recording, count(*), count(flags) from event group by 1 order by 1").tuples()
        (_, count, flagged), (_, again_count, again_flagged) = said
        assert (count, flagged) == (again_count, 0)
        assert again_flagged == again_count > 0
        assert both.query("select count(*) from lost where recording = 0").value() == 0
    with Asked([(folder, 0), (traced, 5)]) as again:
        assert again.query('select * from "test:tick" where recording = 0').all() == wanted
        assert again.query("select count(*) from event").value() == 8
        with pytest.raises(UsageError):
            again.query(f"copy event to '{folder}/event.parquet'")
    Path(folder, "event.parquet").unlink()
    with pytest.raises(FormatError, match=r"event\.parquet is missing"):
        Asked([(folder, 0)])
    Path(folder, "tables.json").write_text("{")
    with pytest.raises(FormatError):
        Asked([(folder, 0)])


def test_stores_are_kept_and_made_anew(traced: str, own_cache: Path) -> None:
    first = cache.store_of(traced)
    assert (first.built, cache.store_of(traced).built) == (True, False)
    assert cache.store_of(traced, fresh=True).built
    Path(traced).write_bytes(Maker(version=6).build(("", EVENTS[:2])))
    changed = cache.store_of(traced)
    assert changed.built
    assert changed.path != first.path
    assert not [p for p in own_cache.iterdir() if ".part" in p.name]


def test_what_was_not_used_for_long_goes(tmp_path: Path) -> None:
    for i in range(4):
        (tmp_path / f"{i}.duckdb").write_bytes(bytes(1000))
        os.utime(tmp_path / f"{i}.duckdb", (i, i))
    gone = cache.evict(str(tmp_path), 2500, str(tmp_path / "0.duckdb"))
    assert [Path(p).name for p in gone] == ["1.duckdb", "2.duckdb"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.duckdb", "3.duckdb"]


def test_two_processes_at_once(traced: str) -> None:
    """One builds, the other waits, both answer."""
    program = f"import probescope; print(probescope.open({traced!r}).query('select count(*) from event').value())"
    both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [p.communicate(timeout=300)[0] for p in both] == [f"{len(EVENTS)}\n"] * 2


def test_a_killed_build_leaves_nothing_that_matters(traced: str, own_cache: Path) -> None:
    """What is left under the part's name is not taken for a store."""
    kept = cache.store_of(traced)
    os.rename(kept.path, kept.path + ".part")
    Path(kept.path + ".part").write_bytes(b"half")
    assert cache.store_of(traced).built
    with Asked([(traced, 0)]) as asked:
        assert asked.query("select count(*) from event").value() == len(EVENTS)


def test_what_killed_processes_have_begun_goes_with_the_next_build(traced: str, own_cache: Path) -> None:
    """Of any recording, but for what somebody is at: whose lock is held."""
    own_cache.mkdir(parents=True)
    dead, busy = (["%s.duckdb.part", "%s.cpu-1.lod.part", "%s.duckdb.part.tmp"] for _ in range(2))
    for key, names in (("a" * 32, dead), ("b" * 32, busy)):
        names[:] = [n % key for n in names]
        for name in names[:2]:
            (own_cache / name).write_bytes(b"begun")
        (own_cache / names[2]).mkdir()
    with FileLock(str(own_cache / f"{'b' * 32}.lock")), Asked([(traced, 0)]) as asked:
        assert asked.query("select count(*) from event").value() == len(EVENTS)
    assert [(own_cache / n).exists() for n in dead + busy] == [False] * 3 + [True] * 3


def test_a_store_that_does_not_fit_is_told_and_not_kept(traced: str, own_cache: Path) -> None:
    """It was once kept as it was: without tables, and for good."""
    command = (
        f"ulimit -f 500; exec {shlex.quote(sys.executable)} -m probescope query -q {shlex.quote(traced)} 'select 1'"
    )
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert [p.name for p in own_cache.rglob("*.duckdb*")] == []


def test_no_cache_is_no_reason_to_fail(traced: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    with Asked([(traced, 0)]) as asked:
        assert asked.query("select count(*) from event").value() == len(EVENTS)
        folder = os.path.dirname(asked.parts[0].path)
    assert not os.path.exists(folder)


def test_empty_and_cut_recordings(tmp_path: Path) -> None:
    whole = Maker(version=6).build(("", [(0, 1000 + i, 7, i) for i in range(2000)]))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "none.dat").write_bytes(Maker(version=6).build(("", [])))
    (tmp_path / "cut.dat").write_bytes(whole[: len(whole) - 5000])
    with pytest.raises(FormatError):
        Asked([(str(tmp_path / "empty"), 0)])
    with pytest.raises(UsageError):
        Asked([(str(tmp_path / "missing"), 0)])
    with Asked([(str(tmp_path / "none.dat"), 0)]) as asked:
        assert asked.query("select count(*) from event").value() == 0
    with Asked([(str(tmp_path / "cut.dat"), 0)]) as asked:
        assert 0 < asked.query("select count(*) from event").value() < 2000
        assert asked.query("select count(*) from stats where severity = 'warning'").value() > 0


GRAPH = """# tracer: function_graph
 100.000000 |   0)    ls-8      |               |  ksys_read() {
 100.000001 |   0)    ls-8      |   2.928 us    |    __fget_light();
 100.000010 |   0)    ls-8      |               |    vfs_read() {
 100.000011 |   1)   cat-9      |   7.500 us    |  vfs_open();
 100.000030 |   0)    ls-8      | + 20.000 us   |    }
 100.000040 |   0)    ls-8      | + 40.000 us   |  }
"""


def test_calls_take_as_long_as_the_kernel_says(tmp_path: Path) -> None:
    """Text of function_graph: durations are those of its lines, not the differences of their times."""
    (tmp_path / "graph.txt").write_text(GRAPH)
    with Asked([(str(tmp_path / "graph.txt"), 0)]) as asked:
        found = asked.query(
            """select t.name, f.function, f.depth, f.dur, f.self_dur, p.function from func f join thread t using (utid)
            left join func p on p.id = f.parent order by f.ts"""
        )
        assert list(found.tuples()) == [
            ("ls", "ksys_read", 0, 40_000, 40_000 - 2_928 - 20_000, None),
            ("ls", "__fget_light", 1, 2_928, 2_928, "ksys_read"),
            ("ls", "vfs_read", 1, 20_000, 20_000, "ksys_read"),
            ("cat", "vfs_open", 0, 7_500, 7_500, None),
        ]


def test_from_python(traced: str) -> None:
    with probescope.open(traced) as recording:
        assert sum(b.count for b in recording.batches()) == len(EVENTS)
        assert recording.query("select count(*) from event").value() == len(EVENTS)
        assert recording.tables["test:tick"][:4] == ("event", "ts", "cpu", "utid")
        assert "sched.latency" in recording.views
        assert recording.query("select ts from event order by ts").numpy()["ts"].tolist() == [
            t for _, t, _, _ in EVENTS
        ]
        for form, modules in (("arrow", ["pyarrow"]), ("df", ["pandas", "polars"])):
            found = recording.query("select ts from event")
            if any(importlib.util.find_spec(m) for m in modules):
                assert len(getattr(found, form)()) == len(EVENTS)
            else:
                with pytest.raises(UsageError, match="not installed"):
                    getattr(found, form)()


def test_names_are_quoted() -> None:
    assert quoted('a"b') == '"a""b"'
    assert created(Table('x"y', "", (Column("a b", "INTEGER", ""),))) == 'create table "x""y" ("a b" INTEGER)'


def test_ctrl_c_ends_the_query_alone(traced: str) -> None:
    """At the prompt: DuckDB does not listen to signals by itself."""
    import pty
    import select
    import time

    pid, fd = pty.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, "-m", "probescope.cli.main", "query", "-q", traced])
    seen = ""

    def until(pattern: str) -> None:
        nonlocal seen
        end = time.monotonic() + 60
        while not re.search(pattern, seen) and time.monotonic() < end:
            if select.select([fd], [], [], 0.5)[0]:
                seen += os.read(fd, 4096).decode(errors="replace")
        assert re.search(pattern, seen), seen
        seen = ""

    def at_work() -> None:
        """Until the query burns a processor: a prompt does not."""
        end, before = time.monotonic() + 60, ticks()
        while ticks() < before + 20:
            assert time.monotonic() < end
            time.sleep(0.01)

    def ticks() -> int:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11:13]))

    try:
        until(r"sql> ")
        os.write(fd, b"select 41 + 1 as n;\n")
        until(r"42")
        os.write(fd, b"select count(*) from range(100000000000) t(i) where i % 3 = 1; -- long\n;\n")
        until(r"long")
        at_work()
        os.kill(pid, signal.SIGINT)
        until(r"interrupted")
        os.write(fd, b"select 50 + 1 as n;\n")
        until(r"51")
        os.write(fd, b".quit\n")
        assert os.waitpid(pid, 0)[1] == 0
    finally:
        os.close(fd)


@pytest.mark.parametrize("where", ["path", "temporary"])
def test_names_that_duckdb_has_not(tmp_path: Path, where: str) -> None:
    """It calls such a folder std::bad_cast."""
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    with pytest.raises(UsageError, match="DuckDB wants names in UTF-8"):
        connect(name) if where == "path" else connect(temporary=name)


class _Full:
    def close(self) -> None:
        raise duckdb.IOException("IO Error: Could not write file: No space left on device")


def test_a_disk_that_is_full_when_all_is_closed(asked: Asked) -> None:
    """DuckDB writes what is left then: it is told as an error of ours, and nothing stays in the temporary folder."""
    folder = Path(asked._folder.name)
    assert folder.is_dir()
    kept, asked._db = asked._db, _Full()  # type: ignore[assignment]
    with pytest.raises(UsageError, match="No space left on device"):
        asked.close()
    asked._db = kept
    assert not folder.exists()


def test_a_store_that_cannot_be_begun(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nosuch"):
        connect(str(tmp_path / "nosuch" / "x.duckdb"))


def test_what_a_writing_thread_has_met_with() -> None:
    inner = json.dumps({"exception_type": "IO", "exception_message": "Could not write file", "errno": "28"})
    outer = {"exception_type": "IO", "exception_message": f"Async write failed for range [1, 2]: {inner}"}
    assert error_of(duckdb.IOException(json.dumps(outer)), "").what == "Could not write file"
