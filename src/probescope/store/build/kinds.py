"""Events of one kind of a batch: their fields as columns, and the table of their kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.tracing.fields import Records, is_text
from probescope.model.recording import Ragged
from probescope.store.build.sink import NUMBERS
from probescope.store.columns import Column, Table
from probescope.store.schema import BY_NAME, FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from probescope.model.recording import EventBatch, EventType, Machine, RawField
    from probescope.store.build.interning import CleanTexts, Pool

    Array = np.ndarray[Any, Any]

MOST_ITEMS = 8
"""Arrays of up to so many numbers have a column for each."""


class KindBatch:
    """``which``: places in the batch, ascending. Numbers are i8, whatever the field is."""

    def __init__(
        self, event: EventType, batch: EventBatch, which: Array, machine: Machine, pool: Pool, texts: CleanTexts
    ) -> None:
        self.event, self.batch, self.which, self.pool = event, batch, which, pool
        self._machine, self._texts = machine, texts
        self._records: Records | None = None
        self._codes: dict[str, Array | None] = {}

    def __len__(self) -> int:
        return len(self.which)

    @property
    def time(self) -> Array:
        return self.batch.time[self.which].view(np.int64)

    @property
    def cpu(self) -> Array:
        return self.batch.cpu[self.which]

    @property
    def tid(self) -> Array:
        return self.batch.tid[self.which]

    @property
    def records(self) -> Records:
        if self._records is None:
            raw = self.batch.raw
            if raw is None:
                nothing = np.zeros(len(self.which), np.int64)
                raw = Ragged(np.zeros(0, np.uint8), nothing, nothing)
            else:
                raw = Ragged(raw.values, raw.start[self.which], raw.size[self.which])
            m = self._machine
            self._records = Records(raw, m.big_endian, m.long_size, self._texts)
        return self._records

    def has(self, *names: str) -> bool:
        return all(self.event.field(n) is not None for n in names)

    def number(self, name: str, default: int = -1) -> Array:
        found = self.event.field(name)
        if found is None:
            return np.full(len(self.which), default, np.int64)
        return self.records.field(found).view(np.int64)

    def item(self, name: str, i: int) -> Array:
        """Of an array of numbers; 0 beyond its end."""
        found = self.event.field(name)
        if found is None or not found.count:
            return np.zeros(len(self.which), np.int64)
        size = found.size // found.count
        return self.records.number(found.offset + i * size, size, found.signed).view(np.int64)

    def codes(self, name: str) -> Array | None:
        """Texts of a field as numbers of ``pool``."""
        if name not in self._codes:
            found = self.event.field(name)
            self._codes[name] = None if found is None else self._coded(found)
        return self._codes[name]

    def _coded(self, field: RawField) -> Array:
        numbers = self.pool.numbers(self.records, field)
        if numbers is None:
            texts = self.records.strings(field)
            numbers = np.fromiter(map(self.pool.number, texts), np.int64, len(texts))
        return numbers

    def names(self, name: str) -> list[str]:
        found = self.codes(name)
        return [""] * len(self.which) if found is None else [self.pool.texts[i] for i in found.tolist()]

    def text(self, field: RawField) -> Array:
        """As a column of texts."""
        if not field.dynamic and field.size and field.name not in self._codes:
            self._codes[field.name] = self.pool.numbers(self.records, field)
        codes = self._codes.get(field.name)
        if codes is not None:
            return self.pool.strings(codes)
        return _objects(self.records.strings(field))


class Shape:
    """How the fields of a kind become columns of its table. ``parts``: (column, field, which item of an array that has
    a column for each, or -1)."""

    def __init__(self, event: EventType, name: str) -> None:
        self.parts: list[tuple[str, RawField, int]] = []
        columns = list(FIELDS)
        taken = {*(c.name for c in FIELDS), "recording"}
        for field in event.fields:
            if field.name.startswith("common_"):
                continue
            for part, item in _parts(field):
                free = _free(part, taken)
                taken.add(free.lower())
                self.parts.append((free, field, item))
                columns.append(Column(free, _type(field, item), "", nullable=False))
        self.table = Table(name, "", tuple(columns))

    @property
    def count(self) -> int:
        return len(self.parts)

    def columns(self, k: KindBatch) -> Mapping[str, Array]:
        return {name: _values(k, field, item) for name, field, item in self.parts}


def table_names(kinds: Iterable[str]) -> list[str]:
    """Names of tables differ by more than capitals, from each other and from those that all stores have."""
    taken = set(BY_NAME)
    out: list[str] = []
    for kind in kinds:
        name = kind or "unnamed"
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        out.append(name)
    return out


def _parts(field: RawField) -> list[tuple[str, int]]:
    """(name, item): -1 where it is one column."""
    if field.dynamic or not 1 < field.count <= MOST_ITEMS or is_text(field) or field.size // field.count not in _SIZES:
        return [(field.name, -1)]
    return [(f"{field.name}_{i}", i) for i in range(field.count)]


_SIZES = {1, 2, 4, 8}


def _free(name: str, taken: set[str]) -> str:
    """Names of columns differ by more than capitals."""
    found = name if name.lower() not in taken else f"field_{name}"
    while found.lower() in taken:
        found += "_"
    return found


def is_number(field: RawField, item: int) -> bool:
    """Of a part of a ``Shape``: whether its column has numbers."""
    return item >= 0 or not (field.dynamic or field.count or field.size not in _SIZES)


def _width(field: RawField, item: int) -> str:
    size = field.size // field.count if item >= 0 else field.size
    return ("i" if field.signed else "u") + str(size)


def _type(field: RawField, item: int) -> str:
    if not is_number(field, item):
        return "VARCHAR"
    return "BOOLEAN" if field.declared in {"bool", "_Bool"} else NUMBERS[_width(field, item)]


def _values(k: KindBatch, field: RawField, item: int) -> Array:
    if is_number(field, item):
        numbers = k.item(field.name, item) if item >= 0 else k.records.field(field).view(np.int64)
        return numbers != 0 if field.declared in {"bool", "_Bool"} else numbers.astype(_width(field, item))
    if is_text(field):
        return k.text(field)
    return _objects([p.hex() for p in k.records.pieces(field)])


def _objects(texts: list[str]) -> Array:
    out: Array = np.empty(len(texts), object)
    out[:] = texts
    return out
