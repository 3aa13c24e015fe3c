"""Files of columns: written in pieces, mapped when read.

"PSLOD" version  0 0     8 bytes
column, column, ...      each 64-byte aligned
JSON                     {"columns": {name: [type, offset, count]}, ...}
u64 LE                   where the JSON begins
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from probescope.errors import FormatError
from probescope.kernel.filemap import FileMap

Array = np.ndarray[Any, Any]

VERSION = 2
MAGIC = b"PSLOD" + bytes((VERSION, 0, 0))
ALIGNED = 64
MOST_HEAD = 1 << 28
_END = struct.Struct("<Q")


class Writer:
    """Columns of known sizes, filled piece by piece, in any order. Use it as a context manager; then ``finish``."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._columns: dict[str, tuple[str, int, int]] = {}
        self._at = ALIGNED
        os.pwrite(self._fd, MAGIC, 0)

    def column(self, name: str, kind: str, count: int) -> None:
        self._columns[name] = (kind, self._at, count)
        size = np.dtype(kind).itemsize * count
        self._at += size + -size % ALIGNED

    def put(self, name: str, at: int, values: Array) -> None:
        """``at``: number of the first row."""
        kind, offset, _ = self._columns[name]
        data = np.ascontiguousarray(values, kind).data.cast("B") if len(values) else memoryview(b"")
        place = offset + at * np.dtype(kind).itemsize
        while data:
            done = os.pwrite(self._fd, data, place)
            data, place = data[done:], place + done

    def get(self, name: str, at: int, count: int) -> Array:
        """What was put there: read, not mapped, so that it does not stay in memory."""
        kind, offset, _ = self._columns[name]
        out = np.empty(count, kind)
        view, place = out.data.cast("B") if count else memoryview(b""), offset + at * out.itemsize
        while view:
            done = os.preadv(self._fd, [view], place)
            if not done:  # never written: zeros
                view[:] = bytes(len(view))
                break
            view, place = view[done:], place + done
        return out

    def finish(self, more: Mapping[str, Any]) -> None:
        head = json.dumps({"columns": self._columns, **more}).encode()
        os.pwrite(self._fd, head + _END.pack(self._at), self._at)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


class Reader:
    """``columns``: views of the mapped file; ``more``: what was written with them. Raises FormatError, OSError."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as f:
            size = os.fstat(f.fileno()).st_size
            if size < ALIGNED + _END.size or f.read(len(MAGIC)) != MAGIC:
                raise FormatError("this holds no levels of detail", file=path)
            self._map = FileMap(f.fileno(), size).bytes
        (at,) = _END.unpack_from(self._map, size - _END.size)
        if not ALIGNED <= at <= size - _END.size or size - at > MOST_HEAD:
            raise FormatError("this holds no levels of detail", file=path)
        try:
            head = json.loads(self._map[at : size - _END.size])
            self.columns: dict[str, Array] = {
                name: np.frombuffer(self._map, kind, count, offset)
                for name, (kind, offset, count) in head.pop("columns").items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise FormatError(f"levels of detail: {e}", file=path) from None
        self.more: dict[str, Any] = head
