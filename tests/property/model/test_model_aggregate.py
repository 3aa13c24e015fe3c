"""Aggregations are monoids: what keeps per-CPU copies, batches, files and hosts adding up to one answer."""

from hypothesis import given
from hypothesis import strategies as st

from probescope.model.aggregate import (
    linear_bucket,
    linear_buckets,
    linear_range,
    log2_bucket,
    log2_range,
    monoid,
)
from probescope.model.types import Agg

AGGS = [
    Agg("count"),
    Agg("sum"),
    Agg("min"),
    Agg("max"),
    Agg("avg"),
    Agg("stats"),
    Agg("stddev"),
    Agg("hist", args=(0,)),
    Agg("hist", args=(3,)),
    Agg("lhist", args=(-10, 50, 7)),
    Agg("llquantize", args=(10, 0, 3, 10)),
]
values = st.lists(st.integers(-(1 << 40), 1 << 40), max_size=20)


def _all(agg, seen):
    m = monoid(agg)
    state = m.identity()
    for v in seen:
        state = m.update(state, v, 1)
    return state


@given(st.sampled_from(AGGS), values, values)
def test_merge_agrees_with_update(agg, a, b):
    """Two halves merged are the whole: else a sum over CPUs would not be the sum."""
    assert monoid(agg).merge(_all(agg, a), _all(agg, b)) == _all(agg, a + b)


@given(st.sampled_from(AGGS), values, values, values)
def test_merge_is_associative_with_identity(agg, a, b, c):
    """The order in which hosts or batches arrive must not matter."""
    m = monoid(agg)
    x, y, z = _all(agg, a), _all(agg, b), _all(agg, c)
    assert m.merge(m.merge(x, y), z) == m.merge(x, m.merge(y, z))
    assert m.merge(m.identity(), x) == x == m.merge(x, m.identity())


@given(st.integers(0, (1 << 64) - 1), st.integers(0, 5))
def test_log2_bucket_holds_its_value(value, bits):
    """The label of a histogram's row is true of what was counted in it."""
    low, high = log2_range(log2_bucket(value, bits), bits)
    assert low <= value < high


@given(st.integers(-1000, 1000), st.integers(-100, 100), st.integers(1, 200), st.integers(1, 50))
def test_linear_bucket_holds_its_value(value, low, span, step):
    high = low + span
    b = linear_bucket(value, low, high, step)
    last = linear_buckets(low, high, step) - 1
    if b == 0:
        assert value < low
    elif b == last:
        assert value >= high
    else:
        start, end = linear_range(b, low, high, step)
        assert start <= value < end
