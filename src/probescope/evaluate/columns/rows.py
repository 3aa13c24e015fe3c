"""Events of columns, one at a time, for clauses that need them so."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from probescope.evaluate.columns.expr import Events
from probescope.evaluate.columns.values import Column, listed, take
from probescope.evaluate.world import Blank
from probescope.model.types import Opaque, Type


class Row(Blank):
    """An event of ``rows``: number ``i`` of them, to be moved on. Columns become lists when they are first asked.
    ``hoisted``: values of expressions that were worked out beforehand, see ``hoist``."""

    __slots__ = ("_columns", "_events", "_rows", "hoisted", "i")

    def __init__(self, events: Events, rows: Column, hoisted: Sequence[Sequence[Any]] = ()) -> None:
        self._events, self._rows, self.hoisted = events, rows, hoisted
        self._columns: dict[object, list[Any]] = {}
        self.i = 0

    def context(self, name: str, arg: str) -> Any:
        column = self._columns.get((name, arg))
        if column is not None:
            return column[self.i]
        if name in ("probe", "func"):
            return self._events.site
        if name == "rand":
            return random.getrandbits(32)
        return self._value((name, arg), lambda: self._events.context(name, arg))

    def field(self, name: str, type_: Type) -> Any:
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = listed(take(self._events.field(name, type_), self._rows))
        return column[self.i]

    def stack(self, type_: Opaque) -> Any:
        return self._value(type_, lambda: self._events.stack(type_))

    def register(self, name: str) -> Any:
        return self._value(("register", name), lambda: self._events.register(name))

    def argument(self, index: int) -> Any:
        return self._value(("argument", index), lambda: self._events.argument(index))

    def returned(self) -> Any:
        return self._value("returned", self._events.returned)

    def call(self, name: str, args: tuple[Any, ...]) -> Any:
        """An address of a program, with the space that it is in."""
        if name != "usym":
            raise KeyError(name)
        return args[0], self._value("spaces", self._events.spaces)

    def _value(self, key: object, make: Callable[[], Any]) -> Any:
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = listed(take(make(), self._rows))
        return column[self.i]
