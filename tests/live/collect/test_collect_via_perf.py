"""The perf collector on this kernel: one process, its end, losses, registers, privileges."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from nobody import as_nobody

import probescope
from probescope.collect.recorder import live
from tests.support.collect_run import Waiting, environment, run
from tests.support.stream_work import NAME, PARENTS, words

LOOP = """
import os, sys
sys.stderr.write(f"ready {os.getpid()}\\n")
sys.stdin.readline()
for _ in range(%d): os.getppid()
"""
GETPPID = "tracepoint:syscalls:sys_enter_getppid"


def loop(count: int) -> Waiting:
    return Waiting(sys.executable, "-I", "-S", "-c", LOOP % count)


def test_one_process_is_watched_alone():
    """-p takes the events of that process, also while another does the same."""
    with loop(300) as mine, loop(500) as other:
        with probescope.run(f"{GETPPID} {{ @[pid] = count(); }}", via="perf", pid=mine.pid) as session:
            other.go()
            mine.go()
            session.wait(5.0)
        assert session.maps["@"] == {mine.pid: 300}


def test_exit_is_at_the_event_that_asks_for_it(tmp_path):
    """Not later, as where the kernel goes on counting until it hears of it."""
    program = f'{GETPPID} /comm == "{NAME}"/ {{ @ = count(); @n++; if (@n == 17) {{ exit(); }} }}'
    done = run(program, "--via", "perf", "-c", words(tmp_path))
    assert "@: 17" in done.lines
    assert PARENTS > 17


def test_what_is_lost_is_told(monkeypatch):
    """Seen and lost events are those that happened."""
    monkeypatch.setattr(live, "PAGES", 1)
    count = 100_000
    with loop(count) as work:
        with probescope.run(f"{GETPPID} {{ @ = count(); }}", via="perf", pid=work.pid) as session:
            work.go()
            session.wait(20.0)
        seen, lost = session.maps["@"], session.lost.get("lost", 0)
    assert lost > 0
    assert seen + lost == count


def test_intervals_go_on_beside_events(tmp_path):
    """They are fired by this machine's clock, and see what was counted until then."""
    program = f'{GETPPID} /comm == "{NAME}"/ {{ @ = count(); }} interval:ms:20 {{ @ticks = count(); }}'
    done = run(program, "--via", "perf", "-c", words(tmp_path))
    assert f"@: {PARENTS}" in done.lines
    assert any(line.startswith("@ticks: ") for line in done.lines)


def test_arguments_and_results_of_functions(tmp_path):
    """From the registers of the sample: the C library's lseek and what it gives."""
    maps = Path("/proc/self/maps").read_text(encoding="ascii").splitlines()
    libc = next(line.split()[-1] for line in maps if "/libc.so.6" in line)
    where = f'/comm == "{NAME}" && arg2 <= 2/'
    program = f"uprobe:{libc}:lseek64 {where} {{ @[arg2] = count(); @s = sum(arg1); }}"
    by_perf, by_bpf = (run(program, "--via", via, "-c", words(tmp_path)) for via in ("perf", "bpf"))
    assert by_perf.lines == by_bpf.lines
    assert sum("@[" in line for line in by_perf.lines) == 3


def test_what_the_kernel_filters_is_what_the_program_accepts(tmp_path):
    """The same count with the predicate where filters cannot say it."""
    said = f'{GETPPID} /comm == "{NAME}"/ {{ @ = count(); }}'
    unsaid = f'{GETPPID} /strncmp(comm, "{NAME}", 16) == 0/ {{ @ = count(); }}'
    assert [run(p, "--via", "perf", "-c", words(tmp_path)).lines for p in (said, unsaid)] == [["", f"@: {PARENTS}"]] * 2


def test_without_privileges_it_says_what_to_do():
    """No traceback, and a hint that can be followed."""
    line = [*as_nobody(), "run", "--via", "perf", "-e", f"{GETPPID} {{ @ = count(); }}"]
    done = subprocess.run(line, capture_output=True, text=True, env=environment(), timeout=300, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "ERROR" in done.stderr
    assert "HINT" in done.stderr


@pytest.mark.parametrize("words_", [["--follow"], ["--test"]])
def test_what_is_done_in_the_kernel_alone_is_refused_or_done_there(words_):
    done = run("test:a { return 0; } " + f"{GETPPID} {{ @ = count(); }}", "--via", "perf", *words_)
    assert "Traceback" not in done.err
    assert ("--follow is done by programs in the kernel" in done.err) == (words_ == ["--follow"])
