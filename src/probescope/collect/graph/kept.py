"""Pages of ftrace's buffers, as they are read, on their way into a trace.dat, which trace-cmd and KernelShark read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from probescope.errors import UsageError
from probescope.kernel.wholefile import private

PIECE = 1 << 20


class Kept:
    """``take`` gets the pages of a CPU; ``write`` makes the file, once, at the end. Raises UsageError where it cannot
    be written. ``size`` in bytes, 0 before."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        self._cpus: dict[int, BinaryIO] = {}
        try:
            self._file = open(path, "wb", opener=private)  # noqa: SIM115 - closed by ``close``
        except OSError as e:
            raise UsageError(f"cannot write {path}: {e.strerror}") from None

    def take(self, cpu: int, pages: bytes) -> None:
        if cpu not in self._cpus:
            folder = os.path.dirname(os.path.abspath(self.path))
            self._cpus[cpu] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by ``close``
        self._cpus[cpu].write(pages)

    def write(self, base: str, events: tuple[str, ...]) -> None:
        """``base``: the buffer's folder. Raises KernelError."""
        from probescope.collect.ftrace import about
        from probescope.formats.tracedat.writer import Pages, write_tracedat
        from probescope.frozen import replace
        from probescope.kernel import tracefs
        from probescope.kernel.machine import possible_cpus

        enabled: dict[str, list[str]] = {}
        for event in events:
            system, _, name = event.partition(":")
            enabled.setdefault(system, []).append(name)
        clock = tracefs.read("trace_clock", base).partition("[")[2].partition("]")[0]
        head = about.head(enabled, clock, 6, "none")
        cpus = len(possible_cpus())
        head = replace(head, options=tuple(about.options([], cpus)))
        pages = {cpu: _pieces(self._cpus[cpu]) if cpu in self._cpus else () for cpu in range(cpus)}
        write_tracedat(self._file, head, [Pages("", pages)])
        self.size = self._file.tell()

    def close(self) -> None:
        for file in (self._file, *self._cpus.values()):
            file.close()


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE):
        yield piece
