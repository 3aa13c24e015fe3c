"""What programs wrote into the trace: texts, spans and counters. A row of Python each.

    B|PID|NAME   E|PID          a span of a thread; they nest
    S|PID|NAME|COOKIE  F|...    a span that begins and ends anywhere
    C|PID|NAME|VALUE            a counter

Source: the atrace format, as Android's and Perfetto's tools have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.store.lasting import SPAN
from probescope.store.schema import COUNTER, COUNTER_TRACK, MARKER

if TYPE_CHECKING:
    from probescope.store.build.kinds import KindBatch
    from probescope.store.build.sink import Sink

    Array = np.ndarray[Any, Any]

PRINT = "ftrace:print"
MOST_OPEN = 1 << 16

Open = tuple[int, int, int, str, int, int]  # id, ts, utid, name, depth, parent


class Marks:
    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._nested: dict[int, list[Open]] = {}
        self._free: dict[tuple[str, str, str], Open] = {}
        self._tracks: dict[tuple[str, int], int] = {}
        self._ids = 0
        self._spans: list[tuple[Any, ...]] = []
        self._counts: list[tuple[int, int, float]] = []
        self.counters: list[tuple[int, str, str, int, int]] = []
        for table in (MARKER, SPAN, COUNTER, COUNTER_TRACK):
            sink.make(table)

    def add(self, k: KindBatch, utids: Array, ids: Array) -> None:
        field = k.event.field("buf")
        if field is None:
            return
        texts = [t.rstrip("\n") for t in k.records.strings(field)]
        column: Array = np.empty(len(texts), object)
        column[:] = texts
        self._sink.add(MARKER, {"event": ids, "ts": k.time, "cpu": k.cpu, "utid": utids, "text": column})
        for ts, utid, text in zip(k.time.tolist(), utids.tolist(), texts, strict=True):
            if text[1:2] == "|" or text == "E":
                self._mark(ts, utid, text)
        self._flush()

    def _mark(self, ts: int, utid: int, text: str) -> None:
        word, *rest = text.split("|", 3)
        if word == "B" and len(rest) >= 2:
            self._begins(ts, utid, "|".join(rest[1:]))
        elif word == "E":
            stack = self._nested.get(utid)
            if stack:
                self._done(stack.pop(), ts, None)
        elif word in ("S", "F") and len(rest) == 3:
            key = (rest[0], rest[1], rest[2])
            if word == "S" and len(self._free) < MOST_OPEN:
                self._free[key] = (self._next(), ts, utid, rest[1], -1, -1)
            elif word == "F" and key in self._free:
                self._done(self._free.pop(key), ts, rest[2])
        elif word == "C" and len(rest) == 3:
            self._count(ts, rest)

    def _begins(self, ts: int, utid: int, name: str) -> None:
        stack = self._nested.setdefault(utid, [])
        if len(stack) < MOST_OPEN:
            stack.append((self._next(), ts, utid, name, len(stack), stack[-1][0] if stack else -1))

    def _count(self, ts: int, rest: list[str]) -> None:
        try:
            value, pid = float(rest[2]), int(rest[0])
        except ValueError:
            return
        key = (rest[1], pid)
        track = self._tracks.get(key)
        if track is None:
            track = self._tracks[key] = len(self.counters)
            self.counters.append((track, rest[1], "", -1, pid))
        self._counts.append((track, ts, value))

    def _next(self) -> int:
        self._ids += 1
        return self._ids - 1

    def _done(self, span: Open, end: int, cookie: str | None) -> None:
        self._spans.append((*span, end, cookie))

    def _flush(self) -> None:
        if self._spans:
            ids, ts, utid, name, depth, parent, end, cookie = zip(*self._spans, strict=True)
            began, ended = np.array(ts, np.int64), np.array(end, np.int64)
            self._sink.add(
                SPAN,
                {
                    "id": np.array(ids, np.int64),
                    "ts": began,
                    "dur": np.where(ended >= 0, ended - began, -1),
                    "end_ts": ended,
                    "utid": np.array(utid, np.int64),
                    "name": np.array(name, object),
                    "depth": np.array(depth, np.int64),
                    "parent": np.array(parent, np.int64),
                    "cookie": np.array(cookie, object),
                },
            )
            self._spans = []
        if self._counts:
            track, at, value = zip(*self._counts, strict=True)
            self._sink.add(COUNTER, {"track": np.array(track), "ts": np.array(at), "value": np.array(value, float)})
            self._counts = []

    def finish(self) -> None:
        for stack in self._nested.values():
            for span in stack:
                self._done(span, -1, None)
        for key, span in self._free.items():
            self._done(span, -1, key[2])
        self._flush()
