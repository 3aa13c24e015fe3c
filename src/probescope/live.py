"""A running session for Python callers: events as they come, one by one or as columns; maps as Python values."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from probescope.errors import ProbescopeError, UsageError
from probescope.frozen import replace
from probescope.model.output import Attached, Batch, Lost, MapOut, Output, Text
from probescope.views.values import columns_of, plain_map

if TYPE_CHECKING:
    import numpy as np

    from probescope.api import Built

LOOK = 0.02
LONGEST = 3600.0
"""Seconds that are waited in one piece."""


class LiveSession:
    r"""Started by ``probescope.run``; probes are attached when that returns. Leaving the ``with`` block, by its end or
    by an exception, takes everything out of the kernel.

    Iterate over it for outputs (``probescope.model.output``) as they come, until the program ends:

    >>> with probescope.run('interval:ms:10 { printf("%d\\n", ++@n); if (@n == 3) { exit(7); } }') as session:
    ...     for output in session:
    ...         print(output)
    Attached(count=1)
    Text(kind='printf', text='1\n', values=(1,))
    Text(kind='printf', text='2\n', values=(2,))
    Text(kind='printf', text='3\n', values=(3,))
    MapOut(name='n', ..., items=((None, 3),), top=0, div=0, final=True)
    Ended(code=7, reason='exit')
    >>> session.exit_code
    7

    ``maps`` reads maps at any time, also after the end; ``lost`` says what was lost so far, by kind. One thread at a
    time uses a session; ``ask_stop`` and ``stop`` may come from any. It belongs to the process that started it: in a
    forked child it is over, and nothing that happens there disturbs it here.
    """

    def __init__(self, built: Built) -> None:
        self._outputs: list[Output] = []
        self.lost: dict[str, int] = {}
        self.losses: dict[str, Lost] = {}  # the same, with what it is about and what to change
        self.exit_code = 0
        self.probes = 0
        self._finals: dict[str, MapOut] = {}
        self._running = False
        self._pid = os.getpid()
        self._lock = threading.RLock()  # held while the session is looked at, and while it is ended
        self._session = built.session(self._take)
        self.program = built.program
        self.warnings = built.warnings
        try:
            self._session.start()
        except BaseException:
            self._session.close()
            raise
        self._running = True
        self.probes = next((o.count for o in self._outputs if isinstance(o, Attached)), 0)

    def _take(self, output: Output) -> None:
        if isinstance(output, Lost):
            count = self.lost[output.kind] = self.lost.get(output.kind, 0) + output.count
            self.losses[output.kind] = replace(output, count=count)
        self._outputs.append(output)

    # --- running
    # --------------------------------------------------------------------------------------------------------

    def poll(self, timeout: float = LOOK) -> list[Output]:
        """Waits until there is something, or ``timeout`` seconds are over, or the program ended; what came."""
        until = time.monotonic() + timeout
        while self.running and not self._outputs:
            left = until - time.monotonic()
            self._look(left)
            if left <= 0:
                break
        return self._taken()

    def wait(self, seconds: float) -> list[Output]:
        """Lets it run so long, or until it ends; what came meanwhile."""
        until = time.monotonic() + seconds
        while self.running and (left := until - time.monotonic()) > 0:
            self._look(left)
        return self._taken()

    def _look(self, seconds: float) -> None:
        """Waits so long at most, and acts on what came."""
        with self._lock:
            if self._running and not self._session.poll(int(min(max(seconds, 0), LONGEST) * 1000)):
                self.stop()

    def __iter__(self) -> Iterator[Output]:
        """Outputs until the program ends."""
        while self.running:
            yield from self.poll(1.0)
        yield from self._taken()

    def texts(self) -> Iterator[str]:
        """Only what the program prints, as it comes, until it ends."""
        for output in self:
            if isinstance(output, Text):
                yield output.text

    def batches(self, timeout: float | None = None) -> Iterator[Batch]:
        """What printf and print are given, as columns: a ``Batch`` for each statement and look, until the program
        ends, or ``timeout`` seconds have passed. A column has the name of the variable or field that was printed, or
        ``value0``, ``value1``... For many events: no Python object is made for each. Other outputs are left out.

        >>> with probescope.run('BEGIN { @i = 0; } tracepoint:raw_syscalls:sys_enter { print((nr=args.id, pid=pid)); }',
        ...                     via="bpf") as session:
        ...     batch = next(session.batches())
        >>> list(batch.columns), batch.columns["pid"].dtype
        (['nr', 'pid'], dtype('uint32'))
        """
        if not self._session.columnar():
            raise UsageError("nothing of this program runs in the kernel: it has no stream of events")
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            running = self.running
            for output in self.poll(1.0 if until is None else max(0.0, until - time.monotonic())):
                if isinstance(output, Batch):
                    yield output
            if not running or (until is not None and time.monotonic() >= until):
                return

    @property
    def running(self) -> bool:
        return self._running and self._pid == os.getpid()

    def ask_stop(self) -> None:
        """Makes whoever iterates or waits come to the end soon. From any thread."""
        self._session.ask_stop()

    def stop(self) -> int:
        """Ends the program: probes go, ``end`` runs, maps are read a last time. The exit code. From any thread: one
        that waits is waited for."""
        if not self.running:
            return self.exit_code
        if not self._lock.acquire(blocking=False):
            self.ask_stop()
            self._lock.acquire()
        try:
            if self._running:
                self._running = False
                try:
                    self.exit_code = self._session.stop()
                    self._keep_maps()
                finally:
                    self._session.close()
        finally:
            self._lock.release()
        return self.exit_code

    def _keep_maps(self) -> None:
        self._finals = {m.name: self._session.actions.map_output(m.name) for m in self.program.maps}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        elif self.running:
            self._running = False
            try:
                if isinstance(value, Exception):  # who interrupts does not want to wait for maps
                    with suppress(ProbescopeError):
                        self._keep_maps()
            finally:
                self._session.close()

    # --- results
    # --------------------------------------------------------------------------------------------------------

    @property
    def maps(self) -> dict[str, Any]:
        r"""Every map by name, with its ``@``: a dict from key to value, or the value of a map without keys (``None``
        if it was never set). Counts and the like are numbers, stats dicts, histograms dicts from (low, high) to
        count, where ``None`` stands for an open end. Stacks are ``StackOut``.

        >>> with probescope.run("BEGIN { @n = 3; @sizes = hist(10); @by[1, \"a\"] = count(); exit(); }") as session:
        ...     _ = session.wait(5)
        >>> session.maps
        {'@n': 3, '@sizes': {(8, 16): 1}, '@by': {(1, 'a'): 1}}
        """
        return {f"@{m.name}": plain_map(self.map_output(m.name)) for m in self.program.shown_maps}

    def map_output(self, name: str) -> MapOut:
        """One map with its types, for views. Raises UsageError for a name that the program does not have."""
        name = name.removeprefix("@")
        if all(m.name != name for m in self.program.shown_maps):
            known = ", ".join(f"@{m.name}" for m in self.program.shown_maps) or "none"
            raise UsageError(f"the program has no map @{name}", hints=[f"it has {known}"])
        if self.running:
            return self._session.actions.map_output(name)
        if name not in self._finals:
            why = "it was interrupted" if self._pid == os.getpid() else "it belongs to the process that started it"
            raise UsageError(f"@{name} was not read before the session ended: {why}")
        return self._finals[name]

    def columns(self, name: str) -> dict[str, np.ndarray[Any, Any]]:
        r"""A map as numpy columns, which data frames take as they are: the items of the key (``key``, or ``key0``,
        ``key1``... or the names in a record), and ``value``; of histograms ``low``, ``high`` and ``count``, of stats
        ``count``, ``average`` and ``total``. Open ends of histograms are the least and the greatest 64-bit integer.

        >>> with probescope.run("BEGIN { @[1, \"a\"] = 10; @[2, \"b\"] = 20; exit(); }") as session:
        ...     _ = session.wait(5)
        >>> {name: column.tolist() for name, column in session.columns("@").items()}
        {'key0': [1, 2], 'key1': ['a', 'b'], 'value': [10, 20]}
        """
        return columns_of(self.map_output(name))

    # --- inside
    # ---------------------------------------------------------------------------------------------------------

    def _taken(self) -> list[Output]:
        with self._lock:  # whoever ends it has not said all before
            out, self._outputs = self._outputs, []
        return out
