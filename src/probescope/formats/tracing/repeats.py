"""Texts of records met before: most events of a recording say what others said already, but for time, thread and CPU.

The key is a record without its common fields. Where too few records repeat, an event's texts are worked out without
this for a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracing import cells
from probescope.formats.tracing.fields import MOST_ROW
from probescope.model.alike import alike

if TYPE_CHECKING:
    from probescope.formats.tracing.cells import Cells
    from probescope.formats.tracing.fields import Records
    from probescope.formats.tracing.print_fmt import Printer

MOST_KEPT = 1 << 14
MOST_BYTES = 192
FEW = 64  # records: below, nothing can be told
PAUSE = 64


def cells_of(printer: Printer, records: Records, common: int, pause: list[int]) -> list[Cells]:
    """``printer.cells``, worked out once for records that are alike but for their first ``common`` bytes. ``pause``
    counts down, in place, for how many batches this is not tried again."""
    size = records.least
    if pause[0] or not printer.alone or len(records) < FEW or size > MOST_ROW or size < int(records.size.max()):
        pause[0] = max(pause[0] - 1, 0)
        return printer.cells(records)
    width = max(size - common, 1)
    own = np.zeros((len(records), (width + 7) // 8 * 8), np.uint8)
    own[:, :width] = records.rows[:, size - width :]
    words = own.view(np.uint64)
    first, kinds = alike(tuple(words[:, i] for i in range(words.shape[1])))
    if len(first) * 16 > len(records):
        pause[0] = PAUSE
        return printer.cells(records)
    if not (words.take(first, axis=0).take(kinds, axis=0) == words).all():  # two different ones have one hash
        return printer.cells(records)
    made = cells.each_line([(None, printer.cells(records.subset(first)))], len(first))
    if max(map(len, made)) > MOST_BYTES:
        return [list(map(made.__getitem__, kinds.tolist()))]
    return [cells.texts(made).take(kinds)]


class Repeats:
    """Of one event. ``common``: bytes of a record before its own fields."""

    def __init__(self, printer: Printer, common: int) -> None:
        self.printer = printer
        self.common = common
        self.kept: dict[bytes, str] = {}
        self.pause = 0

    def worthwhile(self, records: Records) -> bool:
        if len(records) < FEW or not self.printer.makers:
            return False
        if self.pause:
            self.pause -= 1
            return False
        return int(records.size.max()) <= MOST_BYTES

    def texts(self, records: Records) -> list[str]:
        data, common = records.data, self.common
        ends = (records.start + records.size).tolist()
        keys = [data[a:b] for a, b in zip((records.start + common).tolist(), ends, strict=True)]
        found = list(map(self.kept.get, keys))
        missing = [i for i, text in enumerate(found) if text is None] if None in found else []
        if missing:
            self._work_out(records, keys, found, missing)
        return found  # type: ignore[return-value] # what was missing is there now

    def _work_out(self, records: Records, keys: list[bytes], found: list[str | None], missing: list[int]) -> None:
        if len(missing) * 4 > len(found) and len(set(keys)) * 4 > len(keys):
            self.pause = PAUSE
        texts = self.printer.texts(records.subset(np.array(missing)))
        if len(self.kept) + len(missing) > MOST_KEPT:
            self.kept.clear()
        for i, text in zip(missing, texts, strict=True):
            found[i] = text
            if len(self.kept) < MOST_KEPT:
                self.kept[keys[i]] = text
