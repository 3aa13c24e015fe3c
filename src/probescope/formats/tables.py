r"""Rows of events as CSV, as JSON lines, and as Parquet.

A chunk is a mapping from names of columns to sequences of one length: numbers, texts, or ``Nested``, whose items are
JSON already. Texts of strangers have their control characters shown as ``\x1b``; JSON has them as ``\u001b``.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from probescope.errors import LimitError, UsageError
from probescope.formats.jsontext import Texts
from probescope.model.visible import visible

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]

MOST_TEXTS = 1 << 16
LUMP = 1 << 12


class Nested(list[str]):
    """Values that are JSON texts: objects and lists."""


Chunk = Mapping[str, "Sequence[Any] | Column"]


class _Cells(dict[str, str]):
    """Texts without anything that a terminal obeys, and without ends of lines."""

    def __missing__(self, text: str) -> str:
        if len(self) >= MOST_TEXTS:
            self.clear()
        shown = visible(text)
        if not shown.isprintable():
            shown = shown.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
        self[text] = shown
        return shown


class CsvWriter:
    """RFC 4180: the names of the columns first, then a line a row, ended by CR LF."""

    def __init__(self, out: TextIO, names: Sequence[str]) -> None:
        self._out = csv.writer(out)
        self._cells = _Cells()
        self._out.writerow(names)

    def write(self, chunk: Chunk) -> None:
        cells = self._cells
        columns = [
            [cells[v] if isinstance(v, str) else v for v in column] if isinstance(column, list) else _plain(column)
            for column in chunk.values()
        ]
        self._out.writerows(zip(*columns, strict=True))

    def close(self) -> None:
        """Nothing is held back."""


class JsonlWriter:
    """An object a line. Keys whose value is None are left out."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._texts = Texts()

    def write(self, chunk: Chunk) -> None:
        columns = [self._column(name, column) for name, column in chunk.items()]
        for row in zip(*columns, strict=True):
            self._out.write("{" + ",".join(filter(None, row)) + "}\n")

    def _column(self, name: str, column: Any) -> Iterator[str]:
        key = self._texts[name] + ":"
        if isinstance(column, Nested):
            return (key + v if v else "" for v in column)
        texts = self._texts
        return ("" if v is None else key + (texts[v] if isinstance(v, str) else str(v)) for v in _plain(column))

    def close(self) -> None:
        """Nothing is held back."""


class ParquetWriter:
    """Through DuckDB, which keeps what is not written yet in a file of its own: memory stays bounded. Raises UsageError
    where DuckDB is not installed."""

    def __init__(self, file: BinaryIO, folder: str = "") -> None:
        try:
            import duckdb
        except ModuleNotFoundError:
            hints = ["pip install 'probescope[tables]'", "--to csv or --to jsonl need nothing"]
            raise UsageError("Parquet is written by DuckDB, which is not installed", hints=hints) from None
        self._file = file
        self._folder = tempfile.TemporaryDirectory(prefix="probescope-", dir=folder or None)
        self._made = False
        with self._told():
            self._db = duckdb.connect(os.path.join(self._folder.name, "rows.db"))
            self._db.execute("set memory_limit = '1GB'; set preserve_insertion_order = true")

    def write(self, chunk: Chunk) -> None:
        import numpy as np

        columns: dict[str, Column] = {}
        for name, column in chunk.items():
            texts = isinstance(column, list)
            columns[name] = np.array([_text(v) for v in column], object) if texts else np.asarray(column)
        with self._told():
            self._db.register("chunk", columns)
            self._db.execute("insert into rows from chunk" if self._made else "create table rows as from chunk")
            self._made = True
            self._db.unregister("chunk")

    def close(self) -> None:
        import shutil

        path = os.path.join(self._folder.name, "rows.parquet")
        if self._made:
            with self._told():
                quoted = path.replace("'", "''")
                self._db.execute(f"copy rows to '{quoted}' (format parquet, compression zstd)")
            with open(path, "rb") as made:
                shutil.copyfileobj(made, self._file)
        self.abandon()

    @contextmanager
    def _told(self) -> Generator[None, None, None]:
        """DuckDB's errors as ours: what it lacks is disk or memory."""
        import duckdb

        try:
            yield
        except duckdb.Error as e:
            hints = [f"it keeps rows in {os.path.dirname(self._folder.name)} meanwhile: TMPDIR=FOLDER names another"]
            if isinstance(e, duckdb.OutOfMemoryException):
                hints = ["a part of it: --time 0%-10%", "--to csv or --to jsonl need little memory"]
            what = str(e).splitlines()[0] if str(e) else type(e).__name__
            raise LimitError(f"Parquet cannot be written: {what}", hints=hints) from e

    def abandon(self) -> None:
        """Without another error: what is written is not needed any more."""
        import duckdb

        with suppress(AttributeError, duckdb.Error):  # it may never have been opened
            self._db.close()
        self._folder.cleanup()


def _text(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not value.isprintable() else value


def _plain(column: Any) -> list[Any]:
    found: list[Any] = column if isinstance(column, list) else column.tolist()
    return found
