"""perf as an oracle: recordings of it, and what `perf script` says of files."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

#: perf prints so many entries of a chain at most.
MOST_PRINTED = 127
_LINE = re.compile(
    r"\s*(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?(?P<time>\d+\.\d+):\s+"
    r"(?P<period>\d+)\s+(?P<event>\S+):\s*(?P<ip>[0-9a-f]+)?\s*$"
)


@dataclass(frozen=True)
class Line:
    """One sample: time in ns."""

    pid: int
    tid: int
    cpu: int
    time: int
    period: int
    event: str
    stack: tuple[int, ...]


def perf() -> str:
    return shutil.which("perf") or pytest.skip("perf is not installed")


def recorded(to: Path, options: Sequence[str], command: Sequence[str]) -> Path:
    result = subprocess.run(
        [perf(), "record", "-q", *options, "-o", str(to), "--", *command], capture_output=True, check=False
    )
    if not to.exists() or result.returncode not in {0, 1}:
        pytest.skip(f"perf cannot record {' '.join(options)} here: {result.stderr.decode()[-200:]}")
    return to


def script(path: Path, *options: str) -> str:
    command = [perf(), "script", "-f", "-i", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout


def samples(path: Path, cpu: bool = True) -> list[Line]:
    """Every sample as `perf script` prints it, with its chain or, without one, its address."""
    fields = "pid,tid,time,event,period,ip" + (",cpu" if cpu else "")
    found: list[Line] = []
    stack: list[int] = []
    head: re.Match[str] | None = None
    for line in [*script(path, "--ns", "-F", fields).splitlines(), "end"]:
        match = _LINE.match(line)
        if match is None and head is not None and re.fullmatch(r"\s+[0-9a-f]+\s*", line):
            stack.append(int(line, 16))
            continue
        if head is not None:
            found.append(_line(head, stack))
        head, stack = match, []
    return found


def shown(ip: int) -> int:
    """perf shows user addresses in chains as offsets in their file, or not, by its version: their place in the page is
    the same in both."""
    return ip & 0xFFF if ip < 1 << 63 else ip


def _line(m: re.Match[str], stack: Iterable[int]) -> Line:
    second, rest = m["time"].split(".")
    chain = tuple(map(shown, stack)) or ((int(m["ip"], 16),) if m["ip"] else ())
    at = int(second) * 10**9 + int(rest.ljust(9, "0"))
    return Line(int(m["pid"]), int(m["tid"]), int(m["cpu"] or -1), at, int(m["period"]), m["event"], chain)


def ours(recording, chains: bool) -> list[Line]:
    """The same of a Recording. perf leaves out context marks and what goes beyond ``MOST_PRINTED``."""
    found: list[Line] = []
    for b in recording.batches():
        for i in range(b.count):
            stack: tuple[int, ...] = ()
            if chains and b.stacks is not None:
                entries = [ip for ip in b.stacks.piece(i).tolist() if ip < (1 << 64) - 4095]
                stack = tuple(map(shown, entries[:MOST_PRINTED]))
            elif "ip" in b.numbers:
                stack = (int(b.numbers["ip"][i]),)
            numbers = (int(c[i]) for c in (b.pid, b.tid, b.cpu, b.time, b.period))
            found.append(Line(*numbers, recording.events[b.event[i]].name, stack))
    return found
