"""Which events of a recording are wanted: by time, process, thread, CPU, name and kind.

Times are given as perf's ``--time`` has them:

    10.5,12         seconds; either may be left out          "1,2 5,"     several, parted by blanks
    10%/2           the second tenth                          10%/1,10%/3  several
    0%-10%,30%-40%  shares of the whole
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from probescope.errors import UsageError
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from probescope.model.recording import EventBatch, EventType

    Column = np.ndarray[Any, Any]

FOREVER = (1 << 64) - 1
HINTS = ("--time 10.5,12 (seconds)", "--time 10.5, (from there on)", "--time 10%/2 (the second tenth)", "--time 0%-25%")
_SECONDS = re.compile(r"(\d{0,11})(?:\.(\d{0,9})\d*)?")
_SLICE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%/(\d{1,6})")
_SHARES = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%-(\d{1,3}(?:\.\d{1,6})?)%")


@dataclass(frozen=True, slots=True)
class Spans:
    """``absolute``: ns, both ends included. ``shares`` (0 to 1) are of a recording's whole time."""

    absolute: tuple[tuple[int, int], ...] = ()
    shares: tuple[tuple[float, float], ...] = ()

    def resolved(self, first: int, last: int) -> tuple[tuple[int, int], ...]:
        """In ns. ``first``, ``last``: of the recording. As perf has it, a share ends 1 ns before the next begins."""
        out = list(self.absolute)
        for low, high in self.shares:
            start, end = first + round(low * (last - first)), first + round(high * (last - first))
            out.append((start, end - 1 if start < end < last else end))
        return tuple(out)


def spans(text: str) -> Spans:
    """Raises UsageError."""
    if "%" in text:
        return Spans(shares=tuple(_share(word.strip(), text) for word in text.split(",")))
    return Spans(absolute=tuple(_between(word, text) for word in text.split()))


def _share(word: str, text: str) -> tuple[float, float]:
    if found := _SLICE.fullmatch(word):
        part, number = float(found[1]) / 100, int(found[2])
        low, high = part * (number - 1), part * number
    elif found := _SHARES.fullmatch(word):
        low, high = float(found[1]) / 100, float(found[2]) / 100
    else:
        low, high = 1, 0
    if not 0 <= low < high <= 1 + 1e-9:
        raise _no_span(text)
    return low, min(high, 1.0)


def _between(word: str, text: str) -> tuple[int, int]:
    first, comma, last = word.partition(",")
    low, high = _ns(first, text) if first else 0, _ns(last, text) if last else FOREVER
    if not comma or low > high:
        raise _no_span(text)
    return low, high


def _ns(word: str, text: str) -> int:
    found = _SECONDS.fullmatch(word)
    if not found or not (found[1] or found[2]):
        raise _no_span(text)
    return int(found[1] or 0) * 10**9 + int((found[2] or "").ljust(9, "0"))


def _no_span(text: str) -> UsageError:
    return UsageError(f"'{text}' is not a span of time", hints=HINTS)


@dataclass(frozen=True, slots=True)
class Selection:
    """Empty things select everything. ``events``: globs of names. ``one``: without them, the first kind only."""

    spans: Spans = Spans()
    pids: tuple[int, ...] = ()
    tids: tuple[int, ...] = ()
    cpus: tuple[int, ...] = ()
    comms: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    one: bool = False

    def kinds(self, events: Sequence[EventType]) -> tuple[int, ...]:
        """Indices of the events that are wanted; without names, of those that are no dummies. Raises UsageError where a
        name is of none."""
        from probescope.diagnostics import nearest

        names = [e.name for e in events]
        if not self.events:
            real = tuple(i for i, n in enumerate(names) if not n.startswith("dummy"))
            return real[:1] if self.one else real
        out: set[int] = set()
        for glob in self.events:
            found = [i for i, n in enumerate(names) if fnmatchcase(n, glob) or n.partition(":")[2] == glob]
            if not found:
                hints = [f"did you mean {n}?" for n in nearest(glob, names)]
                listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
                raise UsageError(f"there is no event '{glob}' in it", hints=[*hints, f"events: {listed}"])
            out.update(found)
        return tuple(sorted(out))


class Sieve:
    """A selection for one recording. ``events``: those that are known when it begins; of kinds that are told of later
    no event is wanted, but counted in ``strange``. ``times``: its first and last, in ns."""

    def __init__(self, selection: Selection, events: Sequence[EventType], times: tuple[int, int] = (0, 0)) -> None:
        self._selection = selection
        self.kinds = selection.kinds(events)
        self._known = len(events)
        self._all_kinds = len(self.kinds) == len(events)
        self.strange = 0
        self.spans = selection.spans.resolved(*times)

    def which(self, batch: EventBatch, names: Column, all_names: Sequence[str]) -> Column:
        """Indices of a batch's events that are wanted. ``names``: of each event, an index into ``all_names``."""
        import numpy as np

        s = self._selection
        mask = np.ones(batch.count, np.bool_)
        if batch.count and int(batch.event.max()) >= self._known:
            self.strange += int((batch.event >= self._known).sum())
            mask &= batch.event < self._known
        if not self._all_kinds:
            mask &= np.isin(batch.event, self.kinds)
        for wanted, column in ((s.pids, batch.pid), (s.tids, batch.tid), (s.cpus, batch.cpu)):
            if wanted:
                mask &= np.isin(column, wanted)
        if s.comms:
            mask &= np.isin(names, [i for i, n in enumerate(all_names) if any(fnmatchcase(n, c) for c in s.comms)])
        if self.spans:
            mask &= within(batch.time, self.spans)
        return np.flatnonzero(mask)


def within(times: Column, found: Sequence[tuple[int, int]]) -> Column:
    import numpy as np

    mask = np.zeros(len(times), np.bool_)
    for low, high in found:
        mask |= (times >= np.uint64(low)) & (times <= np.uint64(high))
    return mask
