"""Which event each record is of, and when: by the ids of the attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.attr import Attr
from probescope.formats.perfdata.layout import PERIOD, layout_of
from probescope.kernel.uapi import perf as u

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probescope.formats.perfdata.stream import Block
    from probescope.formats.perfdata.walk import Words

    Column = np.ndarray[Any, Any]

_KIND = np.uint64(0xFFFFFFFF)


class Events:
    """Attributes and ids as columns. As perf has it, id 0 (what perf made itself) is of the first event; so is
    everything where there is only one event, or no record but samples has an id."""

    def __init__(self, attrs: Sequence[Attr], ids: dict[int, int]) -> None:
        self.attrs = attrs = attrs or (Attr(),)
        found = [layout_of(attr) for attr in attrs]
        self.layouts = list(dict.fromkeys(found))
        self.layout_of = np.array([self.layouts.index(one) for one in found], np.int32)
        order = sorted(ids)
        self.ids = np.array(order, np.uint64)
        self.index_of = np.array([ids[one] for one in order], np.int32)
        first = self.layouts[0]
        self.id_at, self.id_behind = first.id_at, first.id_behind
        self.single = len(attrs) == 1 or self.id_at < 0
        self.unknown = 0 if not attrs[0].sample_id_all or not ids else -1
        self.time_at = {layout.where("time") for layout in self.layouts}
        self.time_behind = {layout.behind("time") for layout in self.layouts}
        self.unsampled_period = [attr for attr in attrs if not attr.sample_type & PERIOD]

    def index(self, ids: Words) -> Column:
        """Of the events with these ids; -1 for ids that no event has."""
        if self.single:
            return np.zeros(len(ids), np.int32)
        if not len(self.ids):
            return np.where(ids == 0, np.int32(0), np.int32(self.unknown))
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        index = self.index_of[at]
        wrong = self.ids[at] != ids
        if wrong.any():
            index = np.where(wrong, np.where(ids == 0, np.int32(0), np.int32(self.unknown)), index)
        return index

    def periods(self, event: Column, recorded: Column | None) -> Column:
        """With the attribute's period where a sample has none."""
        own = [1 if a.flags & u.FLAG_FREQ or not a.period else a.period for a in self.attrs]
        fixed = np.array([0 if a.sample_type & PERIOD else p for a, p in zip(self.attrs, own, strict=True)], np.uint64)
        wanted = fixed[event]
        return wanted if recorded is None else np.where(wanted > 0, wanted, recorded)

    def placed(self, block: Block) -> tuple[Column, Column]:
        """Time (0: none) and event (-1: not known) of each record of a block."""
        kinds = block.heads & _KIND
        time = np.zeros(len(block.at), np.uint64)
        event = np.full(len(block.at), -1, np.int32)
        samples = np.flatnonzero(kinds == r.SAMPLE)
        others = np.flatnonzero((kinds < r.USER_START) & (kinds != r.SAMPLE))
        if len(samples):
            self._place(block, samples, block.at[samples], time, event, ahead=True)
        if len(others):
            size = (block.heads[others] >> np.uint64(51)).astype(np.int64)
            self._place(block, others, block.at[others] + size, time, event, ahead=False)
        time[time == np.uint64(0xFFFF_FFFF_FFFF_FFFF)] = 0
        return time, event

    def _place(self, block: Block, which: Column, at: Column, time: Column, event: Column, *, ahead: bool) -> None:
        """``at``: where the records begin (``ahead``) or end. Both of what is read may lie in another record, where one
        is too short: such a record is found out later."""
        words, last = block.words, len(block.words) - 1
        size = block.heads[which] >> np.uint64(51)
        id_at = self.id_at if ahead else self.id_behind
        if self.single:
            event[which] = 0
        elif id_at > 0:
            ids = words[np.minimum(at + id_at, last) if ahead else np.maximum(at - id_at, 0)]
            event[which] = self.index(ids)
        else:
            event[which] = 0 if ahead else -1
        kind = self.layout_of[np.maximum(event[which], 0)] if len(self.layouts) > 1 else None
        for number, layout in enumerate(self.layouts):
            where = layout.where("time") if ahead else layout.behind("time")
            if where <= 0:
                continue
            enough = size > (np.uint64(where) if ahead else np.uint64(len(layout.trailer)))
            mine = enough if kind is None else enough & (kind == number)
            if mine.all():
                time[which] = words[at + where if ahead else at - where]
            else:
                time[which[mine]] = words[at[mine] + where if ahead else at[mine] - where]
