"""Random programs: what the kernel does with the compiled ones is what evaluate/ says they mean.

``PROBESCOPE_SEEDS=1000:2000`` tries other programs.
"""

from __future__ import annotations

import os

import pytest
from bpf_agree import agree
from bpf_object import FEATURES

FIRST, LAST = (int(n) for n in os.environ.get("PROBESCOPE_SEEDS", "0:60").split(":"))


@pytest.mark.parametrize("name", list(FEATURES))
@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_random_program(seed, name):
    agree(seed, FEATURES[name])
