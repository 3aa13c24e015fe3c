"""What whoever knows the peers types first: it works, or says what to type."""

from __future__ import annotations

import importlib
from argparse import Namespace
from pathlib import Path

import formats_perfmaker as pm
import pytest

from probescope.cli import script
from probescope.cli.main import COMMANDS, PEERS, main
from probescope.cli.parsing import INSTEAD
from probescope.cli.probe_run import _Printer
from probescope.cli.unread import told
from probescope.cli.whois import _said_by
from probescope.errors import UsageError
from probescope.lang.perf.events import parse_events
from probescope.model.output import Lost


def raw_file() -> bytes:
    """A perf.data with one sample, of which the CPU was not recorded."""
    event = pm.Event(pm.IP | pm.TID | pm.TIME | pm.PERIOD, flags=pm.SAMPLE_ID_ALL)
    made = pm.PerfMaker([event])
    pm.add_sample(made, event, pm.Sample(ip=1, pid=7, tid=7, time=2, period=3))
    return made.build()


@pytest.mark.parametrize("command", COMMANDS)
def test_helps_show_no_machinery(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An option that is hidden is not shown with argparse's mark for that."""
    assert main([command, "--help"]) == 0
    assert "SUPPRESS" not in capsys.readouterr().out


@pytest.mark.parametrize(("command", "option"), INSTEAD)
def test_options_that_are_something_else_here(command: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is unknown, and its hint is shown: none of the table's rows is out of date."""
    parser = importlib.import_module(f"probescope.cli.{command}").parser()
    assert option not in parser._option_string_actions
    assert main([command, option]) == 2
    assert INSTEAD[command, option][0] in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "script"])
def test_a_recording_without_its_option(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.data").write_bytes(b"PERFILE2")
    assert main([command, str(tmp_path / "x.data")]) == 2
    assert f"probescope {command} -i {tmp_path / 'x.data'}" in capsys.readouterr().err
    assert main([command, str(tmp_path / "y.data")]) == 2
    assert "-i" not in capsys.readouterr().err.replace("y.data", "")


def test_a_name_without_a_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "-o", "out"]) == 2
    assert "the name out does not say which format is wanted" in capsys.readouterr().err


def test_perfs_names_of_tracepoints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "sched:*"]) == 1
    assert "tracepoint:sched:sched_switch" in capsys.readouterr().err
    assert main(["run", "-d", "plan", "-e", "sched:sched_switch { }"]) == 1
    assert "a tracepoint is written tracepoint:sched:sched_switch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "as_perf"),
    [("tracepoint:sched:sched_switch", "sched:sched_switch"), ("software:page-faults:u", "page-faults:u")],
)
def test_events_as_programs_write_them(text: str, as_perf: str) -> None:
    (ours,), (perfs,) = parse_events(text), parse_events(as_perf)
    assert [(e.kind, e.group, e.name, e.modifiers, e.text) for e in ours.events] == [
        (e.kind, e.group, e.name, e.modifiers, e.text) for e in perfs.events
    ]


def test_probes_are_no_events(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "-e", "uprobe:/bin/bash:main", "--", "true"]) in {1, 2}
    assert "probescope run -e 'uprobe:... { ... }'" in capsys.readouterr().err


def test_kinds_of_stacks_are_no_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "-g", "dwarf", "--", "true"]) == 2
    assert "HINT: --call-graph dwarf\n" in capsys.readouterr().err


@pytest.mark.parametrize("word", PEERS)
def test_commands_of_peers(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert word not in COMMANDS
    assert main([word]) == 2
    assert f"HINT: {PEERS[word]}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["report", "-f"], "perf's -f is not needed"),
        (["script", "-f", "perf.data"], "perf's -f is not needed"),
        (["stat", "-e", "duration_time", "true"], "it is told without being asked for: seconds time elapsed"),
        (["list", "pmu"], "probescope stat -e 'PMU/TERM=VALUE/'"),
    ],
)
def test_what_means_something_else_here(
    words: list[str], hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "perf.data").write_bytes(raw_file())
    assert main(words) in {1, 2}
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize("words", [["-F", "-comm"], ["--fields", "-comm"], ["-F-comm"], ["--fields=-comm"]])
def test_columns_are_taken_away_as_perf_has_it(words: list[str]) -> None:
    """argparse takes what begins with a minus for an option."""
    assert script.parser().parse_args([*words, "-G"]).fields == ["-comm"]
    with pytest.raises(UsageError):
        script.parser().parse_args(["-F", "-G"])


def test_a_filter_by_what_was_not_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing would be on any CPU: the reason is told, and no empty answer given."""
    (tmp_path / "x.data").write_bytes(raw_file())
    for words in (["script"], ["report"], ["annotate"]):
        assert main([*words, "-i", str(tmp_path / "x.data"), "-C", "0"]) == 2
        assert "-C: no event was recorded with its CPU\nHINT: record --sample-cpu" in capsys.readouterr().err


@pytest.mark.parametrize("content", [raw_file(), b"\x7fELF\0\0", b"BEGIN { exit() }\0"])
def test_a_script_is_text(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recording in its place was read as a program for a minute, and ten thousand mistakes told."""
    (tmp_path / "x").write_bytes(content)
    assert main(["run", str(tmp_path / "x")]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"ERROR: {tmp_path / 'x'} is no text\n")
    assert (f"probescope run -i {tmp_path / 'x'} -e" in told) == (content[:4] == b"PERF")


@pytest.mark.parametrize("seconds", ["0", "-1", "x", "9" * 30])
def test_a_demo_of_no_length(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs that nobody wrote are not blamed for it."""
    assert main(["demo", "--no-load", "--seconds", seconds]) == 2
    assert f"--seconds wants a number up to 3600, not '{seconds}'" in capsys.readouterr().err


def test_the_same_letter_for_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-i of top, record and stat leaves out children."""
    (tmp_path / "x.data").write_bytes(raw_file())
    assert main(["top", str(tmp_path / "x.data")]) == 2
    assert "-i" not in capsys.readouterr().err
    assert main(["annotate", "-i", str(tmp_path / "x.data"), str(tmp_path / "x.data")]) == 2
    assert f"probescope annotate -i {tmp_path / 'x.data'}" in capsys.readouterr().err


def test_a_file_is_no_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trace.dat").write_bytes(b"")
    assert main([str(tmp_path / "trace.dat")]) == 2
    assert f"probescope script -i {tmp_path / 'trace.dat'}" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--filter", "prev_pid == 0"], ["-e", "page-faults", "--filter", "prev_pid == 0"]])
def test_a_filter_of_no_tracepoint(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", *words, "--", "true"]) == 2
    assert "a filter belongs to a tracepoint" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["probe", "-x", "/bin/ls", "main%return", "$retval"], "probescope probe 'main%return $retval'"),
        (["graph", "-x", "/bin/ls"], "probescope graph '*' -x /bin/ls -- /bin/ls"),
        (["query", "select count(*) from event", "perf.data"], "recordings come first: probescope query FILE 'SQL'"),
        (["query", "no.such.data", "select 1"], "probescope record -o FILE makes one"),
        (["span", "main", "-x", "/bin/ls", "-c", "ls"], "a command stands behind --: probescope span ... -- COMMAND"),
        (["probe", "-x", "/bin/ls", "main", "-c", "ls"], "a command stands behind --: probescope probe ... -- COMMAND"),
        (["hist", "sched:sched_switch", "-c", "ls"], "a command stands behind --: probescope hist ... -- COMMAND"),
        (["--verison"], "did you mean --version?"),
        (["-l"], "the command comes first: probescope run -l ..."),
    ],
)
def test_hints_that_say_what_was_meant(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) in {1, 2}
    assert f"{hint}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("ls: cannot access '/x': No such file or directory", "a message of a program: -x ls"),
        ("ENOENT", "who returns it: probescope whois --returns ENOENT"),
        ("Out of memory: Killed process", "-x PROGRAM or -p PID search programs"),
        ("nosuchprogram: failed", "-x PROGRAM or -p PID search programs"),
    ],
)
def test_who_may_have_said_it(message: str, hint: str) -> None:
    """Shells and programs put their names first."""
    assert _said_by(message) == [hint]


def test_a_trace_as_text_is_no_trace_dat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "trace.txt"
    text.write_text("# tracer: nop\n#\n            bash-1994    [000] d..2.  5281.568967: sched_waking: comm=a pid=1\n")
    assert main(["ftrace", "report", "-i", str(text)]) == 1
    assert f"HINT: probescope script -i {text} reads it\n" in capsys.readouterr().err


def test_a_recording_is_no_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.data").write_bytes(b"PERFILE2" + bytes(96))
    name = str(tmp_path / "x.data")
    assert main(["ask", name, "who", "waits"]) == 2
    assert f"HINT: probescope ask who waits -i {name}\n" in capsys.readouterr().err
    assert main(["ask", name]) == 2
    assert f"HINT: probescope ask -i {name}\n" in capsys.readouterr().err


def test_what_a_probe_could_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Memory that was not there is no lost event, and what to make of it is said."""
    printer = _Printer(Namespace(output=None, quiet=False, format="text", count=0, command=(), seconds=0.0), [])
    printer(Lost("read", 3, "Bad address", "it gave zero; kptr() and uptr()", "", "probe_read_user_str", -14))
    printer(Lost("events", 1234, "events that the buffers had no room for"))
    assert capsys.readouterr().err.splitlines() == [
        "WARNING: Bad address, 3 times",
        "HINT: it gave zero",
        "LOST: 1,234 events that the buffers had no room for",
    ]


@pytest.mark.parametrize(
    ("program", "words", "line"),
    [
        ("begin { exit(); }", ["sh", "-c", "exit"], "'sh -c exit'"),
        ("begin { print($1); }", ["sh"], ""),
        ("begin { print($#); }", ["sh"], ""),
        ('begin { print(getopt("x")); }', ["sh"], ""),
        ("begin { exit(); }", ["no_such_program"], ""),
        ("begin { exit(); }", [], ""),
    ],
)
def test_a_command_where_parameters_are(program: str, words: list[str], line: str) -> None:
    """Of others, what stands behind -- is run; here it would wait for ever for what nobody starts."""
    said = told(program, words)
    assert bool(said) == bool(line)
    assert not line or f"HINT: -c {line} starts a command" in said


@pytest.mark.parametrize("command", ["args", "span", "peel", "graph", "hist", "latency"])
def test_usages_have_the_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Once, also where the parser has written its usage before."""
    assert main([command, "--help"]) == 0
    usage = capsys.readouterr().out.partition("\n\n")[0]
    assert usage.count("[-- COMMAND]") == 1
    assert usage.endswith("[-- COMMAND]")
    assert max(map(len, usage.splitlines())) < 80
