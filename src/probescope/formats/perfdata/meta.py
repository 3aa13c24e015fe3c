"""What a file tells about itself: attributes, names, features, build ids; in the header or in records among others.

In a file all of it is in the header and in feature sections. In a pipe it comes as records, before the first sample
that needs it; some records (names, ids of late events, build ids) come in files too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from probescope.errors import FormatError
from probescope.formats.perfdata import features as fe
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.attr import LEAST_SIZE, Attr, parse_attr
from probescope.formats.perfdata.cursor import Cursor, text
from probescope.formats.perfdata.damage import Tally
from probescope.formats.perfdata.layout import sampled
from probescope.formats.perfdata.names import plain_name
from probescope.formats.perfdata.tracing_data import TracingData, parse_tracing_data
from probescope.frozen import dataclass
from probescope.kernel.uapi import perf as u
from probescope.model.recording import EventType, Machine

MOST_EVENTS = 1 << 16
MOST_BUILD_IDS = 1 << 20
UPDATE_UNIT, UPDATE_SCALE, UPDATE_NAME = 0, 1, 2


@dataclass(frozen=True, slots=True)
class BuildId:
    """Of a file that was mapped; ``pid`` -1 for the host's."""

    pid: int
    build_id: bytes
    path: str


class Meta:
    """Grows; ``version`` changes whenever something did that events or ids depend on."""

    def __init__(self, big: bool, tally: Tally) -> None:
        self.big = big
        self.tally = tally
        self.attrs: list[Attr] = []
        self._known_attrs: set[Attr] = set()
        self.ids: dict[int, int] = {}
        self.features: dict[str, Any] = {}
        self.sections: dict[str, bytes] = {}
        self.unknown_features: dict[int, int] = {}
        self.build_ids: list[BuildId] = []
        self.threads: dict[int, str] = {}
        self.names: dict[int, str] = {}  # by index
        self.units: dict[int, str] = {}
        self.scales: dict[int, float] = {}
        self.types: dict[int, str] = {}  # by config
        self.tracing: TracingData | None = None
        self.version = 0
        self._events: tuple[int, tuple[EventType, ...]] = (-1, ())

    # --- from the header

    def add_attr(self, attr: Attr, ids: Iterable[int]) -> None:
        """Again with the same ids: nothing new."""
        ids = tuple(ids)
        if attr.unknown:
            self.tally.add("attr-tail", "attributes of a newer kernel, parts of which are not known")
        known = next((self.ids[i] for i in ids if i in self.ids), -1)
        if known < 0 and not ids and attr in self._known_attrs:
            return
        if known < 0:
            if len(self.attrs) >= MOST_EVENTS:
                self.tally.add("attrs", "too many events")
                return
            known = len(self.attrs)
            self.attrs.append(attr)
            self._known_attrs.add(attr)
        for one in ids:
            self.ids.setdefault(one, known)
        self.version += 1

    def add_feature(self, number: int, data: bytes, offset: int = -1) -> None:
        name = fe.NAMES.get(number)
        if not data and name not in fe.WITHOUT_DATA:
            return  # perf could not tell it; or, in a pipe, the end of features (whose number grows with perf's age)
        if name is None:
            self.unknown_features[number] = len(data)
            self.tally.add("unknown-feature", f"feature {number} of a newer perf", offset)
            return
        self.sections[name] = data
        try:
            if name == "TRACING_DATA":
                self.add_tracing(data)
            elif name == "BUILD_ID":
                found, whole = fe.parse_build_ids(data, self.big)
                self.build_ids += [BuildId(*one) for one in found[: MOST_BUILD_IDS - len(self.build_ids)]]
                if not whole:
                    self.tally.add("feature", "the list of build ids is damaged", offset)
            else:
                self.features[name] = fe.parse_feature(name, data, self.big)
        except FormatError as error:
            self.tally.add("feature", f"{name} cannot be read: {error.what}", offset)
        if name == "EVENT_DESC":
            self.described()
        self.version += 1

    def add_tracing(self, data: bytes) -> None:
        self.sections["TRACING_DATA"] = data
        self.tracing = parse_tracing_data(data)
        if not self.tracing.complete:
            self.tally.add("tracing-data", "the descriptions of tracepoints are cut")
        self.version += 1

    def described(self) -> None:
        """Names by EVENT_DESC: its events are those of the attributes, in their order; ids tell where they are not."""
        found: tuple[fe.EventDescription, ...] = self.features.get("EVENT_DESC", ())
        if not self.attrs:
            for one in found:
                self.add_attr(one.attr, one.ids)
        for i, one in enumerate(found):
            index = next((self.ids[id_] for id_ in one.ids if id_ in self.ids), i)
            if index < len(self.attrs) and one.name:
                self.names.setdefault(index, one.name)
                for id_ in one.ids:
                    self.ids.setdefault(id_, index)

    # --- from records

    def record(self, kind: int, misc: int, body: bytes, place: int) -> None:
        """Anything from ``USER_START`` on that tells something of the file. Damaged ones are counted."""
        reader = _RECORDS.get(kind)
        if reader is None:
            return
        try:
            reader(self, Cursor(body, self.big, r.name_of(kind)), misc)
        except FormatError as error:
            self.tally.add("record", f"a {r.name_of(kind)} record that cannot be read: {error.what}", place)

    def _attr(self, c: Cursor, misc: int) -> None:
        size = Cursor(c.data, self.big, c.section).unpack("II")[1]
        size = size if LEAST_SIZE <= size <= c.left else min(c.left, LEAST_SIZE)
        attr = parse_attr(c.bytes(size), self.big)
        self.add_attr(attr, c.unpack(f"{c.left // 8}Q"))

    def _type(self, c: Cursor, misc: int) -> None:
        if c.left and len(self.types) < MOST_EVENTS:
            config = c.u64()
            self.types[config] = text(c.bytes(c.left))

    def _build_id(self, c: Cursor, misc: int) -> None:
        if len(c.data) >= 28 and len(self.build_ids) < MOST_BUILD_IDS:
            self.build_ids.append(BuildId(*fe.build_id_record(c.data, misc, self.big)))

    def _feature(self, c: Cursor, misc: int) -> None:
        number = c.u64()
        self.add_feature(min(number, fe.BITS), c.bytes(c.left))

    def _update(self, c: Cursor, misc: int) -> None:
        what, id_ = c.unpack("QQ")
        index = self.ids.get(id_, -1)
        if what == UPDATE_NAME:
            self.names.setdefault(index, text(c.bytes(c.left)))
        elif what == UPDATE_UNIT:
            self.units[index] = text(c.bytes(c.left))
        elif what == UPDATE_SCALE:
            import struct

            self.scales[index] = struct.unpack(c.order + "d", c.bytes(8))[0]
        self.version += 1

    def _threads(self, c: Cursor, misc: int) -> None:
        for _ in range(min(c.u64(), c.left // 24)):
            pid = c.u64()
            name = text(c.bytes(16))
            if name and len(self.threads) < 1 << 20:
                self.threads[pid] = name

    # --- what comes of it

    @property
    def events(self) -> tuple[EventType, ...]:
        if self._events[0] != self.version:
            self._events = (self.version, tuple(self._event(i) for i in range(len(self.attrs))))
        return self._events[1]

    def name(self, index: int) -> str:
        attr = self.attrs[index]
        if index in self.names:
            return self.names[index]
        if attr.type == u.PERF_TYPE_TRACEPOINT:
            told = self.tracing.name(attr.config) if self.tracing else ""
            return told or self.types.get(attr.config) or plain_name(attr)
        return plain_name(attr)

    def _event(self, index: int) -> EventType:
        attr = self.attrs[index]
        tracepoint = attr.type == u.PERF_TYPE_TRACEPOINT
        described = self.tracing.event_type(attr.config) if tracepoint and self.tracing else None
        has, registers = sampled(attr), attr.sample_regs_user
        if described is None:
            return EventType(self.name(index), attr.config if tracepoint else 0, sampled=has, registers=registers)
        return EventType(self.name(index), attr.config, described.fields, described.print_fmt, has, registers)

    @property
    def machine(self) -> Machine:
        got = self.features.get
        tracing = self.tracing
        arch = got("ARCH", "")
        wide = 8 if "64" in arch or arch in {"s390x", "alpha"} or not arch else 4
        return Machine(
            arch=arch,
            release=got("OSRELEASE", ""),
            hostname=got("HOSTNAME", ""),
            command=got("CMDLINE", ()),
            cpus=got("NRCPUS", (0, 0))[0],
            cpu_model=got("CPUDESC", ""),
            memory=got("TOTAL_MEM", 0) * 1024,
            big_endian=self.big,
            long_size=tracing.long_size if tracing and tracing.long_size in {4, 8} else wide,
            page_size=tracing.page_size if tracing and tracing.page_size else 4096,
            clock=self._clock(),
            recorder=f"perf {got('VERSION')}" if got("VERSION") else "",
        )

    def _clock(self) -> str:
        clocked = next((a for a in self.attrs if a.flags & u.FLAG_USE_CLOCKID), None)
        return _CLOCKS.get(clocked.clockid, f"clock {clocked.clockid}") if clocked else "perf"


_CLOCKS = {0: "realtime", 1: "monotonic", 4: "monotonic_raw", 7: "boottime", 11: "tai"}
_RECORDS = {
    r.HEADER_ATTR: Meta._attr,
    r.HEADER_EVENT_TYPE: Meta._type,
    r.HEADER_BUILD_ID: Meta._build_id,
    r.HEADER_FEATURE: Meta._feature,
    r.EVENT_UPDATE: Meta._update,
    r.THREAD_MAP: Meta._threads,
}
