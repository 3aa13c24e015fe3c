"""Words of the list where recordings lie, go, or have names that others have; tests/property has them beside what was
recorded."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import formats_tracemaker as tm
import pytest
from store_fakes import Event, kind
from timeline_fakes import asked, made, opened

from probescope.formats.tracedat.writer import Head
from probescope.frozen import replace
from probescope.store.opening import Asked
from probescope.views.timeline.opened import Opened

FUNCTION = (
    "name: function\nID: 1\nformat:\n" + tm.COMMON + "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
    '\nprint fmt: " %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip\n'
)
RAW_DATA = (
    "name: raw_data\nID: 2\nformat:\n" + tm.COMMON + "\tfield:unsigned int id;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:char buf[];\toffset:12;\tsize:0;\tsigned:0;\n"
    '\nprint fmt: "id:%04x %08x", REC->id, (int)REC->buf[0]\n'
)


class Maker(tm.Maker):
    """Kinds and records given as they are."""

    ftrace: tuple[str, ...] = (tm.PRINT,)
    test: tuple[str, ...] = (tm.TICK,)
    body: Callable[[int], bytes] | None = None

    def record(self, tid: int, n: int) -> bytes:
        return super().record(tid, n) if self.body is None else self.body(n) + bytes(-len(self.body(n)) % 4)

    def head(self) -> Head:
        return replace(super().head(), formats={"ftrace": self.ftrace, "test": self.test})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(path: Path, maker: Maker, count: int = 4) -> Path:
    path.write_bytes(maker.build(("", tm.events(count))))
    return path


def words(found: Opened, **args: int) -> list[str]:
    head = asked(found, "events", **{"offset": 0, "limit": 1000, **args})[0]
    assert head["ok"], head
    return [row[5] for row in head["rows"]]


def of_files(*paths: Path) -> list[str]:
    with Opened(Asked([(str(p), 0) for p in paths])) as found:
        return words(found)


def replaced(path: Path) -> None:
    """By one with the same kinds, which says other things of them."""
    maker = Maker()
    maker.test = (tm.TICK.replace("n=%u", "another=%u"),)
    written(path, maker)


@pytest.mark.parametrize("change", [replaced, os.unlink, lambda p: os.truncate(p, 100), lambda p: p.write_bytes(b"")])
def test_of_a_recording_that_is_not_there_any_more_columns_are_shown(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = written(tmp_path / "trace.dat", Maker())
    with Opened(Asked([(str(path), 0)])) as found:
        change(path)
        assert words(found)[0] == "n=0 small=0 name=tick 0"


def test_nobody_waits_for_a_pipe_in_its_place(tmp_path: Path) -> None:
    path = written(tmp_path / "trace.dat", Maker())
    with Opened(Asked([(str(path), 0)])) as found:
        path.unlink()
        os.mkfifo(path)
        assert words(found)[0].startswith("n=0 small=0")


def test_a_field_that_is_a_number_in_one_recording_and_a_text_in_another(tmp_path: Path) -> None:
    other = Maker()
    other.test = (
        "name: tick\nID: 300\nformat:\n" + tm.COMMON + "\tfield:char n[8];\toffset:8;\tsize:8;\tsigned:0;\n"
        '\nprint fmt: "text %s", REC->n\n',
    )
    other.body = lambda _: struct.pack("<HBBi8s", 300, 0, 0, 7, b"abc")
    one, two = written(tmp_path / "one.dat", Maker()), written(tmp_path / "two.dat", other)
    found = of_files(one, two)
    assert sorted(found[:2]) == ["n=0 small=0 name=tick 0 kind=even", "text abc"]


def test_functions_do_not_depend_on_what_was_asked_before(tmp_path: Path) -> None:
    maker = Maker()
    maker.ftrace = (tm.PRINT, FUNCTION)
    a, b = 0xFFFFFFFF81000000, 0xFFFFFFFF81001000
    maker.body = lambda n: struct.pack("<HBBiQQ", 1, 0, 0, 7, *((a, b) if n & 2 else (b, a)))
    with Opened(Asked([(str(written(tmp_path / "trace.dat", maker, 8)), 0)])) as found:
        pages = [words(found, offset=o, limit=1) for o in (6, 4, 6)]
    assert pages == [["startup"], ["later"], ["startup"]]


def test_raw_data_has_no_words_since_its_bytes_are_not_all_there(tmp_path: Path) -> None:
    maker = Maker()
    maker.ftrace = (tm.PRINT, RAW_DATA)
    maker.body = lambda _: struct.pack("<HBBiI", 2, 0, 0, 7, 26) + b"A\0BC"
    assert of_files(written(tmp_path / "trace.dat", maker))[0] == "id=26 buf=A"


LONG = ", ".join(f'{{ {1 << bit}ULL, "{"x" * 2000}" }}' for bit in range(10, 60))


@pytest.mark.parametrize(
    ("print_fmt", "shown"),
    [
        (f'"{"%s" * 120}", {", ".join("REC->far" for _ in range(120))}', "n="),
        (f'"%s", __print_flags(REC->n, "|", {LONG})', "xxx"),
        ('"%*d%*d", 2000000000, 1, -2000000000, 2', " "),
    ],
)
def test_what_may_be_long_is_bounded(tmp_path: Path, print_fmt: str, shown: str) -> None:
    """In memory: 1000 texts of 100 kB, or 400 kB, all different, are not there at once."""
    import tracemalloc

    maker = Maker()
    fields = (
        f"name: tick\nID: 300\nformat:\n{tm.COMMON}\tfield:u64 n;\toffset:8;\tsize:8;\tsigned:0;\n"
        f"\tfield:char far[60000];\toffset:16;\tsize:60000;\tsigned:0;\n\n"
    )
    maker.test = (f"{fields}print fmt: {print_fmt}\n",)
    maker.body = lambda n: struct.pack("<HBBiQ", 300, 0, 0, 7, (1 << 60) - 1024 + n) + b"y" * 3500
    with Opened(Asked([(str(written(tmp_path / "trace.dat", maker, 1000)), 0)])) as found:
        words(found, limit=1)
        tracemalloc.start()
        texts = words(found)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert {t[: len(shown)] for t in texts} == {shown}
    assert max(map(len, texts)) <= 2000
    assert most < 64 << 20


def test_kinds_called_as_tables_of_all_stores_are(tmp_path: Path) -> None:
    """perf record -e cpu-clock/name=thread/"""
    one = kind("thread", 20, [])
    with opened(made(tmp_path / "a.duckdb", [Event(1000, 0, 1, one)], kinds=(one,))) as found:
        assert words(found) == [""]
        assert asked(found, "detail", kind="event", id=0)[0]["ok"]


def test_kinds_of_one_name_have_their_own_fields(tmp_path: Path) -> None:
    maker = Maker()
    other = tm.TICK.replace("ID: 300", "ID: 301").replace(" n;", " another;").replace("REC->n", "REC->another")
    maker.test = (tm.TICK, other)
    maker.body = lambda n: struct.pack("<HBBiIiI4s", 300 + n % 2, 0, 0, 7, n, -n, 2 << 16 | 20, b"x")
    with Opened(Asked([(str(written(tmp_path / "trace.dat", maker)), 0)])) as found:
        assert words(found)[:2] == ["n=0 small=0 name=x kind=even", "n=1 small=-1 name=x kind=odd"]
        pairs = dict(asked(found, "detail", kind="event", id=1)[0]["pairs"])
    assert pairs["another"] == "1"
