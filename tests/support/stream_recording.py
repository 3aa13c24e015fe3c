"""Recordings made of a few lines, and programs on them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from probescope.api import Request
from probescope.model.output import MapOut, Output, Text
from probescope.model.recording import Damage, EventBatch, EventType, Machine, Ragged, RawField, SideRecord
from probescope.recorded import build_on

COMMON = (
    RawField("common_type", "unsigned short", 0, 2, False),
    RawField("common_pid", "int", 4, 4, True),
)
PARTS = frozenset({"time", "cpu", "tid", "ip", "period", "raw"})


def tracepoint(name: str, number: int, *fields: RawField, parts: frozenset[str] = PARTS) -> EventType:
    return EventType(name, number, (*COMMON, *fields), "", parts)


@dataclass
class One:
    """One event. ``raw``: what follows the 8 bytes that all records begin with."""

    time: int
    kind: int = 0
    pid: int = 100
    tid: int = 0
    cpu: int = 0
    raw: bytes = b""
    stack: Sequence[int] = ()


@dataclass
class Made:
    """A ``Recording``; ``batches`` are lists of events, and records before them."""

    events: tuple[EventType, ...]
    lists: Sequence[Sequence[One | SideRecord]]
    machine: Machine = Machine(arch="x86_64", cpus=2, clock="perf")  # noqa: RUF009
    damage: tuple[Damage, ...] = ()
    closed: bool = field(default=False)

    def batches(self) -> Iterator[EventBatch]:
        for items in self.lists:
            yield batch(items, self.events)

    def close(self) -> None:
        self.closed = True


def batch(items: Sequence[One | SideRecord], events: Sequence[EventType]) -> EventBatch:
    ones = [i for i in items if isinstance(i, One)]
    between: list[tuple[int, SideRecord]] = []
    seen = 0
    for i in items:
        if isinstance(i, One):
            seen += 1
        else:
            between.append((seen, i))
    raws = [struct.pack("<HHi", events[o.kind].id, 0, o.tid or o.pid) + o.raw for o in ones]

    def column(kind: str, values: Sequence[int]) -> Any:
        return np.array(values, kind)

    def ragged(kind: str, pieces: Sequence[Any]) -> Ragged:
        size = np.array([len(p) for p in pieces], np.int64)
        flat: Any = b"".join(pieces) if kind == "u1" else [a for p in pieces for a in p]
        values = np.frombuffer(flat, np.uint8).copy() if kind == "u1" else np.array(flat, np.uint64)
        return Ragged(values, np.cumsum(size) - size, size)

    return EventBatch(
        len(ones),
        column("i4", [o.kind for o in ones]),
        column("u8", [o.time for o in ones]),
        column("i4", [o.cpu for o in ones]),
        column("i4", [o.pid for o in ones]),
        column("i4", [o.tid or o.pid for o in ones]),
        column("u8", [1] * len(ones)),
        stacks=ragged("u8", [o.stack for o in ones]) if any(o.stack for o in ones) else None,
        raw=ragged("u1", raws),
        between=tuple(between),
    )


@dataclass
class Said:
    outputs: list[Output]
    code: int

    @property
    def text(self) -> str:
        return "".join(o.text for o in self.outputs if isinstance(o, Text))

    def map(self, name: str = "") -> dict[Any, Any]:
        found = [o for o in self.outputs if isinstance(o, MapOut) and o.name == name]
        return dict(found[-1].items) if found else {}


def replay(program: str, recording: Made, **request: Any) -> Said:
    """Runs a program to the end of a recording."""
    said: list[Output] = []
    built = build_on(Request(program, input="made.data", environment={}, **request), recording)  # type: ignore[arg-type]
    return Said(said, built.session(said.append).run())
