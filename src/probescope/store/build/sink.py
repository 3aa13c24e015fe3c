"""Rows into DuckDB: columns of numpy are held back until there are enough of them, then inserted at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.store.columns import BIG, FLAG, INT, SMALL, Column, Table, created, quoted

if TYPE_CHECKING:
    import duckdb

    Array = np.ndarray[Any, Any]

ENOUGH = 1 << 17
"""Rows of a table that are inserted at once."""
COMMITTED = 1 << 20
"""Rows of a transaction."""
MOST_HELD = 1 << 19
"""Rows of all tables together that are held back."""

NUMBERS = {
    "i1": "TINYINT",
    "i2": "SMALLINT",
    "i4": "INTEGER",
    "i8": "BIGINT",
    "u1": "UTINYINT",
    "u2": "USMALLINT",
    "u4": "UINTEGER",
    "u8": "UBIGINT",
    "b1": "BOOLEAN",
}


class Sink:
    """Tables are made when they get their first rows, or by ``make``. Rows are inserted in transactions: what those
    insert goes to its place in the file at once."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self.db = db
        self._held: dict[str, list[Mapping[str, Array]]] = {}
        self._rows: dict[str, int] = {}
        self._tables: dict[str, Table] = {}
        self._all = self._inserted = 0
        db.execute("begin")

    def make(self, table: Table) -> None:
        if table.name not in self._tables:
            self._tables[table.name] = table
            self._held[table.name], self._rows[table.name] = [], 0
            self.db.execute(created(table))

    def add(self, table: Table, columns: Mapping[str, Array]) -> None:
        """All columns of the table, of one length. They are kept as they are: nobody may change them later."""
        count = len(columns[table.columns[0].name])
        if not count:
            return
        self.make(table)
        self._held[table.name].append(columns)
        self._rows[table.name] += count
        self._all += count
        if self._rows[table.name] >= ENOUGH:
            self._insert(table)
        elif self._all >= MOST_HELD:
            self.flush()

    def close(self) -> None:
        self.flush()
        self.db.execute("commit")

    def flush(self) -> None:
        for name, rows in self._rows.items():
            if rows:
                self._insert(self._tables[name])

    def _insert(self, table: Table) -> None:
        held = self._held[table.name]
        self._all -= self._rows[table.name]
        self._held[table.name], self._rows[table.name] = [], 0
        names = [c.name for c in table.columns]
        # by number: what a field is called must not matter to anybody
        rows = {f"c{i}": np.concatenate([h[n] for h in held]) for i, n in enumerate(names)}
        self.db.register("chunk", rows)
        picked = ", ".join(_value(f"c{i}", c, rows[f"c{i}"]) for i, c in enumerate(table.columns))
        self.db.execute(f"insert into {quoted(table.name)} select {picked} from chunk")
        self.db.unregister("chunk")
        self._inserted += len(rows["c0"])
        if self._inserted >= COMMITTED:  # what a transaction has inserted takes memory until it is committed
            self._inserted = 0
            self.db.execute("commit; begin")


def _value(name: str, column: Column, values: Array) -> str:
    """What is damaged may be too large for a number of its kind: then it is not known."""
    if not column.nullable:
        return name
    if column.type == INT and values.dtype.itemsize > 4:
        return f"try_cast(nullif({name}, {column.null}) as integer)"
    if column.type in (BIG, INT, SMALL) or column.null == 0:
        return f"nullif({name}, {column.null})"
    return f"nullif({name}, -1)::BOOLEAN" if column.type == FLAG else name


def lasted(ts: Array, end: Array) -> Array:
    """Durations; -1 where the begin or the end is not known, or lies before the begin: clocks may be apart."""
    return np.where((ts >= 0) & (end >= ts), end - ts, -1)


def none(count: int, null: int = -1) -> Array:
    """A column of which nothing is known."""
    return np.full(count, null, np.int64)
