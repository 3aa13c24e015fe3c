"""Recordings made by hand, as the builder of stores takes them: events with raw records, and what happened between."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np

from probescope.collect.recorded.symbols import Frame
from probescope.model.recording import Damage, EventBatch, EventType, Machine, Ragged, RawField, SideRecord
from probescope.store.build.builder import Builder
from probescope.store.build.reading import Piece

COMMON = (
    RawField("common_type", "unsigned short", 0, 2, False),
    RawField("common_flags", "unsigned char", 2, 1, False),
    RawField("common_preempt_count", "unsigned char", 3, 1, False),
    RawField("common_pid", "int", 4, 4, True),
)
SIZES = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8}
SWITCH_FMT = (
    '"prev_state=%s%s", (REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, "|", { 0x1, "S" },'
    ' { 0x2, "D" }, { 0x4, "T" }, { 0x8, "t" }, { 0x10, "X" }, { 0x20, "Z" }, { 0x40, "P" }, { 0x80, "I" }) : "R",'
    ' REC->prev_state & 0x100 ? "+" : ""'
)


def kind(name: str, number: int, fields: Sequence[tuple[str, str]], print_fmt: str = "") -> EventType:
    """``fields``: (name, letter of struct, or the size of a text)."""
    at, out = 8, []
    for called, letter in fields:
        if letter.isdigit():
            out.append(RawField(called, "char", at, int(letter), False, int(letter)))
            at += int(letter)
        elif "*" in letter:
            each, count = letter.split("*")
            out.append(RawField(called, "unsigned long", at, SIZES[each] * int(count), False, int(count)))
            at += SIZES[each] * int(count)
        else:
            size = SIZES[letter]
            at = -(-at // size) * size
            out.append(RawField(called, "long", at, size, letter.islower()))
            at += size
    return EventType(name, number, (*COMMON, *out), print_fmt)


SWITCH = kind(
    "sched:sched_switch",
    1,
    [
        *(("prev_comm", "16"), ("prev_pid", "i"), ("prev_prio", "i"), ("prev_state", "q"), ("next_comm", "16")),
        *(("next_pid", "i"), ("next_prio", "i")),
    ],
    SWITCH_FMT,
)
_WAKE = [("comm", "16"), ("pid", "i"), ("prio", "i"), ("target_cpu", "i")]
WAKING = kind("sched:sched_waking", 2, _WAKE)
WAKEUP = kind("sched:sched_wakeup", 3, _WAKE)
WAKEUP_NEW = kind("sched:sched_wakeup_new", 4, _WAKE)
FORK = kind(
    "sched:sched_process_fork",
    5,
    [("parent_comm", "16"), ("parent_pid", "i"), ("child_comm", "16"), ("child_pid", "i")],
)
EXIT = kind("sched:sched_process_exit", 6, [("comm", "16"), ("pid", "i")])
ENTER = kind("raw_syscalls:sys_enter", 7, [("id", "q"), ("args", "Q*6")])
LEAVE = kind("raw_syscalls:sys_exit", 8, [("id", "q"), ("ret", "q")])
IRQ_ENTRY = kind("irq:irq_handler_entry", 9, [("irq", "i"), ("name", "16")])
IRQ_EXIT = kind("irq:irq_handler_exit", 10, [("irq", "i"), ("ret", "i")])
RAISE = kind("irq:softirq_raise", 11, [("vec", "I")])
SOFT_ENTRY = kind("irq:softirq_entry", 12, [("vec", "I")])
SOFT_EXIT = kind("irq:softirq_exit", 13, [("vec", "I")])
CALL = kind("ftrace:funcgraph_entry", 14, [("func", "Q"), ("depth", "i")])
RETURN = kind("ftrace:funcgraph_exit", 15, [("func", "Q"), ("depth", "i")])
PRINT = kind("ftrace:print", 16, [("ip", "Q"), ("buf", "64")])
FREQUENCY = kind("power:cpu_frequency", 17, [("state", "I"), ("cpu_id", "I")])
EXEC = kind("sched:sched_process_exec", 18, [("filename", "32"), ("pid", "i"), ("old_pid", "i")])
KINDS = (
    *(SWITCH, WAKING, WAKEUP, WAKEUP_NEW, FORK, EXIT, ENTER, LEAVE, IRQ_ENTRY, IRQ_EXIT, RAISE, SOFT_ENTRY, SOFT_EXIT),
    *(CALL, RETURN, PRINT, FREQUENCY, EXEC),
)


@dataclass
class Event:
    time: int
    cpu: int
    tid: int
    kind: EventType
    values: dict[str, Any] = field(default_factory=dict)
    pid: int = -1
    flags: int = 0


@dataclass
class Fake:
    """``batches``: lists of events, and of records that happened before the event of that number."""

    batches_: list[list[Event | SideRecord]]
    kinds: tuple[EventType, ...] = KINDS
    sideband: bool = False
    flagged: bool = True
    comms: dict[int, str] = field(default_factory=dict)
    damage: tuple[Damage, ...] = ()
    name: str = "made.dat"
    machine: Machine = field(default_factory=lambda: Machine(arch="x86_64", cpus=2))
    symbols: dict[int, str] = field(default_factory=dict)

    @property
    def recording(self) -> Fake:
        return self

    @property
    def events(self) -> tuple[EventType, ...]:
        return self.kinds

    def times(self) -> tuple[int, int]:
        return (0, 0)

    def wall_offset(self) -> int | None:
        return None

    def frames(self, stack: int) -> tuple[Frame, ...]:
        return ()

    def frame(self, space: int, address: int, kernel: bool) -> Frame:
        return Frame(address, "", 0, "", kernel=kernel)

    def function(self, address: int) -> str:
        return self.symbols.get(address, "")

    def pieces(self) -> Iterator[Piece]:
        for batch in self.batches_:
            yield Piece(self._batch(batch))

    def _batch(self, items: list[Event | SideRecord]) -> EventBatch:
        events = [e for e in items if isinstance(e, Event)]
        between, at = [], 0
        for one in items:
            if isinstance(one, Event):
                at += 1
            else:
                between.append((at, one))
        records = [record(e) for e in events]
        size = np.array([len(r) for r in records], np.int64)
        raw = Ragged(np.frombuffer(b"".join(records), np.uint8), np.cumsum(size) - size, size)
        index = {k.name: i for i, k in enumerate(self.kinds)}
        return EventBatch(
            len(events),
            np.array([index[e.kind.name] for e in events], np.int32),
            np.array([e.time for e in events], np.uint64),
            np.array([e.cpu for e in events], np.int32),
            np.array([e.pid for e in events], np.int32),
            np.array([e.tid for e in events], np.int32),
            np.ones(len(events), np.uint64),
            raw=raw,
            between=tuple(between),
        )


def record(e: Event) -> bytes:
    """A raw record, field by field."""
    end = max(f.offset + f.size for f in e.kind.fields)
    out = bytearray(end)
    struct.pack_into("<HBBi", out, 0, e.kind.id, e.flags, 0, e.tid)
    for f in e.kind.fields[len(COMMON) :]:
        value = e.values.get(f.name, b"" if f.declared == "char" else 0)
        if f.declared == "char":
            data = value.encode() if isinstance(value, str) else value
            out[f.offset : f.offset + min(len(data), f.size)] = data[: f.size]
        elif f.count:
            struct.pack_into(f"<{f.count}Q", out, f.offset, *value)
        else:
            letter = {1: "b", 2: "h", 4: "i", 8: "q"}[f.size]
            struct.pack_into("<" + (letter if f.signed else letter.upper()), out, f.offset, value)
    return bytes(out)


def switch(time: int, cpu: int, prev: int, state: int, following: int, **more: Any) -> Event:
    names = {"prev_comm": f"t{prev}", "next_comm": f"t{following}"} | more
    values = {"prev_pid": prev, "prev_prio": 120, "prev_state": state, "next_pid": following, "next_prio": 120, **names}
    return Event(time, cpu, prev, SWITCH, values)


def wake(time: int, cpu: int, waker: int, wakee: int, of: EventType = WAKING, flags: int = 0) -> Event:
    values = {"comm": f"t{wakee}", "pid": wakee, "prio": 120, "target_cpu": cpu}
    return Event(time, cpu, waker, of, values, flags=flags)


def built(*batches: list[Event | SideRecord], **more: Any) -> duckdb.DuckDBPyConnection:
    """The tables of it. Each batch is a list."""
    db = duckdb.connect(config={"memory_limit": "500MB"})
    Builder(Fake(list(batches), **more), db, lambda *_: None).build()  # type: ignore[arg-type]
    return db


def rows(db: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return db.execute(sql).fetchall()
