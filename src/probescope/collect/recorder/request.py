"""What is to be recorded, of whom, how and where to; and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from probescope.collect.recorder.off_cpu import Waiting
from probescope.collect.recorder.sampling import Sampling
from probescope.frozen import dataclass, field
from probescope.sources.perf_events import Counter

PIPE = "-"
BuildIds = Literal["hit", "all", "mapped", "none"]


@dataclass(frozen=True, slots=True)
class Switch:
    """When another file is begun: with SIGUSR2 (``signal``), or after so many bytes or milliseconds (0: never).
    ``most``: only the last so many files are kept, 0 for all. ``events``: each time that one of these happens."""

    signal: bool = False
    size: int = 0
    time_ms: int = 0
    most: int = 0
    events: tuple[Counter, ...] = ()

    def __bool__(self) -> bool:
        return self.signal or self.size > 0 or self.time_ms > 0 or bool(self.events)


@dataclass(frozen=True, slots=True)
class RecordRequest:
    """``cpus``: where; for all tasks there, unless ``tids`` or ``command`` say whose. ``pids``: processes, with their
    threads. ``filters``: of tracepoints, by index of the counter. ``cgroups``: descriptors of groups' folders, by index
    of the counter. ``pages`` of a ring, 0: as the kernel is set. ``delay_ms`` before events are enabled, -1: they stay
    disabled until ``control`` says otherwise. ``level`` of zstd, 0 for none. ``output``: a path, or ``-`` for standard
    output. ``start``: which of what there was before is told (``task``, ``mmap``, ``cgroup``). ``max_size`` in bytes of
    data, 0 for no limit. ``words``: the command line, for the header. ``keep_symbols``: in a file beside. ``uid``:
    whose processes, besides those that are named; -1: nobody's. ``priority`` of SCHED_FIFO for the recorder, 0 for
    none. ``off_cpu`` sums waits up; ``counters`` have its event."""

    counters: tuple[Counter, ...]
    sampling: Sampling = field(default_factory=Sampling)
    filters: Mapping[int, str] = field(default_factory=dict)
    cpus: tuple[int, ...] = ()
    whole_cpus: bool = False
    pids: tuple[int, ...] = ()
    tids: tuple[int, ...] = ()
    cgroups: Mapping[int, int] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    inherit: bool = True
    per_thread: bool = False
    delay_ms: int = 0
    pages: int = 0
    output: str = "perf.data"
    level: int = 0
    max_size: int = 0
    switch: Switch = field(default_factory=Switch)
    timestamp_name: bool = False
    control: str = ""
    build_ids: BuildIds = "hit"
    tail: bool = False
    start: frozenset[str] = frozenset({"task", "mmap", "cgroup"})
    words: tuple[str, ...] = ()
    keep_symbols: bool = True
    verbose: bool = False
    uid: int = -1
    priority: int = 0
    off_cpu: Waiting | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A finished file. ``samples`` -1: not counted. ``symbols``: path of the symbols saved beside it, empty for
    none. ``lost``: of the whole recording, in its last file."""

    path: str
    size: int
    samples: int = -1
    symbols: str = ""
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Recorded:
    """``lost`` samples found no room in the rings of ``pages`` pages. ``woken``: how often there was something to be
    read. ``signal``: number of the one that ended it, 0 for none; ``limit``: the size did. ``exit_code``: the
    command's."""

    files: tuple[Written, ...]
    woken: int
    lost: int
    pages: int
    exit_code: int = 0
    signal: int = 0
    limit: bool = False
    notes: tuple[str, ...] = ()
