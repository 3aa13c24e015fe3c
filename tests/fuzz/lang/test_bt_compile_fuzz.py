"""Scripts under mutation on their whole way to bytecode, for a few seconds; a longer run: fuzz_bt_compile.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import fuzz_bt_compile

SECONDS = float(os.environ.get("PROBESCOPE_FUZZ_SECONDS", "10"))


def test_mutated_scripts_compile_or_are_refused() -> None:
    """Checking, lowering, planning and code generation agree on what a script may be: what passes one stage is never
    a traceback in the next, and nothing takes seconds."""
    counts = fuzz_bt_compile.run(SECONDS, seed=20_250_102)
    assert counts["ok"] > 0, "no mutation was compiled: the seeds are broken"
    assert counts["ScriptError"] > 0


@pytest.mark.parametrize("seed", fuzz_bt_compile.OWN)
def test_seeds_are_sound(seed: str) -> None:
    """Fuzzing from what is refused at its first word would prove nothing."""
    assert fuzz_bt_compile.outcome(seed) == "ok"
