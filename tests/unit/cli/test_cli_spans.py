"""``--time`` of commands that read a recording once."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from probescope.cli.recordings import Opened
from probescope.errors import UsageError


class _Timeless(Opened):
    def __init__(self) -> None:
        self.recording = SimpleNamespace(name="<stdin>")  # type: ignore[assignment]

    def times(self) -> tuple[int, int]:
        return 0, 0


def test_shares_need_the_ends() -> None:
    """A pipe that does not tell when it begins has no tenth; of seconds it has."""
    with pytest.raises(UsageError, match="does not tell"):
        _Timeless().spans("10%-20%")
    assert _Timeless().spans("1,2") == ((10**9, 2 * 10**9),)


def test_shares_of_a_file_that_does_not_tell_its_ends() -> None:
    """Recordings of tracepoints alone do not: their events do. Batches need not come in the order of time."""
    batches = [SimpleNamespace(count=2, time=np.array(t, "u8")) for t in ([2000, 3000], [1000, 1500])]
    batches.insert(1, SimpleNamespace(count=0, time=np.array([], "u8")))
    found = _Timeless()
    found.recording = SimpleNamespace(name="perf.data", batches=lambda: iter(batches))  # type: ignore[assignment]
    assert found.spans("0%-50%,50%-100%") == ((1000, 1999), (2000, 3000))
