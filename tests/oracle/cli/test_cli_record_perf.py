"""``probescope record`` beside perf: what we write is read by perf as we read it ourselves; what perf shows of it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.perf_lines import without_names

pytestmark = pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
OURS = (sys.executable, "-m", "probescope")
#: The shell itself counts, so that there are some samples, however few files there are.
COUNT = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
WORK = ("sh", "-c", f"{COUNT}; exec ls -lR /usr/lib/python3 /etc > /dev/null")
NAMES = ("sh", "ls")


def lines(*words: str) -> list[str]:
    done = subprocess.run([*words], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8", "replace").splitlines()


def piped(path: Path, *words: str) -> list[str]:
    with path.open("rb") as data:
        done = subprocess.run([*words], stdin=data, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8", "replace").splitlines()


def recorded(path: Path, *args: str, tool: tuple[str, ...] = OURS) -> str:
    """What it said."""
    command = [*tool, "record", "-o", str(path), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def shape(line: str) -> str:
    return without_names(line)


def same(ours: list[str], theirs: list[str]) -> None:
    """Line by line. A thread that is ending is sampled after its end was told: newer versions of perf, and we, have
    forgotten its name then, older ones have not. Files of other programs on this machine may go between two looks."""
    assert len(ours) == len(theirs)
    for mine, perfs in zip(map(shape, ours), map(shape, theirs), strict=True):
        nameless = re.fullmatch(r" ?:\d+ (\d+ .*)", mine)
        alike = mine == perfs or (nameless is not None and perfs.endswith(f" {nameless[1]}"))
        assert alike or (mine.split()[0] not in NAMES and unnamed(mine) == unnamed(perfs))


def unnamed(line: str) -> str:
    return re.sub(r" (\[unknown\]|\?\+0x[0-9a-f]+) \(", " (", line)


OPTIONS = [
    ("-e", "cpu-clock", "-F", "999"),
    ("-g",),
    ("-e", "cpu-clock,page-faults", "-g"),
    ("-e", "task-clock", "-g", "-z"),
    ("-e", "raw_syscalls:sys_enter,syscalls:sys_enter_openat"),
    ("-e", "raw_syscalls:sys_enter", "--filter", "id == 257"),
    ("-e", "sched:sched_process_exec,sched:sched_process_fork", "-g", "-a"),
    ("-c", "1", "-e", "{page-faults,context-switches}", "-d"),
    ("-e", "{cpu-clock,page-faults}:S"),
    ("-a", "-e", "{cpu-clock,page-faults}", "-z9"),
    ("-e", "cpu-clock", "-k", "monotonic", "-P", "--sample-cpu"),
    ("-e", "sched:*", "-C", "0"),
    ("-e", "cpu-clock", "--no-inherit", "-s"),
    ("-e", "cpu-clock", "--switch-events", "--namespaces", "--all-cgroups"),
    ("-e", "cpu-clock", "--overwrite"),
    ("-e", "page-faults", "-c", "1", "--tail-synthesize", "-D", "1"),
    ("-e", "cpu-clock", "--per-thread"),
    ("-e", "cpu-clock", "-g", "--kernel-callchains"),
    ("-e", "cpu-clock:u", "-B", "-T", "-R"),
]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_perf_reads_what_we_record(tmp_path: Path, options: tuple[str, ...]) -> None:
    """perf script's lines of our file are our own, one by one."""
    path = tmp_path / "perf.data"
    recorded(path, *options, "--", *WORK)
    ours, theirs = (lines(*tool, "script", "--no-inline", "-i", str(path)) for tool in (OURS, ("perf",)))
    assert len(theirs) > 5
    same(ours, theirs)


def test_into_a_pipe_without_a_word() -> None:
    """``record ls | perf script -i -``: what the command prints does not go among it."""
    with subprocess.Popen(
        [*OURS, "record", "-e", "page-faults", "-c", "1", "--", "ls", "/"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as one:
        read = subprocess.run(
            ["perf", "script", "-i", "-"], stdin=one.stdout, capture_output=True, timeout=300, check=False
        )
        assert one.stderr is not None
        said = one.stderr.read().decode()
    assert read.stdout.decode().count("page-faults:") > 20
    assert "\nusr\n" in said
    assert "to standard output" in said


@pytest.mark.parametrize("compressed", [(), ("-z",)], ids=["plain", "zstd"])
def test_perf_reads_our_pipe(tmp_path: Path, compressed: tuple[str, ...]) -> None:
    """``-o -``: into perf's standard input, and ours."""
    path = tmp_path / "pipe.data"
    events = ("-e", "cpu-clock,raw_syscalls:sys_enter")
    with path.open("wb") as out:
        done = subprocess.run(
            [*OURS, "record", *events, *compressed, "-o", "-", "--", *WORK],
            stdout=out,
            stderr=subprocess.PIPE,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    theirs, ours = (piped(path, *tool, "script", "-i", "-") for tool in (("perf",), OURS))
    assert len(theirs) > 100
    same(ours, theirs)


def test_dwarf_stacks(tmp_path: Path) -> None:
    """perf unwinds the user stacks that we dumped: to a function of the program, and its caller."""
    source, program, path = tmp_path / "deep.c", tmp_path / "deep", tmp_path / "perf.data"
    source.write_text(
        "#define APART __attribute__((noinline))\nstatic volatile long n;\n"
        "APART void inner(void) { for (long i = 0; i < 300000000; i++) n++; }\n"
        "APART void outer(void) { inner(); n = 0; }\nint main(void) { outer(); return 0; }\n"
    )
    subprocess.run(["gcc", "-O1", "-fomit-frame-pointer", "-o", str(program), str(source)], check=True)
    recorded(path, "-e", "cpu-clock", "--call-graph", "dwarf,4096", "-F", "199", "--", str(program))
    names = [
        x.split()[1].partition("+")[0] for x in lines("perf", "script", "--no-inline", "-i", str(path)) if x[:1] == "\t"
    ]
    at = names.index("inner")
    assert names[at : at + 3] == ["inner", "outer", "main"]


def build_ids(path: Path) -> dict[str, str]:
    pairs = (line.split(" ", 1) for line in lines("perf", "buildid-list", "-i", str(path)))
    return {name: number for number, name in pairs}


def test_build_ids(tmp_path: Path) -> None:
    """Those of perf for the same work, where both were hit; and readelf's."""
    ours, theirs = tmp_path / "ours.data", tmp_path / "theirs.data"
    recorded(ours, "-g", "-F", "20000", "--", *WORK)
    recorded(theirs, "-g", "-F", "20000", "--", *WORK, tool=("perf",))
    mine, perfs = build_ids(ours), build_ids(theirs)
    assert {"[kernel.kallsyms]", os.path.realpath("/bin/ls")} <= mine.keys()
    assert {k: v for k, v in mine.items() if k in perfs} == {k: v for k, v in perfs.items() if k in mine}


def test_header(tmp_path: Path) -> None:
    """perf report --header-only of both, but for what has to differ."""
    ours, theirs = tmp_path / "ours.data", tmp_path / "theirs.data"
    events = ("-e", "{cpu-clock,page-faults},raw_syscalls:sys_enter", "-a")
    recorded(ours, *events, "--", "sleep", "0.01")
    recorded(theirs, *events, "--", "sleep", "0.01", tool=("perf",))
    alike = r"# (hostname|os release|arch|nrcpus|cpudesc|cpuid|total memory|pmu mappings|group)"

    def told(path: Path) -> list[str]:
        found = [x for x in lines("perf", "report", "--header-only", "-i", str(path)) if re.match(alike, x)]
        return [", ".join(sorted(x.split(": ")[1].split(", "))) if "pmu map" in x else x for x in found]

    assert told(ours) == told(theirs)
    assert len(told(ours)) == 10


def test_report(tmp_path: Path) -> None:
    """perf report sums up our recording: the program's only busy function, and no lost samples."""
    source, program, path = tmp_path / "busy.c", tmp_path / "busy", tmp_path / "perf.data"
    source.write_text("volatile long n; int main(void) { for (long i = 0; i < 300000000; i++) n++; return 3; }\n")
    subprocess.run(["gcc", "-O1", "-o", str(program), str(source)], check=True)
    command = [*OURS, "record", "-o", str(path), "-e", "cpu-clock:u", "--", str(program)]
    assert subprocess.run(command, capture_output=True, timeout=300, check=False).returncode == 3
    text = lines("perf", "report", "--stdio", "-i", str(path), "-s", "comm,sym")
    rows = [x.split() for x in text if "%" in x]
    assert rows[0][1:] == ["busy", "[.]", "main"]
    assert float(rows[0][0].rstrip("%")) > 90


def test_closing_lines(tmp_path: Path) -> None:
    """The same two lines as perf's, with our name."""
    said = [
        re.sub(r"\d[\d.]*|/\S+|(perf|probescope) record", "N", x)
        for tool in (OURS, ("perf",))
        for x in recorded(tmp_path / "x.data", "-e", "page-faults", "--", "true", tool=tool).splitlines()
    ]
    assert said[:2] == said[2:]


def test_bpf_programs_that_were_there_before(tmp_path: Path) -> None:
    """Their names and ids as perf writes them, with the functions of one program that calls another; and nothing of
    them where they are not wanted."""
    script = 'tracepoint:sched:sched_wakeup { for ($i : 0..3) { @[$i] = count() } } begin { printf("there\\n") }'
    with subprocess.Popen([*OURS, "run", "-e", script], stdout=subprocess.PIPE) as loaded:
        try:
            assert loaded.stdout is not None
            assert loaded.stdout.readline().strip()
            found = []
            for tool in (("perf", "record"), (*OURS, "record"), (*OURS, "record", "--no-bpf-event")):
                path = tmp_path / f"{len(found)}.data"
                recorded = subprocess.run(
                    [*tool, "-q", "-o", str(path), "-a", "-e", "cpu-clock", "true"], capture_output=True, check=False
                )
                assert recorded.returncode == 0, recorded.stderr
                told = lines("perf", "script", "-i", str(path), "--show-bpf-events")
                found.append(
                    [line.partition("PERF_RECORD_")[2] for line in told if re.search("KSYMBOL|BPF_EVENT", line)]
                )
        finally:
            loaded.send_signal(signal.SIGINT)
    assert any("sched_wakeup" in line for line in found[0])
    assert found[1] == found[0]
    assert found[2] == []
