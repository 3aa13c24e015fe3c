"""Raw records of one event, and its fields as columns: gathered by numpy when they are asked for, and kept.

    values (u1)   ....| record 0 ......... |..| record 1 ... |....
                      start[0]   size[0]      start[1]  size[1]

What lies beyond a record's end reads as 0 (numbers) or as nothing (texts): a short record costs itself only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.model.recording import EventType, RawField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probescope.model.recording import Column, Ragged

MOST_TEXTS = 1 << 16
MOST_ROW = 256
_UNSIGNED = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}


class Texts(dict[bytes, str]):
    """Bytes up to the first NUL as text; what is not UTF-8 is kept as surrogates. Texts seen before are not decoded
    again."""

    def __missing__(self, data: bytes) -> str:
        if len(self) >= MOST_TEXTS:
            self.clear()
        text = self[data] = data.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
        return text


class Records:
    """``values``, ``start`` and ``size`` as in ``model.recording.Ragged``. ``big`` and ``long_size`` are those of the
    recorded machine. ``texts`` may be shared by all batches of a reader."""

    cpu: Column | None = None  # of each record, for the few events whose text depends on it

    def __init__(self, raw: Ragged, big: bool = False, long_size: int = 8, texts: Texts | None = None) -> None:
        self.values: Column = np.ascontiguousarray(raw.values, np.uint8)
        self.start: Column = np.asarray(raw.start, np.int64)
        self.size: Column = np.asarray(raw.size, np.int64)
        self.big = big
        self.long_size = long_size
        self.texts = Texts() if texts is None else texts
        self._columns: dict[tuple[int, int, bool], Column] = {}
        self.least = int(self.size.min()) if len(self.size) else 0
        self._rows: Column | None = None
        self._bytes: list[bytes] = []  # one, once it is wanted; shared by subsets

    def __len__(self) -> int:
        return len(self.start)

    @property
    def data(self) -> bytes:
        """All of ``values``, to cut pieces from."""
        if not self._bytes:
            self._bytes.append(self.values.tobytes())
        return self._bytes[0]

    # --- numbers ---

    def number(self, offset: int, size: int, signed: bool = False) -> Column:
        """The u8 column of an integer at ``offset`` of each record; signed ones are extended to 64 bits."""
        key = (offset, size, signed)
        found = self._columns.get(key)
        if found is None:
            column = self._quick(offset, size)
            if column is None:
                column = self.gather(self.start + offset, size, self.fits(offset, size))
            found = self._columns[key] = self.extended(column, signed)
        return found

    def _quick(self, offset: int, size: int) -> Column | None:
        """Out of the records' first bytes, which are brought together once for all fields; None where that would not
        do."""
        if offset < 0 or offset + size > min(self.least, MOST_ROW) or size not in _UNSIGNED:
            return None
        rows = self.rows
        kind = (">" if self.big else "<") + _UNSIGNED[size]
        column: Column = np.ndarray((len(self),), kind, rows.data, offset, (rows.shape[1],))
        return column.astype(_UNSIGNED[size])

    @property
    def rows(self) -> Column:
        """As many first bytes of each record as all have, a row for each; ``MOST_ROW`` at most."""
        found = self._rows
        if found is None:
            width = max(min(self.least, MOST_ROW), 1)
            pieces: Any = np.ndarray((max(len(self.values) - width + 1, 0),), f"V{width}", self.values.data, 0, (1,))
            found = self._rows = pieces[self.start].view(np.uint8).reshape(len(self), width)
        return found

    def fits(self, offset: int, size: int) -> Column | None:
        """Which records reach that far; None: all do."""
        return None if self.least >= offset + size else self.size >= offset + size

    def gather(self, places: Column, size: int, fine: Column | None) -> Column:
        """Unsigned integers at ``places`` in ``values``, in native order; 0 where not ``fine``."""
        kind = _UNSIGNED.get(size)
        if kind is None:
            return np.zeros(len(places), np.uint64)
        if fine is not None:
            places = np.where(fine, places, 0)
        if len(self.values) < size:
            return np.zeros(len(places), kind)
        # a view of all values as integers that overlap, one at each byte
        windows: Column = np.ndarray(
            (len(self.values) - size + 1,), (">" if self.big else "<") + kind, self.values.data, 0, (1,)
        )
        out: Column = windows[np.minimum(places, len(windows) - 1)].astype(kind, copy=False)
        if fine is not None:
            out[~fine] = 0
        return out

    @staticmethod
    def extended(column: Column, signed: bool) -> Column:
        if not signed:
            return column.astype(np.uint64, copy=False)
        out: Column = column.view(column.dtype.str.replace("u", "i")).astype(np.int64).view(np.uint64)
        return out

    def field(self, field: RawField) -> Column:
        """A scalar field, or the first element of an array."""
        size = field.size // field.count if field.count else field.size
        return self.number(field.offset, size, field.signed)

    # --- bytes ---

    def extent(self, field: RawField) -> tuple[Column, Column]:
        """Place in ``values`` and length in bytes of what a field holds: of a dynamic one, what its word points to; of
        one without size, all up to the record's end. Never more than the record."""
        if field.dynamic and field.size in {4, 8}:
            word = self.number(field.offset, 4).astype(np.int64)
            offset, length = word & 0xFFFF, word >> 16
            if field.dynamic == "rel":
                offset = offset + (field.offset + field.size)
        elif field.dynamic and field.size == 2:
            offset = self.number(field.offset, 2).astype(np.int64)
            length = self.size - offset
        else:
            offset = np.full(len(self), field.offset, np.int64)
            length = np.full(len(self), field.size, np.int64) if field.size else self.size - field.offset
        offset = np.minimum(offset, self.size)
        return self.start + offset, np.clip(length, 0, self.size - offset)

    def pieces(self, field: RawField) -> list[bytes]:
        start, length = self.extent(field)
        data = self.data
        return [data[a:b] for a, b in zip(start.tolist(), (start + length).tolist(), strict=True)]

    def strings(self, field: RawField) -> list[str]:
        """Texts up to their NUL."""
        return list(map(self.texts.__getitem__, self.pieces(field)))

    def subset(self, which: Column) -> Records:
        """The records of some indices, or of a mask."""
        from probescope.model.recording import Ragged

        out = Records(Ragged(self.values, self.start[which], self.size[which]), self.big, self.long_size, self.texts)
        out._bytes = self._bytes
        out.cpu = None if self.cpu is None else self.cpu[which]
        return out


def column(records: Records, field: RawField) -> Column | list[str] | list[bytes]:
    """A field for people and tables: integers in their own size and sign, texts of char arrays and strings, bytes of
    everything else."""
    if field.dynamic or field.count or field.size not in _UNSIGNED:
        return records.strings(field) if is_text(field) else records.pieces(field)
    numbers = records.field(field)
    kind = ("i" if field.signed else "u") + str(field.size)
    return (numbers.view(np.int64) if field.signed else numbers).astype(kind)


def is_text(field: RawField) -> bool:
    """Arrays of char; and ``field.size`` 0: what ends a record."""
    words = field.declared.replace("*", " ").split()
    array = bool(field.dynamic or field.count or not field.size)
    return array and bool(words) and words[-1] == "char" and "unsigned" not in words


def columns(records: Records, fields: Sequence[RawField]) -> dict[str, Any]:
    return {f.name: column(records, f) for f in fields}


def own_fields(records: Records, event: EventType) -> list[dict[str, Any]]:
    """For each record its event's own fields as JSON takes them: bytes in hex, those common to all events left out."""
    own = {f.name: f for f in event.fields if not f.name.startswith("common_")}
    if not own:
        return [{} for _ in range(len(records))]
    found = [_plain(column(records, f)) for f in own.values()]
    return [dict(zip(own, row, strict=True)) for row in zip(*found, strict=True)]


def _plain(found: Column | list[str] | list[bytes]) -> list[Any]:
    if not isinstance(found, list):
        return found.tolist()  # type: ignore[no-any-return]
    return [v.hex() if isinstance(v, bytes) else v for v in found]
