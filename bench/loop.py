"""What a traced program feels: the time that each getppid() takes longer while a tool counts them."""

from __future__ import annotations

import statistics

from bench.harness import Row, Settings
from bench.tools import Tool, run_load, running, wait_for

POINT = "tracepoint:syscalls:sys_enter_getppid"
PROGRAMS = {"count()": "@ = count();", "@[pid] = count()": "@[pid] = count();"}
SECONDS = "0.7"


def attached(tool: Tool, statement: str) -> float:
    """Nanoseconds a call while the tool runs. It counts once its map shows a call: it is asked to print it."""
    ready = "interval:ms:20 { print(@); }"
    with running(tool, f"{POINT} {{ {statement} }} {ready}") as tracer:

        def counting() -> bool:
            tracer.check()
            run_load(["cost", "0.001"])
            return any(line.startswith("@") and not line.endswith(": 0") for line in tracer.text().splitlines())

        wait_for(f"{tool.name} to count", counting)
        return run_load(["cost", SECONDS])


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    rows: list[Row] = []
    for name, statement in PROGRAMS.items():
        settings.progress(f"loop: {name}")
        mine: list[float] = []
        peer: list[float] = []
        bare: list[float] = []
        for _ in range(settings.rounds):
            bare.append(run_load(["cost", SECONDS]))
            mine.append(attached(ours, statement) - bare[-1])
            bare.append(run_load(["cost", SECONDS]))
            peer.append(attached(theirs, statement) - bare[-1])
        note = f"(a call takes {statistics.median(bare):.0f} ns untraced)"
        rows.append(Row(f"{name}: added to a getppid()", "ns", mine, peer, 0.5, note=note))
    return rows
