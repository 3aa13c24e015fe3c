"""Stacks of many events, each different one once.

A stack is hashed as a sum of its addresses, each times an odd number that its place gives, in wrapping 64-bit
arithmetic: one pass of numpy over all addresses. Events with equal hashes, lengths and address spaces have one stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


class Stacks:
    """Interned stacks: ``chains`` holds (space, addresses innermost first, marks included) by number."""

    def __init__(self) -> None:
        self.chains: list[tuple[int, tuple[int, ...]]] = []
        self._number: dict[tuple[int, int, int], int] = {}

    def numbers(self, stacks: Ragged, spaces: Column) -> Column:
        """The number of each event's stack, i4; -1 where it is empty."""
        import numpy as np

        out = np.full(len(spaces), -1, np.int32)
        some = np.flatnonzero(stacks.size > 0)
        if not len(some):
            return out
        hashes = _hashes(stacks, some)
        keys = np.empty(len(some), dtype=[("hash", "u8"), ("size", "i4"), ("space", "i4")])
        keys["hash"], keys["size"], keys["space"] = hashes, stacks.size[some], spaces[some]
        different, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        numbers = np.empty(len(different), np.int32)
        for k, key in enumerate(different.tolist()):
            found = self._number.get(key)
            if found is None:
                found = self._number[key] = len(self.chains)
                event = int(some[first[k]])
                self.chains.append((int(spaces[event]), tuple(stacks.piece(event).tolist())))
            numbers[k] = found
        out[some] = numbers[inverse]
        return out


def _hashes(stacks: Ragged, some: Column) -> Column:
    import numpy as np

    size = stacks.size[some].astype(np.int64)
    ends = np.cumsum(size)
    begins = ends - size
    place = np.arange(int(ends[-1]), dtype=np.int64) - np.repeat(begins, size)
    flat = stacks.values[np.repeat(stacks.start[some].astype(np.int64), size) + place].astype(np.uint64)
    return np.add.reduceat((flat ^ (flat >> np.uint64(29))) * _factors(int(size.max()))[place], begins)


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
