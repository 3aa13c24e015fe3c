"""Stacks of many events, each different one once.

A stack is hashed as a sum of its addresses, each times an odd number that its place gives, in wrapping 64-bit
arithmetic: one pass of numpy over all addresses. Events with equal hashes, lengths and address spaces have one stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probescope.model.alike import Remembered
from probescope.model.recording import Ragged

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]

CONTEXT = (1 << 64) - 4095
"""Addresses from here on are marks of perf's (PERF_CONTEXT_MAX): what follows is of another context."""
CONTEXTS = {
    (1 << 64) - 32: "hv",
    (1 << 64) - 128: "kernel",
    (1 << 64) - 512: "user",
    (1 << 64) - 640: "user",  # PERF_CONTEXT_USER_DEFERRED
    (1 << 64) - 2048: "guest",
    (1 << 64) - 2176: "guest_kernel",
    (1 << 64) - 2560: "guest_user",
}
"""Source: include/uapi/linux/perf_event.h, enum perf_callchain_context."""


CHUNK = 1 << 12
"""Stacks that are hashed at once."""


_ODD = 0x9E3779B97F4A7C15


class Stacks:
    """Interned stacks: ``chains`` holds (space, addresses innermost first, marks included) by number.

    Hash, length and space are mixed into one key."""

    def __init__(self) -> None:
        self.chains: list[tuple[int, tuple[int, ...]]] = []
        self._number: dict[int, int] = {}
        self._met = Remembered()

    def numbers(self, stacks: Ragged, spaces: Column) -> Column:
        """The number of each event's stack, i4; -1 where it is empty."""
        import numpy as np

        out = np.full(len(spaces), -1, np.int32)
        some = np.flatnonzero(stacks.size > 0)
        if not len(some):
            return out
        keys = _mixed(_hashes(stacks, some), stacks.size[some], spaces[some])
        out[some] = self._met.numbers(keys, lambda first: self._looked_up(stacks, spaces, some[first], keys[first]))
        return out

    def _looked_up(self, stacks: Ragged, spaces: Column, which: Column, keys: Column) -> list[int]:
        numbers: list[int] = []
        for row, key in zip(which.tolist(), keys.tolist(), strict=True):
            found = self._number.get(key)
            if found is None:
                found = self._number[key] = len(self.chains)
                self.chains.append((int(spaces[row]), tuple(stacks.piece(row).tolist())))
            numbers.append(found)
        return numbers


def _mixed(hashes: Column, sizes: Column, spaces: Column) -> Column:
    """The high bits depend on all of them."""
    import numpy as np

    keys: Column = hashes
    for column in (sizes, spaces):
        keys = keys ^ column.astype(np.int64).view(np.uint64)
        keys = keys * np.uint64(_ODD)
        keys ^= keys >> np.uint64(32)
    return keys * np.uint64(_ODD)


def _hashes(stacks: Ragged, some: Column) -> Column:
    """Piece by piece: all that is worked out on the way stays near the processor."""
    import numpy as np

    factors = _factors(int(stacks.size[some].max()))
    size, start = stacks.size[some].astype(np.int64), stacks.start[some].astype(np.int64)
    out = [
        _hashed(stacks.values, start[i : i + CHUNK], size[i : i + CHUNK], factors) for i in range(0, len(some), CHUNK)
    ]
    return np.concatenate(out)


def _hashed(values: Column, start: Column, size: Column, factors: Column) -> Column:
    import numpy as np

    ends = np.cumsum(size)
    begins = ends - size
    place = np.arange(int(ends[-1]), dtype=np.int64) - np.repeat(begins, size)
    if (start - start[0] == begins).all():  # one after the other
        flat = values[int(start[0]) : int(start[0]) + int(ends[-1])].astype(np.uint64, copy=False)
    else:
        flat = values[np.repeat(start, size) + place].astype(np.uint64, copy=False)
    return np.add.reduceat((flat ^ (flat >> np.uint64(29))) * factors[place], begins)


def _factors(count: int) -> Column:
    """Odd numbers, one a place: splitmix64 of the place."""
    import numpy as np

    z = (np.arange(1, count + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) | np.uint64(1)


def split(addresses: tuple[int, ...], ip_in_kernel: bool = False) -> list[tuple[int, str]]:
    """(address, context) of each frame, marks taken out. Without a mark the first frames are the kernel's where
    ``ip_in_kernel``."""
    context = "kernel" if ip_in_kernel else "user"
    out: list[tuple[int, str]] = []
    for a in addresses:
        if a >= CONTEXT:
            context = CONTEXTS.get(a, "unknown")
        else:
            out.append((a, context))
    return out
