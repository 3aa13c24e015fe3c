"""Branch records as what a report sums up: each branch of each sample counts as one (perf report --branch-stack).

samples        branches of each                events given to the sums
 0             2: a -> b, c -> d               from a, to b   of sample 0, period 1
 1             none                            from c, to d   of sample 0, period 1
 2             1: a -> b                       from a, to b   of sample 2, period 1

Source: perf-report(1), --branch-stack; struct perf_branch_entry of include/uapi/linux/perf_event.h.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from probescope.errors import UsageError
from probescope.frozen import replace
from probescope.views.reporting.keys import Key, Value, module_of, symbol_of
from probescope.views.reporting.sums import MASK

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.symbols import Frame
    from probescope.collect.recorded.told import Told, ToldBatch
    from probescope.model.recording import Recording
    from probescope.views.reporting.naming import Lines
    from probescope.views.reporting.sums import Group

    Column = np.ndarray[Any, Any]
    Kept = Column | None

AT_ONCE = 8192
"""Samples: each may have 32 branches and more."""
_NAME = 18
"""Characters of a function's name before +0xOFFSET."""


def by_branches(recording: Recording, asked: bool | None) -> bool:
    """Whether branches are summed up: if it is ``asked`` for, or they were recorded and nothing else is asked for; not
    with stacks to be unwound (builtin-report.c of perf: those are its order). Raises UsageError."""
    sampled = frozenset[str]().union(*(e.sampled for e in recording.events))
    if asked is None:
        told = "BRANCH_STACK" in getattr(recording, "sections", ())
        return told and "branch_stack" in sampled and "stack_user" not in sampled
    if asked and recording.events and "branch_stack" not in sampled:
        raise UsageError("selected -b but there is no branch data", hints=["probescope record -b keeps branches"])
    return asked


def pieces(told: ToldBatch, keep: Kept, counted: Kept) -> Iterator[tuple[ToldBatch, Kept, Kept]]:
    """The branches of some samples at a time; ``keep`` and ``counted`` (ascending indices) name theirs then."""
    import numpy as np

    if told.batch.branches is None:
        return
    for at in range(0, told.batch.count, AT_ONCE):
        some = np.arange(at, min(at + AT_ONCE, told.batch.count))
        found, owner = expanded(told, some)
        inside = [None if k is None else np.flatnonzero(np.isin(owner, k)) for k in (keep, counted)]
        yield found, inside[0], inside[1]


def expanded(told: ToldBatch, some: Column) -> tuple[ToldBatch, Column]:
    """Of these samples (indices) every branch as an event, and the sample that each is of."""
    import numpy as np

    b, found = told.batch, told.batch.branches
    assert found is not None
    sizes = found.size[some]
    owner = np.repeat(some, sizes)
    before = np.cumsum(sizes) - sizes
    rows = found.values[np.repeat(found.start[some] - before, sizes) + np.arange(len(owner))].reshape(-1, 3)
    numbers = {"ip": rows[:, 1], "from": rows[:, 0], "to": rows[:, 1], "flags": rows[:, 2] & np.uint64(0xFFFFF)}
    if "misc" in b.numbers:
        numbers["misc"] = b.numbers["misc"][owner]
    batch = replace(
        b,
        **{name: getattr(b, name)[owner] for name in ("event", "time", "cpu", "pid", "tid")},
        **dict.fromkeys(("stacks", "raw", "registers", "stack_dumps", "branches", "reads", "registers_intr")),
        count=len(owner),
        period=np.ones(len(owner), np.uint64),
        numbers=numbers,
        between=(),
    )
    return replace(told, batch=batch, names=told.names[owner], spaces=told.spaces[owner], stacks=None), owner


def frame_at(told: Told, group: Group, end: str) -> Frame:
    """Where a branch is ``from``, or ``to``."""
    return told.anywhere(group.space, group.numbers[end] & MASK)


def value(key: Key, group: Group, told: Told, lines: Lines | None) -> Value:
    """Of a key of ``keys.BRANCH``."""
    what, _, end = key.name.rpartition("_")
    if what in {"dso", "symbol", "srcline", "addr"}:
        return _of_end(what, frame_at(told, group, end), group.space, lines)
    flags = group.numbers["flags"]
    match key.name:
        case "mispredict":
            return Value(flags & 3, "N" if flags & 2 else "Y" if flags & 1 else "N/A")
        case "in_tx":
            return Value(~flags & 4, "T" if flags & 4 else ".")
        case "abort":
            return Value(~flags & 8, "A" if flags & 8 else ".")
        case _:
            cycles = flags >> 4
            return Value(-cycles, str(cycles) if cycles else "-")


def _of_end(what: str, frame: Frame, space: int, lines: Lines | None) -> Value:
    mode = 0 if frame.module or frame.kernel else 3  # perf shows H where no file lies
    match what:
        case "dso":
            return Value(module_of(frame), module_of(frame))
        case "symbol":
            found = symbol_of(frame, mode)  # perf tells places without a name apart by their addresses in memory
            return found if frame.name else found._replace(order=f"\U0010ffff{frame.address:016x}")
        case "srcline":
            text = lines(frame, space)[0] if lines is not None else ""
            return Value(text, text)
        case _:
            level, _, name = symbol_of(frame, mode).text.partition(" ")
            return Value(
                frame.address, f"{level} {name[:_NAME]}+{frame.offset:#x}" if frame.name else f"{level} {name}"
            )
