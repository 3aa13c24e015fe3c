"""``probescope query``: what it prints, in which form, and how it takes its words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from formats_tracemaker import Maker

from probescope.cli import query, query_saved
from probescope.cli.main import main
from probescope.cli.query_prompt import Words, whole
from probescope.errors import UsageError
from probescope.store.opening import Asked

EVENTS = [(0, 1000, 7, 1), (1, 1500, 8, 2), (0, 2000, 7, 3)]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def traced(tmp_path: Path) -> str:
    path = tmp_path / "trace.dat"
    path.write_bytes(Maker(version=6).build(("", EVENTS)))
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["query", "-q", *argv])
    out, err = capsys.readouterr()
    return code, out, err


SQL = "select ts, n, 'x' || chr(27) as t, null as u from \"test:tick\" order by ts limit 2"


def test_a_table_shows_what_terminals_obey(traced: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, traced, SQL) == (
        0,
        "  ts  n  t      u\n----  -  -----  ----\n1000  1  x\\x1b  NULL\n1500  2  x\\x1b  NULL\n",
        "",
    )


def test_forms_for_machines(traced: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"ts": 1000, "n": 1, "t": "x\x1b", "u": None}, {"ts": 1500, "n": 2, "t": "x\x1b", "u": None}]
    assert json.loads(said(capsys, traced, "-f", "json", SQL)[1]) == rows
    assert [json.loads(line) for line in said(capsys, traced, "-f", "jsonl", SQL)[1].splitlines()] == rows
    assert said(capsys, "-f", "csv", traced, SQL)[1] == "ts,n,t,u\n1000,1,x\\x1b,\n1500,2,x\\x1b,\n".replace(
        "\n", "\r\n"
    )
    assert json.loads(said(capsys, traced, "-f", "json", "select 1 as a where false")[1]) == []


def test_files(traced: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ending says the form; a query that fails leaves what was there."""
    out = tmp_path / "o.jsonl"
    assert said(capsys, traced, "-o", str(out), "select 1 as a") == (0, "", "")
    assert out.read_text() == '{"a": 1}\n'
    assert said(capsys, traced, "-o", str(out), "select a")[0] == 1
    assert out.read_text() == '{"a": 1}\n'
    import duckdb

    assert said(capsys, traced, "-o", str(tmp_path / "o.parquet"), 'select n from "test:tick"')[0] == 0
    assert duckdb.sql(f"select n from '{tmp_path}/o.parquet' order by n").fetchall() == [(1,), (2,), (3,)]


def test_words(traced: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert '"test:tick"' in said(capsys, traced, ".tables")[1]
    assert "sched.latency" in said(capsys, traced, ".views sched")[1]
    assert "block:block_rq_issue" in said(capsys, traced, ".views io")[1]
    assert "preempted" in said(capsys, traced, ".schema thread_state")[1]
    assert "quantile_cont" in said(capsys, traced, ".schema sched.latency")[1]
    code, _, err = said(capsys, traced, ".tabels")
    assert (code, "did you mean .tables?" in err) == (2, True)
    assert "did you mean thread?" in said(capsys, traced, ".schema thred")[2]


def test_mistakes(traced: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, traced, "select nam\nfrom thread")
    assert (code, out) == (1, "")
    assert err.startswith('query:1:8-11: ERROR: Referenced column "nam" not found')
    assert "\nselect nam\n       ~~~\nHINT: did you mean name?\n" in err
    assert "is no size" in said(capsys, traced, "--memory", "lots", "select 1 as a")[2]
    assert "cannot read" in said(capsys, "/nonexistent.data", "select 1 as a")[2]


def test_kept_queries(traced: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        said(capsys, traced, "--save", "big", "-p", "n=2", 'select n from "test:tick" where n > $n')[1] == "n\n-\n3\n"
    )
    assert said(capsys, traced, "--saved", "big", "-p", "n=1")[1] == "n\n-\n2\n3\n"
    assert "big" in said(capsys, traced, ".saved")[1]
    assert "did you mean big?" in said(capsys, traced, "--saved", "bag")[2]
    with pytest.raises(UsageError):
        query_saved.save("../x", "select 1")


def test_files_and_queries_are_told_apart(traced: str) -> None:
    for words, files, text in (
        ([traced, "select 1"], [(traced, 0)], "select 1"),
        (["select 1"], [("perf.data", 0)], "select 1"),
        ([".tables"], [("perf.data", 0)], ".tables"),
        ([traced, f"{traced}@-0.5"], [(traced, 0), (traced, -500_000_000)], ""),
        (["perf.dta"], [("perf.dta", 0)], ""),
        ([], [("perf.data", 0)], ""),
    ):
        assert query._sorted_out(words) == (files, text)


def test_the_prompt_knows_when_a_statement_ends() -> None:
    assert whole([], ".tables")
    assert whole([], "select 1;")
    assert not whole([], "select 1")
    assert whole(["select 1"], "")
    assert not whole(["select 1"], ".5")


def test_completion_of_the_prompt(traced: str) -> None:
    with Asked([(traced, 0)]) as asked:
        words = Words(asked)
        assert words.matches("thread_s") == ["thread_state"]
        assert words.matches("sched.la") == ["sched.latency"]
        assert words.matches('"test') == ['"test:tick"']
        assert "end_state" in words.matches("END_")
        assert words.complete(".sch", 0) == ".schema"
        assert words.complete(".sch", 1) is None


def test_losses_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, unless one is asked to be quiet."""
    path = tmp_path / "lost.dat"
    path.write_bytes(Maker(version=6, lost={0: 12}).build(("", EVENTS)))
    assert main(["query", str(path), "select count(*) as n from event"]) == 0
    out, err = capsys.readouterr()
    assert out == "n\n-\n3\n"
    assert "WARNING: lost.dat: 12 times: events were overwritten while recording" in err
    assert said(capsys, str(path), "select 1 as a")[2] == ""


def test_without_duckdb(traced: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    for module in ("duckdb", "_duckdb"):
        monkeypatch.setitem(sys.modules, module, None)
    code, _, err = said(capsys, traced, "select 1 as a")
    assert code == 2
    assert "HINT: pip install 'probescope[tables]'" in err
