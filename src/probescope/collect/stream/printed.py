"""What statements print, as columns: for callers who want many events, without a Python object for each.

Names and kinds of columns are those of ``collect.columns``, which does the same for records of programs in the kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.evaluate.columns.values import Coded, Packed, Values, dtype_of
from probescope.model.abi import item_types
from probescope.model.output import Batch
from probescope.model.types import Array, Bool, Buffer, Enum, Pointer, Record, Tuple, Type, is_scalar, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probescope.collect.actions import Actions
    from probescope.collect.finish import Finisher
    from probescope.evaluate.columns.values import Column
    from probescope.ir.program import Action, Program


class Printed:
    """``columns`` and ``row`` take what clauses say; ``flush`` hands on the rows as a ``Batch`` for each statement.
    Actions that print nothing are performed as they come."""

    def __init__(self, program: Program, actions: Actions, kinds: frozenset[str]) -> None:
        self._actions = actions
        self.printing = frozenset(i for i, a in enumerate(program.actions) if a.kind in kinds)
        self._program = program
        self._rows: dict[int, list[tuple[Any, ...]]] = {}

    def columns(self, action: int, values: Sequence[Values], count: int) -> None:
        if not self._actions.exit.muted:
            a = self._program.actions[action]
            out = _Named(a, self._actions.finisher)
            for i, (v, t) in enumerate(zip(values, a.types, strict=True)):
                out.add(out.label(i), v, t)
            self._actions.sink(Batch(action, a.kind, count, out.columns))

    def row(self, action: int, values: tuple[Any, ...]) -> None:
        if action in self.printing:
            if not self._actions.exit.muted:
                self._rows.setdefault(action, []).append(values)
        else:
            self.flush()
            self._actions.perform(action, values)

    def flush(self) -> None:
        rows, self._rows = self._rows, {}
        for action, some in rows.items():
            types = self._program.actions[action].types
            values = [_column(list(v), t) for v, t in zip(zip(*some, strict=True), types, strict=True)] if types else []
            self.columns(action, values, len(some))


def _column(values: list[Any], t: Type) -> Values:
    if is_scalar(t):
        return np.array(values, dtype_of(t))
    if isinstance(t, Tuple | Record):
        items = zip(zip(*values, strict=True), item_types(t), strict=True)
        return Packed(tuple(_column(list(v), i) for v, i in items))
    return Coded(np.arange(len(values)), values)


class _Named:
    """Columns under the labels of their values: ``value0``, ``value1``... by position where there is none, ``pid_2``
    where it is taken."""

    def __init__(self, action: Action, finisher: Finisher) -> None:
        self._labels = action.labels
        self._finisher = finisher
        self.columns: dict[str, Column] = {}

    def label(self, i: int) -> str:
        return self._labels[i] if i < len(self._labels) else ""

    def add(self, label: str, v: Values, t: Type) -> None:
        if isinstance(v, Packed) and isinstance(t, Tuple | Record):
            names = [n for n, _ in t.fields] if isinstance(t, Record) else [""] * len(t.items)
            for name, item, kind in zip(names, v.items, item_types(t), strict=True):
                self.add(name, item, kind)
            return
        name, count = label or f"value{len(self.columns)}", 2
        while name in self.columns:
            name, count = f"{label or 'value'}_{count}", count + 1
        self.columns[name] = self._plain(v, t)

    def _plain(self, v: Values, t: Type) -> Column:
        if isinstance(v, np.ndarray):
            return v.astype(f"u{width(t)}", copy=False) if isinstance(t, Enum | Pointer) else v
        assert isinstance(v, Coded)
        if isinstance(t, Array) and is_scalar(t.element) and not isinstance(t.element, Bool):
            return np.array(v.values, dtype_of(t.element))[v.codes]
        used, codes = np.unique(v.codes, return_inverse=True)
        named = np.empty(len(used), object)
        for i, code in enumerate(used.tolist()):
            one = v.values[code]
            named[i] = one if isinstance(t, Buffer) else self._finisher.finish(t, one)
        return named[codes]
