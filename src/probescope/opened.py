"""A recording as a Python value: its events as columns, and questions to its tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from probescope.formats.sniff import AnyRecording
    from probescope.model.recording import Damage, EventBatch, EventType, Machine
    from probescope.store.columns import Column
    from probescope.store.opening import Asked
    from probescope.store.result import Result


class OpenRecording:
    """``batches`` reads the file; ``query``, ``tables`` and ``columns`` ask tables that are made of it when they are
    first asked for, and kept in the cache (``fresh``: made anew). Use it as a context manager, or ``close`` it.

    A folder of Parquet files of ``probescope query --parquet`` has tables alone."""

    def __init__(self, path: str, *, fresh: bool = False, memory: str = "") -> None:
        self.path = os.fspath(path)
        self._fresh, self._memory = fresh, memory
        self._recording: AnyRecording | None = None
        self._asked: Asked | None = None
        from probescope.store.parts import is_parquet

        if not is_parquet(self.path):
            self.recording  # noqa: B018 - so that what cannot be opened is told now

    # --- events

    @property
    def recording(self) -> AnyRecording:
        """As it was read: with what its kind of file has besides."""
        if self._recording is None:
            from probescope.recorded import opened

            self._recording = opened(self.path)
        return self._recording

    @property
    def name(self) -> str:
        return self.recording.name

    @property
    def events(self) -> tuple[EventType, ...]:
        """Kinds of events."""
        return self.recording.events

    @property
    def machine(self) -> Machine:
        return self.recording.machine

    @property
    def damage(self) -> tuple[Damage, ...]:
        return self.recording.damage

    def batches(self) -> Iterator[EventBatch]:
        """Events in order of time, as columns. Raises FormatError."""
        return self.recording.batches()

    # --- tables

    def query(self, sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> Result:
        """Iterating over the result gives a dict a row; ``.numpy()``, ``.arrow()`` and ``.df()`` give columns.
        ``params`` stand for ``?`` or ``$name``. Raises ScriptError, UsageError, LimitError.

        >>> import probescope
        >>> with probescope.open("perf.data") as recording:                                      # doctest: +SKIP
        ...     slow = recording.query("select name, dur from syscall where dur > ?", [1_000_000]).all()
        """
        return self.asked.query(sql, params)

    @property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """Names of columns by table."""
        return {name: tuple(c.name for c in self.asked.columns(name)) for name in self.asked.tables}

    @property
    def views(self) -> dict[str, str]:
        """What each view of the library tells."""
        return {name: view.about for name, view in self.asked.views.items()}

    def columns(self, name: str) -> tuple[Column, ...]:
        """Of a table or view, with types, units and meanings."""
        return self.asked.columns(name)

    @property
    def asked(self) -> Asked:
        if self._asked is None:
            from probescope.store.opening import Asked
            from probescope.store.session import MEMORY

            self._asked = Asked([(self.path, 0)], fresh=self._fresh, memory=self._memory or MEMORY)
        return self._asked

    def close(self) -> None:
        if self._recording is not None:
            self._recording.close()
        if self._asked is not None:
            self._asked.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
