"""perf.data to columns, beside `perf script` printing it: events a second of processor time, and peak memory.

The recordings are made once, of a dd that copies bytes one by one, into ``PROBESCOPE_BENCH_DATA`` (build/bench by
default), and take several hundred MB.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.harness import BenchError, Row, Settings, measure, turns
from bench.tools import Tool

COUNT = 2_000_000
QUICK = 200_000
#: name, options of perf record, bytes that dd copies for each event that is wanted.
RECORDINGS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("tracepoint", ("-a", "-e", "raw_syscalls:sys_enter"), 0.5),
    ("tracepoint-zstd", ("-a", "-z", "-e", "raw_syscalls:sys_enter"), 0.5),
)
READ = """
import sys
from probescope.formats.perfdata import open_perfdata
with open_perfdata(sys.argv[1]) as recording:
    print(sum(batch.count for batch in recording.batches()))
"""


def folder() -> Path:
    path = Path(os.environ.get("PROBESCOPE_BENCH_DATA", Path(__file__).resolve().parent.parent / "build" / "bench"))
    path.mkdir(parents=True, exist_ok=True)
    return path


def recorded(name: str, options: tuple[str, ...], count: int, each: float) -> Path:
    path = folder() / f"{name}-{count}.perf.data"
    if not path.exists():
        dd = ("dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={int(count * each * 2)}")
        command = ["perf", "record", "-q", *options, "-o", str(path), "--", *dd]
        subprocess.run(command, stderr=subprocess.DEVNULL, check=True)
    return path


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    if shutil.which("perf") is None:
        raise BenchError("perf is not installed")
    count = QUICK if settings.quick else COUNT
    rows: list[Row] = []
    for name, options, each in RECORDINGS:
        settings.progress(f"{name}: recording, reading")
        path = recorded(name, options, count, each)
        ours_command = (sys.executable, "-c", READ, str(path))
        perf = ("sh", "-c", f"perf script -i {path} >/dev/null 2>&1")
        events = int(measure(ours_command).output)
        mine, peer = turns(settings.rounds, lambda c=ours_command: measure(c), lambda c=perf: measure(c))
        note = f"{events:,} samples"
        speed = [[events / usage.cpu / 1e6 for usage in side] for side in (mine, peer)]
        memory = [[usage.rss / 1024 for usage in side] for side in (mine, peer)]
        rows.append(Row(f"{name} to columns", "M events/CPU s", *speed, target=10, more=True, note=note))
        rows.append(Row(f"{name} to columns", "MB", *memory, target=0.25))
    return rows
