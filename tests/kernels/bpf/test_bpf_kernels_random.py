"""Random programs on other verifiers, with each kernel's own instructions and helpers: as evaluate/ says they mean.

``PROBESCOPE_SEEDS=1000:2000`` tries other programs.
"""

from __future__ import annotations

import os

import pytest
from bpf_agree import agree

from probescope.model.features import BASELINE_6_1, Features

FIRST, LAST = (int(n) for n in os.environ.get("PROBESCOPE_SEEDS", "0:40").split(":"))


@pytest.fixture(scope="module")
def features(matrix: dict[str, str]) -> Features:
    return Features.of([*BASELINE_6_1.yes, *(n for n, answer in matrix.items() if answer == "yes")])


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part: int, features: Features) -> None:
    for seed in range(FIRST + part, LAST, 4):
        try:
            agree(seed, features)
        except Exception as e:
            raise AssertionError(f"seed {seed}: {e}") from e
