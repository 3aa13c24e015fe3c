"""Filters of events: what people mean by addresses, durations and constants, in programs and in the kernel's words."""

from __future__ import annotations

import socket
import struct

import pytest

from probescope.errors import ScriptError
from probescope.ir.expr import Binary, Call, Cast, Const, Local, Logic
from probescope.lang.probe.filters import Filter
from probescope.model.fetch import FetchArg, Register
from probescope.model.probe_found import FoundArg, FoundProbe, ProbeEvent
from probescope.model.types import BOOL, I32, I64, U32, U64, String
from probescope.sources.event_filters import in_kernel_words

EVENT = ProbeEvent("probe", "f", FoundProbe("", "f", 0, False, (FoundArg(FetchArg("size", Register("dx"))),)))
NAMED = {
    "size": Local(U64, "size"),
    "low": Local(I32, "low"),
    "dest": Local(U32, "dest"),
    "name": Local(String(16), "n"),
}


def condition(text, constants=None):
    return Filter(text, constants)(EVENT, NAMED)


def test_numbers_are_compared_by_the_sign_of_the_argument():
    assert condition("size > 100") == Binary(BOOL, "gt", NAMED["size"], Const(U64, 100))
    x = condition("low < 5")
    assert x == Binary(BOOL, "lt", Cast(I64, NAMED["low"]), Const(I64, 5))


def test_words_and_characters_are_numbers():
    assert condition("size == true") == Binary(BOOL, "eq", NAMED["size"], Const(U64, 1))
    assert condition("size == 'ß'") == Binary(BOOL, "eq", NAMED["size"], Const(U64, 0xDF))


def test_addresses_are_in_network_order():
    """The number of the article that everybody copies: 172.31.28.139 is 2333876140 on a little-endian machine."""
    wanted = struct.unpack("=I", socket.inet_aton("172.31.28.139"))[0]
    x = condition("size > 100 && dest == 172.31.28.139")
    dest = Binary(BOOL, "eq", Cast(U64, NAMED["dest"]), Const(U64, wanted))
    assert x == Logic(BOOL, "and", Binary(BOOL, "gt", NAMED["size"], Const(U64, 100)), dest)


def test_texts_durations_and_constants():
    assert condition('name ~ "*.so"') == Call(BOOL, "strglob", (NAMED["name"], Const(String(4), b"*.so")))
    assert condition("size >= 10ms") == Binary(BOOL, "ge", NAMED["size"], Const(U64, 10_000_000))
    assert condition("size == BLUE", {"BLUE": 6}.get) == Binary(BOOL, "eq", NAMED["size"], Const(U64, 6))


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("nosuch > 1", "1-11", "has no argument nosuch"),
        ("size = 1", "6-7", "'==' compares"),
        ("size > 1 )", "10-11", "not expected here"),
        ("(size > 1", "10-11", "a ')' is missing"),
        ("size ~ 1", "1-9", "compares texts"),
        ("size == ORANGE", "1-15", "there is no constant ORANGE"),
        ("dest == 300.1.1.1", "9-18", "is no address"),
        ('name == "a', "9-11", "has no end"),
        ("name & 1", "1-9", "is for numbers"),
    ],
)
def test_mistakes_have_places(text, place, words):
    with pytest.raises(ScriptError) as caught:
        condition(text, {}.get)
    d = caught.value.diagnostics[0]
    assert words in d.message
    assert f"{d.span.column}-{d.span.end_column}" == place


def test_in_the_kernels_words():
    """Only what the kernel does not understand is translated; texts in quotes stay."""
    wanted = struct.unpack("=I", socket.inet_aton("172.31.28.139"))[0]
    assert in_kernel_words("size > 100 && dest == 172.31.28.139") == f"size > 100 && dest == {wanted}"
    assert in_kernel_words("delay>=10ms || d < 3us") == "delay>= 10000000 || d < 3000"
    same = 'comm == "1.2.3.4" && name ~ "*10ms" && x & 7'
    assert in_kernel_words(same) == same
