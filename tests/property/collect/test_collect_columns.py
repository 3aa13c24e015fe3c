"""Columns hold the same values as records decoded one by one."""

import struct
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from probescope.collect.columns import Columns, runs, texts
from probescope.collect.fastprint import Texts
from probescope.collect.finish import Finisher
from probescope.ir.program import Action, Program
from probescope.model.abi import has_tail, item_types, record_layout
from probescope.model.codec import encoder
from probescope.model.output import Frame
from probescope.model.types import BOOL, Array, Buffer, Int, Opaque, Pointer, Record, String, Tuple


class Nobody:
    def kernel(self, address: int) -> Frame:
        return Frame(address, f"f{address}")

    def user(self, pid: int, address: int) -> Frame:
        return Frame(address, f"u{address}")

    def addresses(self, type_: Opaque, stack_id: int) -> tuple[int, ...] | None:
        return None


def named(types: list[Any]) -> Record:
    return Record(tuple((f"n{i}", t) for i, t in enumerate(types)))


FINISHER = Finisher(Program(()), Nobody(), Nobody())

plain: st.SearchStrategy[Any] = st.one_of(
    st.builds(Int, st.sampled_from([1, 2, 4, 8]), st.booleans()),
    st.just(BOOL),
    st.builds(String, st.integers(1, 40)),
    st.just(Array(Int(2, True), 3)),
    st.just(Opaque("ksym")),
)
kinds = st.one_of(
    plain,
    st.builds(Buffer, st.integers(1, 20)),
    st.builds(lambda ts: Tuple(tuple(ts)), st.lists(plain, min_size=1, max_size=3)),
    st.builds(named, st.lists(plain, min_size=1, max_size=3)),
)


def values(t: Any) -> st.SearchStrategy[Any]:
    match t:
        case Int(size=n, signed=s):
            low, high = (-(1 << 8 * n - 1), (1 << 8 * n - 1) - 1) if s else (0, (1 << 8 * n) - 1)
            return st.integers(low, high)
        case Array(element=e, count=c):
            return st.tuples(*[values(e)] * c)
        case Tuple() | Record():
            return st.tuples(*map(values, item_types(t)))
        case String(size=n):
            return st.text(max_size=n).map(lambda s: s.encode()[:n].split(b"\0")[0])
        case Buffer(size=n):
            return st.binary(max_size=n)
        case Opaque():
            return st.integers(0, (1 << 64) - 1)
        case _:
            return st.booleans()


@st.composite
def blocks(draw: st.DrawFn) -> tuple[list[Any], list[tuple[Any, ...]]]:
    types = draw(st.lists(kinds, min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*map(values, types)), min_size=1, max_size=6))
    return types, rows


def encode(layout: Any, row: tuple[Any, ...], action: int) -> bytes:
    out = bytearray(layout.fixed)
    struct.pack_into("=II", out, 0, action, 0)
    for at, t, v in zip(layout.offsets, layout.types, row, strict=True):
        raw = struct.pack("=I", len(v)) if has_tail(t) else encoder(t)(v)
        out[at : at + len(raw)] = raw
    return bytes(out) + b"".join(v for t, v in zip(layout.types, row, strict=True) if has_tail(t))


def flat(t: Any, v: Any) -> list[Any]:
    """What the columns should hold for a value: tuples spread out, texts as str."""
    if isinstance(t, Tuple | Record):
        return [x for i, item in zip(item_types(t), v, strict=True) for x in flat(i, item)]
    if isinstance(t, String):
        return [v.decode("utf-8", "surrogateescape") + (".." if len(v) == t.size else "")]
    return [f"f{v}" if isinstance(t, Opaque) else list(v) if isinstance(t, Array) else v]


@given(blocks())
def test_collect_columns_hold_what_was_recorded(block: tuple[list[Any], list[tuple[Any, ...]]]) -> None:
    """Every type, in any combination, with tails of any length."""
    types, rows = block
    layout = record_layout(tuple(types))
    data, offsets = b"", []
    for row in rows:
        record = encode(layout, row, 0)
        data += b"\xff" * 8
        offsets.append(len(data))
        data += record.ljust((len(record) + 7) // 8 * 8, b"\xee")
    got = Columns(Action("printf", tuple(types)), layout, FINISHER, None).take(data, np.array(offsets))
    columns = [c.tolist() for c in got.values()]
    expected = [[x for t, v in zip(types, row, strict=True) for x in flat(t, v)] for row in rows]
    assert [list(r) for r in zip(*columns, strict=True)] == expected


@given(st.lists(st.integers(0, 3), max_size=30))
def test_collect_runs_keep_other_actions_in_their_place(actions: list[int]) -> None:
    """Rows are put together only between the actions that are no rows; no record is lost or doubled."""
    data = b"".join(struct.pack("=II", a, 0) for a in actions)
    at = np.arange(len(actions)) * 8
    columnar = np.array([True, True, False, False])
    found = [(a, (places // 8).tolist()) for a, places in runs(data, at, columnar)]
    assert sorted(i for _, places in found for i in places) == list(range(len(actions)))
    assert all(actions[i] == a for a, places in found for i in places)
    order = [places[0] for a, places in found if not columnar[a]]
    assert order == sorted(order)
    for a, places in found:
        if not columnar[a]:
            assert len(places) == 1
            before = [i for b, ps in found[: found.index((a, places))] for i in ps]
            assert all(i < places[0] for i in before)


@given(st.lists(st.binary(min_size=8, max_size=8), min_size=1))
def test_collect_texts_end_at_their_first_nul(rows: list[bytes]) -> None:
    """Bytes that are not UTF-8 come back unchanged."""
    got = texts(np.frombuffer(b"".join(rows), np.uint8).reshape(-1, 8), Texts(8, ""))
    assert [t.encode("utf-8", "surrogateescape") for t in got.tolist()] == [r.split(b"\0")[0] for r in rows]


def test_collect_columns_are_named() -> None:
    """By label; by position without one; a second one of a name gets a number; items of records by their own names."""
    types = (Int(4, True), Int(4, True), Int(4, True), Record((("a", Int(4, True)), ("b", BOOL))), Pointer(8))
    action = Action("print", types, labels=("pid", "pid", "", "rec", "p"))
    data = encode(record_layout(types), (1, 2, 3, (4, True), 5), 0)
    got = Columns(action, record_layout(types), FINISHER, None).take(data, np.array([0]))
    assert {n: c.tolist() for n, c in got.items()} == {
        "pid": [1],
        "pid_2": [2],
        "value2": [3],
        "a": [4],
        "b": [True],
        "p": [5],
    }
