"""Nanoseconds for a user stack in the kernel: by unwind tables, against by frame pointers, of the same depth.

The same program is built twice, without and with frame pointers. What counting alone costs is taken off both.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from bench.harness import HERE, BenchError, Row, Settings
from bench.tools import LOAD_CPU, Tool, bpf_stats, on_cpu, running, wait_for

POINT = "tracepoint:syscalls:sys_enter_getppid"
DEPTHS = (4, 16, 64)
WINDOW_SECONDS = 1.0
WARM_RUNS = 2000


@contextmanager
def deep(folder: str, depth: int, *, frame_pointers: bool) -> Generator[int]:
    """A process that does nothing but a system call, ``depth`` calls below main; its id."""
    path = Path(folder, f"deep{int(frame_pointers)}")
    if not path.exists():
        how = "-fno-omit-frame-pointer" if frame_pointers else "-fomit-frame-pointer"
        flags = ["-O1", how, "-fno-optimize-sibling-calls"]
        subprocess.run(["gcc", *flags, "-o", str(path), str(HERE / "deep.c")], check=True)
    process = subprocess.Popen([str(path), str(depth)], preexec_fn=on_cpu(LOAD_CPU))  # noqa: PLW1509
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def cost(tool: Tool, pid: int, statement: str, way: str = "off") -> float:
    """Nanoseconds a run."""
    command = Tool(tool.name, (*tool.prefix[:-1], "-p", str(pid), tool.prefix[-1]))
    script = f"config = {{ unwind = {way} }} {POINT} {{ {statement} }}"
    with running(command, script) as tracer:

        def attached() -> bool:
            tracer.check()
            return tracer.run_count() > WARM_RUNS

        wait_for(f"{tool.name} to attach", attached)
        time_before, runs_before = tracer.run_time(), tracer.run_count()
        time.sleep(WINDOW_SECONDS)  # the window of measurement, not a wait for something
        spent, runs = tracer.run_time() - time_before, tracer.run_count() - runs_before
        if runs <= 0 or spent <= 0:
            raise BenchError(f"the kernel counted {spent} ns for {runs} runs")
        return spent / runs


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    rows = []
    with bpf_stats(), tempfile.TemporaryDirectory() as folder:
        for depth in DEPTHS:
            settings.progress(f"unwind: {depth} frames")
            tables: list[float] = []
            pointers: list[float] = []
            for _ in range(settings.rounds):
                for values, with_pointers in ((tables, False), (pointers, True)):
                    with deep(folder, depth, frame_pointers=with_pointers) as pid:
                        empty = cost(ours, pid, "@ = count();")
                        stack = cost(ours, pid, "@[ustack] = count();", "off" if with_pointers else "always")
                        values.append(stack - empty)
            rows.append(Row(f"stack {depth} calls below main, against frame pointers", "ns", tables, pointers))
    return rows
