"""Interrupts: what was entered and left on each CPU.

irq:irq_handler_entry   irq, name     irq_handler_exit   irq, ret
irq:softirq_raise       vec           softirq_entry      vec          softirq_exit   vec
irq_vectors:NAME_entry  vector        NAME_exit          vector
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.store.build.pairing import Pairing, Pairs
from probescope.store.build.sink import lasted, none
from probescope.store.lasting import IRQ, SOFTIRQ

if TYPE_CHECKING:
    from probescope.store.build.kinds import KindBatch
    from probescope.store.build.sink import Sink
    from probescope.store.columns import Table

    Array = np.ndarray[Any, Any]

IRQ_ENTRY, IRQ_EXIT = "irq:irq_handler_entry", "irq:irq_handler_exit"
RAISE, SOFT_ENTRY, SOFT_EXIT = "irq:softirq_raise", "irq:softirq_entry", "irq:softirq_exit"
VECTORS = "irq_vectors:"
SOFT = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
"""include/linux/interrupt.h, where the print format does not tell."""
_NAME = re.compile(r"\{\s*(\d{1,3})\s*,\s*\"(\w{1,32})\"\s*\}")


class Interrupts:
    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._hard, self._soft = Pairing(), Pairing()
        self._rows: dict[str, list[dict[str, Array]]] = {"hard": [], "soft": []}
        self._ids = {"irq": 0, "softirq": 0}
        self._vectors: dict[str, int] = {}
        self._soft_names: dict[int, str] = dict(enumerate(SOFT))
        self._raised: dict[int, int] = {}  # by CPU and vector: when it was raised first since it last ran
        sink.make(IRQ)
        sink.make(SOFTIRQ)

    def concerns(self, name: str) -> bool:
        vector = name.startswith(VECTORS) and name.endswith(("_entry", "_exit"))
        return vector or name in (IRQ_ENTRY, IRQ_EXIT, RAISE, SOFT_ENTRY, SOFT_EXIT)

    def add(self, k: KindBatch, utid: Array) -> None:
        name = k.event.name
        if name in (IRQ_ENTRY, IRQ_EXIT) and k.has("irq"):
            text = k.codes("name") if name == IRQ_ENTRY else None
            handled = k.number("ret") if name == IRQ_EXIT else none(len(k))
            self._row("hard", k, utid, name == IRQ_ENTRY, k.number("irq"), text, np.minimum(handled, 1))
        elif name.startswith(VECTORS):
            word, _, end = name.removeprefix(VECTORS).rpartition("_")
            text = np.full(len(k), k.pool.number(word))
            self._row("hard", k, utid, end == "entry", k.number("vector"), text, none(len(k)), self._lane(word))
        elif name in (RAISE, SOFT_ENTRY, SOFT_EXIT) and k.has("vec"):
            for number, word in _NAME.findall(k.event.print_fmt):
                self._soft_names[int(number)] = word
            kind = np.full(len(k), name == RAISE)
            self._row("soft", k, utid, name == SOFT_ENTRY, k.number("vec"), None, kind.astype(np.int64))

    def _lane(self, word: str) -> int:
        """Vectors interrupt each other: each has lanes of its own, beside those of devices (0)."""
        return self._vectors.setdefault(word, len(self._vectors) + 1)

    def _row(
        self, which: str, k: KindBatch, utid: Array, begins: bool, number: Array, text: Array | None, more: Array,
        lane: int = 0,
    ) -> None:  # fmt: skip
        count = len(k)
        self._rows[which].append(
            {
                "at": k.which,
                "lane": k.cpu.astype(np.int64) | lane << 32,
                "begins": np.full(count, begins),
                "ts": k.time,
                "cpu": k.cpu.astype(np.int64),
                "utid": utid.astype(np.int64),
                "number": number,
                "text": none(count) if text is None else text,
                "more": more,
            }
        )
        self._pool = k.pool

    def batch_done(self) -> None:
        if rows := self._taken("hard"):
            self._emit_hard(self._fed(self._hard, rows))
        if rows := self._taken("soft"):
            raised = rows["more"] == 1
            rows["more"] = self._since(rows, raised) if raised.any() or self._raised else none(len(raised))
            some = np.flatnonzero(~raised)
            self._emit_soft(self._fed(self._soft, {n: c[some] for n, c in rows.items()}))

    def _taken(self, which: str) -> dict[str, Array]:
        held, self._rows[which] = self._rows[which], []
        if not held:
            return {}
        rows = {n: np.concatenate([h[n] for h in held]) for n in held[0]}
        order = rows["at"].argsort(kind="stable")
        return {n: c[order] for n, c in rows.items()}

    @staticmethod
    def _fed(pairing: Pairing, rows: dict[str, Array]) -> Pairs:
        return pairing.feed(rows.pop("lane"), rows.pop("begins"), rows["number"], rows)

    def _since(self, rows: dict[str, Array], raised: Array) -> Array:
        """Of each entry, when it was raised: the first time since the entry before it."""
        key = rows["cpu"] << 8 | (rows["number"] & 255)
        some = np.flatnonzero(raised | rows["begins"])
        order = some[key[some].argsort(kind="stable")]
        out = none(len(key))
        if not len(order):
            return out
        keys, raises, ts = key[order], raised[order], rows["ts"][order]
        new = np.append(True, keys[1:] != keys[:-1])
        before = np.append(False, raises[:-1]) & ~new
        # a raise that follows a raise is no first one; of those that follow another batch, the table tells
        held = np.array([self._raised.get(int(c), -1) for c in keys[new]], np.int64)
        began = np.where(raises & ~before, ts, -1)
        group = np.cumsum(new) - 1
        began[new & raises] = np.where(held[group[new & raises]] >= 0, held[group[new & raises]], ts[new & raises])
        starts = np.maximum.accumulate(np.where(began >= 0, np.arange(len(began)), -1))
        since = np.where(before & ~raises, began[np.maximum(starts, 0)], -1)
        since[new & ~raises] = held[group[new & ~raises]]
        out[order[~raises]] = since[~raises]
        last = np.flatnonzero(np.append(new[1:], True))
        for i in last.tolist():
            self._raised[int(keys[i])] = int(began[starts[i]]) if raises[i] else -1
        return out

    def _emit_hard(self, pairs: Pairs) -> None:
        if not len(pairs):
            return
        names = self._strings(pairs.of_begin("text"), pairs.of_end("text"))
        self._emit(IRQ, pairs, {"irq": "number"}, {"name": names, "handled": pairs.of_end("more").astype(np.int8)})

    def _emit_soft(self, pairs: Pairs) -> None:
        if not len(pairs):
            return
        names: Array = np.empty(len(pairs), object)
        names[:] = [self._soft_names.get(v, str(v)) for v in pairs.of_either("number").tolist()]
        self._emit(SOFTIRQ, pairs, {"vec": "number"}, {"name": names, "raised_ts": pairs.of_begin("more")})

    def _emit(self, table: Table, pairs: Pairs, renamed: dict[str, str], more: dict[str, Array]) -> None:
        count = len(pairs)
        ts, end = pairs.of_begin("ts"), pairs.of_end("ts")
        first = self._ids[table.name]
        self._ids[table.name] += count
        columns = {
            "id": np.arange(first, first + count),
            "ts": ts,
            "dur": lasted(ts, end),
            "end_ts": end,
            "cpu": pairs.of_either("cpu"),
            "utid": pairs.of_either("utid"),
            **{to: pairs.of_either(name) for to, name in renamed.items()},
        }
        self._sink.add(table, {**columns, **more})

    def _strings(self, codes: Array, others: Array) -> Array:
        codes = np.where(codes >= 0, codes, others)
        out: Array = np.full(len(codes), None, object)
        known = codes >= 0
        if known.any():
            out[known] = self._pool.strings(codes[known])
        return out

    def finish(self) -> None:
        if hasattr(self, "_pool"):
            self._emit_hard(self._hard.rest())
            self._emit_soft(self._soft.rest())
