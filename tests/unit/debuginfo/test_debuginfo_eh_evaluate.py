"""Expressions of unwind rules, worked out by hand from DWARF 5, 2.5."""

from __future__ import annotations

import pytest

from probescope.debuginfo.eh_evaluate import Unknown, evaluate

MASK = (1 << 64) - 1
REGISTERS = {7: 0x1000, 6: 0x2000}
MEMORY = {0x1008: 0xDEAD, 0x2010: 0x1122334455667788}


def value(code: str, first: int | None = None) -> int:
    return evaluate(bytes.fromhex(code), REGISTERS.get, MEMORY.get, first)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("77 08 06", 0xDEAD),  # breg7 8, deref
        ("92 06 10 94 02", 0x7788),  # bregx 6 16, deref_size 2
        ("37 32 1c", 5),  # 7 2 minus
        ("32 37 1c", MASK - 4),  # 2 7 minus: wraps
        ("11 79 32 1b", MASK - 2),  # -7 2 div: -3, toward zero
        ("37 11 7e 1b", MASK - 2),  # 7 -2 div: -3
        ("11 79 11 7e 1b", 3),
        ("37 32 1d", 1),  # mod, without sign
        ("31 09 c0 26", 0),  # 1 >> 64 and more
        ("11 7f 08 40 25", 0),  # -1 >> 64 without sign
        ("11 7f 31 26", MASK),  # -1 >> 1 with sign
        ("31 08 40 24", 0),  # 1 << 64
        ("31 28 01 00 35 36", 6),  # bra over the 5
        ("31 32 33 17", 2),  # rot: the second comes to the top
        ("11 7f 31 2d", 1),  # -1 < 1
        ("34 23 81 01", 4 + 129),  # plus_uconst
    ],
)
def test_expressions(code: str, expected: int) -> None:
    assert value(code) == expected


def test_what_is_on_the_stack_already() -> None:
    assert value("23 08", 0x1000) == 0x1008


@pytest.mark.parametrize(
    "code",
    [
        "",  # nothing on the stack
        "31 1c",  # one operand of two
        "31 30 1b",  # by zero
        "31 30 1d",
        "75 00",  # a register that is not known
        "30 06",  # memory that is not there
        "2f fd ff",  # skip to itself, for ever
        "31 12 2f fc ff",  # grows for ever
        "2f 00 80",  # before the beginning
        "08",  # cut
        "10 80",  # a number that is cut
        "10" + "80" * 30 + "00",  # one without an end
        "03",
        "e0",  # an operation of GNU's that is not read
    ],
)
def test_what_cannot_be_worked_out(code: str) -> None:
    """Ends in ``Unknown``, and soon: rules may come from anybody."""
    with pytest.raises(Unknown):
        value(code)
