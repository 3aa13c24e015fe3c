"""What the command prints, where to, and what it answers with."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from collect_programs import work
from collect_run import COMMAND, Running, Waiting, command, environment, run

GETPPID = "tracepoint:syscalls:sys_enter_getppid /pid == cpid/"


def documents(text: str) -> list[dict[str, object]]:
    """Each line is one JSON document."""
    return [json.loads(line) for line in text.splitlines()]


def test_collect_json_documents() -> None:
    """-f json: every line a document, with the types and shapes that bpftrace's users parse; texts on stderr none."""
    done = run(
        'BEGIN { printf("hi %d\\n", 5); @a = 3; @m[1, "x"] = 4; @c = count(); @h = hist(5); '
        '@l = lhist(15, 0, 100, 10); @v = avg(7); @s = stats(9); print((1, "t")); print(@m); time("t\\n"); exit(); }',
        "-f",
        "json",
    )
    docs = documents(done.out)
    assert docs[0]["type"] == "attached_probes"
    assert docs[0]["data"] == {"probes": 1}
    assert docs[1:5] == [
        {"type": "printf", "data": "hi 5\n"},
        {"type": "value", "data": [1, "t"]},
        {"type": "map", "data": {"@m": {"1,x": 4}}},
        {"type": "time", "data": "t\n"},
    ]
    assert docs[5:] == [
        {"type": "map", "data": {"@a": 3}},
        {"type": "map", "data": {"@c": 1}},
        {"type": "hist", "data": {"@h": [{"min": 4, "max": 7, "count": 1}]}},
        {"type": "hist", "data": {"@l": [{"min": 10, "max": 19, "count": 1}]}},
        {"type": "map", "data": {"@m": {"1,x": 4}}},
        {"type": "stats", "data": {"@s": {"count": 1, "average": 9, "total": 9}}},
        {"type": "stats", "data": {"@v": 7}},
    ]
    assert done.err == ""


def test_collect_json_survives_bytes_that_are_no_text() -> None:
    """Bytes that are not UTF-8, quotes and control characters come out as valid JSON."""
    done = run(
        f'uprobe:{work()}:text {{ printf("%s \\"q\\" \\t %r\\n", str(arg0), buf(arg0, 3)); }}',
        "-f",
        "json",
        "-c",
        f"{work()} text 1",
    )
    assert documents(done.out)[1] == {"type": "printf", "data": 'alpha "q" \t alp\n'}


def test_collect_quiet_and_where_things_go() -> None:
    """What the program prints is on stdout, what the tool says on stderr, with -q not at all."""
    loud = run('BEGIN { printf("x\\n"); exit(); }')
    assert (loud.out, loud.err) == ("x\n", "Attached 1 probe\n")
    quiet = run('BEGIN { printf("x\\n"); exit(); }', "-q")
    assert (quiet.out, quiet.err) == ("x\n", "")


def test_collect_errors_out_of_macros_tell_who_called_them() -> None:
    """bpftrace 0.26 says `expanded from`, with the line marked, once for each macro around it (src/output/text.cpp).
    Each error is a line of its own."""
    program = 'macro a() { errorf("bad"); } macro b() { a(); warnf("and"); } begin { b(); exit(); }'
    assert run(program, "-q").err == (
        f"stdin:1:13-26: ERROR: bad\n"
        f"stdin:1:42-45: ERROR: expanded from\n{program}\n{' ' * 41}~~~\n"
        f"stdin:1:71-74: ERROR: expanded from\n{program}\n{' ' * 70}~~~\n"
        f"stdin:1:47-59: WARNING: and\n"
        f"stdin:1:71-74: WARNING: expanded from\n{program}\n{' ' * 70}~~~\n"
    )


def test_collect_errorf_and_warnf_go_to_stderr() -> None:
    """``errorf`` and ``warnf`` keep out of the data."""
    done = run('BEGIN { printf("data\\n"); errorf("bad %d", 1); warnf("hm"); exit(); }', "-q")
    assert done.out == "data\n"
    assert "ERROR: bad 1" in done.err
    assert "WARNING: hm" in done.err


def test_collect_output_file(tmp_path: Path) -> None:
    """-o: the data go to the file, which is emptied first."""
    path = tmp_path / "out"
    path.write_text("older and longer content\n")
    done = run('BEGIN { printf("x\\n"); @a = 1; exit(); }', "-o", str(path))
    assert done.out == ""
    assert path.read_text() == "x\n\n@a: 1\n"


def test_collect_output_that_cannot_be_written() -> None:
    """A full disk, a folder that is not there: an error that says so, exit code 1, no traceback."""
    full = run('BEGIN { printf("x\\n"); exit(); }', "-o", "/dev/full")
    assert full.code == 1
    assert full.said == "ERROR: cannot write the output: No space left on device"
    nowhere = run("BEGIN { exit(); }", "-o", "/no/such/folder/x")
    assert nowhere.code == 2
    assert "/no/such/folder/x" in nowhere.err


@pytest.mark.parametrize("mode", ["line", "full", "none"])
def test_collect_buffering(mode: str) -> None:
    """``line`` and ``none`` show a line while the session runs; ``full`` holds it back until the end. Nothing is lost
    or put out of order by any of them."""
    program = f'{GETPPID.replace("cpid", "$1")} {{ printf("%d\\n", @n); @n++; }} END {{ clear(@n); }}'
    with Waiting(work(), "getppid", "3", stay=True) as target, Running(program, "-B", mode, str(target.pid)) as session:
        target.go()
        if mode == "full":
            early = session.out.text
            done = session.stop()
            assert early == ""
        else:
            assert session.out.until(re.compile("2\n"))
            done = session.stop()
        assert done.lines == ["0", "1", "2"]


def test_collect_positional_parameters() -> None:
    """$1, $2... and $#: numbers as numbers, texts through str(); those that are missing are 0 and empty."""
    done = run('BEGIN { printf("%d %s %d|%s|%d\\n", $1, str($2), $#, str($9), $8); exit(); }', "-q", "12", "a b")
    assert done.out == "12 a b 2||0\n"


def test_collect_script_file_and_stdin(tmp_path: Path) -> None:
    """A script from a file with its parameters behind it, with a #! line, and from standard input."""
    script = tmp_path / "x.bt"
    script.write_text('#!/usr/bin/env bpftrace\nBEGIN { printf("%s\\n", str($1)); exit(); }\n')
    assert command(["-q", str(script), "word"]).out == "word\n"
    assert command(["-q", "-", "word"], stdin=script.read_text()).out == "word\n"


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("BEGIN { exit(); }", 0),
        ("BEGIN { exit(7); }", 7),
        ("interval:ms:1 { exit(3); }", 3),
        ("BEGIN { nonsense(); }", 1),
        ("BEGIN {", 1),
        ("tracepoint:no:such { exit(); }", 1),
    ],
)
def test_collect_exit_codes(program: str, code: int) -> None:
    """What the program asks for; 1 for a script that cannot run."""
    assert run(program).code == code


def test_collect_exit_code_of_the_child_is_not_ours() -> None:
    """-c: the session ends when the command ends, whatever it answers with."""
    done = run("BEGIN { @a = 1; }", "-c", f"{work()} getppid 1 5")
    assert done.code == 0


def test_collect_child_is_traced_from_its_first_instruction() -> None:
    """-c: probes are in place before the command's exec; cpid is its process id."""
    done = run("tracepoint:sched:sched_process_exec /pid == cpid/ { @[comm] = count(); }", "-c", f"{work()} getppid 1")
    assert "@[work]: 1" in done.lines


def test_collect_child_is_ended_with_the_session() -> None:
    """exit() ends the command of -c as well: nothing keeps running."""
    start = time.monotonic()
    done = run('interval:ms:100 { printf("%d\\n", cpid); exit(); }', "-q", "-c", "sleep 100")
    assert time.monotonic() - start < 50
    assert not Path(f"/proc/{done.out.strip()}").exists()


def test_collect_child_that_cannot_run() -> None:
    """-c with a program that is not there: an error that names it, before anything is attached."""
    done = run("BEGIN { }", "-c", "/no/such/program 1")
    assert done.code == 2
    assert "/no/such/program" in done.err
    assert "Attached" not in done.err


def test_collect_process_that_is_not_there() -> None:
    """-p with a process id that nobody has."""
    done = run("interval:s:1 { }", "-p", str((1 << 22) - 2))
    assert done.code == 2
    assert "there is no process" in done.err


def test_collect_actions_in_user_space(tmp_path: Path) -> None:
    """join, cat, time, strftime, system: each prints what a person would see who did it by hand."""
    words = tmp_path / "words"
    words.write_text("from a file\n")
    done = run(
        f'BEGIN {{ cat("{words}"); cat("/no/such/%d", 7); system("echo %d from a shell", 5); time("%Y\\n"); '
        'printf("%s\\n", strftime("%Y", nsecs)); exit(); }',
        "-q",
        "--unsafe",
    )
    year = time.strftime("%Y", time.gmtime())
    assert done.lines[0] == "from a file"
    assert "/no/such/7" in done.err
    assert done.lines[1:] == ["5 from a shell", year, year]


def test_collect_system_needs_unsafe() -> None:
    """Without --unsafe a script cannot start commands: it is refused as a whole."""
    done = run('BEGIN { printf("x"); system("touch /no/such"); exit(); }')
    assert done.code == 1
    assert "--unsafe" in done.err
    assert done.out == ""


def test_collect_cat_is_bounded() -> None:
    """``max_cat_bytes`` limits what cat() prints of an endless file."""
    done = run('config = { max_cat_bytes = 10 } BEGIN { cat("/dev/zero"); exit(); }', "-q")
    assert done.out == "\0" * 10


def test_collect_print_clear_zero() -> None:
    """print shows a map as it is at that moment, clear empties it, zero keeps its keys; the end prints what is left."""
    done = run(
        "BEGIN { @a[1] = 5; @a[2] = 3; print(@a); clear(@a); print(@a); @a[7] = 1; "
        "@b[1] = 2; zero(@b); print(@b); exit(); }",
        "-q",
    )
    assert [line for line in done.lines if line] == ["@a[2]: 3", "@a[1]: 5", "@b[1]: 0", "@a[7]: 1", "@b[1]: 0"]


def test_collect_print_and_clear() -> None:
    """What is printed and cleared again and again: each print has what happened since the last one, none lost or
    doubled. The program is asked by a system call of this test, which goes on when it was answered."""
    program = (
        f"{GETPPID.replace('cpid', '$1')} {{ @n = count(); }} "
        'tracepoint:syscalls:sys_enter_getpgid /pid == $1/ { print(@n); clear(@n); printf("cleared\\n"); }'
    )
    asked = [700 + i for i in range(20)]
    with Running(program, str(os.getpid())) as session:
        for i, calls in enumerate(asked, start=1):
            for _ in range(calls):
                os.getppid()
            os.getpgid(0)
            assert session.out.until(re.compile(rf"(cleared\n[^c]*){{{i}}}"))
        done = session.stop()
    assert [int(line.split(": ")[1]) for line in done.lines if line.startswith("@n")] == asked


def test_collect_dry_run() -> None:
    """--dry-run attaches and leaves: nothing is printed, not even by BEGIN, and no command is started."""
    done = run('BEGIN { printf("x\\n"); } tracepoint:syscalls:sys_enter_getppid { @ = count(); }', "--dry-run")
    assert (done.out, done.code) == ("", 0)
    assert "Attached 2 probes" in done.err


def test_collect_no_maps_at_exit() -> None:
    """``print_maps_on_exit = false``."""
    assert run("config = { print_maps_on_exit = false } BEGIN { @a = 1; exit(); }", "-q").out == ""


def test_collect_notifies_harnesses() -> None:
    """Harnesses of bpftrace scripts ask by an environment variable for a line when probes are attached."""
    done = run("interval:ms:1 { exit(); }", "-q", env={"__BPFTRACE_NOTIFY_PROBES_ATTACHED": "1"})
    assert done.lines[0] == "__BPFTRACE_NOTIFY_PROBES_ATTACHED"


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_collect_closed_streams(closed: int) -> None:
    """A standard stream that was closed by the caller is no trouble, and no descriptor of ours takes its place."""
    shell = " ".join([*COMMAND, "-e", "'BEGIN { printf(\"x\\n\"); @a[1] = 2; exit(6); }'", f"{closed}>&-"])
    args = ["sh", "-c", shell]
    done = subprocess.run(args, capture_output=True, text=True, env=environment(), timeout=300, check=False)
    assert done.returncode == 6
    assert done.stdout == ("" if closed == 1 else "x\n\n@a[1]: 2\n")
    assert done.stderr == ("" if closed == 2 else "Attached 1 probe\n")
