"""Whatever a script says, the answer is a program that obeys the rules of the ir, or an error for the user.

Scripts are random trees, most of which mean nothing, and scripts that mean something with a few tokens changed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bt_host import environment
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lang_trees import programs

from probescope.diagnostics import Source
from probescope.errors import UsageError
from probescope.ir.rules import problems
from probescope.ir.text import value_to_text
from probescope.lang.bt.compiler import Compiled, compile_script
from probescope.lang.bt.printer import program_text
from probescope.lang.bt.types import UNKNOWN, fits, literal, promote, same, settle
from probescope.model.types import BOOL, Array, Buffer, Int, Pointer, String, Tuple

many = settings(max_examples=300, suppress_health_check=list(HealthCheck))

GOLDEN = Path(__file__).parents[2] / "golden" / "lang" / "bt_lower.txt"
SCRIPTS = [b.partition("-->\n")[0].split("\n", 1)[1] for b in GOLDEN.read_text().split("\n====\n")]
_TOKEN = re.compile(
    r"\s+|//[^\n]*|\"(?:[^\"\\]|\\.)*\"|[@$]?\w+|->|\.\.|[-+=<>!&|]=|&&|\|\||<<|>>|\+\+|--|.", re.DOTALL
)
TOKENS = sorted({t for s in SCRIPTS for t in _TOKEN.findall(s) if not t.isspace()})


def attempt(text: str) -> Compiled | None:
    """Compiled, or refused as a user may see it; whatever else happens fails the test."""
    try:
        done = compile_script(Source("stdin", text), environment(unsafe=True))
    except UsageError as e:
        return None if str(e) else pytest.fail("an error without words")
    assert list(problems(done.program)) == []
    return done


@st.composite
def changed(draw):
    """A script with up to three tokens replaced, left out, doubled or exchanged."""
    tokens = _TOKEN.findall(draw(st.sampled_from(SCRIPTS)))
    for _ in range(draw(st.integers(1, 3))):
        i, j = (draw(st.integers(0, len(tokens) - 1)) for _ in range(2))
        match draw(st.sampled_from(("replace", "drop", "double", "exchange", "move"))):
            case "replace":
                tokens[i] = draw(st.sampled_from(TOKENS))
            case "drop":
                tokens[i] = ""
            case "double":
                tokens.insert(i, tokens[i])
            case "exchange":
                tokens[i], tokens[j] = tokens[j], tokens[i]
            case _:
                tokens.insert(i, tokens[j])
    return "".join(tokens)


def test_the_scripts_to_change_are_good():
    assert len(SCRIPTS) > 40
    assert all(attempt(s) is not None for s in SCRIPTS)


@given(changed())
@many
def test_changed_scripts(text):
    """Protects users from tracebacks, and the layers below from programs that break their assumptions."""
    attempt(text)


@given(programs)
@many
def test_random_trees(tree):
    attempt(program_text(tree))


@given(st.sampled_from(SCRIPTS))
@settings(max_examples=60)
def test_compiling_again_gives_the_same(text):
    """Protects reproducibility: nothing depends on the order of sets or on what was compiled before."""
    first, again = attempt(text), attempt(text)
    assert first is not None
    assert again is not None
    assert value_to_text(first.program.clauses) == value_to_text(again.program.clauses)
    assert first.program.maps == again.program.maps
    assert first.program.actions == again.program.actions


# --- types ------------------------------------------------------------------------------------------------------------

integers = st.one_of(
    st.builds(Int, st.sampled_from((1, 2, 4, 8)), st.booleans()),
    st.integers(-(2**63), 2**63 - 1).map(literal),
)
types = st.recursive(
    st.one_of(
        integers,
        st.just(BOOL),
        st.integers(1, 70).map(String),
        st.integers(1, 70).map(Buffer),
        integers.map(lambda t: Pointer(settle(t), "kernel")),
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda i: Tuple(tuple(i))),
        st.tuples(inner.map(settle), st.integers(1, 3)).map(lambda p: Array(*p)),
    ),
    max_leaves=4,
)


@given(types)
@many
def test_a_type_goes_with_itself(t):
    assert same(settle(promote(t, t)), settle(t))
    assert fits(t, t)


@given(types, types)
@many
def test_promotion_does_not_depend_on_the_order(a, b):
    """Protects scripts from meaning something else when their clauses are exchanged."""
    one, other = promote(a, b), promote(b, a)
    assert (one is None) == (other is None)
    if one is not None and other is not None and one is not UNKNOWN:
        assert same(settle(one), settle(other))


@given(types, types)
@many
def test_what_is_promoted_holds_both(a, b):
    """Protects the search for a fixed point: assigning the same again changes nothing."""
    common = promote(a, b)
    if common is not None:
        assert promote(common, a) == common
        assert promote(common, b) == common


@given(integers, integers)
@many
def test_a_promoted_integer_holds_both(a, b):
    """Protects values: nothing is lost of either, except that int64 with uint64 has to give up the highest bit."""
    common = promote(a, b)
    assert common is not None
    if common.size < 8 or a.signed == b.signed:
        assert fits(a, common)
        assert fits(b, common)


@given(integers, integers, integers)
@many
def test_promotion_of_three_settles(a, b, c):
    """Protects the search for a fixed point: going through all assignments again changes nothing."""
    first = promote(a, b)
    common = promote(first, c) if first is not None else None
    if common is not None:
        for t in (a, b, c):
            assert promote(common, t) == common
