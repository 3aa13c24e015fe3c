"""What stands in a trace.dat beside its events, of this machine: formats, symbols, names, how full buffers were."""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from probescope.collect.ftrace.places import Place
from probescope.errors import KernelError
from probescope.formats.tracedat import options as o
from probescope.formats.tracedat.writer import Head
from probescope.kernel import machine, tracefs
from probescope.kernel.host import host

_MARK = "probescope: what time is it"
_MARKED = re.compile(r" (\d+)\.(\d{6}): tracing_mark_write: " + re.escape(_MARK))
_LONG = struct.calcsize("l")


def head(enabled: Mapping[str, Iterable[str]], clock: str, version: int, compression: str) -> Head:
    """``options`` are the caller's to add. Raises KernelError."""
    import sys

    ftrace = [n for n in host().listdir(f"{tracefs.find_root()}/events/ftrace") if n not in {"enable", "filter"}]
    formats = {"ftrace": _formats("ftrace", ftrace)}
    formats |= {system: _formats(system, names) for system, names in sorted(enabled.items())}
    return Head(
        version=version,
        big=sys.byteorder == "big",
        long_size=_LONG,
        page_size=host().page_size,
        compression=compression,
        header_page=tracefs.read("events/header_page"),
        header_event=tracefs.read("events/header_event"),
        formats=formats,
        kallsyms=machine.kallsyms(),
        printk=_bytes("printk_formats"),
        cmdlines=_cmdlines(_bytes("saved_cmdlines")),
        clock=clock or "local",
    )


def _formats(system: str, names: Iterable[str]) -> tuple[str, ...]:
    out: list[str] = []
    for name in sorted(names):
        with suppress(KernelError):  # an event may go with its module
            out.append(tracefs.event_format(system, name))
    return tuple(out)


def _cmdlines(text: bytes) -> bytes:
    """``PID COMM`` a line. The kernel may list a thread twice, before and after its exec; of two, readers take any.
    A name may hold a newline (prctl(2), or a file's name): of what comes after it, trace-cmd reads no name at all."""
    last: dict[bytes, bytes] = {}
    for line in text.split(b"\n"):
        pid, _, name = line.strip().partition(b" ")
        if pid.isdigit() and name:
            last[pid] = line
    return b"".join(line + b"\n" for line in last.values())


def _bytes(file: str) -> bytes:
    with suppress(KernelError):
        return tracefs.read(file).encode("utf-8", "surrogateescape")
    return b""


def options(stats: list[tuple[Place, int, str]], cpus: int) -> list[tuple[int, bytes]]:
    """Of the machine and of its buffers: uname, who wrote this, what each CPU's buffer tells."""
    from probescope._version import __version__

    u = os.uname()
    uname = f"{u.sysname} {u.nodename} {u.release} {u.machine}"
    out = [(o.UNAME, _text(uname)), (o.VERSION, _text(f"probescope {__version__}"))]
    out.append((o.TRACEID, struct.pack("=Q", time.time_ns() & (1 << 63) - 1)))
    out += [(o.CPUSTAT, _text(f"CPU: {cpu}\n{text}")) for _, cpu, text in stats]
    return [*out, (o.CPUCOUNT, struct.pack("=I", cpus))]


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape") + b"\0"


def date(place: Place) -> tuple[int, bytes] | None:
    """How far the time of day is from the buffer's clock, in us: of a mark that is written and taken out again. The
    buffer is empty, and off, before and after."""
    out = None
    with suppress(KernelError):
        tracefs.write("tracing_on", "1", place.base)
        before = time.time_ns()
        tracefs.write("trace_marker", _MARK, place.base)
        after = time.time_ns()
        tracefs.write("tracing_on", "0", place.base)
        found = _MARKED.search(tracefs.read("trace", place.base))
        tracefs.write("trace", "", place.base, truncate=True)
        if found:
            there = int(found[1]) * 1_000_000 + int(found[2])
            out = (o.DATE, _text(f"{(before + after) // 2000 - there:#x}"))
    return out


def proc_map(pid: int) -> tuple[int, bytes] | None:
    """Which files are mapped where: ``PID COUNT PROGRAM``, then ``START END FILE`` a line, numbers in hexadecimal."""
    from probescope.kernel import procfs

    try:
        program = host().readlink(f"/proc/{pid}/exe")
        maps = [m for m in procfs.maps(pid) if m.path.startswith("/")]
    except (OSError, KernelError):
        return None
    spans: dict[str, tuple[int, int]] = {}
    for m in maps:
        low, high = spans.get(m.path, (m.start, m.end))
        spans[m.path] = min(low, m.start), max(high, m.end)
    lines = [f"{low:x} {high:x} {path}\n" for path, (low, high) in spans.items()]
    return o.PROCMAPS, _text(f"{pid:x} {len(lines):x} {program}\n" + "".join(lines))
