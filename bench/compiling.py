"""How long a script takes from its text to bytecode, and how that grows with its length.

The peer's compiler is not asked: the scripts use what it does not know, and its time grows with the square of the
length. ``python -m bench.compiling LINES`` prints the seconds of one compilation in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time

from bench.harness import BenchError, Row, Settings
from bench.scripts import long_script
from bench.tools import Tool

SHORT, LONG = 2_000, 8_000
LIMIT = 1.0
"""Seconds that ``SHORT`` lines may take."""
SLACK = 1.2
"""How much more than ``LONG / SHORT`` times that ``LONG`` lines may take."""


def seconds(lines: int) -> float:
    """Of processor time, from text to bytecode: everything but the interpreter's own start. One thread does it all, so
    that an idle machine takes as long. Nothing is loaded into the kernel."""
    text = long_script(lines)
    began = time.process_time()
    from probescope.api import Request, build
    from probescope.bpf.compile import compile_program
    from probescope.collect.host import compile_options
    from probescope.plan.request import BpfPlan

    built = build(Request(text=text))
    assert isinstance(built.plan, BpfPlan)
    compile_program(built.program, built.plan.units, compile_options(built.program, built.plan, 0))
    return time.process_time() - began


def measured(lines: int) -> float:
    """``seconds`` in a fresh process. Raises BenchError."""
    command = [sys.executable, "-m", "bench.compiling", str(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"compiling {lines} lines failed:\n{done.stderr[-1000:]}")
    return float(done.stdout)


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    del ours, theirs  # the compiler is measured without its command line
    settings.progress("compile")
    short = [measured(SHORT) for _ in range(settings.rounds)]
    long = [measured(LONG) for _ in range(settings.rounds)]
    scaled = [s * LONG / SHORT for s in short]
    return [
        Row(f"{SHORT:,} lines, against a second", "s", short, [LIMIT], 1.0),
        Row(f"{LONG:,} lines, against {LONG // SHORT} times that", "s", long, scaled, SLACK),
    ]


if __name__ == "__main__":
    print(seconds(int(sys.argv[1])))
