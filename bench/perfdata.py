"""perf.data to columns, to text, to a report and to a flame graph, beside `perf script`, `perf report --stdio` and
`perf script | stackcollapse-perf.pl | flamegraph.pl`: samples a second of processor time and of wall clock, and peak
memory of all processes together. Ours are as many as they are by default: one for each processor, where that helps.

The flame graph of others is drawn where ``PROBESCOPE_FLAMEGRAPH`` names a folder with these two programs.

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
from bench.memory import peak
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
STACKS = tuple(one.name for one in RECORDINGS if one.stacks)
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
    ways = [Way("columns", read, "text", 10)]
    ways += [Way("text", quiet(f"{probescope} script -i {path}"), "text", 2)]
    ways += [Way("report", quiet(f"{probescope} report -i {path}"), "report", 3)]
    theirs = {"text": quiet(f"perf script -i {path}"), "report": quiet(f"perf report --stdio -i {path}")}
    scripts = os.environ.get("PROBESCOPE_FLAMEGRAPH")
    if scripts and name in STACKS:
        ways += [Way("flame graph", quiet(f"{probescope} flame {path} -o -"), "flame", 10)]
        pipe = f"perf script -i {path} | {scripts}/stackcollapse-perf.pl | {scripts}/flamegraph.pl"
        theirs["flame"] = quiet(pipe)
    commands = [way.command for way in ways] + list(theirs.values())
    sides = turns(rounds, *(lambda c=c: measure(c, timeout=3600) for c in commands))
    peers = dict(zip(theirs, sides[len(ways) :], strict=True))
    large = {peer: peak(command) / 1024 for peer, command in theirs.items()}
    rows: list[Row] = []
    for way, mine in zip(ways, sides, strict=False):
        rows += speeds(f"{name} to {way.what}", samples, mine, peers[way.peer], way.target)
        rows.append(Row(f"{name} to {way.what}", "MB", [peak(way.command) / 1024], [large[way.peer]], target=0.25))
    return rows


@dataclass(frozen=True, slots=True)
class Way:
    """``peer``: which command of others it is compared with; ``target``: how many times faster it should be."""

    what: str
    command: Sequence[str]
    peer: str
    target: float


def speeds(what: str, samples: int, mine: Sequence[Usage], peer: Sequence[Usage], target: float) -> list[Row]:
    """By processor time and by wall clock, side by side."""
    cpu = [[samples / u.cpu / 1e6 for u in side] for side in (mine, peer)]
    walls = [[samples / u.wall / 1e6 for u in side] for side in (mine, peer)]
    return [
        Row(what, "M/CPU s", cpu[0], cpu[1], target=target, more=True, note=f"{samples:,}"),
        Row(what, "M/wall s", walls[0], walls[1], target=target, more=True),
    ]


def quiet(command: str) -> tuple[str, str, str]:
    return "sh", "-c", f"{command} >/dev/null 2>&1"
