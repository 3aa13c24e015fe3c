"""Perfetto's traces: a stream of packets, written as events come.

    Trace        1 packet, ...
    TracePacket  8 timestamp  10 sequence  13 sequence_flags  58 clock  59 defaults
                 1 ftrace events of a CPU   2 process tree   12 interned data   45 system info   66 perf sample

sched_switch, wake-ups, system calls and the like have messages of their own, by which Perfetto knows who ran where;
every other event is a ``GenericFtraceEvent`` with its fields by name. Samples go with interned stacks: one sequence of
packets for each kind of event, which Perfetto takes for a session of its own.
Source: protos/perfetto/trace of https://github.com/google/perfetto
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from probescope.formats.protobuf import data, number, text
from probescope.formats.protocolumns import Message
from probescope.formats.stacktable import Measure, SampleBatch, StackTable
from probescope.frozen import dataclass

if TYPE_CHECKING:
    Column = np.ndarray[Any, Any]

TRACE_PACKET = 1
FTRACE, TREE, TIMESTAMP, SEQUENCE, INTERNED, FLAGS, SYSTEM, CLOCK, DEFAULTS, SAMPLE = (
    1,
    2,
    8,
    10,
    12,
    13,
    45,
    58,
    59,
    66,
)
BOOTTIME = 6
CLEARED, NEEDED = 1, 2
OWN_SEQUENCE = 1
GENERIC = 327
PRINT = "ftrace:print"
#: Texts of trace_marker that Perfetto takes for slices and counters; it complains of all others.
_MARKER = re.compile(r"(?:[BCSFING]\|\d|E(?:\||\s*$))")
_WAKEUP = {"comm": 1, "pid": 2, "prio": 3, "success": 4, "target_cpu": 5}
#: Events with messages of their own: the field of FtraceEvent, and the numbers of their fields.
TYPED: Mapping[str, tuple[int, Mapping[str, int]]] = {
    PRINT: (3, {"ip": 1, "buf": 2}),
    "sched:sched_switch": (
        4,
        {
            "prev_comm": 1,
            "prev_pid": 2,
            "prev_prio": 3,
            "prev_state": 4,
            "next_comm": 5,
            "next_pid": 6,
            "next_prio": 7,
        },
    ),
    "sched:sched_wakeup": (17, _WAKEUP),
    "sched:sched_waking": (20, _WAKEUP),
    "sched:sched_wakeup_new": (114, _WAKEUP),
    "sched:sched_process_exec": (237, {"filename": 1, "pid": 2, "old_pid": 3}),
    "sched:sched_process_exit": (238, {"comm": 1, "pid": 2, "prio": 4}),
    "sched:sched_process_fork": (239, {"parent_comm": 1, "parent_pid": 2, "child_comm": 3, "child_pid": 4}),
    "sched:sched_process_free": (240, {"comm": 1, "pid": 2, "prio": 3}),
    "raw_syscalls:sys_enter": (329, {"id": 1, "args": 2}),
    "raw_syscalls:sys_exit": (330, {"id": 1, "ret": 2}),
}
_ARRAYS = {"args"}
#: PerfEvents.Counter, by perf's names; others are told by name alone.
COUNTERS = {"cpu-clock": 1, "page-faults": 2, "task-clock": 3, "context-switches": 4, "cpu-migrations": 5, "cycles": 10}


@dataclass(frozen=True, slots=True)
class System:
    release: str = ""
    machine: str = ""


class PerfettoWriter:
    """Everything in any order: Perfetto sorts by time."""

    def __init__(self, file: BinaryIO, system: System) -> None:
        self._file = file
        self._threads: dict[int, tuple[int, str]] = {}
        name = text(1, "Linux") + text(2, "") + text(3, system.release) + text(4, system.machine)
        self.packet(data(SYSTEM, data(1, name)) + number(SEQUENCE, OWN_SEQUENCE))

    def packet(self, body: bytes) -> None:
        self._file.write(data(TRACE_PACKET, body))

    def thread(self, time: int, pid: int, tid: int, comm: str) -> None:
        """A thread by its name; again when that has changed."""
        if self._threads.get(tid) == (pid, comm) or tid <= 0 or pid < 0:
            return
        self._threads[tid] = (pid, comm)
        tree = data(2, number(1, tid) + text(2, comm) + number(3, pid))
        if pid == tid:
            tree = data(1, number(1, pid) + text(3, comm) + number(9, 1)) + tree
        self.packet(number(TIMESTAMP, time) + data(TREE, tree) + number(SEQUENCE, OWN_SEQUENCE))

    def events(
        self, name: str, cpu: int, times: Column, tids: Column, fields: Mapping[str, Column | Sequence[str]]
    ) -> None:
        """Events of one kind on one CPU."""
        if name == PRINT and "buf" in fields:
            marks = np.array([bool(_MARKER.match(t)) for t in fields["buf"]], np.bool_)
            for kind, mine in ((PRINT, np.flatnonzero(marks)), (":print", np.flatnonzero(~marks))):
                if len(mine):
                    self._events(kind, cpu, times[mine], tids[mine], {k: _picked(v, mine) for k, v in fields.items()})
            return
        self._events(name, cpu, times, tids, fields)

    def _events(
        self, name: str, cpu: int, times: Column, tids: Column, fields: Mapping[str, Column | Sequence[str]]
    ) -> None:
        count = len(times)
        event = Message(count).number(1, times).number(2, tids.astype(np.uint32))
        kind, numbers = TYPED.get(name, (GENERIC, {}))
        inner = _typed(count, numbers, fields) if numbers else _generic(count, name, fields)
        bundle = Message(count).message(2, event.message(kind, inner)).bytes()
        self.packet(data(FTRACE, number(1, max(cpu, 0)) + bundle) + number(SEQUENCE, OWN_SEQUENCE))

    def lost(self, time: int, cpu: int, count: int) -> None:
        """Events that the kernel could not keep: Perfetto tells of them by itself."""
        sample = number(1, max(cpu, 0)) + number(17, count)
        self.packet(number(TIMESTAMP, time) + data(SAMPLE, sample) + number(SEQUENCE, OWN_SEQUENCE))

    def samples(self, table: StackTable, measure: Measure, sequence: int, build_ids: Mapping[str, str]) -> Samples:
        return Samples(self, table, measure, OWN_SEQUENCE + 1 + sequence, build_ids)


def _picked(values: Any, which: Column) -> Any:
    return values[which] if isinstance(values, np.ndarray) else [values[i] for i in which.tolist()]


def _typed(count: int, numbers: Mapping[str, int], fields: Mapping[str, Column | Sequence[str]]) -> Message:
    out = Message(count)
    for name, value in fields.items():
        if name in _ARRAYS and name in numbers:
            for column in _words(value):
                out.number(numbers[name], column)
        elif name in numbers:
            _value(out, numbers[name], value)
    return out


def _words(value: Any) -> list[Column]:
    """Arrays of 64-bit numbers, given as hex digits, as a column for each place; none where sizes differ."""
    sizes = set(map(len, value))
    if len(sizes) != 1 or sizes.pop() % 16:
        return []
    return list(np.frombuffer(bytes.fromhex("".join(value)), "<u8").reshape(len(value), -1).T)


def _generic(count: int, name: str, fields: Mapping[str, Column | Sequence[str]]) -> Message:
    """``name`` without its system, as Perfetto calls events."""
    out = Message(count).literal(1, name.partition(":")[2].encode() or name.encode())
    for key, value in fields.items():
        field = Message(count).literal(1, key.encode())
        kind = value.dtype.kind if isinstance(value, np.ndarray) else "text"
        out.message(2, _value(field, {"u": 5, "i": 4}.get(kind, 3), value))
    return out


def _value(out: Message, field: int, value: Column | Sequence[str]) -> Message:
    return out.number(field, value) if isinstance(value, np.ndarray) else out.texts(field, value)


class Samples:
    """Samples of one measure, with their stacks. ``weight`` sums up to a counter for each CPU, as the kernel's own
    counters do."""

    def __init__(
        self, writer: PerfettoWriter, table: StackTable, measure: Measure, sequence: int, build_ids: Mapping[str, str]
    ) -> None:
        self._writer, self._table, self._sequence, self._build_ids = writer, table, sequence, build_ids
        self._names: dict[str, int] = {}
        self._modules: dict[str, int] = {}
        self._frames: set[int] = set()
        self._stacks: set[int] = set()
        self._totals: dict[int, int] = {}
        counter = COUNTERS.get(measure.name.partition(":")[0], 0)
        base = (number(2, measure.hz) if measure.hz else number(1, 1)) + number(4, counter) + text(10, measure.name)
        defaults = number(CLOCK, BOOTTIME) + data(12, data(1, base))
        writer.packet(number(SEQUENCE, sequence) + number(FLAGS, CLEARED) + data(DEFAULTS, defaults))

    def write(self, batch: SampleBatch, pids: Column, tids: Column, modes: Column) -> None:
        """``modes``: 1 in the kernel, 2 in user space, else 0."""
        count = len(batch)
        if not count:
            return
        self._intern(np.unique(batch.node).tolist())
        cpus = np.maximum(batch.cpu, 0)
        sample = Message(count).number(1, cpus).number(2, pids.astype(np.uint32)).number(3, tids.astype(np.uint32))
        sample.number(4, batch.node).number(5, modes).number(6, self._counted(cpus, batch.weight))
        packet = Message(count).number(TIMESTAMP, batch.time).constant(SEQUENCE, self._sequence)
        packet.constant(FLAGS, NEEDED).message(SAMPLE, sample)
        self._writer._file.write(Message(count).message(TRACE_PACKET, packet).bytes())

    def _counted(self, cpus: Column, weights: Column) -> Column:
        """The counter of each sample's CPU when it was taken."""
        out = np.zeros(len(cpus), np.uint64)
        for cpu in np.unique(cpus).tolist():
            mine = np.flatnonzero(cpus == cpu)
            before = self._totals.get(cpu, 0)
            out[mine] = np.cumsum(weights[mine].astype(np.uint64), dtype=np.uint64) + np.uint64(before)
            self._totals[cpu] = int(out[mine[-1]])
        return out

    def _intern(self, nodes: Iterable[int]) -> None:
        """What samples refer to must have come before them. Numbers begin at 1: those of nodes do."""
        new = [n for n in nodes if n > 0 and n not in self._stacks]
        if not new:
            return
        out: list[bytes] = []
        for node in new:
            path = self._table.path(node)
            out += [piece for f in path for piece in self._frame(f)]
            frames = b"".join(number(2, f + 1) for f in path)
            out.append(data(7, number(1, node) + frames))
        self._stacks.update(new)
        body = number(SEQUENCE, self._sequence) + number(FLAGS, NEEDED) + data(INTERNED, b"".join(out))
        self._writer.packet(body)

    def _frame(self, number_of: int) -> list[bytes]:
        if number_of in self._frames:
            return []
        self._frames.add(number_of)
        frame, out = self._table.frames[number_of], []
        name = self._names.get(frame.name)
        if name is None:
            name = self._names[frame.name] = len(self._names) + 1
            out.append(data(5, number(1, name) + text(2, frame.name)))
        module = self._modules.get(frame.module)
        if module is None:
            module = self._modules[frame.module] = len(self._modules) + 1
            out += self._mapping(frame.module, module)
        body = number(1, number_of + 1) + number(2, name) + number(3, module) + number(4, frame.address)
        return [*out, data(6, body)]

    def _mapping(self, path: str, iid: int) -> list[bytes]:
        """One for each module, from address 0 on: its frames have the addresses that they had."""
        words = [w for w in (path or "[unknown]").split("/") if w]
        strings = [data(17, number(1, iid * 64 + i) + text(2, w)) for i, w in enumerate(words[:64])]
        build_id = bytes.fromhex(self._build_ids.get(path, ""))
        ids = [data(16, number(1, iid) + data(2, build_id))] if build_id else []
        parts = b"".join(number(7, iid * 64 + i) for i in range(len(strings)))
        known = number(2, iid) if build_id else b""
        return [*strings, *ids, data(19, number(1, iid) + known + number(4, 0) + number(5, (1 << 64) - 1) + parts)]
