"""Making the store of a recording: a database file, in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from probescope.errors import LimitError, ProbescopeError
from probescope.store.duck import connect, told

if TYPE_CHECKING:
    import duckdb

    from probescope.collect.recorded.search import Search

NEVER = "1TB"


def make(
    path: str, database: str, step: Callable[[int, int, str], None], search: Search | None, *, memory: str
) -> None:
    """Raises UsageError, FormatError, and LimitError where there is no room."""
    import os

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts in half the time
    db = connect(database, memory=memory, temporary=database + ".tmp")
    try:
        with told():
            db.execute(f"set checkpoint_threshold = '{NEVER}'")
            _walk(path, db, step, search)
        _written(db)
    finally:
        with told():
            db.close()


def _written(db: duckdb.DuckDBPyConnection) -> None:
    """Closing does it, too, and keeps to itself that there was no room."""
    try:
        with told():
            db.execute("checkpoint")
    except ProbescopeError as e:
        hints = ["XDG_CACHE_HOME=FOLDER names a folder with more room"]
        raise LimitError(f"the store cannot be written: {e.what}", hints=hints) from e


def _walk(
    path: str, db: duckdb.DuckDBPyConnection, step: Callable[[int, int, str], None], search: Search | None
) -> None:
    from probescope.formats.sniff import open_recording, recording_kind
    from probescope.sources.known_formats import known_formats
    from probescope.store.build.builder import Builder
    from probescope.store.build.reading import source_of

    known = known_formats() if recording_kind(path).startswith("text") else None
    with open_recording(path, known) as recording:
        Builder(source_of(recording, search), db, step).build()
