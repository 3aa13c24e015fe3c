"""Lines put together by columns say what Python's own formatting says, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.formats.tracing import cells, cells_rows

U64 = st.one_of(st.integers(0, 20), st.integers(0, 1 << 64 - 1), st.integers(0, (1 << 64) - 1))
I64 = st.one_of(st.integers(-20, 20), st.integers(-(1 << 63), (1 << 63) - 1))
TEXT = st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"."))
NARROW = st.sampled_from([b"", b"a", b"bc", b"def", b"0123456789abcdef"])


@pytest.fixture(scope="module", params=["by rows", "by columns"], autouse=True)
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """By compiled code, where that is, and by numpy: a C compiler on the machine where probescope was installed must
    not change a byte."""
    if request.param == "by rows" and cells_rows.WRITTEN is None:
        pytest.skip("nothing was compiled when probescope was installed: a C compiler, python3-dev, make setup")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "by columns":
            patch.setattr(cells_rows, "WRITTEN", None)
        yield


def joined(columns: list[cells.Cells], count: int) -> list[bytes]:
    return cells.lines([(None, [*columns, b"\n"])], count).split(b"\n")[:-1]


@given(st.lists(U64, min_size=1, max_size=50))
def test_numbers_without_signs(numbers: list[int]) -> None:
    column = np.array(numbers, np.uint64)
    assert joined([b"<", *cells.hexadecimal(column), b">"], len(numbers)) == [b"<%x>" % n for n in numbers]
    assert joined(cells.decimal(column), len(numbers)) == [b"%d" % n for n in numbers]


@given(st.lists(I64, min_size=1, max_size=50))
def test_numbers_with_signs(numbers: list[int]) -> None:
    assert joined(cells.decimal(np.array(numbers, np.int64)), len(numbers)) == [b"%d" % n for n in numbers]


@given(st.lists(U64, min_size=1, max_size=20), st.sampled_from([3, 6, 9]))
def test_times(times: list[int], digits: int) -> None:
    whole = [b"%5d.%09d" % divmod(t, 10**9) for t in times]
    assert joined(cells.seconds(np.array(times, np.uint64), 5, digits), len(times)) == [
        t[: len(t) + digits - 9] for t in whole
    ]


@settings(max_examples=200)
@given(st.data())
def test_columns_of_any_sizes(data: st.DataObject) -> None:
    """What a text leaves of its column's width is written over, in its line and in the next ones, also where lines of
    different kinds lie among each other."""
    count = data.draw(st.integers(1, 12))
    kinds = np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)))
    expected = [b""] * count
    parts = []
    for kind in np.unique(kinds).tolist():
        rows = (kinds == kind).nonzero()[0]
        columns: list[cells.Cells] = []
        for _ in range(data.draw(st.integers(0, 6))):
            what = data.draw(st.sampled_from(["same", "texts", "narrow", "loose"]))
            one = NARROW if what == "narrow" else TEXT
            same = what == "same"
            texts = [data.draw(one)] * len(rows) if same else [data.draw(one) for _ in rows]
            columns.append(texts[0] if same else texts if what == "loose" else cells.texts(texts))
            for row, text in zip(rows.tolist(), texts, strict=True):
                expected[row] += text
        parts.append((rows, columns))
    assert cells.each_line(parts, count) == expected
    assert cells.lines(parts, count) == b"".join(expected)
