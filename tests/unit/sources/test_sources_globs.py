"""Patterns over names: they mean what the shell's mean, and no pattern can hang the program."""

from __future__ import annotations

import fnmatch
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.errors import ProbeError
from probescope.sources import globs
from probescope.sources.kernel_functions import TraceableFunctions


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


def test_a_hostile_pattern_answers_soon() -> None:
    """Protects against patterns that backtrack for hours: as many stars as a pattern may have, over a name that has
    all that they want but the last character. A matcher that tries every place for each of 16 stars needs ages."""
    began = time.process_time()
    assert not globs.matches("*a" * 500 + "b", "a" * 2000)
    assert globs.matches("*a" * 500 + "*b", "a" * 2000 + "b")
    assert globs.select("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab", ["a" * 300] * 100) == []
    assert time.process_time() - began < 5
    with pytest.raises(ProbeError, match="too long"):
        globs.matches("*" * (globs.MAX_PATTERN + 1), "a")


def test_lines_of_a_list_of_functions_end_names() -> None:
    """The same expressions search the text of available_filter_functions, where a blank ends a name."""
    functions = TraceableFunctions("vfs_read\nvfs_read_x [xfs]\nread_vfs\nxvfs_read [ext4]\n")
    assert functions.match("*vfs*re*d") == [("vfs_read", ""), ("xvfs_read", "ext4")]
    assert functions.match("*r*_*", "x*s") == [("vfs_read_x", "xfs")]
