"""Text of tracepoints as `perf script` prints it, on a recording made now."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import formats_perf as fp
import numpy as np
import pytest

from probescope.formats.perfdata import open_perfdata
from probescope.formats.perfdata.reader import PerfData
from probescope.formats.tracing.fields import Records
from probescope.formats.tracing.print_fmt import compile_event
from probescope.formats.tracing.symbols import Context, Symbols

EVENTS = "sched:*,raw_syscalls:*,irq:*,task:*,signal:*,syscalls:sys_enter_openat,syscalls:sys_exit_read,kmem:kmalloc"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_every_line_is_perfs(tmp_path: Path) -> None:
    """Strings, symbols of the kernel, flags, symbolic names, arrays, signed and unsigned numbers, by the thousand."""
    path = fp.recorded(tmp_path / "perf.data", ["-a", "-e", EVENTS], ["ls", "-lR", "/usr/share/doc/bash", "/etc"])
    command = [fp.perf(), "script", "-f", "-i", str(path), "-F", "trace"]
    wanted = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", check=True).stdout
    context = Context(symbols=Symbols(Path("/proc/kallsyms").read_text()))
    recording = open_perfdata(str(path))
    try:
        ours = lines_of(recording, context)
    finally:
        recording.close()
    assert len(ours) > 500
    # sorted: events of one time on two CPUs come in either order, which is no matter of texts
    assert sorted(line.strip() for line in ours) == sorted(line.strip() for line in wanted.splitlines())


def lines_of(recording: PerfData, context: Context) -> list[str]:
    ours: list[str] = []
    for batch in recording.batches():
        assert batch.raw is not None
        lines = np.empty(batch.count, object)
        for kind in np.unique(batch.event).tolist():
            which = np.flatnonzero(batch.event == kind)
            printer = compile_event(recording.events[kind], context)
            assert printer.parsed
            lines[which] = printer.texts(Records(batch.raw).subset(which))
        ours += lines.tolist()
    return ours
