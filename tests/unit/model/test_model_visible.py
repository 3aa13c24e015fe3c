"""A terminal must not obey what strangers call their processes, files and symbols."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.model.visible import visible, visible_in_color, visible_json

HARMFUL = [*map(chr, range(9)), *map(chr, range(11, 32)), "\x7f", *map(chr, range(0x80, 0xA0)), "\u202e", "\u2066"]
"""C0 but for tab and newline, DEL, C1 (ECMA-48, 5.2 and 5.3), and two that turn the direction of writing."""


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain \xc3\xa9\t\n", "plain \u00e9\t\n"),
        (b"\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        (b"\x1b]0;title\x1b\\", "\\x1b]0;title\\x1b\\"),
        (b"over\rwritten", "over\\x0dwritten"),
        (b"\xc2\x9b31m", "\\x9b31m"),  # CSI as one character
        (b"\x9b31m \xff", "\\x9b31m \\xff"),  # the same as a byte that is no UTF-8
        ("\u202egnp.exe".encode(), "\\u202egnp.exe"),
    ],
)
def test_commands_become_text(raw: bytes, shown: str) -> None:
    assert visible(raw.decode("utf-8", "surrogateescape")) == shown


@given(st.text())
def test_nothing_harmful_is_left(text: str) -> None:
    out = visible(text)
    assert not set(out) & set(HARMFUL)
    assert out == text or set(text) & {*HARMFUL, "\u200e", "\u200f", *map(chr, range(0x202A, 0x206A)), *_SURROGATES}


_SURROGATES = set(map(chr, range(0xDC80, 0xDD00)))


def test_our_colours_stay() -> None:
    """Only whole colour sequences: a title between two of them is still shown."""
    assert visible_in_color("\x1b[31mERROR\x1b[0m: \x1b]0;x\x07") == "\x1b[31mERROR\x1b[0m: \\x1b]0;x\\x07"
    assert visible_in_color("\x1b[1;32mbpf\x1b[0m \x1b[8mhidden") == "\x1b[1;32mbpf\x1b[0m \\x1b[8mhidden"


@given(st.text(alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from(HARMFUL))))
def test_documents_say_the_same(text: str) -> None:
    """JSON has its own way to write such characters: what is read back is what was meant."""
    document = visible_json(json.dumps({"data": text}, ensure_ascii=False))
    assert json.loads(document) == {"data": text}
    assert not set(document) & set(HARMFUL)


def test_bytes_that_are_no_text_in_documents() -> None:
    """Names of files hold any byte; a document is UTF-8 all the same."""
    document = visible_json(json.dumps({"place": b"\xff.bt".decode("utf-8", "surrogateescape")}, ensure_ascii=False))
    assert json.loads(document.encode()) == {"place": "\\xff.bt"}
