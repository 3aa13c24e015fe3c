"""What was lost is told in words by commands that only have its counts (peel, span): "130 unwind_late" said nothing."""

from __future__ import annotations

from typing import get_args

import pytest

from probescope.bpf.unit import CounterKind
from probescope.collect.losses import in_words


@pytest.mark.parametrize("kind", get_args(CounterKind))
def test_every_counter_has_words(kind: str) -> None:
    told = in_words(kind, 1300)
    assert told.startswith("1,300 ")
    assert " " in told.removeprefix("1,300 ")
    assert kind not in told.split() or "_" not in kind
    assert "{" not in told
