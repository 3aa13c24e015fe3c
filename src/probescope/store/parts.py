"""What queries read: stores, and folders of Parquet files that were made of one.

DIR/tables.json             the layout's version, and which file is which table
DIR/event.parquet  ...      a file for each table
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from probescope.errors import FormatError, LimitError, UsageError
from probescope.frozen import dataclass
from probescope.store.columns import literal, quoted
from probescope.store.duck import connect, told
from probescope.store.schema import OLDEST, TABLES, VERSION

if TYPE_CHECKING:
    import duckdb

LIST = "tables.json"
MOST_LIST = 1 << 24


@dataclass(frozen=True, slots=True)
class Part:
    """``path``: a store, or a folder of Parquet files, whose ``files`` are known by table. ``offset`` in ns is added to
    its times. ``version``: of its layout."""

    path: str
    offset: int = 0
    files: tuple[tuple[str, str], ...] = ()
    version: int = VERSION

    def attach(self, db: duckdb.DuckDBPyConnection, i: int) -> None:
        if not self.files:
            db.execute(f"attach {literal(self.path)} as s{i} (read_only)")

    def source(self, i: int, table: str) -> str:
        """What stands behind FROM."""
        file = dict(self.files).get(table)
        return f"s{i}.{quoted(table)}" if file is None else f"read_parquet({literal(file)})"

    def described(self, db: duckdb.DuckDBPyConnection, i: int) -> Iterator[tuple[str, str, str]]:
        """(table, column, type), in order."""
        if not self.files:
            yield from db.execute(
                "select table_name, column_name, data_type from duckdb_columns() where database_name = ?"
                " order by table_oid, column_index",
                [f"s{i}"],
            ).fetchall()
            return
        for table, _ in self.files:
            for name, kind, *_ in db.execute(f"describe select * from {self.source(i, table)}").fetchall():
                yield table, name, kind


def is_parquet(path: str) -> bool:
    return os.path.isfile(os.path.join(path, LIST))


def parquet_part(folder: str, offset: int = 0) -> Part:
    """Raises FormatError where the folder is not whole, UsageError where it cannot be read."""
    real = os.path.realpath(folder)
    try:
        with open(os.path.join(real, LIST), encoding="utf-8") as f:
            found = json.loads(f.read(MOST_LIST))
        version, tables = found["version"], dict(found["tables"])
    except OSError as e:
        raise UsageError(f"cannot read {folder}: {e.strerror}") from e
    except (ValueError, KeyError, TypeError) as e:
        raise FormatError("this does not list tables", file=os.path.join(folder, LIST)) from e
    if not isinstance(version, int) or not OLDEST <= version <= VERSION:
        hints = ["write it again from the recording: probescope query RECORDING --parquet DIR"]
        raise FormatError(f"tables of layout {version}, where this is {VERSION}", file=folder, hints=hints)
    files = tuple((str(t), os.path.join(real, os.path.basename(str(n)))) for t, n in tables.items())
    wanted = [t.name for t in TABLES if t.since <= version]
    missing = [t for t in wanted if t not in tables] + [f for _, f in files if not os.path.isfile(f)]
    if missing:
        raise FormatError(f"{missing[0]} is missing", file=folder)
    return Part(real, offset, files, version)


def write_parquet(part: Part, folder: str, step: Callable[[int, int, str], None]) -> int:
    """Every table of a store as a file; the number of tables. Raises UsageError, LimitError."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as e:
        raise UsageError(f"cannot write {folder}: {e.strerror}") from e
    with told():
        db = connect(memory="1GB", temporary=os.path.join(folder, ".tmp"))
        try:
            part.attach(db, 0)
            names = list(dict.fromkeys(t for t, _, _ in part.described(db, 0)))
            files: dict[str, str] = {}
            for i, name in enumerate(names):
                step(i, len(names), name)
                files[name] = f"{_plain(name)}.parquet"
                target = os.path.join(folder, files[name])
                source = part.source(0, name)
                db.execute(f"copy (select * from {source}) to {literal(target)} (format parquet, compression zstd)")
        finally:
            db.close()
    try:
        with open(os.path.join(folder, LIST), "w", encoding="utf-8") as f:
            json.dump({"version": VERSION, "tables": files}, f, indent=1)
    except OSError as e:
        raise LimitError(f"cannot write {folder}: {e.strerror}") from e
    return len(files)


def _plain(name: str) -> str:
    """A name that any file system takes, and that no other table has."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-.:") else f"%{ord(c):x}" for c in name)[:200].lstrip(
        "."
    )
