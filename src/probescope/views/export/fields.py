"""Fields of tracepoints as columns, and what they say of CPUs changing hands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any

from probescope.formats.jsontext import Texts
from probescope.frozen import dataclass
from probescope.model.recording import RawField

if TYPE_CHECKING:
    import numpy as np

    from probescope.formats.tracing.fields import Records
    from probescope.views.export.source import Piece, Source

    Column = np.ndarray[Any, Any]

TEXTS = Texts()
SWITCH = "sched:sched_switch"
# include/linux/sched.h, as prev_state prints them; bit 8 or 0x100 (by kernel): preempted
STATES = "SDTtXZPI"


def own(fields: tuple[RawField, ...]) -> tuple[RawField, ...]:
    """Without those that all events have."""
    return tuple(f for f in fields if not f.name.startswith("common_"))


def by_kind(piece: Piece) -> Iterator[tuple[int, Column]]:
    """(kind, indices) of the wanted events."""
    import numpy as np

    events = piece.batch.event[piece.which]
    for kind in np.unique(events).tolist():
        yield kind, piece.which[events == kind]


def values(source: Source, piece: Piece, kind: int, which: Column) -> dict[str, Column | list[str]]:
    """Of some events of a kind: its own fields, bytes in hex."""
    from probescope.formats.tracing.fields import column

    fields = own(source.events[kind].fields)
    if not fields or piece.batch.raw is None:
        return {}
    records = source.records(piece.batch, which)
    return {f.name: _told(column(records, f)) for f in fields}


def objects(source: Source, piece: Piece, kind: int, which: Column, key_of: Callable[[str], str] = str) -> list[str]:
    """The same as JSON, an object for each event; fields are called as ``key_of`` says."""
    found = values(source, piece, kind, which)
    if not found:
        return ["{}"] * len(which)
    columns = [_json(f"{TEXTS[key_of(name)]}:", column) for name, column in found.items()]
    return [f"{{{','.join(row)}}}" for row in zip(*columns, strict=True)]


def _json(key: str, column: Column | list[str]) -> list[str]:
    if isinstance(column, list):
        return [key + TEXTS[v] for v in column]
    if column.dtype.kind == "f":
        return [f"{key}{v if isfinite(v) else 'null'}" for v in column.tolist()]
    return [f"{key}{v}" for v in column.tolist()]


def _told(found: Any) -> Column | list[str]:
    if isinstance(found, list):
        return [v.hex() if isinstance(v, bytes) else v for v in found]
    column: Column = found
    return column


@dataclass(frozen=True, slots=True, eq=False)
class Switches:
    """``sched_switch`` events as columns; ``prev_state`` as the kernel's number."""

    time: Column
    cpu: Column
    prev_pid: Column
    prev_prio: Column
    prev_state: Column
    next_pid: Column
    next_prio: Column
    prev_comm: list[str]
    next_comm: list[str]


_NUMBERS = ("prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio")
_NAMES = ("prev_comm", "next_comm")


def switches(source: Source, piece: Piece, kind: int, which: Column) -> Switches | None:
    """None where the event has other fields than it should."""
    event = source.events[kind]
    fields = {f.name: f for f in event.fields}
    if event.name != SWITCH or piece.batch.raw is None or not {*_NUMBERS, *_NAMES} <= fields.keys():
        return None
    records: Records = source.records(piece.batch, which)
    a, b, c, d, e = (records.field(fields[n]).astype("i8") for n in _NUMBERS)
    prev, following = (records.strings(fields[n]) for n in _NAMES)
    return Switches(piece.batch.time[which], piece.batch.cpu[which], a, b, c, d, e, prev, following)


def state_letter(state: int) -> str:
    """``R`` of a thread that still could run, with ``+`` where another took its place; else where it waits."""
    low = state & 0xFF
    if not low:
        return "R+" if state else "R"
    return "".join(letter for bit, letter in enumerate(STATES) if low >> bit & 1)
