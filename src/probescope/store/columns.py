"""What tables are described with: columns, tables, and names as SQL takes them."""

from __future__ import annotations

from probescope.frozen import dataclass

NS = "ns"
BIG, INT, SMALL, TEXT, FLAG = "BIGINT", "INTEGER", "SMALLINT", "VARCHAR", "BOOLEAN"


@dataclass(frozen=True, slots=True)
class Column:
    """``type``: DuckDB's. ``refers``: the table whose number it holds. ``null``: what stands for NULL where columns are
    numbers of numpy; ``nullable``: whether anything does. ``since``: the layout that has it first."""

    name: str
    type: str
    about: str
    unit: str = ""
    refers: str = ""
    null: int = -1
    nullable: bool = True
    since: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """``key``: the column by which others refer to a row; empty if none do. ``order``: the column by which rows are
    ordered in the file. ``since``: the layout that has it first."""

    name: str
    about: str
    columns: tuple[Column, ...]
    key: str = ""
    order: str = "ts"
    since: int = 1

    def column(self, name: str) -> Column | None:
        return next((c for c in self.columns if c.name == name), None)


NO_NUMBER = -(1 << 63)


def time(about: str, name: str = "ts") -> Column:
    return Column(name, BIG, about, NS)


def thread(about: str = "the thread", name: str = "utid") -> Column:
    return Column(name, INT, about, refers="thread")


def ident(about: str, refers: str, name: str = "id") -> Column:
    return Column(name, BIG, about, refers=refers)


def a_slice(begin: str, end: str) -> tuple[Column, ...]:
    """The times of something that lasts."""
    return (
        time(f"{begin}; NULL if that was before the recording, or lost"),
        Column("dur", BIG, "how long; NULL if the begin or the end is not known", NS),
        time(f"{end}; NULL if that was after the recording, or lost", "end_ts"),
    )


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def created(table: Table) -> str:
    """The statement that makes it."""
    columns = ", ".join(f"{quoted(c.name)} {c.type}" for c in table.columns)
    return f"create table {quoted(table.name)} ({columns})"


def literal(text: str) -> str:
    """A text as SQL takes it."""
    return "'" + text.replace("'", "''") + "'"
