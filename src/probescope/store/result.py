"""What a query found: rows as dicts, and as columns for whatever is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from probescope.errors import UsageError
from probescope.store.duck import interruptible, told

if TYPE_CHECKING:
    import duckdb
    import numpy as np

FETCHED = 4096


class Result:
    """Rows are had once, in one of these ways. ``columns``: their names; ``types``: DuckDB's names of their types.
    Iterating gives a dict a row, as they come."""

    def __init__(
        self, cursor: duckdb.DuckDBPyConnection, text: str, known: Callable[[str], Iterable[str]] = lambda _: ()
    ) -> None:
        self._cursor, self._text, self._known = cursor, text, known
        described = cursor.description or []
        self.columns = tuple(_different([str(d[0]) for d in described]))
        self.types = tuple(str(d[1]) for d in described)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self.tuples():
            yield dict(zip(self.columns, row, strict=True))

    def tuples(self) -> Iterator[tuple[Any, ...]]:
        for chunk in self.chunks():
            yield from chunk

    def chunks(self, rows: int = FETCHED, most: int = 0) -> Iterator[list[tuple[Any, ...]]]:
        """Some rows at a time; with ``most``, twice as many each time up to that, so that the first ones are there
        before a lot of large ones is."""
        while True:
            with told(self._text, self._known):
                chunk = interruptible(self._cursor, partial(self._cursor.fetchmany, rows))
            if not chunk:
                return
            yield chunk
            rows = max(rows, min(2 * rows, most))

    def all(self) -> list[dict[str, Any]]:
        return list(self)

    def value(self) -> Any:
        """The first column of the first row; None without rows."""
        return next((row[0] for row in self.tuples()), None)

    def numpy(self) -> dict[str, np.ndarray[Any, Any]]:
        """Columns; with NULL in them, masked ones."""
        with told(self._text, self._known):
            found = interruptible(self._cursor, self._cursor.fetchnumpy)
        return dict(zip(self.columns, found.values(), strict=True)) if len(found) == len(self.columns) else found

    def arrow(self) -> Any:
        """A ``pyarrow.Table``. Raises UsageError where pyarrow is not installed."""
        _needs("pyarrow")
        with told(self._text, self._known):
            return self._cursor.to_arrow_table()

    def df(self) -> Any:
        """A ``pandas.DataFrame``, or, where only that is installed, a ``polars.DataFrame``. Raises UsageError where
        neither is."""
        try:
            _needs("pandas")
        except UsageError:
            _needs("polars", "pandas or polars")
            import polars as pl  # type: ignore[import-not-found]

            return pl.DataFrame({n: list(c) for n, c in self._listed().items()})
        with told(self._text, self._known):
            return self._cursor.df()

    def _listed(self) -> dict[str, list[Any]]:
        rows = list(self.tuples())
        return {name: [row[i] for row in rows] for i, name in enumerate(self.columns)}


def _different(names: list[str]) -> list[str]:
    """Two columns of one name would be one key: the later ones get a number."""
    taken: dict[str, int] = {}
    out: list[str] = []
    for name in names:
        taken[name] = taken.get(name, 0) + 1
        out.append(name if taken[name] == 1 else f"{name}_{taken[name]}")
    return out


def _needs(module: str, what: str = "") -> None:
    from importlib.util import find_spec

    if find_spec(module) is None:
        hints = [f"pip install {module}", ".numpy() and rows as dicts need nothing more"]
        raise UsageError(f"this needs {what or module}, which is not installed", hints=hints)
