"""Patterns that are outside of the subset: what is said, and what to do instead."""

import time

import pytest

from probescope.model.automaton import MOST_DFA, dfa_of, nfa_of
from probescope.model.pattern import PatternError, parse_regex

WRONG = {
    "a(?=b)": ("'(?='", "combine two"),
    "(?<!a)b": ("'(?<'", "combine two"),
    r"(a)\1": (r"'\1' refers to", "spell it out"),
    r"\bword": (r"'\b' is not supported", "^ and $"),
    "a*?": ("lazy", "leave it out"),
    "a++": ("possessive", "leave it out"),
    "[[:digit:]]": ("[:class:]", r"\d"),
    "[é]": ("several bytes", "(a|b|é)"),
    "*a": ("nothing stands before '*'", r"\*"),
    "^*": ("cannot be repeated", ""),
    "a{3,2}": ("out of range", ""),
    "a{1000}": ("out of range", ""),
    "a{x}": ("is not a count", r"\{"),
    "(a": ("'(' is not closed", r"\("),
    "a)": ("no '(' for this ')'", r"\)"),
    "[a": ("'[' is not closed", r"\["),
    "[z-a]": ("ends before it begins", ""),
    "a\\": ("nothing follows the last backslash", ""),
    r"\xg1": ("hexadecimal", ""),
    "(" * 60 + ")" * 60: ("nested", ""),
}


@pytest.mark.parametrize("pattern", WRONG)
def test_what_is_not_supported(pattern):
    what, hint = WRONG[pattern]
    with pytest.raises(PatternError) as caught:
        parse_regex(pattern)
    assert what in str(caught.value)
    assert hint in caught.value.hint
    assert 0 <= caught.value.at <= len(pattern)


@pytest.mark.parametrize("pattern", [b"(a|b)*a(a|b){20}c", b"[0-9]{200}x[0-9]{200}x[0-9]{200}", b"(a{255}){255}"])
def test_too_many_states(pattern):
    """An automaton can be exponentially larger than its pattern: it is refused in bounded time."""
    start = time.monotonic()
    with pytest.raises(PatternError, match="too"):
        dfa_of("strmatch", pattern)
    assert time.monotonic() - start < 10


def test_equal_states_are_put_together():
    """Tables are small: 'any of two words' needs a state for each letter that is not shared."""
    made = dfa_of("strmatch", b"^(foo|fooo*)$")
    assert len(made.table) >> made.bits <= 6
    assert len(dfa_of("strglob", b"*").table) >> 1 < MOST_DFA


def test_matching_takes_linear_time():
    """A set of states cannot explode as backtracking does."""
    start = time.monotonic()
    assert not nfa_of("strmatch", b"(a*)*(a|aa)*(b|c)$").matches(b"a" * 2000)
    assert time.monotonic() - start < 5
