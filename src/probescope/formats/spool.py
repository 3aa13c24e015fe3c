"""Samples put aside in an unnamed temporary file, to be had again sorted by what they count and whose they are.

Formats that keep each thread's samples together cannot be written as samples come. In memory are 16 bytes a sample,
while they are sorted, and the samples of one owner.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from probescope.formats.stacktable import SampleBatch

    Column = np.ndarray[Any, Any]


class Group(NamedTuple):
    """Samples of one measure and owner, in order of time."""

    event: int
    owner: int
    rows: Column  # fields time, weight, node, cpu


class Spool:
    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="probescope-")  # noqa: SIM115 - closed by close()
        self._count = 0
        self._dtype = np.dtype([])
        self.first = self.last = 0

    def add(self, batch: SampleBatch) -> None:
        if not len(batch):
            return
        if not self._count:
            weight = "f8" if batch.weight.dtype.kind == "f" else "i8"
            names = [("time", "u8"), ("weight", weight), *((n, "i4") for n in ("node", "cpu", "owner", "event"))]
            self._dtype = np.dtype(names)
            self.first = int(batch.time[0])
        rows = np.empty(len(batch), self._dtype)
        for name in self._dtype.names or ():
            rows[name] = getattr(batch, name)
        self._file.write(rows.tobytes())
        self._count += len(rows)
        self.last = max(self.last, int(batch.time[-1]))

    def __len__(self) -> int:
        return self._count

    def groups(self) -> Iterator[Group]:
        """By event, then by owner."""
        if not self._count:
            return
        self._file.flush()
        rows = np.memmap(self._file, self._dtype, "r", shape=(self._count,))
        keys = rows["event"].astype(np.int64) << 32 | rows["owner"]
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), self._count], strict=True):
            key = int(keys[start])
            yield Group(key >> 32, key & 0xFFFFFFFF, np.asarray(rows[order[start:end]]))

    def close(self) -> None:
        self._file.close()


def runs(rows: Column) -> tuple[Column, Column]:
    """Neighbours with the same node as one: (index of each run's first row, its weight)."""
    node = rows["node"]
    first = np.flatnonzero(np.concatenate(([True], node[1:] != node[:-1])))
    return first, np.add.reduceat(rows["weight"], first)
