"""Longer programs than one-liners: what a hit costs, and how many instructions the verifier walks for them.

The strings of 1,024 bytes need a bpftrace that has them (0.22 or later): name one with ``--peer``.
"""

from __future__ import annotations

import statistics

from bench.harness import Row, Settings
from bench.hit import measured
from bench.tools import Tool, bpf_stats

#: name: (program, the call of load.c that it traces)
PROGRAMS = {
    "latency by tid, hist": (
        """tracepoint:syscalls:sys_enter_close { @start[tid] = nsecs; }
        tracepoint:syscalls:sys_exit_close /@start[tid]/ {
            @ns[comm] = hist(nsecs - @start[tid]);
            delete(@start[tid]);
        }""",
        "spin",
    ),
    "stats by a tuple with a string of 1,024": (
        """config = { max_strlen = 1024 }
        tracepoint:syscalls:sys_enter_faccessat { @[pid, comm, str(args->filename)] = stats(args->mode); }""",
        "name",
    ),
    "loop of 1,000": (
        """tracepoint:syscalls:sys_enter_close {
            $i = 0;
            $sum = (uint64)0;
            while ($i < 1000) {
                $sum += (uint64)$i * args->fd;
                $i++;
            }
            @ = sum($sum);
        }""",
        "spin",
    ),
}


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    rows: list[Row] = []
    with bpf_stats():
        for name, (program, call) in PROGRAMS.items():
            settings.progress(f"longer: {name}")
            mine, peer = [], []
            for _ in range(settings.rounds):
                mine.append(measured(ours, program, call=call))
                peer.append(measured(theirs, program, call=call))
            costs = [m.ns for m in mine]
            spread = f"(ours {min(costs):.0f} to {max(costs):.0f}, median {statistics.median(costs):.0f})"
            rows += [
                Row(f"{name}: a hit costs", "ns", costs, [p.ns for p in peer], 1.0, note=spread),
                Row(f"{name}: verified", "instructions", [m.verified for m in mine], [p.verified for p in peer], 1.0),
            ]
    return rows
