"""Events with JSON data, put aside in unnamed temporary files, to be had again by owner.

In memory are 16 bytes an event while they are sorted, and 32 bytes for each of one owner's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Column = np.ndarray[Any, Any]

#: ``kind``: what the caller numbered it as; ``at``, ``size``: of its data.
ROW = np.dtype([("time", "u8"), ("at", "u8"), ("size", "u4"), ("owner", "i4"), ("kind", "i4"), ("node", "i4")])


class Marks:
    def __init__(self) -> None:
        self._rows = tempfile.TemporaryFile(prefix="probescope-")  # noqa: SIM115 - closed by close()
        self._data = tempfile.TemporaryFile(prefix="probescope-")  # noqa: SIM115 - closed by close()
        self._count = self._end = 0

    def add(self, times: Column, owners: Column, kind: int, nodes: Column, data: Sequence[str]) -> None:
        encoded = [d.encode("utf-8", "replace") for d in data]
        sizes = np.array([len(e) for e in encoded], np.int64)
        rows = np.empty(len(times), ROW)
        rows["time"], rows["owner"], rows["kind"], rows["node"] = times, owners, kind, nodes
        rows["size"], rows["at"] = sizes, self._end + np.cumsum(sizes) - sizes
        self._data.write(b"".join(encoded))
        self._rows.write(rows.tobytes())
        self._end += int(sizes.sum())
        self._count += len(rows)

    def by_owner(self) -> Owned:
        self._rows.flush()
        return Owned(self._rows, self._data, self._count)

    def close(self) -> None:
        self._rows.close()
        self._data.close()


class Owned:
    def __init__(self, rows: Any, data: Any, count: int) -> None:
        self._data = data
        self._all = np.memmap(rows, ROW, "r", shape=(count,)) if count else np.empty(0, ROW)
        self._order = np.argsort(self._all["owner"], kind="stable")
        owners = self._all["owner"][self._order]
        starts = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1]))).tolist() if count else []
        ends = [*starts[1:], count]
        self._places = {int(owners[a]): (a, b) for a, b in zip(starts, ends, strict=False)}

    def owners(self) -> list[int]:
        return list(self._places)

    def of(self, owner: int) -> Column:
        """Rows of ``ROW``, in the order in which they came."""
        start, end = self._places.get(owner, (0, 0))
        rows: Column = self._all[self._order[start:end]]
        return rows

    def data(self, rows: Column) -> Iterator[str]:
        """Their JSON, one after the other."""
        for at, size in zip(rows["at"].tolist(), rows["size"].tolist(), strict=True):
            self._data.seek(at)
            yield self._data.read(size).decode()
