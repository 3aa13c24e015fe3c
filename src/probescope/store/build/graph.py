"""Calls of functions, as ftrace's function_graph tells of them: entries and exits with their depth.

Entries and exits of one depth of one thread alternate. The idle threads of all CPUs are one thread in the tables, but
each CPU's has calls of its own here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.tracing.graph import ENTRIES, EXIT
from probescope.store.build.pairing import Pairing, Pairs, by_lane
from probescope.store.build.sink import lasted, none
from probescope.store.columns import NO_NUMBER
from probescope.store.lasting import FUNC

if TYPE_CHECKING:
    from collections.abc import Callable

    from probescope.store.build.kinds import KindBatch
    from probescope.store.build.sink import Sink

    Array = np.ndarray[Any, Any]

MOST_DEPTH = 1 << 10
MOST_DURATION = 1 << 60
_IDLE = 1 << 40


class Calls:
    """``name``: of an address."""

    def __init__(self, sink: Sink, name: Callable[[int], str]) -> None:
        self._sink, self._name = sink, name
        self._names: dict[int, str] = {}
        self._pairing = Pairing()
        self._rows: list[dict[str, Array]] = []
        self._open: dict[int, int] = {}  # by lane: the call that has begun last
        self._ids = 0
        sink.make(FUNC)

    def concerns(self, name: str) -> bool:
        return name in ENTRIES or name == EXIT

    def add(self, k: KindBatch, utid: Array) -> None:
        count = len(k)
        entry = k.event.name in ENTRIES
        took = none(count)
        if not entry and k.has("calltime", "rettime"):
            took = k.number("rettime") - k.number("calltime")
            took[(took < 0) | (took > MOST_DURATION)] = -1
        self._rows.append(
            {
                "at": k.which,
                "begins": np.full(count, entry),
                "thread": np.where(utid == 0, _IDLE + k.cpu.astype(np.int64), utid),
                "depth": np.clip(k.number("depth", 0), 0, MOST_DEPTH - 1),
                "func": k.number("func", 0),
                "ts": k.time,
                "cpu": k.cpu.astype(np.int64),
                "utid": utid.astype(np.int64),
                "took": took,
                "ret": none(count, NO_NUMBER) if entry else k.number("retval", NO_NUMBER),
            }
        )

    def batch_done(self) -> None:
        if not self._rows:
            return
        held, self._rows = self._rows, []
        rows = {n: np.concatenate([h[n] for h in held]) for n in held[0]}
        order = rows.pop("at").argsort(kind="stable")
        rows = {n: c[order] for n, c in rows.items()}
        begins, thread = rows.pop("begins"), rows.pop("thread")
        count = len(begins)
        rows["id"] = np.arange(self._ids, self._ids + count)  # exits may turn out to be without an entry
        self._ids += count
        rows["parent"] = self._parents(begins, thread, rows["depth"], rows["id"])
        lane = thread * MOST_DEPTH + rows["depth"]
        self._emit(self._pairing.feed(lane, begins, rows["func"], rows))

    def _parents(self, begins: Array, thread: Array, depth: Array, ids: Array) -> Array:
        """Of each row the call around it: what was entered last at the depth above."""
        out = none(len(begins))
        order = by_lane(np.unique(thread, return_inverse=True)[1])
        t, d, b = thread[order], depth[order], begins[order]
        place = np.arange(len(order))
        for level in np.unique(d[d > 0]).tolist():
            above = place[(d == level - 1) & b]
            here = place[d == level]
            at = above.searchsorted(here) - 1
            fits = at >= 0
            fits[fits] = t[above[at[fits]]] == t[here[fits]]
            out[order[here[fits]]] = ids[order[above[at[fits]]]]
            rest = here[~fits]
            if len(rest):
                lanes, where = np.unique(t[rest] * MOST_DEPTH + (level - 1), return_inverse=True)
                known = np.array([self._open.get(lane, -1) for lane in lanes.tolist()], np.int64)
                out[order[rest]] = known[where]
        self._remember(t[b] * MOST_DEPTH + d[b], ids[order[b]])
        return out

    def _remember(self, lane: Array, ids: Array) -> None:
        if len(lane):
            order = lane.argsort(kind="stable")
            last = order[np.append(lane[order][1:] != lane[order][:-1], True)]
            self._open.update(zip(lane[last].tolist(), ids[last].tolist(), strict=True))

    def _emit(self, pairs: Pairs) -> None:
        count = len(pairs)
        if not count:
            return
        ts, end, took = pairs.of_begin("ts"), pairs.of_end("ts"), pairs.of_end("took")
        dur = np.where(took >= 0, took, lasted(ts, end))
        ts = np.where((ts < 0) & (took >= 0), end - took, ts)  # the exit alone tells when it began
        self._sink.add(
            FUNC,
            {
                "id": pairs.of_either("id"),
                "ts": ts,
                "dur": dur,
                "end_ts": end,
                "cpu": np.where(pairs.end >= 0, pairs.of_end("cpu"), pairs.of_begin("cpu")),
                "utid": pairs.of_either("utid"),
                "function": self._named(pairs.of_either("func")),
                "depth": pairs.of_either("depth"),
                "parent": pairs.of_either("parent"),
                "self_dur": none(count, NO_NUMBER),
                "ret": pairs.of_end("ret", NO_NUMBER),
            },
        )

    def _named(self, addresses: Array) -> Array:
        different, where = np.unique(addresses, return_inverse=True)
        names: Array = np.empty(len(different), object)
        names[:] = [self._known(a & (1 << 64) - 1) for a in different.tolist()]
        return names[where]

    def _known(self, address: int) -> str:
        found = self._names.get(address)
        if found is None:
            found = self._names[address] = self._name(address) or f"{address:#x}"
        return found

    def finish(self) -> None:
        self._emit(self._pairing.rest())
        db = self._sink.db
        self._sink.flush()
        if self._ids:  # what calls took without those that they made
            db.execute(
                "create table func_whole as select f.* replace (f.dur - coalesce(c.dur, 0) as self_dur) from func f"
                " left join (select parent, sum(dur)::bigint dur from func where parent is not null group by parent) c"
                " on c.parent = f.id order by coalesce(f.ts, f.end_ts)"
            )
            db.execute("drop table func; alter table func_whole rename to func")
