"""Measuring commands, taking turns, and rows of results."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

HERE = Path(__file__).resolve().parent


class BenchError(Exception):
    """A measurement that would mean nothing: the tool failed, or did not do the work."""


@dataclass(frozen=True, slots=True)
class Usage:
    """One command from start to end: wall clock and processor in seconds, peak resident kilobytes, what it printed."""

    wall: float
    cpu: float
    rss: int
    output: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: the same measure of both tools. ``target`` is the ratio that ours/theirs must not exceed.

    Where more is better (events a second) ``more`` is set and the ratio must not fall below the target.
    """

    what: str
    unit: str
    ours: Sequence[float]
    theirs: Sequence[float]
    target: float | None = None
    more: bool = False
    note: str = ""

    @property
    def ratio(self) -> float | None:
        if not self.ours or not self.theirs:
            return None
        theirs = statistics.median(self.theirs)
        return statistics.median(self.ours) / theirs if theirs else None

    @property
    def verdict(self) -> str:
        """``ok`` or ``MISSED``; nothing where there is no target or nothing to compare with."""
        if self.ratio is None or self.target is None:
            return ""
        return "ok" if (self.ratio >= self.target if self.more else self.ratio <= self.target) else "MISSED"


@dataclass(slots=True)
class Settings:
    """How much to measure. ``quick`` leaves out what takes the peer more than ten seconds."""

    rounds: int = 5
    quick: bool = False
    progress: Callable[[str], None] = field(default=lambda text: print(f"  {text}", file=sys.stderr, flush=True))


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This environment without what would make a start of Python slower than a user sees it."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **(extra or {})}


def measure(command: Sequence[str], *, timeout: float = 300.0, extra: Mapping[str, str] | None = None) -> Usage:
    """Run to the end, started by a small C program (launch.c says why) that takes the times and the peak of memory.

    Raises BenchError when the command fails or takes longer than ``timeout`` seconds.
    """
    launcher = build((HERE / "launch.c").read_text(), "launch", flags=("-O2",))
    with tempfile.TemporaryFile() as output, tempfile.NamedTemporaryFile("r") as figures:
        process = subprocess.Popen(
            [str(launcher), figures.name, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment(extra),
            start_new_session=True,
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
        measured = figures.read().split()
    if code or len(measured) != 3:
        shown = " ".join(command)[:100]
        raise BenchError(f"{shown} ended with {code} (within {timeout:.1f} s):\n{text[-1000:]}")
    wall, cpu, rss = measured
    return Usage(float(wall), float(cpu), int(rss), text)


def turns(rounds: int, *sides: Callable[[], T]) -> list[list[T]]:
    """Call each side once a round, in turns; what each returned. One round before that warms caches and is dropped."""
    for side in sides:
        side()
    results: list[list[T]] = [[] for _ in sides]
    for _ in range(rounds):
        for index, side in enumerate(sides):
            results[index].append(side())
    return results


def number(value: float) -> str:
    """Three significant digits, plain: 0.123, 12.3, 1,230."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def table(title: str, rows: Sequence[Row], peer: str = "bpftrace") -> str:
    """The rows as text, with medians, the ratio and the verdict. ``peer``: what ``theirs`` is of."""
    lines = [("", "probescope", peer, "ratio", "target", "")]
    for row in rows:
        ours, theirs = (number(statistics.median(side)) if side else "-" for side in (row.ours, row.theirs))
        ratio = "-" if row.ratio is None else f"{row.ratio:.3f}x"
        target = "" if row.target is None else f"{'>=' if row.more else '<='} {row.target:g}x"
        name = f"{row.what}, {row.unit}"
        lines.append((name, ours, theirs, ratio, target, " ".join(filter(None, (row.verdict, row.note)))))
    widths = [max(len(line[i]) for line in lines) for i in range(6)]
    body: list[str] = []
    for name, *cells, verdict in lines:
        aligned = [cell.rjust(width) for cell, width in zip(cells, widths[1:5], strict=True)]
        body.append("  ".join([name.ljust(widths[0]), *aligned, verdict]))
    return "\n".join([title, *(f"  {line.rstrip()}" for line in body)])


def build(source: str, name: str, *, flags: Sequence[str] = ("-O1", "-g")) -> Path:
    """Compile C text into build/bench and return the program; the text decides whether it is built anew."""
    folder = HERE.parent / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    program, text = folder / name, folder / f"{name}.c"
    if not program.exists() or not text.exists() or text.read_text() != source:
        text.write_text(source)
        subprocess.run(["gcc", *flags, "-o", str(program), str(text)], check=True)
    return program
