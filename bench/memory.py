"""How much memory a command takes with all processes that it starts: each byte counted once, also where several have
it.

Sampled while it runs, from /proc/PID/smaps_rollup, whose Pss divides what is shared by how many share it. Looking costs
time of its own: so it is a run for itself, which no clock counts.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.harness import BenchError, environment

BETWEEN_S = 0.01
_PSS = re.compile(rb"^Pss:\s+(\d+) kB", re.MULTILINE)


def peak(command: Sequence[str], *, timeout: float = 3600.0) -> int:
    """In kilobytes. Raises BenchError where the command takes longer."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    ) as process:
        end = time.monotonic() + timeout
        most = 0
        while process.poll() is None:
            most = max(most, sum(map(_pss, _session(process.pid))))
            if time.monotonic() > end:
                os.killpg(process.pid, signal.SIGKILL)
                raise BenchError(f"{' '.join(command)[:100]} took more than {timeout:.0f} s")
            time.sleep(BETWEEN_S)
    return most


def _session(leader: int) -> Iterator[int]:
    """Processes of a session."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path("/proc", name, "stat").read_bytes().rpartition(b") ")[2].split()
            except OSError:
                continue
            if int(fields[3]) == leader:
                yield int(name)


def _pss(pid: int) -> int:
    try:
        found = _PSS.search(Path("/proc", str(pid), "smaps_rollup").read_bytes())
    except OSError:  # it has ended
        return 0
    return int(found[1]) if found else 0
