"""printf means what C's printf means: libc itself is the oracle."""

import ctypes

from hypothesis import given
from hypothesis import strategies as st

from probescope.model.format import parse_format
from probescope.model.text import format_text
from probescope.model.types import I64, String

_libc = ctypes.CDLL(None)


def _c(form: str, *args: object) -> str:
    buffer = ctypes.create_string_buffer(4096)
    _libc.snprintf(buffer, 4096, form.encode(), *args)
    return buffer.value.decode()


flags = st.lists(st.sampled_from(["-", "0", "+", " "]), max_size=2, unique=True).map("".join)
width = st.one_of(st.just(""), st.integers(1, 30).map(str))


@given(
    flags,
    width,
    st.sampled_from(["", "hh", "h", "l", "ll"]),
    st.sampled_from("diuxXo"),
    st.integers(-(1 << 63), (1 << 63) - 1),
)
def test_integers(flag, w, length, kind, value):
    form = f"<%{flag}{w}{length}{kind}>"
    got = format_text(parse_format(form), (I64,), (value,))
    assert got == _c(form, ctypes.c_longlong(value))


@given(
    st.sampled_from(["", "-"]),
    width,
    st.one_of(st.just(""), st.integers(0, 12).map(lambda n: f".{n}")),
    st.text("abcdef %", max_size=20),
)
def test_strings(flag, w, precision, value):
    form = f"<%{flag}{w}{precision}s>%%"
    got = format_text(parse_format(form), (String(32),), (value,))
    assert got == _c(form, ctypes.c_char_p(value.encode()))
