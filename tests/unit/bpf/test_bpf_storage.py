"""What the bytes of a kernel map mean: bpf/storage.py and bpf/words.py, without a kernel."""

from __future__ import annotations

import struct

import pytest

from probescope.bpf.storage import NO_PREALLOC, storage
from probescope.bpf.unit import Options
from probescope.bpf.words import buckets, code, layout, merged, uncode
from probescope.errors import LimitError
from probescope.ir.program import MapDecl
from probescope.model.features import Features
from probescope.model.types import I64, U32, U64, Agg, AggKind, Int, String, Tuple

TWO = Options(cpus=2)


def words(*values: int) -> bytes:
    return struct.pack(f"={len(values)}Q", *[v & ((1 << 64) - 1) for v in values])


def test_scalar_map_is_one_addressable_value_that_knows_whether_it_was_set() -> None:
    """A map without key is an array of one, mapped by user space; an unset one must not be shown as 0."""
    s = storage(MapDecl("x", None, U32), TWO)
    assert (s.spec.type, s.spec.value_size, s.spec.max_entries, s.set_at) == (2, 16, 1, 8)
    codec = s.codec()
    assert codec.value(bytes(16)) is None
    assert codec.value(struct.pack("=IIQ", 7, 0, 1)) == 7
    assert codec.row(7) == struct.pack("=IIQ", 7, 0, 1)
    assert codec.absent() == bytes(16)
    assert (codec.key(b"\0\0\0\0"), codec.key_bytes(None)) == (None, b"\0\0\0\0")


def test_keyed_map_uses_the_layout_of_model_abi() -> None:
    s = storage(MapDecl("start", Tuple((U32, String(16), U64)), I64, max_entries=99), TWO)
    assert (s.spec.type, s.spec.key_size, s.spec.value_size, s.spec.max_entries) == (1, 32, 8, 99)
    codec = s.codec()
    raw = struct.pack("=I16s4xQ", 5, b"bash", 9)
    assert codec.key(raw) == (5, b"bash", 9)
    assert codec.key_bytes((5, b"bash", 9)) == raw
    assert codec.value(struct.pack("=q", -3)) == -3


@pytest.mark.parametrize(
    ("kind", "key", "expected"),
    [
        ("auto", None, 6),
        ("auto", U32, 5),
        ("hash", U32, 5),
        ("lruhash", U32, 10),
        ("percpuhash", U32, 5),
        ("percpulruhash", U32, 10),
    ],
)
def test_aggregations_are_per_cpu(kind: str, key: Int | None, expected: int) -> None:
    """A shared aggregation would bounce its cache line between CPUs at every hit."""
    s = storage(MapDecl("n", key, Agg("count"), kind), TWO)  # type: ignore[arg-type]
    assert (s.spec.type, s.per_cpu, s.row_bytes) == (expected, True, 16)


@pytest.mark.parametrize(
    ("agg", "row", "expected"),
    [
        (Agg("count"), words(3, 4), 7),
        (Agg("sum"), words(-5, 1, 2, 1), -3),
        (Agg("sum"), words(0, 0, 0, 0), None),
        (Agg("sum"), words(0, 0, 0, 1), 0),
        (Agg("sum", U64), words(1 << 63, 1, 1 << 63, 1), 0),
        (Agg("avg"), words(-6, 2, 3, 1), (-3, 3)),
        (Agg("stats"), words(0, 0, 0, 0), None),
        (Agg("min"), words(0, 0, code(Agg("min"), -7), 1), -7),
        (Agg("max"), words(code(Agg("max"), -7), 1, code(Agg("max"), -9), 1), -7),
        (Agg("max"), words(0, 0, 0, 0), None),
        (Agg("hist", I64, (0,)), words(*[0] * 66, *[0, 2] + [0] * 64), {1: 2}),
        (Agg("lhist", I64, (0, 10, 5)), words(1, 0, 2, 0, 0, 1, 1, 0), {0: 1, 1: 1, 2: 3}),
        # 2 CPUs, 2 intervals in slots of (number + 1, total): numbers 4 and 5 on the first, 5 on the second
        (Agg("tseries", I64, (1, 2, 0)), words(5, 10, 6, 20, 0, 0, 6, 1), {4: 10, 5: 21}),
        # the last value, in slots of (number + 1, value, when): in interval 4 the first CPU's, in 5 the second's
        (Agg("tseries", I64, (1, 2, 5)), words(5, 9, 70, 6, 20, 80, 5, 8, 60, 6, -1, 81), {4: 9, 5: -1}),
    ],
)
def test_rows_of_all_cpus_are_merged(agg: Agg, row: bytes, expected: object) -> None:
    """What two CPUs counted apart is one answer; nothing observed is not the answer 0."""
    assert storage(MapDecl("a", None, agg), TWO).codec().value(row) == expected


def test_keyed_aggregation_of_zero_is_there() -> None:
    """A key exists once it was updated, whatever its total."""
    assert storage(MapDecl("a", U32, Agg("sum")), TWO).codec().value(words(0, 0)) == 0


@pytest.mark.parametrize("kind", ["count", "sum", "min", "max", "avg", "stats", "stddev"])
def test_states_survive_being_written(kind: AggKind) -> None:
    """User space writes states back (zero(), clauses run outside the kernel): it must read the same again."""
    state = {"count": 5, "avg": (-4, 2), "stats": (-4, 2), "stddev": (-4, 2, 10)}.get(kind, -9)
    codec = storage(MapDecl("a", None, Agg(kind)), TWO).codec()
    assert len(codec.row(state)) == codec.storage.row_bytes
    assert codec.value(codec.row(state)) == state


def test_states_of_many_words_survive_being_written() -> None:
    for agg, state in (
        (Agg("hist", I64, (1,)), {0: 1, 7: 3, 127: 1}),
        (Agg("lhist", I64, (0, 100, 7)), {0: 1, 16: 2}),
        (Agg("llquantize", I64, (10, 0, 3, 20)), {0: 1, 81: 2}),
        (Agg("tseries", I64, (1000, 3, 3)), {7: (5, 2), 8: (6, 1)}),
    ):
        codec = storage(MapDecl("a", U32, agg), TWO).codec()
        assert codec.value(codec.row(state)) == state


def test_deviation_keeps_sums_beyond_64_bits() -> None:
    """Squares of nanoseconds overflow 64 bits after a few thousand observations."""
    shape = layout(Agg("stddev"), keyed=True)
    total, squares = -(1 << 70), 1 << 100
    assert merged(Agg("stddev"), shape, [shape.write((total, 3, squares)), shape.write((1, 1, 1))]) == (
        total + 1,
        4,
        squares + 1,
    )


@pytest.mark.parametrize("value", [0, 1, -1, (1 << 63) - 1, -(1 << 63)])
def test_coded_extremes_order_as_their_aggregation_wants(value: int) -> None:
    """The kernel compares coded values as unsigned numbers: the greater one wins."""
    for kind in ("min", "max"):
        agg = Agg(kind)  # type: ignore[arg-type]
        assert uncode(agg, code(agg, value)) == value
        other = value - 1 if value > 0 else value + 1
        winner = max(code(agg, value), code(agg, other))
        assert uncode(agg, winner) == (min(value, other) if kind == "min" else max(value, other))


@pytest.mark.parametrize(("bits", "expected"), [(0, 66), (1, 129), (5, 1921)])
def test_histogram_has_a_bucket_for_every_value(bits: int, expected: int) -> None:
    """Negative ones, small ones, then 2**bits for each power of two up to 64 bits, counted by hand."""
    assert buckets(Agg("hist", I64, (bits,))) == expected


def test_loglinear_steps_that_do_not_divide_have_room() -> None:
    """10..99 in 6 steps of 16: 99 // 16 is step 6, one past the last."""
    assert buckets(Agg("llquantize", I64, (10, 1, 1, 6))) == 8


def test_large_histograms_take_memory_as_keys_come() -> None:
    """4096 keys of 528 bytes on 64 CPUs would be 138 MB before the first hit."""
    decl = MapDecl("h", U32, Agg("hist", I64, (0,)))
    able = Options(cpus=64, features=Features.of(["map:no_prealloc"]))
    assert storage(decl, able).spec.flags & NO_PREALLOC
    assert not storage(decl, Options(cpus=64, features=Features())).spec.flags
    assert not storage(MapDecl("n", U32, Agg("count")), Options(cpus=2, features=able.features)).spec.flags


def test_value_beyond_the_kernels_limit_is_refused_with_a_hint() -> None:
    with pytest.raises(LimitError) as e:
        storage(MapDecl("t", None, Agg("tseries", I64, (1, 5000, 0))), TWO)
    assert "32768" in e.value.what
    assert e.value.hints


def test_integers_of_an_explicitly_per_cpu_map_are_added_up() -> None:
    codec = storage(MapDecl("p", U32, I64, "percpuhash"), TWO).codec()
    assert codec.value(words(-2, 5)) == 3
    assert codec.value(codec.row(-2)) == -2


def test_texts_of_an_explicitly_per_cpu_map_are_those_of_the_first_cpu_that_has_one() -> None:
    codec = storage(MapDecl("p", U32, String(4), "percpuhash"), TWO).codec()
    assert codec.value(b"\0\0\0\0\0\0\0\0abcd\0\0\0\0") == b"abcd"
    assert codec.value(codec.row(b"x")) == b"x"
