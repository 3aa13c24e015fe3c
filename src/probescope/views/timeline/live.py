"""A recording that goes on: written by a recorder of its own process, and shown as far as it is.

    probescope record -o - ──pipe──► recording.data ──every few seconds──► N.duckdb ──► the page
                                     (this process)       (from the start)

The recording is perf's format of pipes, which is whole up to wherever one stops reading. Its tables are made from the
start each time: numbers of threads and slices stay what they were, and nothing has to be right twice. How often that
happens follows from how long it takes, so that it never uses more than a quarter of a CPU; what is shown may lag
behind, and is whole in the end. The recorder writes into a pipe: should this process die, it has nobody to write to,
and ends.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, BinaryIO

from probescope.errors import ProbescopeError, SessionError
from probescope.kernel.piped import PATIENCE_S, Piped
from probescope.kernel.scratch import scratch_prefix
from probescope.kernel.wholefile import private
from probescope.views.timeline.names import Names

if TYPE_CHECKING:
    from probescope.views.timeline.opened import Opened

    Step = Callable[[int, int, str], None]

LEAST_S = 1.0
SHARE = 4
"""Making tables takes one part of time in as many."""
BETWEEN_S = 0.1
MOST_TOLD = 1 << 14
PIECE = 1 << 18


class Live:
    """``options``: of ``probescope record``. ``keep``: the file that the recording stays in; empty: it goes. Used by
    one thread at a time, but for ``stop``."""

    def __init__(self, options: Sequence[str], keep: str = "", *, memory: str = "512MB") -> None:
        self._options, self._keep, self._memory = tuple(options), keep, memory
        self._names = Names()
        self._folder = tempfile.mkdtemp(prefix=scratch_prefix("live"))
        self._path = keep or os.path.join(self._folder, "recording.data")
        self._recorder: Piped | None = None
        self._shown = -1
        self._made = 0
        self._took = 0.0

    def start(self) -> None:
        """Raises OSError where the file cannot be written."""
        out = open(self._path, "wb", buffering=0, opener=private)  # noqa: SIM115 - the thread that copies closes it
        command = [sys.executable, "-m", "probescope", "record", "-q", "-o", "-", *self._options]
        self._recorder = Piped(command)
        self._copying = threading.Thread(target=_copied, args=(self._recorder.out, out), daemon=True)
        self._copying.start()

    @property
    def going(self) -> bool:
        """Whether more may come."""
        return self._copying.is_alive()

    @property
    def grown(self) -> bool:
        """Whether there is more than was shown."""
        return os.path.getsize(self._path) != self._shown

    @property
    def pause(self) -> float:
        """Seconds before it is worth looking again."""
        return max(LEAST_S, SHARE * self._took)

    def first(self, step: Step) -> Opened:
        """As soon as there is something. Raises SessionError where the recorder ends without."""
        while True:
            going = self.going
            if self.grown:
                with suppress(ProbescopeError):
                    return self.opened(step)
            if not going:
                raise SessionError("nothing was recorded", hints=self.said() or ["-e NAMES says what is recorded"])
            step(0, 1, "waiting for events")
            time.sleep(BETWEEN_S)

    def opened(self, step: Step) -> Opened:
        """What there is by now. Raises ProbescopeError where nothing can be made of it."""
        from probescope.store.making import make
        from probescope.store.parts import Part
        from probescope.store.session import Stores
        from probescope.views.timeline.opened import Opened

        began = time.monotonic()
        going, size = self.going, os.path.getsize(self._path)
        self._made += 1
        database = os.path.join(self._folder, f"{self._made}.duckdb")
        make(self._path, database, step, None, memory=self._memory)
        stores = Stores([Part(database)], memory=self._memory)
        if not stores.query("select count(*) from event").value():
            stores.close()
            raise SessionError("there are no events yet")
        self._shown, self._took = size, time.monotonic() - began
        try:
            return Opened(stores, self._names, live=going, files=os.path.join(self._folder, f"{self._made}."))
        except BaseException:
            stores.close()
            raise

    def said(self) -> list[str]:
        """What the recorder had to say."""
        lines = self._recorder.said(MOST_TOLD).splitlines()[:5] if self._recorder is not None else []
        return [line.removeprefix("ERROR: ").removeprefix("HINT: ") for line in lines]

    def stop(self) -> None:
        """From any thread; what was recorded stays to be shown."""
        if self._recorder is not None:
            self._recorder.interrupt()

    def close(self) -> None:
        if self._recorder is not None:
            self._recorder.close()
            self._copying.join(PATIENCE_S)
        shutil.rmtree(self._folder, ignore_errors=True)


def _copied(pipe: IO[bytes], out: BinaryIO) -> None:
    """Until the recorder ends, or there is no room; then it has nobody to write to."""
    with pipe, out, suppress(OSError):
        while data := os.read(pipe.fileno(), PIECE):
            while data:
                data = data[out.write(data) :]
