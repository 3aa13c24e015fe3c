"""How many events a second a tool prints without losing one.

A fixed rate of events for a second; as many lines must come out as events went in. The rate climbs by a quarter until
lines are missing, and the last rate without loss is the figure.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.harness import Row, Settings
from bench.tools import Tool, run_load, running, wait_for

SCRIPT = r'tracepoint:syscalls:sys_enter_close /args->fd == 777777/ { printf("%d %s %d\n", pid, comm, args->fd); }'
FIRST_RATE, STEP, LAST_RATE = 20_000, 1.25, 5_000_000
LINE = b" load 777777\n"


def lossless(tool: Tool, rate: int) -> bool:
    """Whether a second of events at this rate came out whole."""
    with running(tool, SCRIPT) as tracer:

        def lines() -> int:
            return tracer.output.read_bytes().count(LINE)

        def printing() -> bool:
            tracer.check()
            run_load(["emit", "1", "0"])
            return lines() > 0

        wait_for(f"{tool.name} to print", printing)
        before = settle(lines)
        run_load(["emit", str(rate), str(rate)])
        return settle(lines) - before == rate


def settle(lines: Callable[[], int]) -> int:
    """The number of lines once it has not grown for half a second."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < 0.5:
        now = lines()
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.05)
    return last


def climb(settings: Settings, tool: Tool) -> float:
    """The highest rate without loss; one miss may be chance, two in a row end the climb."""
    rate, best = float(FIRST_RATE), 0.0
    while rate < LAST_RATE and (lossless(tool, int(rate)) or lossless(tool, int(rate))):
        best = float(int(rate))
        rate *= STEP
    settings.progress(f"stream: {tool.name} printed {best:,.0f} events/s without loss")
    return best


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    rounds = 1 if settings.quick else 2
    mine: list[float] = []
    peer: list[float] = []
    for _ in range(rounds):
        mine.append(climb(settings, ours))
        peer.append(climb(settings, theirs))
    return [Row("printf of three fields, nothing lost", "events/s", mine, peer, 2.0, more=True)]
