"""How many events a second a tool prints without losing one, and what each costs its processor.

About a second of events at a fixed rate; as many lines must come out as events went in. The rate climbs until lines are
missing, or until the traced program cannot go faster because recording an event takes it so long: then the rate that
it reached is the figure.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.harness import BenchError, Row, Settings
from bench.tools import Running, Tool, run_load, running, wait_for

SCRIPT = r'tracepoint:syscalls:sys_enter_close /args->fd == 777777/ { printf("%d %s %d\n", pid, comm, args->fd); }'
FIRST_RATE, STEP, LAST_RATE = 50_000, 1.4, 8_000_000
SATURATED = 0.9
LINE = b" load 777777\n"


@dataclass(frozen=True, slots=True)
class Burst:
    """Events made, events a second that the traced program reached, lines missing, microseconds of CPU per event."""

    made: int
    rate: float
    missing: int
    cpu: float


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far; fields 14 and 15 of proc_pid_stat(5), in clock ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def burst(tool: Tool, rate: int) -> Burst:
    with running(tool, SCRIPT) as tracer:

        def lines() -> int:
            return tracer.output.read_bytes().count(LINE)

        def printing() -> bool:
            tracer.check()
            run_load(["emit", "1", "0"])
            return lines() > 0

        wait_for(f"{tool.name} to print", printing)
        return measured(tracer, lines, rate)


def measured(tracer: Running, lines: Callable[[], int], rate: int) -> Burst:
    lines_before, cpu_before = settle(lines), cpu_seconds(tracer.process.pid)
    seconds = run_load(["emit", str(rate), str(rate)])
    printed = settle(lines) - lines_before
    cpu = cpu_seconds(tracer.process.pid) - cpu_before
    return Burst(rate, rate / seconds, rate - printed, cpu / max(printed, 1) * 1e6)


def settle(lines: Callable[[], int]) -> int:
    """The number of lines once it has not grown for half a second."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < 0.5:
        now = lines()
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.05)
    return last


def climb(settings: Settings, tool: Tool) -> Burst:
    """The burst with the highest rate without loss; one miss may be chance, two in a row end the climb."""
    rate, best, misses = float(FIRST_RATE), None, 0
    while rate < LAST_RATE and misses < 2:
        now = burst(tool, int(rate))
        if now.missing:
            misses += 1
            continue
        misses = 0
        best = now if best is None or now.rate > best.rate else best
        if now.rate < SATURATED * rate:
            break
        rate *= STEP
    if best is None:
        raise BenchError(f"{tool.name} loses events at {FIRST_RATE:,} a second")
    settings.progress(f"stream: {tool.name} printed {best.rate:,.0f} events/s without loss")
    return best


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    mine: list[Burst] = []
    peer: list[Burst] = []
    for _ in range(1 if settings.quick else 3):
        mine.append(climb(settings, ours))
        peer.append(climb(settings, theirs))
    what = "printf of three fields, nothing lost"
    return [
        Row(what, "events/s", [b.rate for b in mine], [b.rate for b in peer], 2.0, more=True),
        Row(f"{what}: CPU of the tool", "us/event", [b.cpu for b in mine], [b.cpu for b in peer]),
    ]
