"""Memory of a traced process as it was when the probe fired; what was not taken then, as it is now.

Bytes that are read late may have changed, or be gone: who asks for them is told (``Memory.late``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probescope.model.capture import Segment

MOST = 1 << 16
LATE_BYTES = 1 << 20
"""Bytes that are read afterwards, of one value."""
Later = Callable[[int, int], bytes | None]
"""(address, size): bytes of the process now; ``None`` if they are not there."""


class Unreadable(Exception):
    """Memory that was not there, or that nobody can tell of."""


class Memory:
    """``late``: whether something was read after the probe."""

    def __init__(self, segments: Sequence[Segment], later: Later | None = None) -> None:
        self._segments, self._later = [s for s in segments if s.data], later
        self.late = False
        self._spent = 0

    def read(self, address: int, size: int) -> bytes:
        """Exactly ``size`` bytes. Raises ``Unreadable``."""
        if not 0 < size <= MOST:
            if not size:
                return b""
            raise Unreadable(f"{size} bytes are not read at once")
        for s in self._segments:
            at = address - s.address
            if at >= 0 and at + size <= len(s.data):
                return self._believed(s, at, size)
        return self._read_late(address, size)

    def _believed(self, s: Segment, at: int, size: int) -> bytes:
        """A probe cannot wait for a page that is not in RAM: it reads zeros there, as of memory that is all zeros."""
        if not any(s.data) and self._later is not None:
            found = self._later(s.address + at, size)
            if found is not None and len(found) == size and any(found):
                self.late = True
                return found
            if found is None and s is not self._segments[0] and self._later(self._segments[0].address, 1):
                raise Unreadable(f"there is no memory at {s.address:#x}")  # the process is there, and has none
        return s.data[at : at + size]

    def taken(self, address: int, size: int) -> bytes:
        """Up to ``size`` bytes of those that were read at the probe; empty if none."""
        for s in self._segments:
            at = address - s.address
            if 0 <= at < len(s.data):
                return self._believed(s, at, min(size, len(s.data) - at))
        return b""

    def _read_late(self, address: int, size: int) -> bytes:
        self._spent += size
        if self._later is None or address >> 47 or self._spent > LATE_BYTES:
            raise Unreadable(f"nothing was read at {address:#x}")
        self.late = True
        found = self._later(address, size)
        if found is None or len(found) != size:
            raise Unreadable(f"nothing can be read at {address:#x}")
        return found

    def word(self, address: int, size: int = 8) -> int:
        return int.from_bytes(self.read(address, size), "little")
