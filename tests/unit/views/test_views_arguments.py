"""What values of arguments look like."""

from __future__ import annotations

import pytest

from probescope.views.arguments.sampled import declared, looks, program, registers, rows

HEAP, STACK, KERNEL = 0x5572821C7DD0, 0x7FFD12345678, 0xFFFF888012345678


@pytest.mark.parametrize(
    ("values", "what", "shown"),
    [
        ([(HEAP, "hello"), (HEAP + 8, "world")], "looks like a text", ('"hello"', '"world"')),
        ([(HEAP, ""), (STACK, "\x01")], "looks like a pointer", (hex(HEAP), hex(STACK))),
        ([(KERNEL, "")], "looks like a pointer", (hex(KERNEL),)),
        ([(HEAP, ""), (0, "")], "looks like a pointer, or null", (hex(HEAP), "0x0")),
        ([(0, ""), (1, "")], "is 0 or 1: a flag?", ("0", "1")),
        ([(3, ""), (4095, "")], "is a small number: a file descriptor, a size, flags?", ("3", "4095")),
        ([((1 << 64) - 2, ""), (5, "")], "looks like a number that may be an error", ("-ENOENT",)),
        ([((1 << 32) - 1, "")], "looks like a number that may be an error", ("-EPERM",)),
        ([(5000, "")], "is a number", ("5000",)),
        ([], "was not seen", ()),
    ],
)
def test_values_are_told_apart(values: list[tuple[int, str]], what: str, shown: tuple[str, ...]) -> None:
    """Protects the guesses of kinds; -1 of 32 bits is no address, and neither are small numbers."""
    found = looks(values)
    assert (found.what, found.values) == (what, shown)


def test_lines_of_another_form_are_left_out() -> None:
    """Protects against lines that the traced program printed among ours, and texts with separators in them."""
    lines = ["5|\t7fff00000000|a|b", "hello", "", "zz|\t1|", "1|\t2|\t3|"]
    assert rows(lines, 2) == [[(5, ""), (0x7FFF00000000, "a|b")]]


@pytest.mark.parametrize(
    ("kind", "signed", "values", "shown"),
    [
        ("number", True, [((1 << 64) - 2, ""), (70_000, "")], ("-2", "70000")),
        ("number", False, [((1 << 64) - 2, "")], ("18446744073709551614",)),
        ("pointer", True, [(HEAP, ""), (0, "")], (hex(HEAP), "0x0")),
        ("text", True, [(HEAP, "hello"), (STACK, "")], ('"hello"', hex(STACK))),
        ("number", True, [(1, ""), (1, ""), (2, "")], ("1", "2")),
    ],
)
def test_values_of_what_is_declared(
    kind: str, signed: bool, values: list[tuple[int, str]], shown: tuple[str, ...]
) -> None:
    """The declaration says what they are: nothing is guessed from the number."""
    assert declared(kind, values, signed=signed) == shown


def test_the_program_that_looks() -> None:
    """Six registers at most; it ends by itself."""
    assert len(registers(9)) == 6
    text = program("uprobe:./a:f", [("args.n", '""'), ("args.s", "str(args.s, 64)")], 5)
    assert 'printf("%llx|%s\\t%llx|%s\\n", (uint64)args.n, "", (uint64)args.s, str(args.s, 64))' in text
    assert "++@n >= 5" in text
