"""First pass over a text: which events it has and with which fields, whose threads, of which CPUs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from probescope.formats.tracetext.graph_text import Entry, Missing
from probescope.formats.tracetext.kinds import Kind, system_of
from probescope.formats.tracetext.layouts import SPECIAL

if TYPE_CHECKING:
    from probescope.formats.tracetext import Known
    from probescope.model.recording import EventType

MOST_KINDS = 1 << 12
MOST_COMMS = 1 << 20
MOST_BUFFERS = 64
FIRST_NUMBER = 20_000
REST = "trace:other"


class Survey:
    """``kinds``: by name as the text has it. ``digits``: most that stand behind the point of a time, 0: none of them
    has a point."""

    def __init__(self, known: Known | None) -> None:
        self._known = known
        self.kinds: dict[str, Kind] = {}
        self.comms: dict[int, str] = {}
        self.buffers: list[str] = []
        self.count = self.cpus = self.digits = 0
        self.flags = False
        self.events: tuple[EventType, ...] = ()
        self._index: dict[int, int] = {}

    def walk(self, entries: Iterable[Entry | Missing]) -> Survey:
        for one in entries:
            if isinstance(one, Missing):
                continue
            self.count += 1
            self.cpus = max(self.cpus, one.cpu + 1)
            self.digits = max(self.digits, one.digits)
            self.flags = self.flags or bool(one.flags)
            if one.tid > 0 and len(self.comms) < MOST_COMMS and one.comm != "<...>":
                self.comms[one.tid] = one.comm
            if one.buffer not in self.buffers and len(self.buffers) < MOST_BUFFERS:
                self.buffers.append(one.buffer)
            kind = self.kind(one.name)
            kind.see(one)
            self.noted(kind, one)
        self._decide()
        return self

    def noted(self, kind: Kind, entry: Entry) -> None:
        """For texts with more than names and fields."""

    def kind(self, name: str) -> Kind:
        found = self.kinds.get(name)
        if found is None:
            if len(self.kinds) >= MOST_KINDS:
                name = REST
                found = self.kinds.get(name)
            if found is None:
                found = self.kinds[name] = self._new(name)
        return found

    def _new(self, name: str) -> Kind:
        if name in SPECIAL:
            return Kind(name, own=True)
        described = self._known(name) if self._known is not None else None
        if described is not None:
            return Kind(described.name, described)
        full = name if ":" in name else f"{system_of(name)}:{name}"
        return Kind(full, asked=self._known is not None and ":" not in name)

    def _decide(self) -> None:
        events: list[EventType] = []
        taken: set[int] = set()
        if any(kind.printed for kind in self._decided(events, taken)) and "ftrace:print" not in self.kinds:
            own = self.kinds["ftrace:print"] = Kind("ftrace:print", own=True)
            self._index[id(own)] = len(events)
            events.append(own.decide(FIRST_NUMBER + MOST_KINDS + 1))
        self.events = tuple(events)

    def _decided(self, events: list[EventType], taken: set[int]) -> list[Kind]:
        for i, kind in enumerate(self._ordered()):
            event = kind.decide(FIRST_NUMBER + i)
            if event.id in taken:
                kind.described = None
                event = kind.decide(FIRST_NUMBER + i)
            taken.add(event.id)
            if kind.printed:
                continue
            self._index[id(kind)] = len(events)
            events.append(event)
        return list(self.kinds.values())

    def _ordered(self) -> list[Kind]:
        """As their events are listed: as they come."""
        return list(self.kinds.values())

    def index(self, kind: Kind) -> int:
        return self._index[id(kind)]
