"""Maps as they are printed: in which order, and what becomes one entry."""

from __future__ import annotations

from probescope.collect.finish import Finisher
from probescope.collect.tables import map_out
from probescope.ir.program import MapDecl, Program
from probescope.model.aggregate import monoid
from probescope.model.output import Frame
from probescope.model.types import I64, Agg, Int, Opaque, String, Tuple


class Nobody:
    def kernel(self, address: int) -> Frame:
        return Frame(address, "same")

    def user(self, pid: int, address: int) -> Frame:
        return Frame(address, "same")

    def addresses(self, type_: Opaque, stack_id: int) -> tuple[int, ...] | None:
        return {1: (10,), 2: (10,), 3: (20,)}.get(stack_id)


FINISHER = Finisher(Program(()), Nobody(), Nobody())
COUNT = Agg("count")


def keys(decl: MapDecl, pairs: list[tuple[object, object]], **how: int) -> list[object]:
    return [k for k, _ in map_out(decl, pairs, FINISHER, **how).items]  # type: ignore[arg-type]


def test_collect_maps_are_sorted_by_value_then_key() -> None:
    """The smallest first; equal values by their keys."""
    decl = MapDecl("x", I64, COUNT)
    assert keys(decl, [(1, 5), (2, 3), (9, 5), (4, 5)]) == [2, 1, 4, 9]


def test_collect_top_keeps_the_greatest() -> None:
    """``print(@x, 2)``."""
    decl = MapDecl("x", I64, COUNT)
    assert keys(decl, [(1, 5), (2, 3), (9, 7)], top=2) == [1, 9]


def test_collect_texts_are_sorted_as_texts() -> None:
    """Values that are no numbers: by key; numbers by value, texts in their order, tuples item by item."""
    decl = MapDecl("x", Tuple((I64, String(8))), String(8))
    pairs: list[tuple[object, object]] = [((2, b"a"), b"z"), ((1, b"b"), b"y"), ((1, b"a"), b"x"), ((10, b"a"), b"w")]
    assert keys(decl, pairs) == [(1, "a"), (1, "b"), (2, "a"), (10, "a")]


def test_collect_averages_and_stats_are_sorted_by_average() -> None:
    """(total, count) states: 10/10 before 9/3."""
    decl = MapDecl("x", I64, Agg("avg", Int(8, True)))
    assert keys(decl, [(1, (9, 3)), (2, (10, 10))]) == [2, 1]


def test_collect_equal_stacks_are_one_entry() -> None:
    """Two ids of one stack, as they come from tables that were filled at different moments: their counts are added."""
    decl = MapDecl("x", Opaque("kstack", "raw", 127), COUNT)
    out = map_out(decl, [(1, 5), (2, 6), (3, 1)], FINISHER)
    assert [v for _, v in out.items] == [1, 11]


def test_collect_a_map_without_keys() -> None:
    """One entry with the key None; ``top`` does not cut it."""
    decl = MapDecl("x", None, COUNT)
    assert map_out(decl, [(None, 7)], FINISHER, top=0).items == ((None, 7),)
    assert monoid(COUNT).number(7) == 7
