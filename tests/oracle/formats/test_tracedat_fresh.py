"""A recording made now, in a private instance of tracefs: pages as the kernel gives them, text as trace-cmd's."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import formats_traces as traces
import pytest

from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracedat.writer import Head, Pages, write_tracedat

TRACEFS = Path("/sys/kernel/tracing")
SYSTEMS = ("sched", "raw_syscalls", "irq", "task", "signal")


def pages(path: Path) -> Iterator[bytes]:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while data := os.read(fd, 4096):
            yield data.ljust(4096, b"\0")
    except BlockingIOError:
        pass
    finally:
        os.close(fd)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Head, list[Pages]]:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    instance = TRACEFS / "instances" / f"probescope-test-{os.getpid()}"
    instance.mkdir()
    try:
        (instance / "buffer_size_kb").write_text("512")  # small enough to lose events
        for system in SYSTEMS:
            (instance / "events" / system / "enable").write_text("1")
        subprocess.run(["ls", "-lR", "/usr/share/doc"], stdout=subprocess.DEVNULL, check=False)
        (instance / "events/enable").write_text("0")
        cpus = sorted((instance / "per_cpu").glob("cpu*"))
        found = [Pages("", {int(p.name[3:]): list(pages(p / "trace_pipe_raw")) for p in cpus})]
    finally:
        instance.rmdir()
    events = TRACEFS / "events"
    formats = {s: tuple(p.read_text() for p in sorted((events / s).glob("*/format"))) for s in ("ftrace", *SYSTEMS)}
    head = Head(
        header_page=(events / "header_page").read_text(),
        header_event=(events / "header_event").read_text(),
        formats=formats,
        kallsyms=Path("/proc/kallsyms").read_bytes(),
        cmdlines=(TRACEFS / "saved_cmdlines").read_bytes(),
    )
    return head, found


@pytest.mark.parametrize(("version", "compression"), [(6, "none"), (7, "none"), (7, "zstd")])
def test_text_of_a_fresh_recording(
    recorded: tuple[Head, list[Pages]], tmp_path: Path, version: int, compression: str
) -> None:
    """Every line of thousands, in all containers, without plugins, which know fewer states if old."""
    from probescope.frozen import replace

    head, buffers = recorded
    path = tmp_path / "trace.dat"
    with path.open("wb") as file:
        write_tracedat(file, replace(head, version=version, compression=compression), buffers)
    theirs = traces.theirs(path, "-N")
    flags = bool(re.match(r".{16}-\d+ +\[\d+\] [.dX]", next(line for line in theirs[1:] if "DROPPED" not in line)))
    with open_tracedat(str(path)) as recording:
        ours = traces.ours(recording, flags=flags, plugins=False)
        assert recording.damage == ()
    assert len(ours) > 1000
    assert ours == theirs
