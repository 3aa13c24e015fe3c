"""Feature probes against what each kernel is known to have."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from probescope.kernel import features

MATRIX = Path(__file__).resolve().parents[1] / "matrix" / f"{os.environ.get('PROBESCOPE_VM_KERNEL', 'none')}.json"
FACTS: dict[str, str] = json.loads(MATRIX.read_text())["features"] if MATRIX.exists() else {}


@pytest.mark.parametrize(("name", "expected"), FACTS.items(), ids=FACTS)
def test_answer_is_what_was_found_by_hand(name, expected):
    """Protects every choice of a mechanism: they are all made from these answers."""
    answer = features.probe(name)
    assert answer.word == expected, answer.reason


def test_a_kernel_of_make_test_has_facts(vm_kernel):
    """An empty file of facts would make the test above pass by testing nothing."""
    if vm_kernel in {"6.1", "6.12"}:
        assert len(FACTS) > 100


def test_every_no_says_why():
    """The reason is what ``doctor`` shows: a bare no helps nobody."""
    silent = [name for name, expected in FACTS.items() if expected == "no" and not features.probe(name).reason]
    assert not silent


def test_asking_leaves_nothing_behind():
    """Probing loads hundreds of programs and maps and opens as many descriptors."""
    before = set(os.listdir("/proc/self/fd"))
    for name in FACTS:
        features._try(name)
    assert set(os.listdir("/proc/self/fd")) == before
