"""python -m bench [NAME...]: side by side with bpftrace, perf and trace-cmd, as ratios. Needs root, those of them that
are asked for, bpftool and gcc."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from bench import (
    attach,
    compiling,
    ftrace_record,
    hit,
    longer,
    loop,
    perfdata,
    record,
    span,
    startup,
    stream,
    tracedat,
    unwind,
)
from bench.harness import BenchError, Row, Settings, table
from bench.tools import Tool, default_tools

BENCHMARKS: dict[str, tuple[str, Callable[[Settings, Tool, Tool], list[Row]]]] = {
    "startup": ("Start-up", startup.run),
    "compile": ("Text to bytecode", compiling.run),
    "attach": ("Attach and leave", attach.run),
    "hit": ("Cost of a hit in the kernel", hit.run),
    "longer": ("Longer programs", longer.run),
    "loop": ("Cost to the traced program", loop.run),
    "unwind": ("User stacks without frame pointers", unwind.run),
    "stream": ("Events printed", stream.run),
    "tracedat": ("Reading trace.dat, beside trace-cmd report", tracedat.run),
    "record": ("Recording, beside perf record", record.run),
    "span": ("Spans of marked code", span.run),
    "ftrace-record": ("Recording, beside trace-cmd record", ftrace_record.run),
    "perfdata": ("Reading perf.data, beside perf script", perfdata.run),
}

#: What else than bpftrace a benchmark's second column is of.
PEERS = {
    "compile": "limit",
    "unwind": "frame pointers",
    "tracedat": "trace-cmd",
    "ftrace-record": "trace-cmd",
    "record": "perf",
    "perfdata": "perf",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="leave out what takes the peer more than ten seconds")
    parser.add_argument("--json", type=Path, help="write all measured values to a file")
    parser.add_argument("--ours", help="another command, to which a script is appended")
    parser.add_argument("--peer", help="another command, to which a script is appended")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    if os.geteuid() != 0:
        parser.error("needs root")
    ours, theirs = default_tools()
    if arguments.ours:
        ours = Tool("probescope", tuple(shlex.split(arguments.ours)))
    if arguments.peer:
        theirs = Tool("bpftrace", tuple(shlex.split(arguments.peer)))
    settings = Settings(rounds=arguments.rounds, quick=arguments.quick)
    names = arguments.names or list(BENCHMARKS)
    peers = dict.fromkeys(PEERS.get(name, " ".join(theirs.prefix)) for name in names)
    print(f"{ours.prefix[0]}  against  {', '.join(peers)}; Linux {platform.release()}, medians\n", flush=True)
    return report(settings, ours, theirs, names, arguments.json)


def report(settings: Settings, ours: Tool, theirs: Tool, names: list[str], to: Path | None) -> int:
    """Run, print a table after each benchmark; 1 if one failed. A missed target is shown and is no failure."""
    collected: dict[str, list[dict[str, object]]] = {}
    failed = 0
    for name in names:
        title, function = BENCHMARKS[name]
        try:
            rows = function(settings, ours, theirs)
        except (BenchError, OSError) as error:
            print(f"{title}\n  failed: {error}\n", flush=True)
            failed = 1
            continue
        collected[name] = [{**asdict(row), "ratio": row.ratio, "verdict": row.verdict} for row in rows]
        print(f"{table(title, rows, PEERS.get(name, theirs.name))}\n", flush=True)
    if to:
        to.write_text(json.dumps(collected, indent=1))
    return failed


if __name__ == "__main__":
    sys.exit(main())
