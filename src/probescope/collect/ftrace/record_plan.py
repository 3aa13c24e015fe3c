"""What `ftrace record`, `start` and `stream` are asked to do, as data. Words are those of the files of tracefs."""

from __future__ import annotations

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class EventChoice:
    """``pattern``: ``all``, ``SYSTEM``, ``SYSTEM:EVENT`` or ``EVENT``, with globs. ``filter`` and ``triggers`` in the
    kernel's words. ``on`` false: these are left out of what was chosen before."""

    pattern: str
    filter: str = ""
    triggers: tuple[str, ...] = ()
    on: bool = True


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """``name`` empty: the one that needs none. ``clock`` empty and ``size_kb`` (of each CPU) 0: as the kernel has it.
    ``options``: with ``no`` before what is switched off. ``cpumask``: hexadecimal."""

    name: str = ""
    tracer: str = "nop"
    events: tuple[EventChoice, ...] = ()
    functions: tuple[str, ...] = ()
    notrace: tuple[str, ...] = ()
    graph: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    clock: str = ""
    size_kb: int = 0
    cpumask: str = ""

    @property
    def unlimited(self) -> bool:
        """Whether every function of the kernel would be traced."""
        return self.tracer in {"function", "function_graph"} and not (self.functions or self.graph)


@dataclass(frozen=True, slots=True)
class TracePlan:
    """``pids`` empty: everybody; ``follow``: their children too. ``depth``: of function graphs, 0: no limit.
    ``without``: threads that are left out. ``lenient``: events that are not there are passed over. ``cmdlines``: how
    many names of threads the kernel is to keep, 0: as many as it does."""

    buffers: tuple[BufferPlan, ...] = (BufferPlan(),)
    pids: tuple[int, ...] = ()
    follow: bool = False
    without: tuple[int, ...] = ()
    depth: int = 0
    cmdlines: int = 0
    lenient: bool = False

    @property
    def unlimited(self) -> bool:
        return any(b.unlimited for b in self.buffers)


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """``command`` empty: until a signal. ``only_command``: nobody else is traced. ``max_kb``: of each CPU, the latest;
    0: all. ``sleep_us`` 0: looks come when buffers are half full. ``compression``: none, zlib or zstd. ``date``: the
    time of day is kept. ``proc_map``: where the traced processes' files were mapped. ``folder``: for what is recorded,
    until it becomes ``path``."""

    trace: TracePlan
    path: str = "trace.dat"
    command: tuple[str, ...] = ()
    only_command: bool = False
    user: str = ""
    version: int = 7
    compression: str = "zstd"
    max_kb: int = 0
    sleep_us: int = 0
    priority: int = 0
    date: bool = False
    proc_map: bool = False
    folder: str = ""


@dataclass(frozen=True, slots=True)
class CpuLoss:
    """What one CPU's buffer had no room for: ``overrun`` was written over, ``dropped`` never written."""

    buffer: str
    cpu: int
    overrun: int
    dropped: int

    @property
    def any(self) -> bool:
        return bool(self.overrun or self.dropped)


@dataclass(frozen=True, slots=True)
class Recorded:
    """``size`` of the file, ``bytes`` of pages that went into it; ``events`` that were read; ``cut`` bytes that
    ``max_kb`` cost."""

    path: str
    size: int = 0
    bytes: int = 0
    events: int = 0
    cut: int = 0
    losses: tuple[CpuLoss, ...] = ()
    signal: int = 0
    exit_code: int = 0
