"""The scripts that the compiler is measured with."""

from __future__ import annotations

from bench.compiling import LONG, SHORT
from bench.scripts import CLAUSES, PER_GROUP, long_script
from probescope.diagnostics import Source
from probescope.lang.bt.parser import parse


def test_a_long_script_has_the_length_that_was_asked_for():
    """A measurement of 2,000 lines must be one of 2,000 lines, with all kinds of clauses and maps for each group."""
    text = long_script(SHORT)
    longest = max(c.count("\n") for c in CLAUSES)
    assert SHORT <= text.count("\n") < SHORT + longest
    tree = parse(Source("stdin", text))
    assert len(tree.probes) > SHORT // longest
    assert "@latency0[comm]" in text
    assert f"@latency{len(tree.probes) // PER_GROUP}[comm]" in text


def test_a_longer_script_begins_as_the_shorter_one():
    """Times of two lengths are comparable only then."""
    assert long_script(LONG).startswith(long_script(SHORT))
