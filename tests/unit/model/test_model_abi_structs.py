"""Where structs lie in tuples: as C aligns them, as far as that is known."""

from __future__ import annotations

import pytest

from probescope.debuginfo.clayout import LayoutBuilder
from probescope.model.abi import offsets, size_align
from probescope.model.types import I32, U8, Layout, Struct, TypeTable


class Told:
    """A table that tells one layout."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def layout(self, name: str) -> Layout | None:
        return self._layout


@pytest.mark.parametrize(
    ("size", "align", "expected"),
    [(8, 4, (8, 4)), (8, 8, (8, 8)), (16, 16, (16, 8)), (3, 1, (3, 1)), (8, 0, (8, 8)), (12, 0, (12, 1))],
)
def test_alignment_of_a_struct(size: int, align: int, expected: tuple[int, int]) -> None:
    """That of its layout, at most 8, which is what memory of programs has; where it is not known, by its size."""
    table: TypeTable = Told(Layout("struct s", size, (), (), align))  # type: ignore[assignment]
    assert size_align(Struct("struct s"), table) == expected


def test_tuple_of_a_number_and_a_struct() -> None:
    """bpftrace 0.26: sizeof((int32, struct { int; int; })) is 12."""
    builder = LayoutBuilder("struct s", union=False, packed=False)
    for name in "mn":
        builder.member(name, I32, 4, 4)
    table: TypeTable = Told(builder.finish()[0])  # type: ignore[assignment]
    assert offsets((I32, Struct("struct s")), table) == ((0, 4), 12)
    assert offsets((U8, Struct("struct s")), table) == ((0, 4), 12)
