"""Patterns over names: they mean what the shell's mean, and no pattern can hang the program."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.errors import ProbeError
from probescope.sources import globs


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("vfs_*", "vfs_read", True),
        ("vfs_*", "xvfs_read", False),
        ("*read*", "vfs_readv", True),
        ("vfs_?ead", "vfs_read", True),
        ("vfs_[rw]*", "vfs_write", True),
        ("vfs_[!rw]*", "vfs_write", False),
        ("vfs_[!rw]*", "vfs_open", True),
        ("a[b", "a[b", True),  # an opening bracket without its partner is itself
        ("a.c*", "abc", False),  # a dot is a dot
        ("[z-a]", "z", False),  # a range that runs backwards matches nothing
        ("sched:*", "sched:sched_switch", True),
        ("*:*", "sched:sched_switch", True),
        ("", "", True),
    ],
)
def test_a_pattern_matches_as_in_the_shell(pattern: str, name: str, expected: bool) -> None:
    """Protects the meaning of every glob that users write."""
    assert globs.matches(pattern, name) is expected


@given(st.text("ab*?[]!-", max_size=12), st.text("ab-!]", max_size=8))
def test_patterns_agree_with_fnmatch(pattern: str, name: str) -> None:
    """Protects corner cases of brackets and stars: the standard library's own matcher is the judge."""
    assert bool(globs.select(pattern, [name])) == (
        fnmatch.fnmatchcase(name, pattern) if globs.is_glob(pattern) else name == pattern
    )


def test_a_hostile_pattern_is_refused_or_answers() -> None:
    """Protects against patterns that backtrack for hours: many stars are refused, and with a few the answer comes."""
    with pytest.raises(ProbeError, match="too long"):
        globs.matches("*a" * 40 + "b", "a" * 60)
    assert not globs.matches("*a*a*a*a" + "b", "a" * 200)
