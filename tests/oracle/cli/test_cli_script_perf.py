"""``probescope script`` beside ``perf script``: on recordings of others, by path, and on fresh ones."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.perf_lines import without_names

SAMPLES = Path(os.environ.get("PROBESCOPE_SAMPLES", "/nonexistent"))
OURS = (sys.executable, "-m", "probescope")
#: Samples whose text differs for a reason, and which lines are then compared.
DIFFERENT = {
    "lpd.sleep.compressed2.pipe.data": "the version of perf that made the expected text cannot read COMPRESSED2",
    "quipper.piped.intel_pt-4.14.data": "instruction traces are decoded there; here they are kept and counted",
    "user_events.data": "a plugin of perf's prints sched_switch in its own words",
}


def lines(*words: str) -> list[str]:
    done = subprocess.run([*words], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8", "replace").splitlines()


def samples() -> list[Path]:
    return sorted(p for p in (SAMPLES / "perfdata").glob("*.data") if p.name not in DIFFERENT)


def plain(line: str) -> str:
    """Without what depends on the machine that expected texts were made on, or where we know more: symbols found
    there; and the name of the vDSO, which perf leaves unknown."""
    return re.sub(r" \S+(\+0x[0-9a-f]+)? \((\[vdso\]|\[unknown\]|/[^)]*)\)", " ? (?)", line.rstrip())


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="PROBESCOPE_SAMPLES names no folder of recordings")
@pytest.mark.parametrize("path", samples() or [Path("none")], ids=lambda p: p.name)
def test_samples_of_others(path: Path) -> None:
    """Every event of files of many kernels, architectures and versions of perf: names, places, times, addresses."""
    text = gzip.decompress((SAMPLES / f"expected/{path.name}.script.txt.gz").read_bytes()).decode("utf-8", "replace")
    expected = [plain(x) for x in text.splitlines() if "PERF_RECORD_" not in x]
    assert [plain(x) for x in lines(*OURS, "script", "-i", str(path))] == expected


@pytest.fixture
def perf() -> str:
    found = shutil.which("perf")
    if found is None:
        pytest.skip("perf is not installed")
    return found


WORK = ("sh", "-c", "ls -lR /usr/lib/python3 /etc > /dev/null")


@pytest.mark.parametrize(
    "options",
    [
        ("-e", "cpu-clock", "-F", "999"),
        ("-e", "cpu-clock,page-faults", "-g"),
        ("-e", "task-clock", "-g", "-z"),
        ("-e", "raw_syscalls:sys_enter,syscalls:sys_enter_openat"),
        ("-e", "sched:sched_process_exec,sched:sched_process_fork", "-g"),
        ("-c", "1", "-e", "{page-faults,context-switches}", "-d"),
    ],
    ids=" ".join,
)
def test_fresh_recordings(perf: str, tmp_path: Path, options: tuple[str, ...]) -> None:
    path = str(tmp_path / "perf.data")
    subprocess.run(
        [perf, "record", "-q", "-o", path, *options, "--", *WORK], check=True, timeout=300, capture_output=True
    )
    ours, theirs = (lines(*tool, "script", "--no-inline", "-i", path) for tool in (OURS, (perf,)))
    assert len(theirs) > 5
    assert [without_names(x) for x in ours] == [without_names(x) for x in theirs]


def test_stacks_left_out(perf: str, tmp_path: Path) -> None:
    """``-G``: a line an event, with the place where it was."""
    path = str(tmp_path / "perf.data")
    record = [perf, "record", "-q", "-g", "-c", "1", "-e", "page-faults", "-o", path, "--", *WORK]
    subprocess.run(record, check=True, timeout=300, capture_output=True)
    ours, theirs = (lines(*tool, "script", "-G", "-i", path) for tool in (OURS, (perf,)))
    assert len(theirs) > 5
    assert [without_names(x) for x in ours] == [without_names(x) for x in theirs]


def test_changed_fields_are_those_of_each_kind(perf: str, tmp_path: Path) -> None:
    """``-F +pid`` of a file with samples and a tracepoint: each kind keeps what it prints by itself."""
    path = str(tmp_path / "perf.data")
    events = "page-faults,sched:sched_process_exec"
    record = [perf, "record", "-q", "-c", "1", "-e", events, "-o", path, "--", *WORK]
    subprocess.run(record, check=True, timeout=300, capture_output=True)
    ours, theirs = (lines(*tool, "script", "-i", path, "-F", "+pid") for tool in (OURS, (perf,)))
    assert any("sched_process_exec: filename=" in x for x in theirs)
    assert [without_names(x) for x in ours] == [without_names(x) for x in theirs]


SIDES = ("mmap", "task", "switch", "lost", "namespace", "bpf", "cgroup")


def test_what_happens_between_events_is_told(perf: str, tmp_path: Path) -> None:
    """Maps, threads and switches among the samples, each in perf's words and at its place. Perf's column of the thread
    is of whoever ran when the record was made, ours is of the thread that a NAMESPACES record is about."""
    path = str(tmp_path / "perf.data")
    command = [
        perf,
        "record",
        "-q",
        "-o",
        path,
        "--switch-events",
        "--namespaces",
        "-a",
        "-e",
        "cpu-clock",
        "--",
        *WORK,
    ]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    asked = [f"--show-{kind}-events" for kind in SIDES]
    ours, theirs = (lines(*tool, "script", "-F", "comm,tid,time", "-i", path, *asked) for tool in (OURS, (perf,)))
    told = [[re.sub(r"  +", " ", x) for x in text if "PERF_RECORD_" in x] for text in (ours, theirs)]
    assert {x.partition("PERF_RECORD_")[2][:4] for x in told[1]} >= {"MMAP", "COMM", "FORK", "EXIT", "SWIT", "NAME"}
    mine, peer = ([x.partition("PERF_RECORD_")[2].rstrip() for x in text] for text in told)
    assert mine == peer
    heads = [(a, b) for a, b in zip(*told, strict=True) if "NAMESPACES" not in a]
    assert [a.partition("PERF")[0] for a, _ in heads] == [b.partition("PERF")[0] for _, b in heads]
    samples_before = [
        i - n for text in (ours, theirs) for n, i in enumerate(j for j, x in enumerate(text) if "_FORK" in x)
    ]
    assert len(samples_before) % 2 == 0
    assert samples_before[: len(samples_before) // 2] == samples_before[len(samples_before) // 2 :]


def test_registers_are_printed_as_perf_does(perf: str, tmp_path: Path) -> None:
    path = str(tmp_path / "perf.data")
    asked = (
        ("--user-regs=ip,sp,ax,r8", "--intr-regs=ip,flags")
        if os.uname().machine == "x86_64"
        else ("--user-regs=sp,pc",)
    )
    command = [perf, "record", "-q", "-o", path, *asked, "-e", "cpu-clock", "--", *WORK]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    fields = "comm,time,event,ip,iregs,uregs" if len(asked) > 1 else "comm,time,event,ip,uregs"
    ours, theirs = (lines(*tool, "script", "-F", fields, "-i", path) for tool in (OURS, (perf,)))
    assert sum("SP:0x" in x or "sp:0x" in x for x in theirs) > 5
    assert [x.split() for x in ours] == [x.split() for x in theirs]


def test_functions_that_events_point_to(tmp_path: Path) -> None:
    """By the names of the kernel that runs: perf records none."""
    if shutil.which("perf") is None or os.geteuid():
        pytest.skip("needs perf and root")
    path = tmp_path / "perf.data"
    events = [w for e in ("kmem:kfree", "timer:hrtimer_expire_entry", "irq:softirq_entry") for w in ("-e", e)]
    subprocess.run(["perf", "record", "-q", "-a", "-o", str(path), *events, "ls", "-l", "/etc"],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    words = ("script", "-F", "tid,time,event,trace", "-i", str(path))
    mine, other = ([without_names(x).strip() for x in lines(*tool, *words)] for tool in (OURS, ("perf",)))
    assert any(re.search(r"call_site=\w+\+0x", line) for line in other)
    assert mine == other
