"""Which event each record is of, and when: by the ids of the attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.attr import Attr
from probescope.formats.perfdata.layout import PERIOD, layout_of
from probescope.formats.perfdata.order import Rows
from probescope.kernel.uapi import perf as u

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probescope.formats.perfdata.blocks import Block
    from probescope.formats.perfdata.buffers import Buffer
    from probescope.formats.perfdata.walk import Places, Words

    Column = np.ndarray[Any, Any]


#: The bits of read_format that are known: enabled, running, id, group, lost.
KNOWN_READ = 31


MOST_APART = 1 << 16
_UNSET = (1 << 64) - 1


def _table(order: list[int], ids: dict[int, int]) -> Column | None:
    """Indices by id, from the first on, where ids lie close together, as the kernel gives them. What is none is -1, as
    is the last, where all beyond end up."""
    if not order or order[-1] - order[0] >= MOST_APART:
        return None
    table = np.full(order[-1] - order[0] + 2, -1, np.int32)
    for one in order:
        table[one - order[0]] = ids[one]
    return table


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
        self.first_id = np.uint64(order[0] if order else 0)
        self.table = _table(order, ids)
        first = self.layouts[0]
        self.id_at, self.id_behind = first.id_at, first.id_behind
        self.single = len(attrs) == 1 or self.id_at < 0
        self.unknown = 0 if not attrs[0].sample_id_all or not ids else -1
        self.read_formats = np.array([one.read_format & KNOWN_READ for one in found], np.int64)
        self.words = max(layout.head_words for layout in self.layouts) + 1
        self.time_at = {layout.where("time") for layout in self.layouts}

    def index(self, ids: Words) -> Column:
        """Of the events with these ids; -1 for ids that no event has."""
        if self.single:
            return np.zeros(len(ids), np.int32)
        if len(ids) > 1 and ids[0] == ids[-1] and (ids == ids[0]).all():
            return np.full(len(ids), self.index(ids[:1])[0], np.int32)
        if not len(self.ids):
            return np.where(ids == 0, np.int32(0), np.int32(self.unknown))
        if self.table is not None:
            place = np.minimum(ids - self.first_id, np.uint64(len(self.table) - 1))  # what is below wraps around
            index: Column = self.table.take(place.view(np.int64))
            if not len(index) or index.min() >= 0:
                return index
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
        if recorded is not None and not fixed.any():
            return recorded
        wanted = fixed[event]
        return wanted if recorded is None else np.where(wanted > 0, wanted, recorded)

    def placed(self, block: Block) -> Rows:
        """The kernel's records with the time (0: none) of each."""
        buffer, at, others = block.buffer, block.at, block.others
        time = block.time
        if time is None or self.time_at != {block.time_at}:
            time = self._times(buffer, at)
        other = np.zeros(len(at), np.bool_)
        if len(others):
            time = time if time.flags.writeable else time.copy()
            other[others] = True
            places = at.take(others)
            time[others] = self.behind(buffer, block.heads(places), places)[0]
        if len(time) and time.max() == _UNSET:
            time = np.where(time == _UNSET, np.uint64(0), time)
        return Rows(buffer, at, time, other, block.base)

    def _times(self, buffer: Buffer, at: Places) -> Column:
        """Of samples. What is read may lie behind a sample that is too short: that one is found out later. And of
        anything else, where it means nothing."""
        words = buffer.words
        if len(self.time_at) == 1:
            (where,) = self.time_at
            return words.take(at + where, mode="clip") if where > 0 else np.zeros(len(at), np.uint64)
        time = np.zeros(len(at), np.uint64)
        event = np.zeros(len(at), np.int32) if self.single else self.index(words.take(at + self.id_at, mode="clip"))
        kind = self.layout_of[np.maximum(event, 0)]
        for number, layout in enumerate(self.layouts):
            where = layout.where("time")
            if where > 0:
                mine = np.flatnonzero(kind == number)
                time[mine] = words.take(at[mine] + where, mode="clip")
        return time

    def of_samples(self, rows: Words) -> Column:
        """The event of each sample, by its first words; -1: not known."""
        return np.zeros(len(rows), np.int32) if self.single else self.index(rows[:, self.id_at])

    def ends(self, buffer: Buffer, heads: Words, at: Places) -> Places:
        """Where each record's trailer ends. KSYMBOL and BPF_EVENT records become larger with each event that the kernel
        gives one to (as of 6.18 it adds the trailer's size each time); what is too much is not written to."""
        end = at + (heads >> np.uint64(51)).view(np.int64)
        kinds = heads.astype(np.uint32)
        trailer = len(self.layouts[0].trailer)
        for i in ((kinds == r.KSYMBOL) | (kinds == r.BPF_EVENT)).nonzero()[0].tolist():
            words = 3
            if kinds[i] == r.KSYMBOL:
                name = buffer.data[int(at[i] + words) * 8 : int(end[i]) * 8].tobytes()
                words += max(name.find(b"\0"), 0) // 8 + 1
            end[i] = min(int(end[i]), int(at[i]) + words + trailer)
        return end

    def behind(self, buffer: Buffer, heads: Words, at: Places) -> tuple[Column, Column]:
        """Time and event of records with trailers; nothing where there is no room for one."""
        words = buffer.words
        end = self.ends(buffer, heads, at)
        size = end - at
        event = np.full(len(at), 0 if self.single else -1, np.int32)
        if not self.single and self.id_behind > 0:
            event = self.index(words.take(end - self.id_behind, mode="clip"))
        time = np.zeros(len(at), np.uint64)
        kind = self.layout_of[np.maximum(event, 0)]
        for number, layout in enumerate(self.layouts):
            back = layout.behind("time")
            mine = np.flatnonzero((kind == number) & (size > len(layout.trailer)))
            if back > 0:
                time[mine] = words[end[mine] - back]
        return time, event
