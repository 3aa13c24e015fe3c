"""Random scripts with random blanks and comments, put into the canonical layout."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lang_trees import programs

from probescope.diagnostics import Source
from probescope.lang.bt import ast
from probescope.lang.bt.format import formatted
from probescope.lang.bt.format_pieces import pieces
from probescope.lang.bt.parser import parse
from probescope.lang.bt.printer import program_text

relaxed = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

NOTES = (" // {note} }} ;\n", " /* {note} */ ", "\n/* {note}\n * and {{ more\n */\n")
LAYOUT = ("", " ", "  ", "\n", "\n\n\n", "\t", *NOTES)


def shaken(text: str, seed: int) -> tuple[str, int]:
    """The same words with other blanks, and with comments between them: how many."""
    pick = random.Random(seed)
    out: list[str] = []
    notes = 0
    for p in pieces(text):
        layout = pick.choice(LAYOUT)
        if "note" in layout:
            layout = layout.format(note=f"note {notes}")
            notes += 1
        out += [layout, " ", p.text]
    return "".join(out), notes


@given(programs)
@relaxed
def test_the_meaning_stays(tree: ast.Program) -> None:
    """Protects scripts from their formatter: the layout is another one, the tree the same."""
    text = program_text(tree)
    assert parse(Source("x", formatted(Source("x", text)))) == parse(Source("x", text))


@given(programs, st.integers(0, 1 << 32))
@relaxed
def test_whatever_stood_between_the_words(tree: ast.Program, seed: int) -> None:
    """Comments anywhere are kept, each once and in order; a second run changes nothing."""
    plain = program_text(tree)
    text, notes = shaken(plain, seed)
    made = formatted(Source("x", text))
    assert parse(Source("x", made)) == parse(Source("x", plain))
    assert formatted(Source("x", made)) == made
    places = [made.find(f"note {n}") for n in range(notes)]
    assert -1 not in places
    assert places == sorted(places)
