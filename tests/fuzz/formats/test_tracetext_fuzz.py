"""The reader of texts of traces on mutated ones, and on lines made to be slow."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import fuzz_tracetext

SECONDS = float(os.environ.get("PROBESCOPE_FUZZ_SECONDS", "10")) / len(fuzz_tracetext.SEEDS)


@pytest.mark.parametrize("name", sorted(fuzz_tracetext.SEEDS))
def test_mutated_texts_give_typed_errors_or_partial_results(name: str) -> None:
    """A malformed text must never crash or hang the tool."""
    assert fuzz_tracetext.run(name, SECONDS, seed=20_251_128) > 20


LONG = 60_000
SLOW = [
    b" " * LONG,
    b"a" * LONG,
    b"a-1 " * (LONG // 4),
    b"bash-1 [000] 1.0: x: " + b"a=" * (LONG // 2),
    b"bash-1 [000] 1.0: x: " + b"a: " * (LONG // 3),
    b"bash-1 [000] 1.0: x: a=" + b" [ns] ==> " * (LONG // 10),
    b"bash-1 [000] 1.0: tick: n=3 small=" + b" " * LONG,
    b"bash-1 [000] 1.0: tick: " + b"n=3 small=-1 name= kind=" * (LONG // 24),
    b"bash-1 [000] 1.0: f(" + b"a=1, " * (LONG // 5) + b") <-g",
    b" 0)               |  f(" + b"(" * LONG,
    b" 0)" + b" " * LONG + b"|  f();",
    b"ls 1 [000] 1.000000: cycles: " + b"7f " * (LONG // 3) + b"(x)",
    b"ls 1 [000] 1.000000: cycles:\n" + b"\t7f " + b"a (b) " * (LONG // 6),
    b"CPU:1 [LOST " + b"1" * LONG + b" EVENTS]",
    b"a " * (LONG // 2) + b"1 [000] 1.000000: PERF_RECORD_MMAP",
]


@pytest.mark.parametrize("line", SLOW, ids=range(len(SLOW)))
def test_long_lines_are_read_in_no_time(line: bytes) -> None:
    """No pattern may take a time that grows with the square of a line."""
    begun = time.process_time()
    for head in (b"# tracer: nop\n", b"# tracer: nop\nbash-1 [000] 1.0: tick: n=3\n", b"# captured on x\n"):
        fuzz_tracetext.one(head + line + b"\n")
    assert time.process_time() - begun < 5
