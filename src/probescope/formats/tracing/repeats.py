"""Texts of records met before: most events of a recording say what others said already, but for time, thread and CPU.

The key is a record without its common fields. Where too few records repeat, an event's texts are worked out without
this for a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from probescope.formats.tracing.fields import Records
    from probescope.formats.tracing.print_fmt import Printer

MOST_KEPT = 1 << 14
MOST_BYTES = 192
FEW = 64  # records: below, nothing can be told
PAUSE = 64


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
