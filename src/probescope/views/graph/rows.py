"""Columns of calls as rows, with the events among them; and rows as documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from probescope.formats.tracing.calls import RETURN
from probescope.views.graph.tree import Row

if TYPE_CHECKING:
    from probescope.collect.graph.request import FunctionNames
    from probescope.formats.tracing.calls import CallColumns
    from probescope.model.recording import Column


def rows(c: CallColumns, others: list[tuple[int, Row]], least: int = 0) -> Iterator[Row]:
    """In order of time. ``others``: (place in the batch, event). ``least``: in ns, only returns of calls that took as
    long, and no entries."""
    queue = iter(others)
    other = next(queue, None)
    args = c.args.tolist() if c.args is not None else None
    for i, (at, row) in enumerate(zip(c.at.tolist(), _calls(c), strict=True)):
        while other is not None and other[0] < at:
            yield other[1]
            other = next(queue, None)
        if least and not (row.returns and row.duration >= least):
            continue
        yield row._replace(args=tuple(args[i])) if args is not None and not row.returns else row
    if other is not None:
        yield other[1]
    yield from (row for _, row in queue)


def _calls(c: CallColumns) -> Iterator[Row]:
    count = len(c.at)
    values = c.value.tolist() if c.value is not None else [None] * count
    if c.known is not None:
        values = [v if k else None for v, k in zip(values, c.known.tolist(), strict=True)]
    overrun = c.overrun.tolist() if c.overrun is not None else [0] * count
    parts: list[Column] = [c.cpu, c.tid, c.func, c.depth, c.kind == RETURN, c.duration]
    columns = [
        *(p.tolist() for p in parts),
        values,
        c.time.tolist(),
        c.from_.tolist(),
        [()] * count,
        overrun,
        [""] * count,
    ]
    yield from map(Row._make, zip(*columns, strict=True))


def document(row: Row, names: FunctionNames) -> dict[str, Any]:
    """For JSON; times in ns."""
    kind = "event" if row.text else "return" if row.returns else "call"
    out: dict[str, Any] = {"type": kind, "time": row.time, "cpu": row.cpu, "tid": row.tid}
    if row.text:
        return {**out, "text": row.text}
    out |= {"depth": row.depth, "function": names.function(row.func)}
    out["space"] = "kernel" if names.of_kernel(row.func) else "user"
    if row.caller:
        out["from"] = names.function(row.caller)
    if row.args:
        out["args"] = names.arguments(row.func, row.args)
    if row.returns:
        out["duration_ns"] = row.duration
        if row.value is not None:
            out["value"] = row.value
        if row.overrun:
            out["overrun"] = row.overrun
    return out
