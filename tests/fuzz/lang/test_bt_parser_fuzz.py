"""The syntax of scripts under mutation, for a few seconds; a longer run: fuzz_bt_parser.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import fuzz_bt_parser

SECONDS = float(os.environ.get("PROBESCOPE_FUZZ_SECONDS", "10"))


def test_mutated_scripts_give_typed_errors_only() -> None:
    """Whatever a file holds, the answer is a tree or findings: no traceback, no hang, no tree that prints as
    another."""
    texts, scripts = fuzz_bt_parser.run(SECONDS, seed=20_250_101)
    assert texts > 50
    assert scripts > 0, "no mutation was a script: the seeds are broken"


@pytest.mark.parametrize("seed", fuzz_bt_parser.SEEDS)
def test_seeds_are_sound(seed: str) -> None:
    """Fuzzing from what is refused at its first word would prove nothing."""
    assert fuzz_bt_parser.one(seed)
