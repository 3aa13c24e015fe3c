"""Texts of fixed size out of records, each different one decoded once, without a step of Python for each record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.tracing.fields import Texts

if TYPE_CHECKING:
    from probescope.formats.tracing.fields import Records
    from probescope.model.recording import RawField

    Array = np.ndarray[Any, Any]

MOST_TEXTS = 1 << 16
MOST_BYTES = 64


class CleanTexts(Texts):
    r"""What is not UTF-8 is shown as ``\xff``: databases take nothing else."""

    def __missing__(self, data: bytes) -> str:
        if len(self) >= MOST_TEXTS:
            self.clear()
        text = self[data] = decoded(data)
        return text


def decoded(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def clean(text: str) -> str:
    """The same for text that has such bytes as halves of characters."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class Pool:
    """``texts`` by number; numbers stay what they are. Different bytes may give equal texts: those have one number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._number: dict[str, int] = {}
        self._array: Array = np.zeros(0, object)
        self._keys: Array = np.zeros(0, np.uint64)
        self._values: Array = np.zeros(0, np.int64)

    def number(self, text: str) -> int:
        found = self._number.get(text)
        if found is None:
            found = self._number[text] = len(self.texts)
            self.texts.append(text)
        return found

    def strings(self, numbers: Array) -> Array:
        """Texts by their numbers, as a column."""
        if len(self._array) < len(self.texts):
            grown: Array = np.empty(len(self.texts), object)
            grown[:] = self.texts
            self._array = grown
        found: Array = self._array.take(numbers)
        return found

    def numbers(self, records: Records, field: RawField) -> Array | None:
        """Of a field of a fixed size; None if it is none, or too long."""
        size = field.size
        if field.dynamic or not 0 < size <= MOST_BYTES or field.offset + size > records.rows.shape[1]:
            return None
        pieces = np.ascontiguousarray(records.rows[:, field.offset : field.offset + size])
        keys = _mixed(pieces)
        at = self._found(keys)
        if at is None:
            self._learn(keys, pieces)
            at = self._found(keys)
            assert at is not None
        found: Array = self._values[at]
        return found

    def _found(self, keys: Array) -> Array | None:
        """Places in ``_keys`` of all of them, or None."""
        if not len(self._keys):
            return None
        at: Array = self._keys.searchsorted(keys)
        np.minimum(at, len(self._keys) - 1, out=at)
        return at if (self._keys[at] == keys).all() else None

    def _learn(self, keys: Array, pieces: Array) -> None:
        different, first = np.unique(keys, return_index=True)
        new = ~np.isin(different, self._keys)
        numbers = [self.number(decoded(pieces[i].tobytes())) for i in first[new].tolist()]
        keys = np.concatenate((self._keys, different[new]))
        values = np.concatenate((self._values, np.array(numbers, np.int64)))
        if len(keys) > MOST_TEXTS and len(different) < MOST_TEXTS // 2:  # only those of now are kept at hand
            now = np.isin(keys, different)
            keys, values = keys[now], values[now]
        order = keys.argsort()
        self._keys, self._values = keys[order], values[order]


def _mixed(pieces: Array) -> Array:
    """A number for each row of bytes; two different rows of a million get the same with a chance of one in 10**7."""
    count, size = pieces.shape
    whole = -(-size // 8) * 8
    if whole != size:
        padded = np.zeros((count, whole), np.uint8)
        padded[:, :size] = pieces
        pieces = padded
    words = pieces.view(np.uint64)
    mixed = np.zeros(count, np.uint64)
    for i in range(words.shape[1]):
        mixed ^= words[:, i]
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return mixed
