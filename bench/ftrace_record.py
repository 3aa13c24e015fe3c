"""Recording beside `trace-cmd record`: what a traced call costs more, what is lost, processor time and memory.

As with `record`, both recorders run on one CPU and the traced program on another, above whatever else the machine does.
trace-cmd resets the function tracer first, which some kernels forbid even to root: there it is given files of its own
in the places of those, in a mount namespace.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.harness import BenchError, Row, Settings, measure, turns
from bench.record import FIRST, THERE, Recorded, bare, cpu, rss
from bench.tools import Tool, load

CALLS = 1_600_000
EVENTS = ("-e", "raw_syscalls")
SECONDS = "1.0"
TRACEFS = "/sys/kernel/tracing"
PEER = f"""
for f in set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_graph_function set_graph_notrace; do
  if [ -e {TRACEFS}/$f ]; then : > "$0/$f"; mount --bind "$0/$f" {TRACEFS}/$f; fi
done
echo 1 > "$0/enabled"; mount --bind "$0/enabled" /proc/sys/kernel/ftrace_enabled
exec trace-cmd "$@"
"""


def functions_are_locked() -> bool:
    try:
        os.close(os.open(f"{TRACEFS}/set_ftrace_filter", os.O_WRONLY | os.O_APPEND))
    except OSError:
        return True
    return False


def peer(folder: str) -> list[str]:
    if not functions_are_locked():
        return ["trace-cmd"]
    place = Path(folder, "in-the-places")
    place.mkdir(exist_ok=True)
    return ["unshare", "-m", "sh", "-c", PEER, str(place)]


def recorded(recorder: Sequence[str], work: Sequence[str], folder: str) -> Recorded:
    """Raises BenchError where it fails, or nothing was recorded."""
    path = Path(folder, "trace.dat")
    used = measure([*FIRST, *recorder, "record", *EVENTS, "-o", str(path), *THERE, *work])
    numbers = [line for line in used.output.splitlines() if line.replace(".", "").isdigit()]
    if not numbers or path.stat().st_size < 1000:
        raise BenchError(f"nothing was recorded: {used.output[-300:]}")
    return Recorded(float(numbers[0]), used.cpu, used.rss, lost_of(path))


def lost_of(path: Path) -> int:
    """By what the file tells of each CPU's buffer, of both."""
    from probescope.formats.tracedat import open_tracedat
    from probescope.formats.tracedat import options as o

    with open_tracedat(str(path)) as recording:
        texts = "".join(o.text(data) + "\n" for data in recording.option(o.CPUSTAT))
    return sum(int(n) for n in re.findall(r"^(?:overrun|commit overrun|dropped events): (\d+)$", texts, re.MULTILINE))


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    for program in ("trace-cmd", "chrt", "taskset", "unshare"):
        if shutil.which(program) is None:
            raise BenchError(f"{program} is not installed")
    cost, calls = (str(load()), "cost", SECONDS), (str(load()), "emit", str(CALLS), "0")
    with tempfile.TemporaryDirectory() as folder:
        recorders = ([ours.prefix[0], "ftrace"], peer(folder))

        def both(work: Sequence[str]) -> list[list[Recorded]]:
            return turns(settings.rounds, *(lambda r=r: recorded(r, work, folder) for r in recorders))

        settings.progress("ftrace record: both events of every call")
        alone = min(bare(cost) for _ in range(3))
        mine, other = both(cost)
        added = [[x.output - alone for x in side] for side in (mine, other)]
        note = f"(a call takes {alone:.0f} ns untraced)"
        rows = [Row("two events: added to a getppid()", "ns", added[0], added[1], 1.05, note=note)]
        mine, other = both(calls)
    lost = [sum(x.lost for x in side) for side in (mine, other)]
    note = f"(of {2 * CALLS * settings.rounds:,} events {lost[0]:,} lost, {lost[1]:,} by trace-cmd)"
    rows.append(Row(f"{2 * CALLS:,} events", "CPU s", cpu(mine), cpu(other), note=note))
    rows.append(Row(f"{2 * CALLS:,} events", "MB", rss(mine), rss(other)))
    return rows
