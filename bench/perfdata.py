"""perf.data to columns, to text and to a report, beside `perf script` and `perf report --stdio`: samples a second of
processor time, and peak memory.

The recordings are made once into ``PROBESCOPE_BENCH_DATA`` (build/bench by default): of a dd that copies bytes one by
one, several hundred MB; and of a program with deep stacks, copied for DWARF unwinding, more than a GB.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness import HERE, BenchError, Row, Settings, Usage, build, measure, turns
from bench.tools import Tool

QUICK = 10  # times fewer samples
RATE = 20000  # samples a second


@dataclass(frozen=True, slots=True)
class Recorded:
    """``options`` of perf record; ``samples``, about; ``stacks``: of the program with deep ones, else of dd."""

    name: str
    samples: int
    options: tuple[str, ...]
    stacks: bool = False


#: Kernels write records of BPF programs, with more than one CPU, that perf cannot read.
EVERYWHERE = ("-a", "--no-bpf-event")
RECORDINGS = (
    Recorded("tracepoint", 3_200_000, (*EVERYWHERE, "-e", "raw_syscalls:sys_enter")),
    Recorded("tracepoint-zstd", 3_200_000, (*EVERYWHERE, "-z", "-e", "raw_syscalls:sys_enter")),
    Recorded(
        "dwarf", 320_000, ("-F", str(RATE), "-m", "8192", "--call-graph", "dwarf,4096", "-e", "cpu-clock:u"), True
    ),
)
#: All columns of a sample are looked at; what a sample has of its own size is where it lies.
READ = """
import os, sys
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does
from probescope.formats.perfdata import open_perfdata
count = total = 0
with open_perfdata(sys.argv[1]) as recording:
    for batch in recording.batches():
        count += batch.count
        total += int(batch.event.sum()) + int(batch.time.max(initial=0)) + int(batch.cpu.sum()) + int(batch.pid.sum())
        total += int(batch.tid.sum()) + int(batch.period.sum()) + int(batch.numbers["ip"].max(initial=0))
print(count)
"""


def folder() -> Path:
    path = Path(os.environ.get("PROBESCOPE_BENCH_DATA", Path(__file__).resolve().parent.parent / "build" / "bench"))
    path.mkdir(parents=True, exist_ok=True)
    return path


def recorded(one: Recorded, samples: int) -> Path:
    path = folder() / f"{one.name}-{samples}.perf.data"
    if path.exists():
        return path
    if one.stacks:
        program = build((HERE / "deep.c").read_text(), "deep", flags=("-O1", "-g", "-fno-omit-frame-pointer"))
        work = [str(program), str(samples)]  # more than one sample a round
    else:
        work = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={samples}"]  # two a byte, some of which get lost
    command = ["perf", "record", "-q", *one.options, "-o", str(path), "--", *work]
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if not path.exists():
        raise BenchError(f"perf record: {result.stderr.strip()[-300:]}")
    return path


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    if shutil.which("perf") is None:
        raise BenchError("perf is not installed")
    rows: list[Row] = []
    for one in RECORDINGS:
        settings.progress(f"{one.name}: recording, reading")
        path = recorded(one, one.samples // QUICK if settings.quick else one.samples)
        rounds = min(settings.rounds, 1 if one.stacks else 3)
        rows += compared(one.name, str(path), Path(ours.prefix[0]), rounds)
    return rows


def compared(name: str, path: str, probescope: Path, rounds: int) -> list[Row]:
    """Rounds of every way to read it, in turns."""
    read = (sys.executable, "-c", READ, path)
    samples = int(measure(read).output)
    commands: tuple[Sequence[str], ...] = (
        read,
        quiet(f"{probescope} script -i {path}"),
        quiet(f"perf script -i {path}"),
        quiet(f"{probescope} report -i {path}"),
        quiet(f"perf report --stdio -i {path}"),
    )
    sides = turns(rounds, *(lambda c=c: measure(c, timeout=1800) for c in commands))
    columns, text, perf_text, report, perf_report = sides
    note = f"{samples:,} samples"

    def speed(usages: Sequence[Usage]) -> list[float]:
        return [samples / usage.cpu / 1e6 for usage in usages]

    def memory(usages: Sequence[Usage]) -> list[float]:
        return [usage.rss / 1024 for usage in usages]

    rows: list[Row] = []
    for what, mine, peer, target in (
        ("columns", columns, perf_text, 10),
        ("text", text, perf_text, 2),
        ("report", report, perf_report, 3),
    ):
        rows.append(
            Row(f"{name} to {what}", "M samples/CPU s", speed(mine), speed(peer), target=target, more=True, note=note)
        )
        rows.append(Row(f"{name} to {what}", "MB", memory(mine), memory(peer), target=0.25))
    return rows


def quiet(command: str) -> tuple[str, str, str]:
    return "sh", "-c", f"{command} >/dev/null 2>&1"
