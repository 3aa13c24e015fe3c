"""One program, four collectors: in the kernel by BPF, on samples of perf, on records of ftrace, and on a recording of
perf's afterwards. The same work gives the same counts, sums, histograms, texts and stacks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.collect_run import command, environment
from tests.support.stream_work import NAME, OFFSETS, PARENTS, SLEEPS, SPAWNS, WHENCES, words
from tests.support.stream_work import command as work

LSEEK = f'tracepoint:syscalls:sys_enter_lseek /comm == "{NAME}"/'
EVENTS = (
    "syscalls:sys_enter_lseek",
    "syscalls:sys_enter_getppid",
    "syscalls:sys_enter_clock_nanosleep",
    "syscalls:sys_exit_clock_nanosleep",
    "sched:sched_process_exec",
    "sched:sched_process_fork",
)

PROGRAMS = {
    "a string for a key": f'tracepoint:syscalls:sys_enter_getppid /comm == "{NAME}"/ {{ @[comm] = count(); }}',
    "tuples for keys": f"{LSEEK} {{ @[comm, args.whence, args.offset > 500] = count(); }}",
    "histograms": f"{LSEEK} {{ @h = hist(args.offset); @l = lhist(args.offset, 0, 1000, 100); }}",
    "numbers": f"{LSEEK} {{ @s = stats(args.offset); @sum = sum(args.offset); @a = avg(args.offset);"
    " @lo = min(args.offset); @hi = max(args.offset); }",
    "a predicate of fields": f'tracepoint:syscalls:sys_enter_lseek /args.offset > 500 && comm == "{NAME}"/'
    " { @ = count(); @w[args.whence] = sum(args.offset); }",
    "variables and branches": f"{LSEEK} {{ $x = args.offset / 100;"
    " if ($x % 2 == 0) { @even++; } else { @odd += $x; } if ($x == 3) { return; } @rest = count(); }",
    "latencies": f'tracepoint:syscalls:sys_enter_clock_nanosleep /comm == "{NAME}"/ {{ @start[tid] = nsecs; }}'
    " tracepoint:syscalls:sys_exit_clock_nanosleep /@start[tid]/ {"
    " @slept[nsecs - @start[tid] >= 2000000, nsecs - @start[tid] < 2000000000] = count(); delete(@start, tid); }",
    "texts elsewhere in the record": 'tracepoint:sched:sched_process_exec /args.filename == "/bin/true"/'
    " { @[args.filename, args.pid == tid] = count(); }",
    "texts in the record": "tracepoint:sched:sched_process_fork { @[args.parent_comm] = count(); }"
    ' end { delete(@, "nobody"); }',
    "lines until exit": f'{LSEEK} {{ printf("%d %d\\n", args.offset, args.whence);'
    " if (args.offset == 700) { exit(); } }",
    "several clauses on one event": f"{LSEEK} {{ @a = count(); }} {LSEEK} {{ @b[args.whence] = count(); }}"
    f' tracepoint:syscalls:sys_enter_lseek /comm == "{NAME}" && args.whence == 1/ {{ @c = count(); }}',
}
# perf's own clock is each CPU's: where they drift apart, a sleep that ends elsewhere may look too short
CLOCK = ("-k", "CLOCK_MONOTONIC")
STACKS = (
    f'tracepoint:sched:sched_process_fork /comm == "{NAME}"/ {{ @[kstack(3)] = count(); @deep[kstack] = count(); }}'
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("three-ways")


def recorded(folder, *options):
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    path = folder / f"work{len(options)}.data"
    if not path.exists():
        events = [word for e in EVENTS for word in ("-e", e)]
        line = ["perf", "record", "-q", *CLOCK, *options, *events, "-o", str(path), "--", *work(folder)]
        subprocess.run(line, check=True, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def said(program: str, *args: str) -> tuple[dict[str, object], list[str]]:
    """Maps by name, and lines that were printed."""
    done = command([*args, "-f", "json", "-e", program])
    assert done.code == 0, done.err
    assert "lost" not in done.err
    maps: dict[str, object] = {}
    lines: list[str] = []
    for text in done.lines:
        found = json.loads(text)
        if found["type"] in ("map", "hist", "stats"):
            maps |= found["data"]
        elif found["type"] == "printf":
            lines.append(found["data"])
    return maps, lines


def ways(program: str, folder: Path, *options: str) -> dict[str, tuple[dict[str, object], list[str]]]:
    path = recorded(folder, *options)
    return {
        "bpf": said(program, "-c", words(folder)),
        "perf": said(program, "--via", "perf", "-c", words(folder)),
        "ftrace": said(program, "--via", "ftrace", "-c", words(folder)) if "kstack" not in program else ({}, []),
        "replay": said(program, "-i", str(path)),
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_program_four_collectors(name, folder):
    """The one idea: what a program answers does not depend on who collects."""
    found = ways(PROGRAMS[name], folder)
    if name == "texts in the record":  # others fork too while it is watched live
        for maps, _ in found.values():
            maps["@"] = {k: v for k, v in maps["@"].items() if k == NAME}
    assert found["perf"] == found["bpf"]
    assert found["ftrace"] == found["bpf"]
    assert found["replay"] == found["bpf"]
    assert found["bpf"][0] or found["bpf"][1], "it answered nothing"


def test_a_recording_of_our_own(folder):
    """What probescope record writes is answered as what perf record writes."""
    path = folder / "own.data"
    events = [word for e in EVENTS for word in ("-e", e)]
    line = [sys.executable, "-m", "probescope", "record", *CLOCK, *events, "-o", str(path), "--", *work(folder)]
    done = subprocess.run(line, check=False, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in ("tuples for keys", "numbers", "latencies", "lines until exit", "texts elsewhere in the record"):
        program = PROGRAMS[name]
        assert said(program, "-i", str(path)) == said(program, "-i", str(recorded(folder)))


def test_the_answers_are_the_works_own(folder):
    """Worked out from the work itself: three equal answers could be wrong all the same."""
    maps, _ = said(PROGRAMS["numbers"], "--via", "perf", "-c", words(folder))
    assert (maps["@sum"], maps["@lo"], maps["@hi"]) == (sum(OFFSETS), min(OFFSETS), max(OFFSETS))
    maps, _ = said(PROGRAMS["a string for a key"], "--via", "perf", "-c", words(folder))
    assert maps["@"] == {NAME: PARENTS}
    maps, _ = said(PROGRAMS["tuples for keys"], "--via", "perf", "-c", words(folder))
    wanted = {}
    for offset, whence in zip(OFFSETS, WHENCES, strict=True):
        key = f"{NAME},{whence},{'true' if offset > 500 else 'false'}"
        wanted[key] = wanted.get(key, 0) + 1
    assert sorted(maps["@"].values()) == sorted(wanted.values())
    maps, _ = said(PROGRAMS["texts in the record"], "--via", "perf", "-c", words(folder))
    assert maps["@"][NAME] >= SPAWNS
    maps, _ = said(PROGRAMS["latencies"], "--via", "perf", "-c", words(folder))
    assert sum(maps["@slept"].values()) == SLEEPS


def test_kernel_stacks_are_the_same(folder):
    """Innermost frames, and whole stacks, name by name."""
    found = ways(STACKS, folder, "-g")
    assert found["perf"] == found["bpf"]
    assert found["replay"] == found["bpf"]
