"""Values survive the way into bytes and back, for every storable type: map keys and event records depend on it."""

from hypothesis import given
from hypothesis import strategies as st

from probescope.model.abi import record_layout, size_align
from probescope.model.codec import decoder, encoder, record_decoder, zero
from probescope.model.types import U32, Array, Bool, Buffer, Int, Opaque, Record, String, Tuple

scalars = st.sampled_from([Int(n, s) for n in (1, 2, 4, 8) for s in (True, False)] + [Bool()])
leaves = st.one_of(
    scalars,
    st.integers(1, 40).map(String),
    st.integers(1, 40).map(Buffer),
    st.sampled_from([Opaque(k) for k in ("kstack", "ustack", "usym", "inet", "mac", "timestamp", "strerror")]),
)
types = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map(lambda i: Tuple(tuple(i))),
        st.lists(inner, min_size=1, max_size=3).map(lambda i: Record(tuple((f"f{n}", t) for n, t in enumerate(i)))),
        st.tuples(scalars, st.integers(1, 4)).map(lambda a: Array(*a)),
    ),
    max_leaves=8,
)


@st.composite
def typed_values(draw):
    t = draw(types)
    return t, draw(_value(t))


def _value(t):
    match t:
        case Bool():
            return st.booleans()
        case Int(size=n, signed=s):
            return st.integers(-(1 << 8 * n - 1), (1 << 8 * n - 1) - 1) if s else st.integers(0, (1 << 8 * n) - 1)
        case String(size=n):
            return st.binary(max_size=n).map(lambda b: b.split(b"\0")[0])
        case Buffer(size=n):
            return st.binary(max_size=n)
        case Tuple(items=items):
            return st.tuples(*[_value(i) for i in items])
        case Record(fields=fields):
            return st.tuples(*[_value(f) for _, f in fields])
        case Array(element=e, count=n):
            return st.tuples(*[_value(e)] * n)
        case Opaque(kind="ustack" | "usym"):
            return st.tuples(st.integers(0, 1 << 30), st.integers(0, 1 << 30))
        case Opaque(kind="inet"):
            return st.sampled_from([b"", b"\x7f\0\0\x01", bytes(range(16))])
        case Opaque(kind="mac"):
            return st.binary(min_size=6, max_size=6)
        case _:
            return st.integers(0, 1 << 30)


@given(typed_values())
def test_round_trip(tv):
    t, value = tv
    raw = encoder(t)(value)
    assert len(raw) == size_align(t)[0]
    assert decoder(t)(raw, 0) == value


@given(types)
def test_zero_is_all_zero_bytes(t):
    """Memory that the kernel side never wrote decodes to the type's zero."""
    assert decoder(t)(bytes(size_align(t)[0]), 0) == zero(t)


def test_record_with_tails_by_hand():
    """The layout drawn in abi.py: action 5, a u32, lengths of a long string and a buffer, then their bytes."""
    layout = record_layout((U32, String(100), Buffer(8)))
    raw = bytes.fromhex("05000000 00000000 07000000 03000000 02000000 00000000".replace(" ", "")) + b"abc" + b"\xff\x00"
    assert layout.fixed == 24
    assert layout.limit == 24 + 100 + 8
    assert record_decoder(layout)(raw) == (7, b"abc", b"\xff\x00")
