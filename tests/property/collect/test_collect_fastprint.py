"""The fast way to print is the slow way, faster: same text for every format and record."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from probescope.collect.fastprint import printer
from probescope.ir.program import Action
from probescope.kernel.records import Records
from probescope.model.abi import has_tail, record_layout
from probescope.model.codec import encoder
from probescope.model.format import parse_format
from probescope.model.text import format_text
from probescope.model.types import Int, String

INTS = [Int(n, s) for n in (1, 2, 4, 8) for s in (True, False)]


@st.composite
def integer(draw):
    t = draw(st.sampled_from(INTS))
    low, high = (-(1 << 8 * t.size - 1), (1 << 8 * t.size - 1) - 1) if t.signed else (0, (1 << 8 * t.size) - 1)
    flag = draw(st.sampled_from(["", "-", "0", "+", " "]))
    width = draw(st.sampled_from(["", "3", "20"]))
    form = f"%{flag}{width}{draw(st.sampled_from(['', 'hh', 'h', 'l', 'll']))}{draw(st.sampled_from('diuxXo'))}"
    return form, t, draw(st.integers(low, high))


@st.composite
def string(draw, *, long: bool):
    t = String(100 if long else draw(st.integers(1, 32)))
    form = f"%{draw(st.sampled_from(['', '-']))}{draw(st.sampled_from(['', '5', '40']))}s"
    return form, t, draw(st.binary(max_size=t.size)).split(b"\0")[0]


@st.composite
def rows(draw):
    parts = draw(st.lists(st.one_of(integer(), string(long=False)), max_size=5))
    for _ in range(draw(st.integers(0, 3))):
        parts.insert(draw(st.integers(0, len(parts))), draw(string(long=True)))
    return parts


def _finished(t, v):
    """A text that fills its place was cut: the mark says so."""
    if not isinstance(t, String):
        return v
    return v.decode("utf-8", "surrogateescape") + ("~~" if len(v) == t.size else "")


def _record(layout, values) -> bytes:
    out = bytearray(layout.fixed)
    struct.pack_into("=II", out, 0, 3, 0)
    for at, t, v in zip(layout.offsets, layout.types, values, strict=True):
        raw = struct.pack("=I", len(v)) if has_tail(t) else encoder(t)(v)
        out[at : at + len(raw)] = raw
    return bytes(out) + b"".join(v for t, v in zip(layout.types, values, strict=True) if has_tail(t))


@given(rows(), st.sampled_from(["", "%%", "a%%b\n"]))
def test_equal(parts, between):
    form = parse_format(between.join(["", *(p[0] for p in parts), ""]))
    types = tuple(p[1] for p in parts)
    values = tuple(p[2] for p in parts)
    layout = record_layout(types)
    made = printer(Action("printf", types, form), layout, "~~")
    assert made is not None
    record = _record(layout, values)
    texts, taken = made.run(Records(record, [0], 8), 0, 3)
    finished = tuple(map(_finished, types, values))
    assert taken == 1
    assert "".join(texts) == format_text(form, types, finished)


def test_stops_at_another_action():
    """Records of other actions keep their place in the order; shorter ones at the end of the data are no trouble."""
    layout = record_layout((Int(8, True),))
    made = printer(Action("printf", layout.types, parse_format("%ld\n")), layout, "..")
    assert made is not None
    mine, other, short = struct.pack("=IIq", 3, 0, 5), struct.pack("=IIq", 4, 0, 6), struct.pack("=II", 5, 0)
    for last in (other, short):
        texts, taken = made.run(Records(mine + mine + last, [0, 16, 32], 8), 0, 3)
        assert (texts, taken) == (["5\n", "5\n"], 2)


@given(rows(), st.lists(st.booleans(), min_size=1, max_size=40))
def test_rows_and_single_records_are_printed_alike(parts, mine):
    """Records of one size, ours and others in any order, go through the row-wise way as they do one by one."""
    form = parse_format("|".join(["", *(p[0] for p in parts), ""]))
    types, values = tuple(p[1] for p in parts), tuple(p[2] for p in parts)
    layout = record_layout(types)
    made = printer(Action("printf", types, form), layout, "~~")
    assert made is not None
    record = _record(layout, values)
    record = record.ljust((len(record) + 7) // 8 * 8, b"\0")
    stride = 8 + len(record)
    cells = [b"headhead" + (record if own else struct.pack("=I", 9) + record[4:]) for own in mine]
    block = Records(b"".join(cells), range(8, stride * len(cells), stride), 8)
    expected = format_text(form, types, tuple(map(_finished, types, values)))
    at = 0
    while at < len(mine):
        texts, taken = made.run(block, at, 3)
        run = next((i for i, own in enumerate(mine[at:]) if not own), len(mine) - at)
        assert texts == [expected] * run
        assert taken == run
        at += max(1, run)
