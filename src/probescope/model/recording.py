"""Recorded events, whatever file or ring they come from: batches of columns, and what happened to processes between.

    perf.data, perf rings ──► formats/perfdata ┐
    trace.dat, ftrace rings ► formats/tracedat ┼──► Recording: EventType, EventBatch, side-band ──► replay, views, store
    pasted text ────────────► formats/text     ┘

A batch holds events in order of time, as numpy arrays of one length; what is recorded for some events only, or has a
size of its own for each (stacks, raw records), is ``Ragged``. A batch's size is bounded by its reader, not by the file.
numpy itself is not imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, Protocol

from probescope.frozen import dataclass, field

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]

OFF_CPU = "offcpu-time"
"""The event of perf record --off-cpu: samples of threads that waited, with their ns as period."""
SUMMED_TIME = 0xFFFFFFFF << 32
"""From here on times are none: of samples that sum up a whole recording, which come last (perf record --off-cpu)."""


@dataclass(frozen=True, slots=True)
class RawField:
    """A field of a raw record as the kernel's format text has it: ``declared`` is its C type without name and
    dimensions. ``count``: elements of an array (``size`` bytes in all), 0 if it is none. ``dynamic``: its word holds
    ``length << 16 | offset``, the offset from the record's start (``data``) or from the word's own end (``rel``)."""

    name: str
    declared: str
    offset: int
    size: int
    signed: bool
    count: int = 0
    dynamic: Literal["", "data", "rel"] = ""


@dataclass(frozen=True, slots=True)
class EventType:
    """A kind of event. ``name`` as users write it: ``sched:sched_switch``, ``cycles:u``. ``id``: the number that raw
    records begin with, 0 where there are none. ``fields`` include the common ones. ``print_fmt``: the kernel's, as it
    is. ``sampled``: what numbers of ``EventBatch`` were recorded for it (``ip``, ``cpu``, ``period``...).
    ``registers``: which ones ``EventBatch.registers`` holds of it, bits by the numbers of its machine's perf_regs.h."""

    name: str
    id: int = 0
    fields: tuple[RawField, ...] = ()
    print_fmt: str = ""
    sampled: frozenset[str] = frozenset()
    registers: int = 0

    def field(self, name: str) -> RawField | None:
        return next((f for f in self.fields if f.name == name), None)


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Pieces of different sizes in one array: piece ``i`` is ``values[start[i] : start[i] + size[i]]``. Empty pieces
    have size 0. ``start`` and ``size`` count elements of ``values``."""

    values: Column
    start: Column
    size: Column
    source: Callable[[], tuple[bytes, int] | None] | None = None
    """Where ``values`` lie in bytes that compiled loops can read, and from which one on, if they do: not to be kept."""

    def piece(self, i: int) -> Column:
        at = int(self.start[i])
        return self.values[at : at + int(self.size[i])]


@dataclass(frozen=True, slots=True)
class SideRecord:
    """Something that happened to processes, memory or the recording itself. ``time`` in ns, 0 if not recorded; -1 for
    numbers that are not known."""

    time: int = 0
    cpu: int = -1
    pid: int = -1
    tid: int = -1


@dataclass(frozen=True, slots=True)
class MappedFile(SideRecord):
    """Memory of a process that shows a file. ``pid`` -1 with a kernel name in ``path``: of the kernel. ``offset`` in
    bytes of the file; ``build_id`` where the record has it instead of ``device``, ``inode`` and ``generation``."""

    start: int = 0
    size: int = 0
    offset: int = 0
    path: str = ""
    executable: bool = True
    device: tuple[int, int] = (0, 0)
    inode: int = 0
    generation: int = 0
    protection: int = 0
    flags: int = 0
    build_id: bytes = b""

    @property
    def end(self) -> int:
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class Named(SideRecord):
    """A thread has a new name; ``exec`` when because of a new program."""

    comm: str = ""
    exec: bool = False


@dataclass(frozen=True, slots=True)
class Started(SideRecord):
    """A new thread or process ``pid``/``tid``, made by ``parent``/``parent_tid``."""

    parent: int = -1
    parent_tid: int = -1


@dataclass(frozen=True, slots=True)
class Ended(SideRecord):
    parent: int = -1
    parent_tid: int = -1


@dataclass(frozen=True, slots=True)
class LostEvents(SideRecord):
    """``count`` events that the kernel could not keep; ``event``: index of their kind, -1 if not told."""

    count: int = 0
    event: int = -1
    kind: str = "lost"  # lost, lost_samples, overrun, dropped


@dataclass(frozen=True, slots=True)
class Switched(SideRecord):
    """The thread leaves the CPU (``out``) for ``other_tid``, or comes back from it."""

    out: bool = False
    preempted: bool = False
    other_pid: int = -1
    other_tid: int = -1


@dataclass(frozen=True, slots=True)
class OtherRecord(SideRecord):
    """A record that only some views need: ``kind`` as perf names it (``THROTTLE``, ``NAMESPACES``, ``CGROUP``,
    ``KSYMBOL``, ``BPF_EVENT``, ``TEXT_POKE``, ``AUX``...), with its values by name."""

    kind: str = ""
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class EventBatch:
    """``count`` events, times ascending. All columns have ``count`` items.

    ``event`` i4: index into ``Recording.events``; ``time`` u8, ns; ``cpu``, ``pid``, ``tid`` i4 (-1: not recorded);
    ``period`` u8: how many happenings an event stands for (1 for tracepoints).
    Absent columns are ``None``. ``stacks`` u8: innermost first, with perf's context marks (>= 2**64 - 4095) between;
    ``raw`` u1: raw records, ``common_type`` first; ``numbers``: further numbers by perf's name (``ip``, ``addr``,
    ``weight``, ``phys_addr``, ``data_src``, ``cgroup``, ``identifier``, ``stream_id``, ``flags``...);
    ``registers`` and ``stack_dumps``: user registers (u8) and stack bytes (u1) for unwinding; ``registers_intr``: those
    of the machine when the sample was taken; ``branches``: rows of
    ``from, to, flags``; ``reads``: u8 values of a read format.
    ``between``: (i, record) for what happened before event i of this batch (``count``: after the last), in order.
    """

    count: int
    event: Column
    time: Column
    cpu: Column
    pid: Column
    tid: Column
    period: Column
    stacks: Ragged | None = None
    raw: Ragged | None = None
    numbers: dict[str, Column] = field(default_factory=dict)
    registers: Ragged | None = None
    stack_dumps: Ragged | None = None
    branches: Ragged | None = None
    reads: Ragged | None = None
    between: tuple[tuple[int, SideRecord], ...] = ()
    registers_intr: Ragged | None = None

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a recording was made; empty or 0 what the file does not tell. ``big_endian`` and ``long_size`` (bytes) are
    those of the recorded data. ``clock``: the name of the clock of its times."""

    arch: str = ""
    release: str = ""
    hostname: str = ""
    command: tuple[str, ...] = ()
    cpus: int = 0
    cpu_model: str = ""
    memory: int = 0  # bytes
    big_endian: bool = False
    long_size: int = 8
    page_size: int = 4096
    clock: str = ""
    recorder: str = ""  # program and version that wrote the file


@dataclass(frozen=True, slots=True)
class Damage:
    """Something of a file that could not be used: ``count`` times, the first at ``offset`` bytes. ``kind`` is a stable
    word for programs, ``about`` a sentence for people."""

    kind: str
    about: str
    offset: int = -1
    count: int = 1


class Recording(Protocol):
    """An opened recording. ``batches`` may be called again, and starts anew; ``damage`` grows while it is read."""

    @property
    def events(self) -> tuple[EventType, ...]: ...
    @property
    def machine(self) -> Machine: ...
    @property
    def damage(self) -> tuple[Damage, ...]: ...
    def batches(self) -> Iterator[EventBatch]:
        """Raises ``FormatError`` where nothing more can be made of the file."""
        ...

    def close(self) -> None: ...
