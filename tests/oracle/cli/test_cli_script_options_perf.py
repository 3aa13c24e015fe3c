"""``script`` beside perf script: options that choose events, shorten stacks and change columns."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.perf_lines import without_names

pytestmark = [
    pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]
OURS = (sys.executable, "-m", "probescope")
WORK = ("sh", "-c", "for i in 1 2 3; do ls -lR /usr/lib/python3 /etc > /dev/null; sleep 0.01; done")
SWITCH, CLOCK = "sched:sched_switch", "cpu-clock"
ENTRY = "{entry}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("options") / "perf.data"
    command = ["perf", "record", "-q", "-g", "--code-page-size", "--weight"]
    command += ["-e", f"{CLOCK},{SWITCH}", "-o", str(path), "--", *WORK]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"perf cannot record that here: {done.stderr.decode()[-200:]}")
    return path


@pytest.fixture(scope="module")
def entry(recorded: Path) -> str:
    """The function in which sched_switch was, by perf: another one where more than one program listens to it."""
    command = ["perf", "script", "-i", str(recorded), "-F", "event,ip,sym", "-G"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found = re.search(rf"{SWITCH}: +[0-9a-f]+ ([\w.]+)", done.stdout)
    assert found is not None
    return found[1]


def said(tool: tuple[str, ...], path: Path, *words: str) -> list[str]:
    command = [*tool, "script", "--no-inline", "-i", str(path), *words]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return [shape(x) for x in done.stdout.decode("utf-8", "replace").splitlines()]


def shape(line: str) -> str:
    """Without names of threads that have ended."""
    line = without_names(line)
    return re.sub(r" +", " ", re.sub(r"^ *\S* +(?=\d)", "", line))


@pytest.mark.parametrize(
    "options",
    [
        ("-G",),
        ("--ns", "--deltatime", "-G", "-F", "tid,time,event"),
        ("-L",),
        ("-L", "-G"),
        ("-S", ENTRY, "-G"),
        ("-S", "no_such_function,clear_page_erms,finish_task_switch.isra.0"),
        ("--dsos", "libc.so.6", "-G"),
        ("--dsos", "[kernel.kallsyms]"),
        ("--stop-bt", "do_syscall_64,__schedule"),
        ("--switch-on", SWITCH, "-G"),
        ("--switch-on", SWITCH, "--switch-off", CLOCK, "--show-on-off-events", "-G"),
        ("-F", "+misc,+weight", "-G"),
        ("-F", "tid,event,code_page_size,ins_lat", "-G"),
        ("-d",),
        ("--reltime", "--comms", "ls", "-G"),
        ("--reltime", "--ns", "--show-mmap-events", "-G", "-F", "tid,time,event"),
    ],
    ids=" ".join,
)
def test_the_same_lines(recorded: Path, entry: str, options: tuple[str, ...]) -> None:
    options = tuple(entry if word == ENTRY else word for word in options)
    ours, theirs = said(OURS, recorded, *options), said(("perf",), recorded, *options)
    assert len(theirs) > 3 or "-S" in options or "-d" in options
    assert ours == theirs


def test_addresses_that_are_looked_for(recorded: Path, entry: str) -> None:
    """By where a function begins, or with an extent: what perf script -S prints by its name."""
    wanted = ("-F", "tid,time,event,ip,sym,symoff", "-G")
    by_name = said(OURS, recorded, "-S", entry, *wanted)
    found = re.search(r" ([0-9a-f]{8,}) \S+\+(0x[0-9a-f]+)$", by_name[0])
    assert found is not None
    start = int(found[1], 16) - int(found[2], 16)
    assert said(OURS, recorded, "-S", f"{start:#x}", *wanted) == by_name
    assert said(OURS, recorded, "-S", f"{int(found[1], 16) - 1:#x}", "--addr-range", "2", *wanted)[0] == by_name[0]


def test_a_file_for_each_event(recorded: Path) -> None:
    """The same names, and in each the same lines."""
    texts = []
    for tool in (("perf",), OURS):
        said(tool, recorded, "--per-event-dump")
        paths = sorted(recorded.parent.glob("perf.data.*.dump"))
        texts.append({p.name: [shape(x) for x in p.read_text().splitlines()] for p in paths})
        for p in paths:
            p.unlink()
    assert texts[0] == texts[1]
    assert len(texts[0][f"perf.data.{CLOCK}.dump"]) > 3


def test_records_as_they_lie(recorded: Path) -> None:
    """-D: bytes and meaning of every record, in perf's order, with the line of each sample behind it."""
    ours, theirs = said(OURS, recorded, "-D"), said(("perf",), recorded, "-D")
    assert sum("PERF_RECORD_SAMPLE" in x for x in theirs) > 3
    assert ours == theirs


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
def test_source_lines_without_stacks(tmp_path: Path) -> None:
    """Of where each event was."""
    (tmp_path / "work.c").write_text("volatile long n;\nint main(void) {\n  while (n < 200000000)\n    n++;\n}\n")
    subprocess.run(["cc", "-g", "-O1", "-o", "work", "work.c"], check=True, cwd=tmp_path, timeout=300)
    command = ["perf", "record", "-q", "-e", "cpu-clock:u", "-o", "perf.data", "./work"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    wanted = ("-F", "ip,sym,srcline", "--comms", "work")
    texts = [[x for x in said(t, tmp_path / "perf.data", *wanted) if "work.c:" in x] for t in (OURS, ("perf",))]
    assert len(texts[1]) > 10
    assert texts[0] == texts[1]


def test_what_page_faults_accessed(tmp_path: Path) -> None:
    """Variables by their names and modules, and where they lie in memory. Where no symbol reaches, perf names the
    function before; of several names for one place perf may take another."""
    path = tmp_path / "perf.data"
    command = ["perf", "record", "-q", "-c", "1", "-d", "--phys-data", "-e", "page-faults", "-e", "minor-faults"]
    command += ["-o", str(path), "--", sys.executable, "-c", "import json"]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"perf cannot record that here: {done.stderr.decode()[-200:]}")
    for fields in ("comm,tid,addr,sym,symoff,dso", "tid,addr,dso", "tid,addr,ip,sym,symoff,dso", "tid,ip,phys_addr"):
        pairs = list(zip(said(OURS, path, "-F", fields), said(("perf",), path, "-F", fields), strict=True))
        pairs = [(re.sub(r" \S+(\+0x)", r" ?\1", o), re.sub(r" \S+(\+0x)", r" ?\1", t)) for o, t in pairs]
        known = [(o, t) for o, t in pairs if "[unknown]" not in o]
        assert len(known) > 20, fields
        assert sum(o == t for o, t in known) >= 0.98 * len(known), [x for x in known if x[0] != x[1]][:5]
