"""A running session for Python callers: events as they come, one by one or as columns; maps as Python values."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from probescope.errors import UsageError
from probescope.model.output import Attached, Batch, Lost, MapOut, Output, Text
from probescope.views.values import columns_of, plain_map

if TYPE_CHECKING:
    import numpy as np

    from probescope.api import Built

LOOK = 0.02


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

    ``maps`` reads maps at any time, also after the end; ``lost`` says what was lost so far, by kind. A session belongs
    to the thread that uses it; only ``ask_stop`` may be called from others.
    """

    def __init__(self, built: Built) -> None:
        self._outputs: list[Output] = []
        self.lost: dict[str, int] = {}
        self.exit_code = 0
        self.probes = 0
        self._finals: dict[str, MapOut] = {}
        self._running = False
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
            self.lost[output.kind] = self.lost.get(output.kind, 0) + output.count
        self._outputs.append(output)

    # --- running
    # --------------------------------------------------------------------------------------------------------

    def poll(self, timeout: float = LOOK) -> list[Output]:
        """Waits until there is something, or ``timeout`` seconds are over, or the program ended; what came."""
        until = time.monotonic() + timeout
        while self._running and not self._outputs:
            left = until - time.monotonic()
            if not self._session.poll(max(0, int(left * 1000))):
                self.stop()
            if left <= 0:
                break
        return self._taken()

    def wait(self, seconds: float) -> list[Output]:
        """Lets it run so long, or until it ends; what came meanwhile."""
        until = time.monotonic() + seconds
        while self._running and (left := until - time.monotonic()) > 0:
            if not self._session.poll(max(1, int(left * 1000))):
                self.stop()
        return self._taken()

    def __iter__(self) -> Iterator[Output]:
        """Outputs until the program ends."""
        while self._running:
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
        if self._session.kernel is None:
            raise UsageError("nothing of this program runs in the kernel: it has no stream of events")
        self._session.kernel.columnar()
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            running = self._running
            for output in self.poll(1.0 if until is None else max(0.0, until - time.monotonic())):
                if isinstance(output, Batch):
                    yield output
            if not running or (until is not None and time.monotonic() >= until):
                return

    @property
    def running(self) -> bool:
        return self._running

    def ask_stop(self) -> None:
        """Makes whoever iterates or waits come to the end soon. From any thread."""
        self._session.ask_stop()

    def stop(self) -> int:
        """Ends the program: probes go, ``end`` runs, maps are read a last time. The exit code."""
        if self._running:
            self._running = False
            try:
                self.exit_code = self._session.stop()
                self._finals = {m.name: self._session.actions.map_output(m.name) for m in self.program.maps}
            finally:
                self._session.close()
        return self.exit_code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self._running = False
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
        return {f"@{m.name}": plain_map(self.map_output(m.name)) for m in self.program.maps}

    def map_output(self, name: str) -> MapOut:
        """One map with its types, for views. Raises UsageError for a name that the program does not have."""
        name = name.removeprefix("@")
        if all(m.name != name for m in self.program.maps):
            known = ", ".join(f"@{m.name}" for m in self.program.maps) or "none"
            raise UsageError(f"the program has no map @{name}", hints=[f"it has {known}"])
        return self._session.actions.map_output(name) if self._running else self._finals[name]

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
        out, self._outputs = self._outputs, []
        return out
