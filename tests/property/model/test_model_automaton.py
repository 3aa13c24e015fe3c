"""Patterns mean what Python's ``re`` and ``fnmatch`` mean by them, as sets of states and as tables alike."""

import fnmatch
import re

from hypothesis import assume, given
from hypothesis import strategies as st

from probescope.model.automaton import Nfa, dfa
from probescope.model.pattern import PatternError, parse_glob, parse_regex

atoms = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", "[a-c]", r"\w", r"\d", r"\x61", r"\.", "x", "é"])
counts = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"])
regexes = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, counts),
        st.builds("{}{}".format, inner, inner),
        st.builds("(^{})".format, inner),
        st.builds("({}$|b)".format, inner),
    ),
    max_leaves=8,
)
texts = st.text("abcx.1é", max_size=9)
globs = st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "[a-c]", "."]), max_size=7).map("".join)


def _both(tree, raw):
    """The answers of the automaton in both of its forms, which have to be one."""
    nfa = Nfa(tree)
    assert dfa(nfa).matches(raw) == nfa.matches(raw)
    return nfa.matches(raw)


@given(regexes, texts)
def test_regular_expressions(pattern, text):
    """Over bytes; ``$`` is the very end, where Python's own also stands before a last newline."""
    raw = pattern.encode().replace("é".encode(), b"(?:\xc3\xa9)").replace(b"$", rb"\Z")
    try:
        tree = parse_regex(pattern)
    except PatternError:
        assume(False)
    assert _both(tree, text.encode()) == (re.search(raw, text.encode(), re.DOTALL) is not None)


@given(st.sampled_from(["aB+c", "[a-c]X", "[^ab]"]), st.text("abcABCxX", max_size=6))
def test_regardless_of_case(pattern, text):
    assert _both(parse_regex("(?i)" + pattern), text.encode()) == (re.search(pattern, text, re.IGNORECASE) is not None)


@given(globs, st.text("abc.", max_size=9))
def test_globs(pattern, text):
    """The whole text has to match."""
    assert _both(parse_glob(pattern), text.encode()) == fnmatch.fnmatchcase(text, pattern)


def _parsed(pattern):
    """The tree, and the place of what is wrong."""
    try:
        return parse_regex(pattern), 0
    except PatternError as e:
        return None, e.at


@given(st.text("ab()[]{}*+?|^$.-,\\123:=!<i", max_size=12))
def test_anything_is_a_pattern_or_a_finding(pattern):
    """A wrong pattern is told with its place; what is accepted means what it means elsewhere."""
    tree, at = _parsed(pattern)
    assert 0 <= at <= len(pattern)
    if tree is None:
        return
    try:
        compiled = re.compile(pattern.encode().replace(b"$", rb"\Z"), re.DOTALL)
    except re.error:
        return  # a single brace is a character for some and an error for others
    for raw in (b"", b"a", b"ab", b"ba1{"):
        if rb"\$" not in pattern.encode() and b"[" not in pattern.encode():
            assert _both(tree, raw) == (compiled.search(raw) is not None)
