"""How far the time of a span is from what the program's own clock says: what the two probes of a pair cost.

The program (span.c) marks a piece of work by probescope.h and reads the clock inside of the marks; it prints the sum.
The same is done by a program for bpftrace.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import probescope
from bench.harness import HERE, BenchError, Row, Settings, build, environment
from bench.tools import Tool

SPANS = 200_000
MOST_US = 2.0
PEER = """
usdt:{0}:bench:unit__begin {{ @start[tid] = nsecs; }}
usdt:{0}:bench:unit__end /@start[tid]/ {{ @ns = stats(nsecs - @start[tid]); delete(@start[tid]); }}
"""
POINTS = """
import time, probescope
def each(n):
    before = time.perf_counter_ns()
    for _ in range(n):
        with probescope.point("unit"):
            pass
    return time.perf_counter_ns() - before
def loop(n):
    before = time.perf_counter_ns()
    for _ in range(n):
        pass
    return time.perf_counter_ns() - before
each(1000)
print((each(200000) - loop(200000)) / 200000)
"""


def program() -> Path:
    include = Path(probescope.__file__).parent / "include"
    return build((HERE / "span.c").read_text(), "span", flags=("-O2", f"-I{include}"))


def traced(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment())
    if done.returncode:
        raise BenchError(f"{command[0]} ended with {done.returncode}:\n{done.stderr[-1000:]}")
    return done.stdout


def own(text: str) -> float:
    """Nanoseconds of each span by the program's own clock."""
    found = re.search(r"^own (\d+) ns in (\d+)$", text, re.MULTILINE)
    if found is None or int(found[2]) != SPANS:
        raise BenchError(f"the program did not do its work:\n{text[-500:]}")
    return int(found[1]) / SPANS


def ours_us() -> float:
    here = str(Path(sys.executable).parent / "probescope")
    text = traced([here, "span", "--mark", "unit", "-f", "json", "--", str(program()), str(SPANS)])
    row = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    if row["count"] != SPANS:
        raise BenchError(f"{row['count']} of {SPANS} spans")
    return (row["avg_ns"] - own(text)) / 1000


def theirs_us(tool: Tool) -> float:
    path = program()
    text = traced([*tool.command(PEER.format(path)), "-c", f"{path} {SPANS}"])
    found = re.search(r"@ns: count (\d+), average (\d+)", text)
    if found is None or int(found[1]) != SPANS:
        raise BenchError(f"{tool.name} did not see all spans:\n{text[-500:]}")
    return (int(found[2]) - own(text)) / 1000


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    settings.progress("span: pairs of marks in C")
    mine: list[float] = []
    peer: list[float] = []
    for _ in range(settings.rounds):
        mine.append(ours_us())
        peer.append(theirs_us(theirs))
    note = f"(ours {min(mine):.2f} to {max(mine):.2f}, asked: within {MOST_US:g} us)"
    rows = [Row("a span's average beyond the program's own clock", "us", mine, peer, note=note)]
    settings.progress("span: points of Python, off")
    off = [float(traced([sys.executable, "-c", POINTS])) for _ in range(settings.rounds)]
    return [*rows, Row("a point of Python while nobody listens", "ns", off, [])]
