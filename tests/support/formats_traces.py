"""trace.dat files and what trace-cmd says of them."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.formats.tracedat.options import in_nanoseconds
from probescope.formats.tracedat.reader import TraceDat
from probescope.formats.tracing.text import Lines, report

SAMPLES = os.environ.get("PROBESCOPE_SAMPLES", "")


def samples() -> list[Path]:
    """Recordings with an expected text; none where the variable names no folder."""
    return sorted(Path(SAMPLES, "tracedat").glob("*.dat")) if SAMPLES else []


def expected(path: Path) -> list[str]:
    with gzip.open(
        path.parent.parent / "expected" / f"{path.name}.report.txt.gz", "rt", errors="surrogateescape"
    ) as file:
        return file.read().splitlines()


def ours(recording: TraceDat, flags: bool = True, plugins: bool = True, nanoseconds: bool = False) -> list[str]:
    lines = Lines(
        recording.events,
        recording.context(),
        flags=flags,
        nanoseconds=nanoseconds,
        ticks=not in_nanoseconds(recording.clock),
        buffers=tuple(b.name for b in recording.buffers),
        plugins=plugins,
    )
    data = b"".join(report(lines, recording.batches(), recording.machine.cpus))
    return data.decode("utf-8", "surrogateescape").splitlines()


def trace_cmd() -> str:
    return shutil.which("trace-cmd") or pytest.skip("trace-cmd is not installed")


def newer_trace_cmd() -> str:
    """Another one, of another version: PROBESCOPE_TRACE_CMD names it."""
    named = os.environ.get("PROBESCOPE_TRACE_CMD", "")
    return named or pytest.skip("PROBESCOPE_TRACE_CMD names no other trace-cmd")


def has_flags(program: str) -> bool:
    """Lines of trace-cmd have the flags from 3.2 on."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+)\.(\d+)", said.stdout + said.stderr)
    return bool(found) and (int(found[1]), int(found[2])) >= (3, 2)  # type: ignore[index]


def theirs(path: Path, *options: str, program: str = "") -> list[str]:
    command = [program or trace_cmd(), "report", *options, "-i", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", check=True)
    return result.stdout.splitlines()
