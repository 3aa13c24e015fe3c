"""Function graphs as `trace-cmd report` prints them: a leaf's entry and exit are one line, others open and close.

funcgraph_entry:        0.523 us   |  mutex_unlock();
funcgraph_entry:                   |  do_sys_open() {
funcgraph_exit:       ! 123.456 us |  }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracing.fields import Records

if TYPE_CHECKING:
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import EventBatch, EventType

ENTRIES = {"ftrace:funcgraph_entry", "ftrace:fgraph_retaddr_entry"}
EXIT = "ftrace:funcgraph_exit"
MAX_DEPTH = 256
_MARKS = ((1_000_000_000, "$ "), (1_000_000, "# "), (100_000, "! "), (10_000, "+ "))
_ERRORS = (1 << 64) - 4095


class Graph:
    def __init__(self, events: tuple[EventType, ...], context: Context) -> None:
        self.events = events
        self.c = context
        self.entries = [i for i, e in enumerate(events) if e.name in ENTRIES]
        self.exits = [i for i, e in enumerate(events) if e.name == EXIT]

    def has(self, batch: EventBatch) -> bool:
        return bool(self.entries) and bool(np.isin(batch.event, self.entries + self.exits).any())

    def fold(self, batch: EventBatch, records: Records, lines: list[str]) -> set[int]:
        """Puts the lines of graph events into ``lines``; the exits that became part of their entry's line."""
        gone: set[int] = set()
        graph = np.flatnonzero(np.isin(batch.event, self.entries + self.exits)).tolist()
        values = [self._values(records, batch, i) for i in graph]
        for at, (i, value) in enumerate(zip(graph, values, strict=True)):
            if i in gone:
                continue
            if batch.event[i] in self.exits:
                text = self._closing(value)
            else:
                follows = at + 1 < len(graph) and graph[at + 1] == i + 1 and batch.event[i + 1] in self.exits
                same = follows and batch.cpu[i] == batch.cpu[i + 1] and batch.tid[i] == batch.tid[i + 1]
                leaf = values[at + 1] if same and values[at + 1].get("func") == value.get("func") else None
                text = self._entry(value, leaf)
                if leaf is not None:
                    gone.add(i + 1)
            name = self.events[int(batch.event[i])].name.partition(":")[2]
            label = f" {name}: ".ljust(23)
            lines[i] = lines[i].partition(label)[0] + label + text
        return gone

    def _values(self, records: Records, batch: EventBatch, i: int) -> dict[str, int]:
        event = self.events[int(batch.event[i])]
        wanted = ("func", "depth", "calltime", "rettime", "retval", "retaddr")
        return {f.name: int(records.field(f)[i]) for f in event.fields if f.name in wanted}

    def _entry(self, value: dict[str, int], leaf: dict[str, int] | None) -> str:
        found = self.c.plain(value.get("func", 0))
        name = found[0] if found else f"{value.get('func', 0):x}"
        indent = "  " * min(value.get("depth", 0), MAX_DEPTH)
        caller = self.c.plain(value["retaddr"]) if "retaddr" in value else None
        note = f" /* <-{caller[0]} */" if caller else ""
        depth = self._depth(value)
        if leaf is None:
            text = f"{name}(){note} {{" if found or caller else ") {"
            return f"             |  {indent}{text}{depth}"
        return f"{_spent(leaf)}{indent}{name}();{note}{depth}{_returned(leaf)}"

    def _closing(self, value: dict[str, int]) -> str:
        found = self.c.plain(value.get("func", 0)) if self.c.forms.tail else None
        tail = f" /* {found[0]} */" if found else ""
        indent = "  " * min(value.get("depth", 0), MAX_DEPTH)
        return f"{_spent(value)}{indent}}}{tail}{self._depth(value)}{_returned(value)}"

    def _depth(self, value: dict[str, int]) -> str:
        return f" ({value.get('depth', 0)})" if self.c.forms.depth else ""


def _spent(value: dict[str, int]) -> str:
    duration = (value.get("rettime", 0) - value.get("calltime", 0)) & ((1 << 64) - 1)
    mark = next((m for least, m in _MARKS if duration > least), "  ")
    micro = str(duration // 1000)
    text = micro if len(micro) >= 7 else f"{micro}.{duration % 1000:03d}"
    return f"{mark}{text} us {' ' * max(0, 7 - len(text))}|  "


def _returned(value: dict[str, int]) -> str:
    """Error codes in decimal, all else in hexadecimal; nothing where the kernel does not record it."""
    if "retval" not in value:
        return ""
    number = value["retval"]
    return f" (ret={number - (1 << 64)})" if number >= _ERRORS else f" (ret=0x{number:x})"
