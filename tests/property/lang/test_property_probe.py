"""Any text is a probe definition, a range, a filter, or a message: never another exception."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from probescope.errors import ScriptError
from probescope.lang.probe.filters import Filter
from probescope.lang.probe.globs import name_filter
from probescope.lang.probe.parser import parse
from probescope.lang.probe.places import parse_lines
from probescope.sources.event_filters import in_kernel_words

WORDS = (
    "vfs_read a.c : + % return ; @ x -> . [ ] 3 0x10 $ retval vars arg1 %di ( ) - u :string :u8 :b4@2/32 = * && || ! "
    "== ~ 10.0.0.1 10ms :: sdt_a"
)
PIECES = st.sampled_from([*WORDS.split(), " ", "\\", '"'])
TEXTS = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=14).map("".join))


@given(TEXTS)
def test_texts(text):
    for read in (parse, parse_lines, Filter, name_filter):
        try:
            read(text)
        except ScriptError:
            continue
    assert isinstance(in_kernel_words(text), str)


@given(TEXTS)
def test_definitions_are_stable(text):
    """What was understood is understood again, as its canonical text says it."""
    try:
        place = parse(text).place
    except ScriptError:
        return
    if place.lazy or "\\" in text or "::" in text or "(" in text:
        return
    again = parse(str(place)).place
    assert str(again) == str(place)
