"""Memory order for rings that the kernel fills while Python reads."""

from __future__ import annotations

import os
import threading

_lock = threading.Lock()


def _nothing() -> None:
    """x86-64 keeps loads in order with loads, and stores with earlier loads and stores."""


def _barrier() -> None:
    """Leaving a lock is a release, which nothing earlier passes; taking it is an acquire, which nothing later passes.
    A release and an acquire after it keep their order, so nothing crosses the pair."""
    with _lock:
        pass
    with _lock:
        pass


read_fence = _nothing if os.uname().machine in {"x86_64", "AMD64"} else _barrier
"""Call it between reading a producer's position and the data that it covers."""

write_fence = read_fence
"""Call it between reading data and giving its space back."""
