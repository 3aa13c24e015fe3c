"""Programs and printers that lie or never end."""

from __future__ import annotations

import itertools

import pytest

from probescope.debuginfo.values.memory import Memory, Unreadable
from probescope.kernel.patience import TooLong, limited
from probescope.model.capture import Segment


def test_memory_that_is_not_there_is_no_zeros() -> None:
    """The kernel gives zeros where a read fails. If the process still runs and has no such memory, nothing was read;
    if it is gone, zeros are all that is known."""
    segments = [Segment(0x7000, b"\x01" * 8), Segment(0x1000, bytes(16))]
    runs = Memory(segments, lambda address, size: b"\x01" * size if 0x7000 <= address < 0x8000 else None)
    with pytest.raises(Unreadable, match="no memory at 0x1000"):
        runs.read(0x1000, 8)
    assert runs.read(0x7000, 8) == b"\x01" * 8
    assert Memory(segments, lambda *_: None).read(0x1000, 8) == bytes(8)


def test_a_printer_that_loops_is_given_up() -> None:
    with pytest.raises(TooLong), limited(0.05):
        sum(0 for _ in itertools.count())
    with limited(0.05):
        pass
