"""Pages that a recorder left when it was killed, made a trace.dat: ``trace.dat.cpu0``, ``trace.dat.NAME.cpu0``, each
perhaps with an older half, ``trace.dat.cpu0.old``.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, BinaryIO

from probescope.collect.ftrace import about
from probescope.collect.ftrace.choosing import Events
from probescope.collect.ftrace.spools import pieces
from probescope.errors import UsageError
from probescope.formats.tracedat import options as o
from probescope.formats.tracedat.convert import head_of
from probescope.formats.tracedat.writer import Pages, write_tracedat
from probescope.frozen import replace

if TYPE_CHECKING:
    from probescope.formats.tracedat.reader import TraceDat
    from probescope.formats.tracedat.writer import Head

_NAME = re.compile(r"(.+)\.cpu(\d{1,5})(\.old)?")
_KEPT = {o.UNAME, o.VERSION, o.DATE, o.TSC2NSEC}


def restore(
    file: BinaryIO, paths: list[str], known: TraceDat | None, clock: str, version: int, compression: str
) -> int:
    """``known``: whose formats of events are taken; else this kernel's, all of them. How many bytes of pages there
    were. Raises UsageError, KernelError."""
    buffers = _buffers(paths)
    if known is not None:
        kept = tuple(option for option in known.contents.options if option[0] in _KEPT)
        head = replace(head_of(known.contents, version, compression, kept), clock=known.clock or clock)
    else:
        head = _of_this_kernel(clock, version, compression)
    pages = [Pages(name, {cpu: pieces(found) for cpu, found in cpus.items()}) for name, cpus in buffers.items()]
    write_tracedat(file, head, pages)
    return sum(os.path.getsize(path) for cpus in buffers.values() for found in cpus.values() for path in found)


def _of_this_kernel(clock: str, version: int, compression: str) -> Head:
    enabled: dict[str, set[str]] = {}
    for system, name in Events().all:
        enabled.setdefault(system, set()).add(name)
    head = about.head(enabled, clock, version, compression)
    return replace(head, options=tuple(about.options([], 0)[:3]))


def _buffers(paths: list[str]) -> dict[str, dict[int, list[str]]]:
    """By name of buffer and by CPU, the older half first."""
    found: list[tuple[str, int, bool, str]] = []
    for path in paths:
        named = _NAME.fullmatch(path)
        if not named or not os.path.isfile(path):
            hints = ["their names end with .cpu0, .cpu1 and so on: trace.dat.cpu*"]
            raise UsageError(f"{path} is no file of a CPU's pages", hints=hints)
        found.append((named[1], int(named[2]), not named[3], path))
    stem = min((stem for stem, *_ in found), key=len)
    out: dict[str, dict[int, list[str]]] = {"": {}}
    for this, cpu, _, path in sorted(found, key=lambda f: f[:3]):
        name = this.removeprefix(stem).lstrip(".")
        out.setdefault(name, {}).setdefault(cpu, []).append(path)
    if not out[""]:
        out[""] = {key: [] for key in next(cpus for cpus in out.values() if cpus)}
    return out
