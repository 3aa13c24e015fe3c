"""Basic regular expressions: a text is found where glibc's regcomp() and regexec() find it, with the flags that
libtraceevent gives them."""

from __future__ import annotations

import ctypes
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from probescope.model.posix import basic, compiled_basic

REG_ICASE, REG_NOSUB, REG_NOMATCH = 2, 8, 1
LIBC = ctypes.CDLL(None)


def found_by_glibc(pattern: str, text: str) -> bool | None:
    """None: it refuses the pattern."""
    compiled = ctypes.create_string_buffer(512)  # regex_t is 64 bytes
    if LIBC.regcomp(compiled, pattern.encode(), REG_ICASE | REG_NOSUB):
        return None
    try:
        return LIBC.regexec(compiled, text.encode(), 0, None, 0) == 0
    finally:
        LIBC.regfree(compiled)


PIECES = [*"abAB1_-+?|(){},.*^$[]", r"\(", r"\)", r"\{", r"\}", r"\|", r"\+", r"\?", r"\{1,2\}", r"\{2\}", r"\{,1\}",
          r"\{,\}", "[%--]", "[--a]", r"\(a\)", r"\1", "[ab]", "[^a-c]", "[[:digit:]_]", "[[:upper:]]", "[]a]", "[a-]",
          "[[.-.]b]", r"[\w]", r"\w", r"\W", r"\<", r"\>", r"\b", r"\B", r"\.", r"\*", r"\[", r"\\"]  # fmt: skip
PATTERNS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
TEXTS = st.text(r"abAB1_-+?|(){},.*^$[]\ ", max_size=8)


@settings(max_examples=2000, deadline=None)
@given(PATTERNS, TEXTS)
@example("a|b", "b")
@example(r"a\|b", "B")
@example("a**", "")
@example(r"\(*a\)", "*a")
@example(r"\(^a\|b$\)", "ab")
@example("a^b$c", "a^b$c")
@example("[*-a]", "]")
@example(r"[c-\]", "D")
@example("[%--]", "-")
@example(r"a\{,\}b", "aab")
@example(r"\(a*\)*" + 3000 * "*" + "b", "a")
def test_as_glibc_finds(pattern: str, text: str) -> None:
    expected = found_by_glibc(pattern, text)
    if expected is None:
        return
    assert (compiled_basic(pattern).search(text) is not None) == expected, basic(pattern)


@pytest.mark.parametrize("pattern", ["[a", "a\\", r"\(a", "[[:nothing:]]", "[b-a]"])
def test_what_glibc_refuses_is_refused(pattern: str) -> None:
    assert found_by_glibc(pattern, "a") is None
    with pytest.raises(re.error):
        compiled_basic(pattern)


@pytest.mark.parametrize("pattern", [r"\(" * 5000 + "a" + r"\)" * 5000, "a" + r"\{2\}" * 5000])
def test_what_is_too_deep_is_refused(pattern: str) -> None:
    with pytest.raises(re.error):
        compiled_basic(pattern)


def test_stars_of_stars_take_no_longer() -> None:
    """In Python one in the other would take some 2^5000 steps."""
    assert compiled_basic("a**\\+*b").search("a" * 5000) is None
