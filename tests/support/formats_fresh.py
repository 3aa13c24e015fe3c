"""A recording made now, in a private instance of tracefs: pages as the kernel gives them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from probescope.formats.tracedat.writer import Head, Pages

TRACEFS = Path("/sys/kernel/tracing")
WORK = "ls -lR /usr/share/doc /usr/share/man | cat"
"""Two programs that wait for each other make switches and wake-ups on a machine where nothing else happens,
too; the kernel remembers the names of some 128 threads only, so that there are two."""


def pages(path: Path) -> Iterator[bytes]:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while data := os.read(fd, 4096):
            yield data.ljust(4096, b"\0")
    except BlockingIOError:
        pass
    finally:
        os.close(fd)


def _names() -> bytes:
    """The kernel keeps them; one that holds a newline, of whatever ran here before, would cost trace-cmd all others."""
    return (TRACEFS / "saved_cmdlines").read_bytes()


def fresh(systems: Sequence[str], kilobytes: int = 512, *, stacks: bool = False) -> tuple[Head, list[Pages]]:
    """All events of these systems of the whole machine during ``WORK``; the oldest are lost where the
    buffers (of each CPU) are too small."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    instance = TRACEFS / "instances" / f"probescope-test-{os.getpid()}"
    instance.mkdir()
    try:
        (instance / "buffer_size_kb").write_text(str(kilobytes))
        (instance / "options" / "stacktrace").write_text(str(int(stacks)))
        for system in systems:
            (instance / "events" / system / "enable").write_text("1")
        subprocess.run(["sh", "-c", WORK], stdout=subprocess.DEVNULL, check=False)
        (instance / "events/enable").write_text("0")
        cpus = sorted((instance / "per_cpu").glob("cpu*"))
        found = [Pages("", {int(p.name[3:]): list(pages(p / "trace_pipe_raw")) for p in cpus})]
    finally:
        instance.rmdir()
    return head(systems), found


def head(systems: Sequence[str]) -> Head:
    """What this kernel says of the events of these systems, and of its threads and functions."""
    events = TRACEFS / "events"
    formats = {s: tuple(p.read_text() for p in sorted((events / s).glob("*/format"))) for s in ("ftrace", *systems)}
    return Head(
        header_page=(events / "header_page").read_text(),
        header_event=(events / "header_event").read_text(),
        formats=formats,
        kallsyms=Path("/proc/kallsyms").read_bytes(),
        cmdlines=b"".join(x + b"\n" for x in _names().splitlines() if re.fullmatch(rb"\d+ [ -~]+", x)),
    )
