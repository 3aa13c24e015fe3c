"""Text of perf script, and the kernel's own, made now: read back, it holds what the recording itself holds."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import formats_fresh as fresh
import formats_perf as fp
import formats_tracetext as texts
import pytest

from probescope.formats.perfdata import open_perfdata
from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracedat.writer import write_tracedat
from probescope.formats.tracetext import open_tracetext
from probescope.formats.tracetext.perf_reader import PerfText
from probescope.kernel.uapi.perf import PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER
from probescope.model.recording import EventType

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
EVENTS = "sched:*,raw_syscalls:*,irq:*,task:*,kmem:kmalloc,syscalls:sys_enter_openat,syscalls:sys_exit_openat"
#: What texts say otherwise: functions and pointers by name or scrambled, system calls without their number.
_ELSEWHERE = {"call_site", "function", "ptr", "work", "workqueue", "__syscall_nr", "vec"}


def known(events: tuple[EventType, ...]) -> Any:
    named = {e.name: e for e in events}
    short = {e.name.rpartition(":")[2]: e for e in reversed(events)}
    return lambda name: named.get(name) or short.get(name)


def test_perf_script_and_its_recording(tmp_path: Path) -> None:
    """Every event of thousands: process, thread, CPU, time, the fields of tracepoints."""
    path = fp.recorded(tmp_path / "perf.data", ["-a", "-e", EVENTS], ["ls", "-lR", "/usr/share/doc/bash", "/etc"])
    text = tmp_path / "script.txt"
    text.write_text(fp.script(path, "--ns", "-F", "comm,pid,tid,cpu,time,event,trace"))
    with open_perfdata(str(path)) as recording, open_tracetext(str(text), known(recording.events)) as found:
        assert isinstance(found, PerfText)
        wanted, got = list(texts.rows(recording)), list(texts.rows(found))
    assert len(wanted) == len(got) > 500
    assert not [d for d in found.damage if d.kind not in {"fields", "values"}]
    key = lambda row: (row[1], row[2], row[0], row[3])  # noqa: E731 - of one time either CPU may be first
    different: Counter[str] = Counter()
    for a, b in zip(sorted(wanted, key=key), sorted(got, key=key), strict=True):
        assert a[:4] == b[:4]
        for name, value in a[4].items():
            different[f"{a[0]}.{name}"] += name not in _ELSEWHERE and value != b[4].get(name)
    assert not {k: v for k, v in different.items() if v}


def test_perf_script_stacks(tmp_path: Path) -> None:
    """As many frames, the same names, the kernel's from the program's told apart."""
    path = fp.recorded(tmp_path / "perf.data", ["-g", "-e", "cpu-clock", "-F", "999"], ["ls", "-lR", "/usr/share/doc"])
    (tmp_path / "script.txt").write_text(text := fp.script(path, "--ns", "--no-inline"))
    with open_perfdata(str(path)) as recording:
        batches = list(recording.batches())
    sizes, kernels = [n for b in batches if b.stacks is not None for n in _frames(b)], _kernels(batches)
    found = texts.of_perf(text)
    got = [n for b in found.batches() if b.stacks is not None for n in _frames(b)]
    assert sizes
    assert got == sizes
    assert any(kernels)
    assert _kernels(found.batches()) == kernels


def _kernels(batches: Iterable[Any]) -> list[int]:
    """How many frames of each stack are the kernel's, by the recording's own marks (PERF_CONTEXT_KERNEL, _USER): what
    lies on a program's stack may look like any address."""
    counts = []
    for stack in (b.stacks.piece(i).tolist() for b in batches if b.stacks is not None for i in range(b.count)):
        kernels = stack[: stack.index(PERF_CONTEXT_USER)] if PERF_CONTEXT_USER in stack else stack
        counts.append(len(kernels) - 1 if PERF_CONTEXT_KERNEL in kernels else 0)
    return counts


def _frames(batch: Any) -> list[int]:
    return [sum(1 for a in batch.stacks.piece(i).tolist() if a < (1 << 64) - 4095) for i in range(batch.count)]


@pytest.mark.parametrize("options", [(), ("record-tgid",), ("noirq-info",)])
def test_the_kernels_trace_and_its_pages(tmp_path: Path, options: tuple[str, ...]) -> None:
    """The text of a ring buffer, and then its pages: the same events in the same order."""
    instance = fresh.TRACEFS / "instances" / f"probescope-text-{os.getpid()}"
    instance.mkdir()
    systems = ("sched", "raw_syscalls", "irq", "task")
    try:
        for option in options:
            (instance / "trace_options").write_text(option)
        (instance / "buffer_size_kb").write_text("4096")
        for system in systems:
            (instance / "events" / system / "enable").write_text("1")
        subprocess.run(["ls", "-lR", "/usr/share/doc/bash", "/etc"], stdout=subprocess.DEVNULL, check=False)
        (instance / "events/enable").write_text("0")
        text = (instance / "trace").read_text(errors="surrogateescape")
        cpus = sorted((instance / "per_cpu").glob("cpu*"))
        pages = {int(p.name[3:]): list(fresh.pages(p / "trace_pipe_raw")) for p in cpus}
    finally:
        instance.rmdir()
    path = tmp_path / "trace.dat"
    with path.open("wb") as file:
        write_tracedat(file, fresh.head(systems), [fresh.Pages("", pages)])
    with open_tracedat(str(path)) as recording:
        found = texts.of_trace(text, texts.described(recording))
        wanted, got = list(texts.rows(recording)), list(texts.rows(found))
    assert len(wanted) == len(got) > 300
    assert found.damage == ()
    different: Counter[str] = Counter()
    for a, b in zip(wanted, got, strict=True):
        assert (a[0], *a[2:4]) == (b[0], *b[2:4])
        assert abs(a[1] - b[1]) <= 500
        for name, value in a[4].items():
            different[f"{a[0]}.{name}"] += name not in _ELSEWHERE and value != b[4].get(name)
    assert not {k: v for k, v in different.items() if v}
