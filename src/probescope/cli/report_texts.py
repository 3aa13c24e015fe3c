"""Fields and traces of tracepoints as ``report`` sums them up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from probescope.cli.recordings import Opened
    from probescope.collect.recorded.told import ToldBatch
    from probescope.model.recording import RawField

    Column = np.ndarray[Any, Any]


class Texts:
    """Fields of tracepoints as texts, as they are printed. ``plain``: the trace as the values of all fields."""

    def __init__(self, opened: Opened, *, plain: bool = False) -> None:
        self._opened = opened
        self._all = plain

    def __call__(self, told: ToldBatch, kind: int, which: Column, column: str) -> Sequence[str]:
        about = self._opened.recording.events[kind]
        if column == "trace" and not about.fields:
            return ["N/A"] * len(which)
        if told.batch.raw is None:
            return [""] * len(which)
        if column == "trace" and self._all:
            own = [f for f in about.fields if not f.name.startswith("common_")]
            columns = [_values(self._opened, told, which, f) for f in own]
            return ["".join(row) for row in zip(*columns, strict=True)] if own else [""] * len(which)
        if column == "trace":
            return self._opened.traces(told, kind, which)
        word = column.removeprefix("field ")
        event, _, name = word.rpartition(".")
        found = about.field(name)
        if found is None or (event and event not in {about.name, about.name.partition(":")[2], "*"}):
            return [""] * len(which)
        if f"{name}=%" in about.print_fmt:
            pattern = re.compile(rf"(?:^| ){re.escape(name)}=(\S*)")
            texts = self._opened.traces(told, kind, which)
            hits = [pattern.search(t) for t in texts]
            if all(hits):
                return [h[1] for h in hits if h]
        return _plain(self._opened, told, which, found)


def _values(opened: Opened, told: ToldBatch, which: Column, field: RawField) -> list[str]:
    """`` name=value``: what is declared as a long without a sign in hexadecimal, as libtraceevent has it."""
    from probescope.formats.tracing.fields import column

    found = column(opened.records(told, which), field)
    if isinstance(found, list):
        return [f" {field.name}={v.hex(' ') if isinstance(v, bytes) else v}" for v in found]
    hexadecimal = "*" in field.declared or ("long" in field.declared and not field.signed)
    return [f" {field.name}={v:#x}" if hexadecimal else f" {field.name}={v}" for v in found.tolist()]


def _plain(opened: Opened, told: ToldBatch, which: Column, field: RawField) -> list[str]:
    from probescope.formats.tracing.fields import column

    values = column(opened.records(told, which), field)
    if not isinstance(values, list):
        return [str(v) for v in values.tolist()]
    return [v.hex(" ") if isinstance(v, bytes) else v for v in values]
