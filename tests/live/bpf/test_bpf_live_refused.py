"""A script that is too much for the verifier is told so at its own line."""

from __future__ import annotations

import pytest

import probescope
from probescope.errors import ScriptError


def test_too_large() -> None:
    """More branches in a row than the verifier follows: a script of four lines can be that."""
    script = """tracepoint:sched:sched_switch
{
  @x = 1;
  unroll(100) { unroll(85) { if (rand == 5) { @x = 1; } } }
}"""
    with pytest.raises(ScriptError) as e:
        probescope.run(script)
    (found,) = e.value.diagnostics
    name = "tracepoint_sched_sched_switch_1"
    assert found.message == f"the kernel refused the program {name}: it has too many branches in a row (8193)"
    assert (found.span.line, found.span.column) == (4, 34)
    assert any("split the clause" in hint for hint in found.hints)
