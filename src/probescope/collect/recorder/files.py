"""The files of a recording: one, or several that follow each other; or a pipe."""

from __future__ import annotations

import io
import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from probescope.collect.recorder import about
from probescope.collect.recorder.behind import Behind
from probescope.collect.recorder.opening import RingEvent
from probescope.collect.recorder.request import PIPE, RecordRequest
from probescope.collect.recorder.sizes import most_waiting
from probescope.errors import UsageError
from probescope.formats.perfdata.attr import FIELDS, Attr
from probescope.formats.perfdata.meta import BuildId
from probescope.formats.perfdata.pipe_writer import PipeWriter
from probescope.formats.perfdata.writer import PerfDataWriter, WrittenEvent
from probescope.formats.symbolfile import SUFFIX
from probescope.kernel.perf_attr import PerfAttr
from probescope.kernel.wholefile import private

_SHARED = tuple(name for name, _, _ in FIELDS if name in PerfAttr.__slots__)


def written_attr(attr: PerfAttr) -> Attr:
    """As files have it."""
    return Attr(**{name: getattr(attr, name) for name in _SHARED}, flags=attr.flags)


class Files:
    """``begin`` and ``finish`` each file; ``visit`` and ``records`` in between. Raises UsageError where a file cannot
    be made, OSError where it cannot be written."""

    def __init__(self, request: RecordRequest, events: Sequence[RingEvent], ids: Sequence[Sequence[int]]) -> None:
        self._request = request
        self._events = list(events)
        self._written = [WrittenEvent(written_attr(e.attr), e.name, tuple(i)) for e, i in zip(events, ids, strict=True)]
        self._tracing = about.tracing_data(events)
        self._features = about.features(events, request.words, clockid=request.sampling.clockid)
        self._kept: deque[str] = deque()
        self._writer: PerfDataWriter | PipeWriter | None = None
        self._file: io.FileIO | None = None
        self._behind = Behind(self._write, most_waiting())
        self.path = request.output
        self.size = 0

    @property
    def pipe(self) -> bool:
        return self._request.output == PIPE

    def begin(self) -> None:
        r = self._request
        if self.pipe:
            fd = os.dup(sys.stdout.fileno())
            self._file = io.FileIO(fd, "w")
            self._writer = PipeWriter(self._file, self._written, self._features, tracing=self._tracing, level=r.level)
        else:
            self._keep_old()
            try:
                self._file = io.FileIO(r.output, "w", opener=private)
            except OSError as e:
                raise UsageError(f"cannot write {r.output}: {e.strerror}", hints=["-o FILE names another"]) from None
            self._writer = PerfDataWriter(self._file, self._written, level=r.level)

    def _keep_old(self) -> None:
        """As perf does: the last recording of this name becomes NAME.old, with what lies beside it."""
        name = self._request.output
        try:
            if not os.path.isfile(name) or not os.path.getsize(name):
                return
            os.replace(name, name + ".old")
        except OSError:
            return
        with suppress(OSError):
            os.unlink(name + ".old" + SUFFIX)
        with suppress(OSError):
            os.replace(name + SUFFIX, name + ".old" + SUFFIX)

    @property
    def writer(self) -> PerfDataWriter | PipeWriter:
        """When nothing waits to be written."""
        self._behind.finish()
        assert self._writer is not None
        return self._writer

    def visit(self, pieces: Sequence[memoryview]) -> None:
        """What all rings had; they are not looked at any more when it returns."""
        self._behind.visit(pieces)

    def _write(self, pieces: Sequence[memoryview]) -> None:
        assert self._writer is not None
        self._writer.visit(pieces)

    def hurry(self) -> None:
        """Much comes: from now on the disk is not waited for."""
        if not self._behind.begun:
            self._behind.begin(ordinarily=self._request.level > 0)

    def catch_up(self) -> None:
        """Nothing waits to be written when it returns."""
        self._behind.finish()

    @property
    def data_size(self) -> int:
        """Of the file that is being written, with what waits, as far as that is not to be compressed."""
        waiting = 0 if self._request.level else self._behind.waiting
        return self._writer.data_size + waiting if self._writer is not None else 0

    def records(self, records: Iterable[bytes]) -> None:
        """Many small ones in few writes."""
        self.writer.write(b"".join(records))

    def finish(self, build_ids: Sequence[BuildId] = (), more: dict[str, Any] | None = None) -> None:
        """What is still compressed is written, and, of a file, its header."""
        self._behind.finish()
        assert self._file is not None
        if isinstance(self._writer, PerfDataWriter):
            features = {**self._features, **(more or {})}
            self._writer.finish(features, build_ids=build_ids, tracing=self._tracing)
        elif self._writer is not None:
            self._writer.finish()
        self.size = self._writer.data_size if self._writer is not None else 0
        self.size = self.size if self.pipe else os.fstat(self._file.fileno()).st_size
        self._file.close()
        self._writer = None

    @property
    def regular(self) -> bool:
        """Whether it can be read again, and have something beside it: not /dev/null."""
        return not self.pipe and os.path.isfile(self.path)

    def records_so_far(self, most: int) -> bytes | None:
        """None where they are more, or compressed."""
        w = self._writer
        if not isinstance(w, PerfDataWriter) or w.level or w.data_size > most:
            return None
        with open(self.path, "rb") as f:
            f.seek(w.data_at)
            return f.read(w.data_size)

    def settle(self) -> None:
        """Should we be killed, this much can be read."""
        if isinstance(self._writer, PerfDataWriter):
            self._behind.do(self._writer.settle)

    def flush(self) -> None:
        """What waits to be compressed together goes into the file."""
        self.writer.round()

    def name_by_time(self) -> str:
        """Renames the finished file to NAME.YYYYMMDDHHMMSSuu; the oldest goes when there are too many. Its path. Of two
        files within a hundredth of a second the later one is named after the next."""
        now = time.time_ns() // 10_000_000
        while os.path.lexists(path := f"{self._request.output}.{_stamp(now)}"):
            now += 1
        os.replace(self._request.output, path)
        self._kept.append(path)
        while self._request.switch.most and len(self._kept) > self._request.switch.most:
            old = self._kept.popleft()
            for name in (old, old + SUFFIX):
                with suppress(OSError):
                    os.unlink(name)
        return path

    def close(self) -> None:
        """After an error: what is there stays, as that of a recorder that was killed."""
        self._behind.close()
        if self._file is not None and not self._file.closed:
            self._file.close()


def _stamp(hundredths: int) -> str:
    """``hundredths`` of a second since the epoch."""
    return time.strftime("%Y%m%d%H%M%S", time.localtime(hundredths // 100)) + f"{hundredths % 100:02}"
