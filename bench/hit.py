"""Nanoseconds that the kernel spends in the tool's programs for each traced call, as the kernel itself counts them.

A loop of close() runs all the time; run_time_ns of the tool's programs before and after a while, divided by the calls
that the loop made in between. Dividing by the loop's calls and not by run_cnt keeps a tool honest that runs one program
for all system calls and looks at the number inside.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from bench.harness import BenchError, Row, Settings
from bench.tools import Tool, bpf_stats, running, spinning, wait_for

POINT = "tracepoint:syscalls:sys_enter_close"
#: name: (statement, calls a millisecond); printf is given a pace that both tools can print
PROGRAMS = {
    "count()": ("@ = count();", 0),
    "count() by comm": ("@[comm] = count();", 0),
    "hist(argument)": ("@ = hist(args->fd);", 0),
    "count() by kstack": ("@[kstack] = count();", 0),
    "printf of three fields": (r'printf("%d %s %d\n", pid, comm, args->fd);', 20),
}
WINDOW_SECONDS = 1.0
WARM_CALLS = 2000


@dataclass(frozen=True, slots=True)
class Measured:
    """Nanoseconds in the tool's programs for each traced call, and instructions that the verifier walked for them."""

    ns: float
    verified: int


def measured(tool: Tool, program: str, per_ms: int = 0, call: str = "spin") -> Measured:
    with spinning(per_ms, call) as calls, running(tool, program) as tracer:

        def attached() -> bool:
            tracer.check()
            return tracer.run_count() > WARM_CALLS

        wait_for(f"{tool.name} to attach", attached)
        time_before, calls_before = tracer.run_time(), calls()
        time.sleep(WINDOW_SECONDS)  # the window of measurement, not a wait for something
        spent, made = tracer.run_time() - time_before, calls() - calls_before
        if made <= 0 or spent <= 0:
            raise BenchError(f"{tool.name}: the kernel counted {spent} ns for {made} calls")
        return Measured(spent / made, tracer.verified())


def once(tool: Tool, statement: str, per_ms: int) -> float:
    return measured(tool, f"{POINT} {{ {statement} }}", per_ms).ns


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    rows: list[Row] = []
    with bpf_stats():
        for name, (statement, per_ms) in PROGRAMS.items():
            settings.progress(f"hit: {name}")
            mine: list[float] = []
            peer: list[float] = []
            for _ in range(settings.rounds):
                mine.append(once(ours, statement, per_ms))
                peer.append(once(theirs, statement, per_ms))
            spread = f"(ours {min(mine):.0f} to {max(mine):.0f}, median {statistics.median(mine):.0f})"
            rows.append(Row(f"{name}: a hit costs", "ns", mine, peer, 1.0, note=spread))
    return rows
