"""Names of threads over time, from whatever mentions them: records of their own, and fields of events.

All mentions of a batch are put in order before it is known what changed: a switch that still has the old name may be
looked at after the record that tells the new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

SHIFT = 32


class Naming:
    """Names are numbers of a ``Pool``; ``idle``: that of the idle threads, which are utid 0 and keep their name."""

    def __init__(self, idle: int) -> None:
        self._now = np.full(64, -1, np.int64)  # by utid
        self._now[0] = idle
        self._changes: list[tuple[Array, Array, Array]] = [(np.array([0]), np.array([-1]), np.array([idle]))]
        self._single: list[tuple[int, int, int, int]] = []
        self._many: list[tuple[Array, Array, Array, Array]] = []
        self._born: list[tuple[int, int, int, int]] = []

    def mention(self, at: int, utid: int, time: int, name: int) -> None:
        self._single.append((at, utid, time, name))

    def mentions(self, at: Array, utids: Array, times: Array, names: Array) -> None:
        self._many.append((at, utids, times, names))

    def inherit(self, at: int, utid: int, time: int, parent: int) -> None:
        """A new thread is called as the one that made it, if nothing calls it otherwise."""
        self._born.append((at, utid, time, parent))

    def of(self, utid: int) -> int:
        """The last one; -1 if it has none."""
        return int(self._now[utid]) if utid < len(self._now) else -1

    def told(self) -> tuple[Array, Array, Array]:
        """(utids, from when on, names); -1 for times before the recording."""
        utids, times, names = zip(*self._changes, strict=True)
        return np.concatenate(utids), np.concatenate(times), np.concatenate(names)

    def batch_done(self) -> None:
        """At the end of every batch: places are those of one batch."""
        if not (self._single or self._many or self._born):
            return
        many = [tuple(np.asarray(c, np.int64) for c in m) for m in self._many]
        if self._single:  # records stand before the event of their place
            many.insert(0, tuple(np.array(c, np.int64) for c in zip(*self._single, strict=True)))
        none = np.zeros(0, np.int64)
        at, utid, time, name = (np.concatenate([none, *(m[i] for m in many)]) for i in range(4))
        self._room(int(max(utid.max(initial=0), max((b[1] for b in self._born), default=0))) + 1)
        some = np.flatnonzero((utid > 0) & (name >= 0))
        some = some[(self._now[utid[some]] != name[some]) | self._unsettled(utid[some], name[some])]
        rows = [c[some] for c in (at, utid, time, name)]
        if self._born:
            rows = [np.concatenate((c, more)) for c, more in zip(rows, self._inherited(*rows), strict=True)]
        self._apply(*rows)
        self._single, self._many, self._born = [], [], []

    def _unsettled(self, utid: Array, name: Array) -> Array:
        """Of each mention, whether its thread has another name somewhere in this batch: then all of its count."""
        changing = np.unique(utid[self._now[utid] != name])
        return np.isin(utid, changing) if len(changing) else np.zeros(len(utid), np.bool_)

    def _inherited(self, at: Array, utid: Array, time: Array, name: Array) -> list[Array]:
        key = utid << SHIFT | at
        order = key.argsort(kind="stable")
        keys, found = key[order], name[order]
        own: dict[int, int] = {}
        out: list[tuple[int, int, int, int]] = []
        for place, child, when, parent in self._born:
            i = int(keys.searchsorted((parent << SHIFT) | place)) - 1
            mentioned = i >= 0 and int(keys[i]) >> SHIFT == parent
            called = int(found[i]) if mentioned else own.get(parent, self.of(parent))
            if called >= 0:
                own[child] = called
                out.append((place, child, when, called))
        return [np.array(c, np.int64) for c in zip(*out, strict=True)] if out else [at[:0]] * 4

    def _apply(self, at: Array, utid: Array, time: Array, name: Array) -> None:
        if not len(at):
            return
        order = (utid << SHIFT | at).argsort(kind="stable")
        utid, time, name = utid[order], time[order], name[order]
        first = np.append(True, utid[1:] != utid[:-1])
        before = np.append(-1, name[:-1])
        before[first] = self._now[utid[first]]
        new = name != before
        self._changes.append((utid[new], time[new], name[new]))
        last = np.append(utid[1:] != utid[:-1], True)
        self._now[utid[last]] = name[last]

    def _room(self, count: int) -> None:
        if count > len(self._now):
            self._now = np.append(self._now, np.full(max(count - len(self._now), len(self._now)), -1, np.int64))
