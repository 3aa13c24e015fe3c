"""Scripts that parse and are too much all the same: a finding at its place, never a traceback."""

from __future__ import annotations

import sys

import pytest
from bt_host import findings, lower

from probescope.errors import LimitError, ScriptError


def chain(n: int) -> str:
    return "kprobe:f { " + " else ".join(f"if (pid == {i}) {{ @ = {i}; }}" for i in range(n)) + " }"


def test_long_chains_of_conditions():
    """128 in a row are fine; what is too long for recursive passes is told where it becomes so."""
    assert lower(chain(128)).clauses
    (found,) = findings(chain(5000))
    assert "more than 128 conditions" in found.message
    assert found.span.column == chain(128).index("127)") + len("127) { @ = 127; } else if (") + 1


def test_a_stack_that_is_nearly_full_is_no_traceback():
    """Whoever calls us from deep within a program of their own: it works, or it is told why not."""
    text = "kprobe:f { @ = " + "pid + " * 100 + "tid; }"
    lower(text)  # what is imported late is there

    def deep(left: int) -> str:
        if left:
            return deep(left - 1)
        try:
            lower(text)
        except (LimitError, ScriptError) as e:
            return type(e).__name__
        return "done"

    free = sys.getrecursionlimit() - depth()
    ends = [deep(free - left) for left in range(150, free - 50, 25)]
    assert "done" in ends
    assert "LimitError" in ends


def depth() -> int:
    frame, n = sys._getframe(), 0
    while frame.f_back is not None:
        frame, n = frame.f_back, n + 1
    return n


@pytest.mark.parametrize("numbers", ["-1", "18446744073709551615", "1, -1", "4294967296, 1"])
def test_numbers_that_print_cannot_take(numbers):
    (found,) = findings(f"kprobe:f {{ @[pid] = 1; print(@, {numbers}); }}")
    assert "print() takes numbers from 0 to 4294967295" in found.message


@pytest.mark.parametrize(
    "written",
    ["string[1048577]", "string[18446744073709551615]", "buffer[99999999999]", "int8[16777217]", "int8[65536][65536]"],
)
def test_types_that_no_memory_holds(written):
    """Values of such types would be made by us before the kernel could refuse them."""
    (found,) = findings(f"kprobe:f {{ let $s: {written}; }}")
    assert "bytes" in found.message


def test_large_types_are_none_of_our_business():
    assert not findings("kprobe:f { let $s: string[1048576]; let $a: int64[65536]; print(sizeof(int8[16777216])); }")
