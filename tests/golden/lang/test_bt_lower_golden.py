"""Scripts and the programs that they mean, written down: ``bt_lower.txt`` beside this file, one block a subject.

A block is a comment that says what it protects, the script, ``-->`` and the lowered program: clauses with their sites,
predicate and statements, then maps and actions. ``PROBESCOPE_UPDATE_GOLDEN=1`` writes the file anew, for review.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bt_host import lower

from probescope.ir.program import Program
from probescope.ir.text import value_to_text

FILE = Path(__file__).with_name("bt_lower.txt")
ARROW = "-->\n"


def blocks() -> list[tuple[str, str]]:
    """(script with its comment, expected) in order."""
    out = []
    for block in FILE.read_text().split("\n====\n"):
        script, _, expected = block.partition(ARROW)
        out.append((script, expected.strip("\n")))
    return out


def told(program: Program) -> str:
    lines = []
    for c in program.clauses:
        lines.append(", ".join(s.name for s in c.sites) + ":")
        if c.predicate is not None:
            lines.append(f"  / {value_to_text(c.predicate)}")
        lines += [f"  {value_to_text(s)}" for s in c.body]
    lines += [value_to_text(m) for m in program.maps]
    lines += [f"{i} {value_to_text(a)}" for i, a in enumerate(program.actions)]
    return "\n".join(lines)


def lowered(script: str) -> str:
    text = script.split("\n", 1)[1]  # without the comment
    return told(lower(text, unsafe=True))


def update() -> None:
    parts = [f"{script}{ARROW}{lowered(script)}" for script, _ in blocks()]
    FILE.write_text("\n====\n".join(parts) + "\n")


if os.environ.get("PROBESCOPE_UPDATE_GOLDEN"):
    update()


@pytest.mark.parametrize(("script", "expected"), blocks(), ids=[b[0].split("\n", 1)[0][2:50] for b in blocks()])
def test_a_script_means_this_program(script, expected):
    """Protects what every construct of the language is turned into."""
    assert lowered(script) == expected
