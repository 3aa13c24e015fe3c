"""Pages of all buffers and CPUs on their way into files beside the recording: ``trace.dat.cpu0``,
``trace.dat.NAME.cpu0``, which is what ``ftrace restore`` puts together should the recorder be killed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from probescope.collect.ftrace.places import Place
from probescope.errors import UsageError
from probescope.formats.tracedat.writer import Pages
from probescope.kernel.page_files import Funnel, PageFile
from probescope.kernel.poller import Poller

PIECE = 1 << 20
MOST_MOVES = 64
"""Pipes full of pages that one look takes from a CPU: it comes back to a busy one after the others had their turn."""


class Spools:
    """``most``: bytes of each CPU that are kept; 0: all. ``file``: of each CPU's folder. Raises KernelError and
    OSError."""

    def __init__(
        self, places: list[Place], cpus: list[int], path: str, most: int, *, file: str = "trace_pipe_raw"
    ) -> None:
        self.places, self.cpus = places, cpus
        self._funnel = Funnel()
        self.files: list[tuple[Place, PageFile]] = []
        try:
            for place in places:
                prefix = f"{path}.{place.name}" if place.name else path
                for cpu in cpus:
                    source = f"{place.base}/per_cpu/cpu{cpu}/{file}"
                    one = PageFile(source, cpu, f"{prefix}.cpu{cpu}", self._funnel, most)
                    self.files.append((place, one))
        except BaseException:
            self.close()
            self.remove()
            raise
        self._by_fd = {file.fileno(): file for _, file in self.files}

    def watch(self, poller: Poller) -> None:
        for fd in self._by_fd:
            poller.add(fd)

    def take(self, ready: list[int] | None = None) -> int:
        """Of the buffers that are ``ready``, or of all; how many bytes came."""
        moved = 0
        for file in (
            [self._by_fd[fd] for fd in ready if fd in self._by_fd] if ready is not None else self._by_fd.values()
        ):
            for _ in range(MOST_MOVES):
                some = file.move()
                moved += some
                if not some:
                    break
        return moved

    def finish(self) -> None:
        for _, file in self.files:
            file.finish()

    @property
    def bytes(self) -> int:
        return sum(os.path.getsize(path) for _, file in self.files for path in file.files)

    @property
    def cut(self) -> int:
        return sum(file.dropped for _, file in self.files)

    def pages(self) -> list[Pages]:
        """For ``write_tracedat``, which wants a buffer without a name first."""
        out = [
            Pages(place.name, {f.cpu: pieces(f.files) for p, f in self.files if p is place}) for place in self.places
        ]
        return out if not out[0].name else [Pages("", dict.fromkeys(self.cpus, ())), *out]

    def close(self) -> None:
        for _, file in self.files:
            file.close()
        self._funnel.close()

    def remove(self) -> None:
        for _, file in self.files:
            for path in (file.path, f"{file.path}.old"):
                with suppress(OSError):
                    os.unlink(path)


def check_output(path: str) -> None:
    """Raises UsageError for what is no regular file: the recording is put together in another, and takes its place."""
    if not path:
        raise UsageError("-o: the name of the file is empty", hints=["-o FILE"])
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UsageError(f"{path} is no regular file", hints=["-o FILE; probescope ftrace stream prints at once"])
    except FileNotFoundError:
        return
    except OSError as e:
        raise UsageError(f"cannot write {path}: {e.strerror}") from None


def opened(places: list[Place], cpus: list[int], path: str, most: int, *, file: str = "trace_pipe_raw") -> Spools:
    """Raises KernelError, UsageError where the files cannot be made."""
    try:
        return Spools(places, cpus, path, most, file=file)
    except OSError as e:
        raise UsageError(f"cannot write {e.filename or path}: {e.strerror}") from None


def pieces(paths: list[str]) -> Iterator[bytes]:
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while piece := file.read(PIECE):
                yield piece
