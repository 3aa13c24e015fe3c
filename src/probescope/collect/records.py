"""Ring bytes -> records -> actions: the hot path of everything that is printed.

A block of records of one action and one size, whose text needs nothing but their own bytes, is formatted by one
compiled pass (``fastprint.py``); the rest goes one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from probescope.collect.actions import Actions
from probescope.collect.fastprint import Printer, printer
from probescope.ir.program import Program
from probescope.kernel.records import Records
from probescope.model.abi import RecordLayout, record_layout
from probescope.model.codec import record_decoder
from probescope.model.output import Batch, Text
from probescope.model.types import TypeTable

if TYPE_CHECKING:
    from probescope.collect.columns import Columns

_ACTION = struct.Struct("=I").unpack_from


class RecordReader:
    """``take`` performs a batch of records in order. ``seen`` counts them. ``columnar``: what is printed goes out as
    columns, not as text."""

    def __init__(
        self, program: Program, actions: Actions, *, types: TypeTable | None = None, texts: bool = True
    ) -> None:
        self.seen = 0
        self.columnar = False
        self._actions = actions
        self._layouts: list[RecordLayout] = [record_layout(a.types, types) for a in program.actions]
        self._types = types
        self._decoders: dict[int, Callable[[Any], tuple[Any, ...]]] = {}
        self._printers: dict[int, Printer | None] = {}
        self._columns: dict[int, Columns] = {}
        self._program = program
        self._texts = texts  # whether plain text may be handed on in lumps

    def take(self, records: Records) -> None:
        """Stops after a record that asks for the end: nothing is printed after ``exit()``."""
        if self.columnar:
            self._take_columns(records)
            return
        data, offsets = records.data, records.offsets
        at, count = 0, len(offsets)
        exit_ = self._actions.exit
        while at < count and not exit_.muted:
            action = _ACTION(data, offsets[at])[0]
            done = self._lump(action, records, at) if self._texts else 0
            if not done:
                self._one(action, data, offsets[at])
                done = 1
            at += done
        self.seen += at
        self._actions.flush()

    def perform(self, action: int, values: tuple[int, ...]) -> None:
        """One that came by another way than the ring."""
        if not self._actions.exit.muted:
            self._actions.perform(action, values)
            self._actions.flush()

    def _take_columns(self, records: Records) -> None:
        import numpy as np

        from probescope.collect.columns import PRINTED, runs

        actions, data = self._program.actions, records.data
        columnar = np.array([a.kind in PRINTED for a in actions])
        for action, at in runs(data, np.asarray(records.offsets), columnar):
            if self._actions.exit.muted:
                break
            if columnar[action]:
                columns = self._columns_of(action).take(data, at)
                self._actions.sink(Batch(action, actions[action].kind, len(at), columns))
            else:
                self._one(action, data, int(at[0]))
            self.seen += len(at)
        self._actions.flush()

    def _columns_of(self, action: int) -> Columns:
        from probescope.collect.columns import Columns

        found = self._columns.get(action)
        if found is None:
            finisher = self._actions.finisher
            found = Columns(self._program.actions[action], self._layouts[action], finisher, self._types)
            self._columns[action] = found
        return found

    def _one(self, action: int, data: bytes, at: int) -> None:
        decode = self._decoders.get(action)
        if decode is None:
            decode = self._decoders[action] = record_decoder(self._layouts[action], self._types)
        self._actions.perform(action, decode(memoryview(data)[at:]))

    def _printer(self, action: int) -> Printer | None:
        mark = self._program.settings.truncation_mark
        return printer(self._program.actions[action], self._layouts[action], mark, self._actions.finisher.clean)

    def _lump(self, action: int, records: Records, at: int) -> int:
        """How many records from ``at`` on were printed as one text; 0 if they have to go one by one."""
        if action not in self._printers:
            self._printers[action] = self._printer(action)
        made = self._printers[action]
        if made is None:
            return 0
        texts, taken = made.run(records, at, action)
        if texts:
            self._actions.sink(Text("printf", "".join(texts)))
        return taken
