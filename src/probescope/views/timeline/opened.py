"""Recordings as the page sees them: one axis of time, and the levels of each."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from probescope.frozen import dataclass
from probescope.kernel.scratch import scratch_prefix
from probescope.store.lod.opened import Levels
from probescope.views.timeline.names import Names

if TYPE_CHECKING:
    import duckdb

    from probescope.store.lod.families import Points
    from probescope.store.parts import Part
    from probescope.store.session import Stores
    from probescope.views.timeline.plots import Plot


AGAIN_S = 0.05


@dataclass(frozen=True, slots=True)
class Shown:
    """A recording. ``start``, ``end``: its own times. ``shift`` makes them those of the page. ``base``: what is added
    to the numbers of each table's rows."""

    number: int
    start: int
    end: int
    shift: int
    base: Mapping[str, int]
    levels: Levels
    row: Mapping[str, Any]

    def stored(self, points: Points, track: int) -> int:
        """The number in the tables of a track of instants."""
        return track + (self.base[points.numbers] if points.numbers else 0)


class Opened:
    """``origin``: what the page's times count from, in ns. ``live``: more may come. ``files``: the beginning of the
    paths of files that go when it is closed. Use it as a context manager: it closes ``asked``."""

    def __init__(self, asked: Stores, names: Names | None = None, *, live: bool = False, files: str = "") -> None:
        self.asked = asked
        self.names = names if names is not None else Names()
        self.live, self._files = live, files
        self.asking = 0
        self.plots: dict[str, Plot] = {}
        self._folder = ""
        rows = asked.query("select * from recording order by id").all()
        starts = [r["start_ts"] for r in rows if r["start_ts"] is not None]
        ends = [r["end_ts"] for r in rows if r["end_ts"] is not None]
        self.origin = min(starts, default=0)
        self.length = max(max(ends, default=0) - self.origin, 1)
        self.shown = tuple(self._shown(i, part, rows[i]) for i, part in enumerate(asked.parts))
        self.caches: dict[str, Any] = {}
        self.guard = threading.Lock()

    def _shown(self, i: int, part: Part, row: dict[str, Any]) -> Shown:
        start = (row["start_ts"] if row["start_ts"] is not None else self.origin) - part.offset
        end = (row["end_ts"] if row["end_ts"] is not None else self.origin) - part.offset
        home, key = self._place(part.path)
        levels = Levels(home, key, part, i, (start, max(start, end)), self.asked.cursor)
        return Shown(i, start, end, part.offset - self.origin, self.asked.bases[i], levels, row)

    def _place(self, path: str) -> tuple[str, str]:
        """Where levels of a store are kept: beside it; those of a folder of Parquet in the cache."""
        from probescope.store.cache import SUFFIX, folder

        if path.endswith(SUFFIX):
            return os.path.dirname(path), os.path.basename(path).removesuffix(SUFFIX)
        home = folder(os.environ)
        try:
            os.makedirs(home, 0o700, exist_ok=True)
        except OSError:
            home = self.own_folder()
        from probescope.store.parts import LIST

        s = os.stat(os.path.join(path, LIST))
        word = f"{path}\0{s.st_dev} {s.st_ino} {s.st_mtime_ns}"
        return home, hashlib.sha256(word.encode("utf-8", "surrogateescape")).hexdigest()[:32]

    def own_folder(self) -> str:
        """For files that go when this is closed."""
        if not self._folder:
            self._folder = tempfile.mkdtemp(prefix=scratch_prefix("timeline"))
        return self._folder

    @cached_property
    def kinds(self) -> list[tuple[int, str, int]]:
        """Kinds of events: number, name, how many."""
        found = self.asked.query("select id, name, events from event_kind order by id")
        return [(int(i), str(n), int(e or 0)) for i, n, e in found.tuples()]

    def remembered(self, key: str, make: Callable[[], Any]) -> Any:
        """What is worked out once."""
        if key not in self.caches:
            made = make()
            with self.guard:
                self.caches.setdefault(key, made)
        return self.caches[key]

    def close(self) -> None:
        self.asked.close()
        for path in glob.glob(glob.escape(self._files) + "*") if self._files else ():
            with suppress(OSError):
                os.unlink(path)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Ticket:
    """A question that is being answered, and that may be ended from another thread."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._cursors: list[duckdb.DuckDBPyConnection] = []
        self._over = threading.Event()
        self._guard = threading.Lock()
        self.cancelled = False

    def cursor(self) -> duckdb.DuckDBPyConnection:
        from probescope.errors import LimitError

        cursor = self._opened.asked.cursor()
        self._cursors.append(cursor)
        if self.cancelled:
            raise LimitError("the query was interrupted")
        return cursor

    def rows(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]:
        return list(self._opened.asked.query(sql, params, self.cursor()).tuples())

    def columns(self, sql: str, params: Any = ()) -> dict[str, Any]:
        """As numpy has them; masked where there is NULL."""
        return self._opened.asked.query(sql, params, self.cursor()).numpy()

    def cancel(self) -> None:
        """Again and again until it is over: a query that has not begun yet to run does not hear it."""
        if not self.cancelled:
            self.cancelled = True
            threading.Thread(target=self._interrupt, daemon=True).start()

    def _interrupt(self) -> None:
        while not self._over.is_set():
            with self._guard:
                for cursor in () if self._over.is_set() else tuple(self._cursors):
                    cursor.interrupt()
            self._over.wait(AGAIN_S)

    def close(self) -> None:
        self._over.set()
        with self._guard:
            for cursor in self._cursors:
                cursor.close()
