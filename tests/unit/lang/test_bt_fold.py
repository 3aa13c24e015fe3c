"""Operators between literals: what they give, and where they are refused."""

from __future__ import annotations

import pytest
from bt_host import body, findings, one

#: Worked out by hand, as C does it on 64 bits.
NUMBERS = {
    "9223372036854775807 + 1": 1 << 63,
    "0x8000000000000000 - 0x8000000000000001": -1,
    "0 - 0x8000000000000000": -(1 << 63),
    "-10 + -5": -15,
    "-5 * -10": 50,
    "-10 / 3": -3,
    "-10 % 3": -1,
    "10 % -3": 1,
    "0xffffffff ^ -0xf": -4294967282,
    "1 << 63": 1 << 63,
    "0x8000000000000000 << 1": 0,
    "-1 << 63": -(1 << 63),
    "-8 >> 2": -2,
    "~0xfffffffffffffffe": 1,
}
TOO_LARGE = [
    "0xffffffffffffffff + 1",
    "0x8000000000000000 + (-1)",
    "0 - 0x8000000000000001",
    "0x7fffffffffffffff - (-1)",
    "0x8000000000000000 * 2",
    "-1 & 0xffffffffffffffff",
    "1 << 64",
    "1 >> 64",
    "123 / 0",
    "123 % 0",
    "true / false",
    "-0x8000000000000001",
]
TEXTS = {
    '"foo" + "bar"': "foobar",
    '"hello" + 3': "lo",
    '"hello" + 8': "",
    '"" + "x" + "y"': "xy",
}
TRUTHS = {
    '"a" < "b"': 1,
    '"b" <= "a"': 0,
    '"abc" >= "abd"': 0,
    '"a" == "a"': 1,
    '(1, -1, true, "foo") == (1, -1, true, "foo")': 1,
    '(-1, true, "foo", 1) == (1, -1, true, "foo")': 0,
    "(1, -1) == (1, -1, true)": 0,
    "true == true": 1,
    "true - true": 0,
    "true << false": 0,
    "true % true": 0,
    '"abc"[1] == "b"[0]': 1,
    '$1 == 0 && str($1) == ""': 1,
    "(1, (2, (3, 1 + 3))) != (1, (2, (4 - 1, 4)))": 0,
    "(1, (2, (3, false))) == (1, (2, (4 - 1, 4)))": 0,
}


@pytest.mark.parametrize(("text", "value"), NUMBERS.items())
def test_numbers(text, value):
    """Protects scripts that compute masks and limits: the value is known while compiling, and is C's."""
    assert one(f"print({text});").endswith(f" {value})])")


@pytest.mark.parametrize("text", TOO_LARGE)
def test_what_does_not_fit_is_refused(text):
    """A literal that silently wraps is never what was meant."""
    assert "flow" in findings(f"begin {{ print({text}); }}")[0].message


@pytest.mark.parametrize(("text", "value"), TEXTS.items())
def test_texts(text, value):
    assert one(f"print({text});").endswith(f'(Const str{len(value) + 1} b"{value}")])')


@pytest.mark.parametrize(("text", "value"), TRUTHS.items())
def test_comparisons(text, value):
    """Tuples of other shapes are not equal; as values they could not be compared at all."""
    assert one(f"print({text});").endswith(f"(Const bool {value})])")


def test_the_length_is_in_bytes_and_the_rest_may_be_no_text():
    assert one('print("\\xc3\\xa4x" + 2);').endswith('b"x")])')


def test_a_cast_literal_has_a_sign():
    """1 takes the sign of what it meets, (int8)1 does not: together with an uint8 it needs an int16."""
    assert "(Const i16 2)" in body("kprobe:f { $a = (int8)1; $a = (uint8)2; }")[1]
    assert "(Const u8 2)" in body("kprobe:f { $a = 1; $a = (uint8)2; }")[1]
