"""trace.dat to columns and to text, beside `trace-cmd report`: events a second of processor time and of wall clock, and
peak memory.

The recording is made once, in a private instance of tracefs, of a dd that copies bytes one by one; it is kept in
``PROBESCOPE_BENCH_DATA`` (build/bench by default), compressed: some 20 MB.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.harness import BenchError, Row, Settings, measure, turns
from bench.memory import peak
from bench.perfdata import folder, speeds
from bench.tools import Tool
from probescope.formats.tracedat.writer import Head, Pages, write_tracedat

TRACEFS = Path("/sys/kernel/tracing")
EVENTS = ("sched", "raw_syscalls")
COUNT = 3_000_000
QUICK = 300_000
EVENT_BYTES = 56
READ = """
import os, sys
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does
from probescope.formats.tracedat import open_tracedat
with open_tracedat(sys.argv[1]) as recording:
    print(sum(batch.count for batch in recording.batches()))
"""
PRINT = """
import os, sys
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracing.text import Lines, report
with open_tracedat(sys.argv[1]) as recording:
    lines = Lines(recording.events, recording.context(), flags=False)
    with open(sys.argv[2], "wb") as file:
        for data in report(lines, recording.batches(), recording.machine.cpus):
            file.write(data)
"""


def pages(instance: Path, cpu: str) -> Iterator[bytes]:
    """Full pages, as many as there are: the last one, half full, is given as it is."""
    fd = os.open(instance / "per_cpu" / cpu / "trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while data := os.read(fd, 4096):
            yield data.ljust(4096, b"\0")
    except BlockingIOError:
        pass
    finally:
        os.close(fd)


def head() -> Head:
    events = TRACEFS / "events"
    formats = {s: tuple(p.read_text() for p in sorted((events / s).glob("*/format"))) for s in ("ftrace", *EVENTS)}
    page, event = ((events / name).read_text() for name in ("header_page", "header_event"))
    return Head(
        header_page=page,
        header_event=event,
        formats=formats,
        kallsyms=Path("/proc/kallsyms").read_bytes(),
        cmdlines=(TRACEFS / "saved_cmdlines").read_bytes(),
    )


def recorded(count: int) -> Path:
    path = folder() / f"trace-{count}.dat"
    if path.exists():
        return path
    instance = TRACEFS / "instances" / f"probescope-bench-{os.getpid()}"
    instance.mkdir()
    try:
        cpus = sorted(p.name for p in (instance / "per_cpu").glob("cpu*"))
        (instance / "buffer_size_kb").write_text(str(count * EVENT_BYTES // 1024))
        for system in EVENTS:
            (instance / "events" / system / "enable").write_text("1")
        dd = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={count // 4}"]
        subprocess.run(dd, stderr=subprocess.DEVNULL, check=True)
        (instance / "events/enable").write_text("0")
        with path.open("wb") as file:
            write_tracedat(file, head(), [Pages("", {int(cpu[3:]): pages(instance, cpu) for cpu in cpus})])
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        instance.rmdir()
    return path


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    if shutil.which("trace-cmd") is None:
        raise BenchError("trace-cmd is not installed")
    count = QUICK if settings.quick else COUNT
    settings.progress("trace.dat: recording, reading")
    path = recorded(count)
    text = path.with_suffix(".txt")
    read, printed = (sys.executable, "-c", READ, str(path)), (sys.executable, "-c", PRINT, str(path), str(text))
    peer = ("sh", "-c", f"trace-cmd report -i {path} >{text} 2>/dev/null")
    events = int(measure(read).output)
    rounds = min(settings.rounds, 3)
    sides = turns(rounds, lambda: measure(read), lambda: measure(printed), lambda: measure(peer))
    large = peak(peer) / 1024
    rows: list[Row] = []
    for what, side, command, target in (("columns", sides[0], read, 10), ("text", sides[1], printed, 2)):
        rows += speeds(f"to {what}", events, side, sides[2], target)
        rows.append(Row(f"to {what}", "MB", [peak(command) / 1024], [large], target=0.5))
    text.unlink(missing_ok=True)
    return rows
