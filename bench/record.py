"""Recording beside `perf record`: what a traced call costs more, what is lost, processor time and memory of it all.

Both recorders run on one CPU and the traced program on another, above whatever else the machine does (SCHED_FIFO for
some seconds): a recorder that waits for its turn loses events, and that would be measured instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness import BenchError, Row, Settings, measure, turns
from bench.tools import LOAD_CPU, TRACER_CPU, Tool, load

CALLS = 2_000_000
SECONDS = "1.0"
POINT = ("-e", "raw_syscalls:sys_enter")
STACKS = ("-e", "cpu-clock", "-g", "-F", "4000")
FIRST = ("chrt", "-f", "1", "taskset", "-c", str(TRACER_CPU % (os.cpu_count() or 1)))
THERE = ("taskset", "-c", str(LOAD_CPU % (os.cpu_count() or 1)))


@dataclass(frozen=True, slots=True)
class Recorded:
    """``output``: what the load printed. ``cpu`` in seconds of recorder and load, ``rss`` in kB."""

    output: float
    cpu: float
    rss: int
    lost: int


def recorded(recorder: Sequence[str], options: Sequence[str], work: Sequence[str], folder: str) -> Recorded:
    """Raises BenchError where it fails, or nothing was recorded."""
    path = Path(folder, "perf.data")
    used = measure([*FIRST, *recorder, "record", *options, "-o", str(path), "--", *THERE, *work])
    numbers = [line for line in used.output.splitlines() if line.replace(".", "").isdigit()]
    if not numbers or path.stat().st_size < 1000:
        raise BenchError(f"nothing was recorded: {used.output[-300:]}")
    return Recorded(float(numbers[0]), used.cpu, used.rss, lost_of(path))


def lost_of(path: Path) -> int:
    """By our reader, of both."""
    from probescope.formats.perfdata import open_perfdata
    from probescope.model.recording import LostEvents

    with open_perfdata(str(path)) as recording:
        sides = (side for batch in recording.batches() for _, side in batch.between)
        return sum(side.count for side in sides if isinstance(side, LostEvents))


def bare(work: Sequence[str]) -> float:
    done = subprocess.run([*FIRST, *THERE, *work], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    for program in ("perf", "chrt", "taskset"):
        if shutil.which(program) is None:
            raise BenchError(f"{program} is not installed")
    recorders = ((ours.prefix[0],), ("perf",))
    cost, calls = (str(load()), "cost", SECONDS), (str(load()), "emit", str(CALLS), "0")
    with tempfile.TemporaryDirectory() as folder:

        def both(options: Sequence[str], work: Sequence[str]) -> list[list[Recorded]]:
            return turns(settings.rounds, *(lambda r=r: recorded(r, options, work, folder) for r in recorders))

        settings.progress("record: a tracepoint of every call")
        alone = min(bare(cost) for _ in range(3))
        mine, peer = both(POINT, cost)
        added = [[x.output - alone for x in side] for side in (mine, peer)]
        note = f"(a call takes {alone:.0f} ns untraced)"
        rows = [Row("tracepoint: added to a getppid()", "ns", added[0], added[1], 1.0, note=note)]
        mine, peer = both(POINT, calls)
        lost = [sum(x.lost for x in side) for side in (mine, peer)]
        note = f"(of {CALLS * settings.rounds:,} calls {lost[0]:,} lost, {lost[1]:,} by perf)"
        rows.append(Row(f"tracepoint: {CALLS:,} calls", "CPU s", cpu(mine), cpu(peer), 1.0, note=note))
        rows.append(Row(f"tracepoint: {CALLS:,} calls", "MB", rss(mine), rss(peer)))
        settings.progress("record: stacks")
        mine, peer = both(STACKS, (str(load()), "cost", "5.0"))
        rows.append(Row("stacks, 4,000 a second for 5 s", "CPU s", cpu(mine), cpu(peer), 1.05))
        rows.append(Row("stacks, 4,000 a second for 5 s", "MB", rss(mine), rss(peer)))
        return rows


def cpu(side: Sequence[Recorded]) -> list[float]:
    return [x.cpu for x in side]


def rss(side: Sequence[Recorded]) -> list[float]:
    return [x.rss / 1024 for x in side]
