"""Blocks of records -> numpy columns: for callers who want many events, without a Python object for each.

A record's place in the block is known, and so is each value's place in the record: all values of one kind are picked
out of the block by one indexing. Texts and buffers that lie in a record's tail, and opaque values, cost a step for each
event; opaque values are named once for each different one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from probescope.collect.fastprint import Texts
from probescope.ir.program import Action
from probescope.model.abi import RecordLayout, align_up, has_tail, item_types, offsets, size_align
from probescope.model.codec import decoder
from probescope.model.types import Array, Bool, Buffer, Enum, Int, Pointer, Record, String, Tuple, Type, TypeTable

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.finish import Finisher

    Array1 = np.ndarray[Any, Any]
    Take = Callable[["_Block"], Array1]

PRINTED = frozenset({"printf", "errorf", "warnf", "debugf", "print"})
"""Kinds of action whose records become rows; the others are done as they come."""


class _Block:
    """Some records of one action: ``at`` are the places of their first bytes in ``data``. Where they lie at equal
    distances, their values are reached by strides, else by an index for each byte."""

    __slots__ = ("at", "bytes", "data", "starts", "stride")

    def __init__(self, data: bytes, at: Array1, layout: RecordLayout) -> None:
        import numpy as np

        self.data = data
        self.bytes = np.frombuffer(data, np.uint8)
        self.at = at
        steps = np.diff(at)
        self.stride = int(steps[0]) if len(steps) and (steps == steps[0]).all() else 0
        self.starts: dict[int, Array1] = {}  # where each tail begins
        following = at + align_up(layout.fixed, 8)
        for i in layout.tails:
            self.starts[i] = following
            following = following + self.number(layout.offsets[i], "u4")

    def raw(self, offset: int, size: int) -> Array1:
        """``size`` bytes of each record, as rows."""
        import numpy as np

        if self.stride:
            first = int(self.at[0]) + offset
            rows = np.ndarray((len(self.at), size), np.uint8, self.data, first, (self.stride, 1))
            return np.ascontiguousarray(rows)
        return self.bytes[(self.at + offset)[:, None] + np.arange(size)]

    def number(self, offset: int, kind: str) -> Array1:
        """An integer of each record: ``u4`` is one of 4 bytes without a sign."""
        import numpy as np

        if self.stride:
            return np.ndarray((len(self.at),), f"={kind}", self.data, int(self.at[0]) + offset, (self.stride,)).copy()
        return self.raw(offset, int(kind[1:])).view(f"={kind}")[:, 0]


class Columns:
    """Of one action: ``take`` makes its records columns by name, in the order of the values."""

    def __init__(self, action: Action, layout: RecordLayout, finisher: Finisher, types: TypeTable | None) -> None:
        self._layout = layout
        self._finisher = finisher
        self._types = types
        self._takes: dict[str, Take] = {}
        labels = [*action.labels, *[""] * len(layout.types)]
        for i, (t, at) in enumerate(zip(layout.types, layout.offsets, strict=True)):
            if has_tail(t):
                self._add(labels[i], self._tail(i, t))
            else:
                self._value(labels[i], t, at)

    def take(self, data: bytes, at: Array1) -> dict[str, Array1]:
        block = _Block(data, at, self._layout)
        return {name: take(block) for name, take in self._takes.items()}

    # --- which columns
    # --------------------------------------------------------------------------------------------------

    def _add(self, label: str, take: Take) -> None:
        """Under its label; ``value0``, ``value1``... by position where there is none, ``pid_2`` where it is taken."""
        name = label or f"value{len(self._takes)}"
        count = 2
        while name in self._takes:
            name, count = f"{label or 'value'}_{count}", count + 1
        self._takes[name] = take

    def _value(self, label: str, t: Type, at: int) -> None:
        """Tuples and records are spread out: an item a column."""
        if isinstance(t, Tuple | Record):
            names = [n for n, _ in t.fields] if isinstance(t, Record) else [""] * len(t.items)
            places, _ = offsets(item_types(t), self._types, at)
            for name, item, place in zip(names, item_types(t), places, strict=True):
                self._value(name, item, place)
        else:
            self._add(label, self._plain(t, at))

    def _plain(self, t: Type, at: int) -> Take:
        match t:
            case Int(size=n, signed=s):
                return lambda b: b.number(at, f"{'i' if s else 'u'}{n}")
            case Enum(size=n) | Pointer(size=n):
                return lambda b: b.number(at, f"u{n}")
            case Bool():
                return lambda b: b.number(at, "u1").astype(bool)
            case String(size=n):
                known = Texts(n, self._finisher.mark)
                return lambda b: texts(b.raw(at, n), known)
            case Array(element=Int(size=n, signed=s), count=c):
                return lambda b: b.raw(at, n * c).view(f"={'i' if s else 'u'}{n}")
            case _:
                return self._finished(t, at)

    def _finished(self, t: Type, at: int) -> Take:
        """Opaque values and the like: each different one is decoded and named once."""
        import numpy as np

        size = size_align(t, self._types)[0]
        decode, finish = decoder(t, self._types), self._finisher.finish

        def take(b: _Block) -> Array1:
            rows = b.raw(at, size).view(f"V{size}")[:, 0]
            different, where = np.unique(rows, return_inverse=True)
            named = np.empty(len(different), object)
            for i, raw in enumerate(different):
                named[i] = finish(t, decode(raw.tobytes(), 0))
            return named[where]

        return take

    def _tail(self, i: int, t: Type) -> Take:
        import numpy as np

        finish, at = self._finisher.finish, self._layout.offsets[i]

        def take(b: _Block) -> Array1:
            starts, lengths, data = b.starts[i].tolist(), b.number(at, "u4").tolist(), b.data
            out = np.empty(len(starts), object)
            for n, (start, length) in enumerate(zip(starts, lengths, strict=True)):
                raw = data[start : start + length]
                out[n] = raw if isinstance(t, Buffer) else finish(t, raw.split(b"\0", 1)[0])
            return out

        return take


def texts(rows: Array1, known: Texts) -> Array1:
    """Rows of bytes as objects of type ``str``. Programs print the same few texts again and again: each is made
    once."""
    import numpy as np

    out = np.empty(len(rows), object)
    out[:] = [known[raw] for (raw,) in struct.iter_unpack(f"{rows.shape[1]}s", rows.tobytes())]
    return out


def runs(data: bytes, at: Array1, columnar: Array1) -> Iterator[tuple[int, Array1]]:
    """Splits a block: (action, places of its records), those of columnar actions together as far as no other action
    lies between; the others one by one, in their order."""
    import numpy as np

    actions = np.frombuffer(data, "=u4", len(data) // 4)[at // 4]
    stops = np.flatnonzero(~columnar[actions])
    first = 0
    for stop in (*stops.tolist(), len(at)):
        between = actions[first:stop]
        for action in np.unique(between).tolist():
            yield action, at[first:stop][between == action]
        if stop < len(at):
            yield int(actions[stop]), at[stop : stop + 1]
        first = stop + 1
