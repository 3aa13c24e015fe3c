"""Which events of a recording are wanted: by time, process, thread, CPU, name and kind."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from probescope.errors import UsageError
from probescope.frozen import dataclass
from probescope.views.spans import Spans, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from probescope.model.recording import EventBatch, EventType

    Column = np.ndarray[Any, Any]


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
