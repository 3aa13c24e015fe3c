"""The reader of trace.dat on mutated bytes, at random and byte by byte."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import fuzz_tracedat

SECONDS = float(os.environ.get("PROBESCOPE_FUZZ_SECONDS", "10")) / len(fuzz_tracedat.SEEDS)


@pytest.mark.parametrize("name", sorted(fuzz_tracedat.SEEDS))
def test_mutated_recordings_give_typed_errors_or_partial_results(name: str) -> None:
    """A malformed recording must never crash or hang the tool."""
    assert fuzz_tracedat.run(name, SECONDS, seed=20_251_128) > 20


@pytest.mark.parametrize("name", ["v6", "v7"])
def test_every_byte_of_the_head(name: str) -> None:
    """Each byte before the pages set to other values, and the file cut behind it."""
    data = fuzz_tracedat.SEEDS[name]
    for at in [*range(40), *range(40, min(2600, len(data)), 17)]:
        for value in {0, 0xFF, data[at] ^ 8} - {data[at]}:
            fuzz_tracedat.one(data[:at] + bytes([value]) + data[at + 1 :])
        fuzz_tracedat.one(data[:at])
