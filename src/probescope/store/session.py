"""Stores that are open: one connection, in which every table is a view over the stores of all recordings.

    s0.event  s1.event      the stores, attached read-only, or folders of Parquet files
         `──────┴──► event  their rows together: numbers shifted so that they stay unique, times by the offset that was
                            asked for, and a column `recording`

Queries reach nothing else: no file, no network, no extension, and no way to change that.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Self
from weakref import WeakSet

from probescope.errors import UsageError
from probescope.kernel.scratch import scratch_prefix
from probescope.store import library
from probescope.store.columns import NS, Column, Table, literal, quoted
from probescope.store.duck import check, connect, engine, interruptible, meant, told
from probescope.store.parts import Part
from probescope.store.result import Result
from probescope.store.schema import BY_NAME, FIELDS, RECORDING, TABLES

if TYPE_CHECKING:
    import duckdb

MEMORY = "1GB"
MOST_TEMPORARY = "10GB"
OWN = Column("recording", "INTEGER", "the recording", refers="recording")
"""What every table has beside its own columns."""


class Stores:
    """Use it as a context manager, or ``close`` it. Threads may ask at once: each query has a cursor of its own."""

    def __init__(self, parts: Sequence[Part], *, memory: str = MEMORY, threads: int = 0) -> None:
        self._parts = tuple(parts)
        self._folder = tempfile.TemporaryDirectory(prefix=scratch_prefix("query"))
        self._db = connect(memory=memory, temporary=self._folder.name)
        self._cursors: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()
        self._kinds: dict[str, Table] = {}
        self._guard = threading.Lock()
        self._ready = False
        try:
            with told():
                self._open(threads)
        except BaseException:
            self.close()
            raise

    # --- questions

    def query(
        self,
        sql: str,
        params: Sequence[Any] | Mapping[str, Any] = (),
        cursor: duckdb.DuckDBPyConnection | None = None,
        *,
        reading: bool = False,
    ) -> Result:
        """``params`` stand for ``?`` or ``$name``; ``cursor``: the asker's own; ``reading``: what would change views or
        tables of the other askers is refused. The last of several statements tells the result. Raises ScriptError for
        mistakes, with their places, UsageError for what is not allowed, LimitError where memory or room for temporary
        files does not suffice."""
        cursor = self.cursor() if cursor is None else cursor
        if library.mentioned(sql):
            self._library()
        check(cursor, sql, reading=reading)
        with told(sql, self.known):
            interruptible(cursor, lambda: cursor.execute(sql, params or None))
        return Result(cursor, sql, self.known)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """For several questions of one asker, who may interrupt them alone; ``close`` it."""
        cursor = self._db.cursor()
        self._cursors.add(cursor)
        return cursor

    @property
    def parts(self) -> tuple[Part, ...]:
        return self._parts

    @property
    def bases(self) -> tuple[Mapping[str, int], ...]:
        """Of each recording what is added to the numbers of each table's rows."""
        return self._bases

    def interrupt(self) -> None:
        """Ends the queries that run, from another thread."""
        for cursor in tuple(self._cursors):
            with suppress(engine().ConnectionException):  # it is closed, and somebody still has it
                cursor.interrupt()

    def write_parquet(self, sql: str, file: BinaryIO) -> int:
        """What a query finds, as Parquet: the number of rows. Raises as ``query`` does."""
        import shutil

        path = os.path.join(self._folder.name, "result.parquet")
        text = sql.strip().rstrip(";")
        cursor = self._db.cursor()
        self._library()
        check(cursor, text)
        with told(text, self.known):
            cursor.execute(f"create or replace temp view result as {text}")
        with told("", self.known):
            copy = f"copy result to {literal(path)} (format parquet, compression zstd)"
            interruptible(cursor, lambda: cursor.execute(copy))
            found = cursor.fetchone()
        with open(path, "rb") as made:
            shutil.copyfileobj(made, file)
        os.unlink(path)
        return int(found[0]) if found else 0

    @property
    def tables(self) -> dict[str, Table]:
        """Those of every recording, then those of the kinds of events that there are."""
        return {t.name: t for t in TABLES} | self._kinds

    @property
    def views(self) -> dict[str, library.View]:
        """Of the library; only those that these recordings have the events for."""
        return {v.name: v for v in library.views() if v.name not in self.lacking}

    @property
    def lacking(self) -> dict[str, tuple[str, ...]]:
        """Views that there are not, with the kinds of events that are missing."""
        missing = ((v.name, tuple(k for k in v.needs if k not in self._kinds)) for v in library.views())
        return {name: kinds for name, kinds in missing if kinds}

    def columns(self, name: str) -> tuple[Column, ...]:
        """Of a table or view. Raises UsageError where there is none such."""
        table = self.tables.get(name)
        if table is not None:
            return table.columns if table is RECORDING else (*table.columns, OWN)
        if name not in self.views:
            raise UsageError(f"there is no table '{name}'", hints=self.known(name) or [".tables lists them"])
        described = self.query(f"describe {name}")
        return tuple(Column(str(r[0]), str(r[1]), "") for r in described.tuples())

    def known(self, name: str) -> list[str]:
        """What a name may be meant for, as hints."""
        for view, kinds in self.lacking.items():
            if name in (view, view.partition(".")[2]):
                return [f"{view} needs events that were not recorded: {', '.join(kinds)}"]
        tables = [n for n in self.tables if name.lower() == n.partition(":")[2].lower()]
        if tables:
            return [f'names with colons stand in quotes: "{n}"' for n in tables]
        return meant(name, [*self.tables, *self.views])

    # --- opening

    def _open(self, threads: int) -> None:
        db, parts = self._db, self._parts
        for i, part in enumerate(parts):
            part.attach(db, i)
        bases = _bases(db, parts)
        self._bases = tuple(bases)
        for table in TABLES:
            selects = [_select(table, i, part, bases[i]) for i, part in enumerate(parts)]
            db.execute(f"create view {quoted(table.name)} as {' union all '.join(selects)}")
        self._kinds, there = _kinds(db, parts)
        for table in self._kinds.values():
            _kind_view(db, table, parts, bases, there[table.name])
        self._lock(threads)

    def _lock(self, threads: int) -> None:
        db = self._db
        db.execute(f"set max_temp_directory_size = '{MOST_TEMPORARY}'")
        if threads:
            db.execute(f"set threads = {int(threads)}")
        folders = [self._folder.name, *(p.path for p in self._parts if os.path.isdir(p.path))]
        db.execute(f"set allowed_directories = [{', '.join(literal(f) for f in folders)}]")
        db.execute("set enable_external_access = false; set lock_configuration = true")

    def _library(self) -> None:
        """Made when it is first asked: that takes longer than all else of opening."""
        with self._guard, told():
            if self._ready:
                return
            db = self._db.cursor()
            for domain in library.DOMAINS:
                db.execute(f"create schema {domain}")
            for view in self.views.values():
                db.execute(f"create view {view.name} as {view.sql}")
            db.close()
            self._ready = True

    def close(self) -> None:
        """Raises UsageError where what is still to be written finds no room."""
        try:
            with told():
                self._db.close()
        finally:
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _bases(db: duckdb.DuckDBPyConnection, parts: Sequence[Part]) -> list[dict[str, int]]:
    """Of each store what is added to the numbers of each table's rows."""
    base = dict.fromkeys(BY_NAME, 0)
    out: list[dict[str, int]] = []
    for i, part in enumerate(parts):
        out.append(dict(base))
        for table in TABLES if len(parts) > 1 else ():
            if table.key:
                row = db.execute(f"select max({table.key}) from {part.source(i, table.name)}").fetchone()
                base[table.name] += 1 + int(row[0]) if row and row[0] is not None else 0
    return out


def _select(table: Table, i: int, part: Part, bases: Mapping[str, int]) -> str:
    there = table.since <= part.version
    columns = [
        _shifted(c, part.offset, bases, table) if there and c.since <= part.version else _unknown(c)
        for c in table.columns
    ]
    if table is not RECORDING:
        columns.append(f"{i}::integer as recording")
    return f"select {', '.join(columns)} {f'from {part.source(i, table.name)}' if there else 'where false'}"


def _unknown(c: Column) -> str:
    """A column that the layout of a folder does not have yet."""
    return f"null::{c.type} as {quoted(c.name)}"


def _shifted(c: Column, offset: int, bases: Mapping[str, int], table: Table) -> str:
    name = quoted(c.name)
    if table is RECORDING and c.name == "offset_ns":
        return f"{offset}::bigint as {name}"
    if c.refers and bases[c.refers]:
        return f"({name} + {bases[c.refers]})::{c.type} as {name}"
    if offset and c.unit == NS and (c.name == "ts" or c.name.endswith("_ts")):
        return f"({name} + {offset})::bigint as {name}"
    return name


def _kinds(db: duckdb.DuckDBPyConnection, parts: Sequence[Part]) -> tuple[dict[str, Table], dict[str, list[int]]]:
    """Tables of the kinds of events, with the columns of all stores; and which stores have them."""
    out: dict[str, dict[str, Column]] = {}
    there: dict[str, list[int]] = {}
    for i, part in enumerate(parts):
        for table, column, kind in part.described(db, i):
            if table not in BY_NAME:
                out.setdefault(table, {}).setdefault(column, _described(column, kind))
                if i not in there.setdefault(table, []):
                    there[table].append(i)
    return {name: Table(name, "", tuple(columns.values())) for name, columns in out.items()}, there


def _described(name: str, kind: str) -> Column:
    return next((c for c in FIELDS if c.name == name), Column(name, kind, "field of the event"))


def _kind_view(
    db: duckdb.DuckDBPyConnection, table: Table, parts: Sequence[Part], bases: list[dict[str, int]], there: list[int]
) -> None:
    shared = ", ".join(quoted(c.name) for c in FIELDS)
    selects: list[str] = []
    for i in there:
        own = ", ".join(_shifted(c, parts[i].offset, bases[i], table) for c in FIELDS)
        source = parts[i].source(i, table.name)
        selects.append(f"select {own}, * exclude ({shared}), {i}::integer as recording from {source}")
    db.execute(f"create view {quoted(table.name)} as {' union all by name '.join(selects)}")
