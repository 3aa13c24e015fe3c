"""Every event of this kernel: its format is read, and any record of it has a text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from probescope.formats.tracing.event_format import parse_event_format
from probescope.formats.tracing.fields import Records, columns
from probescope.formats.tracing.print_fmt import compile_event
from probescope.formats.tracing.symbols import Context
from probescope.model.recording import EventType, Ragged

EVENTS = Path("/sys/kernel/tracing/events")


def events() -> list[EventType]:
    found = [parse_event_format(path.read_text(), path.parts[-3]) for path in sorted(EVENTS.glob("*/*/format"))]
    if not found:
        pytest.skip("tracefs is not mounted")
    return found


def test_every_format_is_read() -> None:
    """All but those whose text is made by functions of the kernel that no reader has: their fields are printed."""
    failed = [e.name for e in events() if not compile_event(e, Context()).parsed]
    known = ("kvmmmu:", "ras:", "mce:", "xe:", "i915:", "amdgpu:")
    assert [name for name in failed if not name.startswith(known)] == []
    assert len(failed) < 20


def test_any_record_has_a_text() -> None:
    """Random bytes, also too few of them, in every event of this kernel: nothing raises."""
    random = np.random.default_rng(20_251_128)
    values = random.integers(0, 256, 1 << 16, np.uint8)
    for event in events():
        raw = Ragged(values, np.arange(16) * 4096, random.integers(0, 400, 16))
        for plugins in (False, True):
            assert len(compile_event(event, Context(), plugins).texts(Records(raw))) == 16
        assert set(columns(Records(raw), event.fields)) == {f.name for f in event.fields}
