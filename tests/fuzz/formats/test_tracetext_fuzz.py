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
SHORT = LONG // 16


def slow(size: int) -> list[bytes]:
    """Lines of about ``size`` bytes on which a careless pattern would begin again at each byte."""
    return [
        b" " * size,
        b"a" * size,
        b"a-1 " * (size // 4),
        b"bash-1 [000] 1.0: x: " + b"a=" * (size // 2),
        b"bash-1 [000] 1.0: x: " + b"a: " * (size // 3),
        b"bash-1 [000] 1.0: x: a=" + b" [ns] ==> " * (size // 10),
        b"bash-1 [000] 1.0: tick: n=3 small=" + b" " * size,
        b"bash-1 [000] 1.0: tick: " + b"n=3 small=-1 name= kind=" * (size // 24),
        b"bash-1 [000] 1.0: f(" + b"a=1, " * (size // 5) + b") <-g",
        b" 0)               |  f(" + b"(" * size,
        b" 0)" + b" " * size + b"|  f();",
        b"ls 1 [000] 1.000000: cycles: " + b"7f " * (size // 3) + b"(x)",
        b"ls 1 [000] 1.000000: cycles:\n" + b"\t7f " + b"a (b) " * (size // 6),
        b"CPU:1 [LOST " + b"1" * size + b" EVENTS]",
        b"a " * (size // 2) + b"1 [000] 1.000000: PERF_RECORD_MMAP",
    ]


def cost(line: bytes) -> float:
    """Processor time of reading a line under each kind of head, in seconds: the least of three."""
    least = float("inf")
    for _ in range(3):
        begun = time.process_time()
        for head in (b"# tracer: nop\n", b"# tracer: nop\nbash-1 [000] 1.0: tick: n=3\n", b"# captured on x\n"):
            fuzz_tracetext.one(head + line + b"\n")
        least = min(least, time.process_time() - begun)
    return least


@pytest.mark.parametrize("which", range(len(slow(SHORT))))
def test_a_line_costs_what_its_length_asks(which: int) -> None:
    """No pattern may take a time that grows with the square of a line: 16 times the bytes would be 256 times the time.
    Two costs of the same machine are compared, neither is held to the clock."""
    short, long = slow(SHORT)[which], slow(LONG)[which]
    assert cost(long) < 128 * max(cost(short), 0.0005)
