"""Bytes of a file where the kernel keeps them, without copying: records of any two places are in one array.

    0            start          forgotten           here                     end
    | header ... | records that | records that wait | records to come ...... |
                   are given back   for a later round

Pages come in when they are looked at; what all records of have gone is given back, so that little is resident. Who
looks there all the same, in a batch of long ago, finds it as it was: the pages come in again.
A file that becomes shorter while it is read would end the process at the next look behind its end. So the size is asked
for before each piece, and what is gone counts as cut.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from probescope.kernel.filemap import BytesMap, FileMap

if TYPE_CHECKING:
    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

LEAST = 1 << 20
"""Smaller files are read."""
STEP = 1 << 21
"""Bytes that are given back at once."""


class Mapped:
    """``data``: all bytes before ``end``."""

    def __init__(self, file: BinaryIO, end: int) -> None:
        """Raises OSError or ValueError where it cannot be had."""
        self._map: FileMap | BytesMap
        try:
            self._map = BytesMap(file.fileno(), end)
        except ValueError:
            self._map = FileMap(file.fileno(), end)
        self.data: Bytes = np.frombuffer(self._map.bytes, np.uint8)
        self._forgotten = 0

    def whole(self) -> bytes | None:
        """All of it for compiled loops, not to be kept; None where that cannot be had without a copy."""
        return self._map.whole() if isinstance(self._map, BytesMap) else None

    def there(self, end: int) -> bool:
        """Whether the file is that long still."""
        return self._map.there(end)

    def forget(self, until: int) -> None:
        """What is before ``until`` will hardly be looked at again."""
        until = until // STEP * STEP
        if until > self._forgotten:
            self._map.forget(self._forgotten, until)
            self._forgotten = until


def mapped(file: BinaryIO, start: int, end: int) -> Mapped | None:
    """None where reading is better, or all that can be done. Records have to begin at multiples of 8."""
    if end - start < LEAST or start % 8 or not isinstance(file, io.FileIO):
        return None
    try:
        return Mapped(file, end)
    except (OSError, ValueError):
        return None
