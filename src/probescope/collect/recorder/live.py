"""Rings and what decodes them, together: events of this machine as batches while they happen.

events -> Rings -> LiveRecords -> EventBatch            the last event may be the one of the side-band
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from probescope.collect.recorder.files import written_attr
from probescope.collect.recorder.rings import Places, Rings
from probescope.collect.recorder.starting import Start
from probescope.formats.perfdata.layout import layout_of

if TYPE_CHECKING:
    from probescope.collect.recorder.opening import RingEvent
    from probescope.formats.perfdata.live import LiveRecords
    from probescope.model.recording import EventBatch

PAGES = 2048
"""Of each ring, if so much may be locked: 8 MiB, for what comes between two looks."""


class LiveRings:
    """``pages`` 0: ``PAGES``, or as many as may be locked. ``much``: the bytes of the fullest ring of the last look.
    Raises KernelError, UsageError, LimitError."""

    def __init__(self, events: Sequence[RingEvent], places: Places, pages: int = 0) -> None:
        self.rings = Rings(events, places, pages=pages or PAGES, shrink=not pages)
        self.decoder = self._decoder()
        self.much = 0

    def _decoder(self) -> LiveRecords:
        from probescope.formats.perfdata.live import LiveRecords

        ids = {one: i for i, some in enumerate(self.rings.ids) for one in some}
        return LiveRecords([written_attr(e.attr) for e in self.rings.events], ids)

    def start(self) -> Start:
        """Makes records of what is there already, as the side-band event would have told it."""
        side = len(self.rings.events) - 1
        return Start(layout_of(written_attr(self.rings.events[side].attr)), self.rings.ids[side][0])

    def batch(self, records: Iterable[bytes]) -> EventBatch | None:
        """Of records that ``start`` made."""
        return self.decoder.batch([*records])

    def look(self, until: int) -> EventBatch | None:
        """What has come by now; what is younger than ``until`` (ns) waits for the next look."""
        found = [data for _, data in self.rings.read()]
        self.much = max(map(len, found), default=0)
        return self.decoder.batch(found, until)

    def lost(self) -> int:
        """Samples that found no room, as the kernel counts them; 0 before Linux 6.0."""
        return sum(lost for _, _, lost in self.rings.counts())
