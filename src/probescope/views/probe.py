"""Hits of probe definitions as lines, as perf-script(1) prints events of the same names.

COMM    TID [CPU]  SECONDS.MICROS: group:event: (address) name="text" size=12 flags=0x8
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from probescope.lang.probe.lower import FIRST, SEGMENT, Row, Shown
from probescope.lang.probe.lower_capture import hit_of

MAX_TASKS = 1024
Symbol = Callable[[int], str]
"""A kernel address as ``symbol+0x10/0x20``."""


class ProbeLines:
    def __init__(self, rows: Sequence[Row], symbol: Symbol) -> None:
        self._rows, self._symbol = rows, symbol
        self._parts: dict[int, list[tuple[int, int, int, Any]]] = {}

    @property
    def speculative(self) -> bool:
        """Whether reads that fail are to be expected."""
        return any(a.capture is not None and a.capture.speculative for r in self._rows for a in r.args)

    def part(self, values: Sequence[Any]) -> bool:
        """Takes a record that is only a part of a value: that of its event follows."""
        if int(values[0]) != SEGMENT:
            return False
        if len(self._parts) > MAX_TASKS:  # their events were lost
            self._parts.clear()
        _, task, argument, step, address, data = values
        self._parts.setdefault(int(task), []).append((int(argument), int(step), int(address), data))
        return True

    def _done(self, values: Sequence[Any]) -> None:
        if self._parts:
            self._parts.pop(int(values[2]), None)

    def row(self, values: Sequence[Any]) -> Row:
        return self._rows[int(values[0])]

    def text(self, values: Sequence[Any]) -> str:
        row = self.row(values)
        _, comm, tid, cpu, ns, address = values[:FIRST]
        micros = int(ns) // 1000
        args = "".join(f" {a.name}={self._shown(a, values, row)}" for a in row.args)
        when = f"{micros // 1_000_000:5d}.{micros % 1_000_000:06d}"
        place = f"{int(row.address or address):x}"
        place = f"<- {place}" if (row.event.found.ret and not row.address) or row.event.found.returns else place
        self._done(values)
        return f"{comm:>16} {tid:7d} [{int(cpu):03d}] {when}: {row.event.name}: ({place}){args}\n"

    def record(self, values: Sequence[Any]) -> dict[str, Any]:
        """For JSON."""
        row = self.row(values)
        _, comm, tid, cpu, ns, address = values[:FIRST]
        args = {a.name: self._plain(a, values, row) for a in row.args}
        self._done(values)
        return {
            "event": row.event.name,
            "comm": comm,
            "tid": tid,
            "cpu": cpu,
            "ns": ns,
            "address": int(row.address or address),
            "args": args,
        }

    def _plain(self, a: Shown, values: Sequence[Any], row: Row) -> Any:
        if a.capture is not None:
            return self._whole(a, values, row)
        found = list(values[a.first : a.first + a.count])
        return found if a.type is not None and a.type.count else found[0]

    def _whole(self, a: Shown, values: Sequence[Any], row: Row) -> str:
        """A value that is more than a number."""
        assert a.capture is not None
        found = row.event.found
        known = bool(found.path and found.address and not found.ret)
        shift = int(values[FIRST - 1]) - found.address if known else None
        task, mine = int(values[2]), row.args.index(a)
        more = [(step, address, data) for n, step, address, data in self._parts.get(task, ()) if n == mine]
        return a.capture.show(hit_of(a.capture, values[a.first : a.first + a.count], more, task, shift))

    def _shown(self, a: Shown, values: Sequence[Any], row: Row) -> str:
        if a.capture is not None:
            return self._whole(a, values, row)
        texts = [self._one(a, v) for v in values[a.first : a.first + a.count]]
        return "{" + ",".join(texts) + "}" if a.type is not None and a.type.count else texts[0]

    def _one(self, a: Shown, value: Any) -> str:
        if isinstance(value, str):
            return f'"{value}"'
        kind = a.type.kind if a.type is not None else "x"
        if kind == "char":
            return f"'{chr(int(value) & 0xFF)}'"
        if kind == "symbol":
            return self._symbol(int(value))
        return f"{int(value):#x}" if kind == "x" else str(int(value))
