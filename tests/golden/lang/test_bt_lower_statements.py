"""Every function and builtin, cast and operator, and what its last statements become: ``bt_statements.txt``.

A script on a line of its own, below it and indented the last statement of its first clause, or ``error: `` and why
there is none. ``PROBESCOPE_UPDATE_GOLDEN=1`` writes the file anew, for review.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bt_host import lower

from probescope.errors import ScriptError
from probescope.ir.text import value_to_text

FILE = Path(__file__).with_name("bt_statements.txt")


def pairs() -> list[tuple[str, str]]:
    """(script, expected) in order."""
    lines = [n for n in FILE.read_text().splitlines() if n and not n.startswith("#")]
    return [(a, b.strip()) for a, b in zip(lines[::2], lines[1::2], strict=True)]


def last(script: str) -> str:
    try:
        found = lower(script, unsafe=True).clauses[0].body
    except ScriptError as e:
        return f"error: {e.diagnostics[0].message}"
    return " ".join(value_to_text(found[-1]).split()) if found else "nothing"


def update() -> None:
    out, script = [], ""
    for line in FILE.read_text().splitlines():
        out.append(f"    {last(script)}" if line.startswith(" ") else line)
        script = line
    FILE.write_text("\n".join(out) + "\n")


if os.environ.get("PROBESCOPE_UPDATE_GOLDEN"):
    update()


@pytest.mark.parametrize(("script", "expected"), pairs(), ids=lambda text: text[:60] if "{" in text else "")
def test_a_statement_means_this(script, expected):
    """Protects each row of the tables of functions and builtins."""
    assert last(script) == expected
