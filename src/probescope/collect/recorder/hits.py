"""Which mapped files the samples of a finished recording are in, and where.

The file is read once more, in columns (small.py: without numpy, where that takes longer to start); of each batch only
the different (process, address) pairs are kept. An address is looked for among all mappings that its process ever had,
and those of the process that forked it: a recording knows when, this does not need to.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from probescope.formats.perfdata import open_perfdata
from probescope.frozen import dataclass, field
from probescope.model.recording import SUMMED_TIME, EventBatch, LostEvents, MappedFile, SideRecord, Started

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]

KERNEL_SPACE = 1 << 63
_MARKS = (1 << 64) - 4095
"""Context marks of call chains are not addresses."""
MOST_ADDRESSES = 1 << 18
"""Of all processes that are kept apart: beyond that only their pages are."""
_FORKS = 64


@dataclass(frozen=True, slots=True)
class HitFile:
    """``offsets``: of the file, rising, or addresses of the kernel or of what has no file (``path`` empty). ``pids``:
    some processes that mapped it."""

    path: str
    build_id: bytes = b""
    inode: int = 0
    offsets: tuple[int, ...] = ()
    pids: tuple[int, ...] = ()


@dataclass(slots=True)
class Hits:
    """``files``: of user space; ``jits``: addresses without a file, by process; ``kernel``: addresses; ``modules``: the
    mappings of the kernel. ``unhit``: files that were mapped by processes with samples, and are not in ``files``.
    ``lost``: events that LOST records of the file tell of. ``times`` of the first and last sample."""

    files: list[HitFile] = field(default_factory=list)
    jits: dict[int, tuple[int, ...]] = field(default_factory=dict)
    kernel: tuple[int, ...] = ()
    modules: list[MappedFile] = field(default_factory=list)
    unhit: list[HitFile] = field(default_factory=list)
    samples: int = 0
    lost: int = 0
    times: tuple[int, int] = (0, 0)


def hits_of(path: str) -> Hits:
    """Raises FormatError, OSError."""
    seen = Seen()
    found = Hits()
    with open_perfdata(path) as recording:
        for batch in recording.batches():
            for _, record in batch.between:
                heed(record, seen, found)
            if batch.count:
                found.samples += batch.count
                found.times = _times(found.times, batch)
                seen.add(batch)
    place(seen, found)
    return found


def _times(known: tuple[int, int], batch: EventBatch) -> tuple[int, int]:
    """Without times that are none."""
    last = int(batch.time.searchsorted(SUMMED_TIME)) - 1
    return (known[0] or int(batch.time[0]), int(batch.time[last])) if last >= 0 else known


def heed(record: SideRecord, seen: Seen, found: Hits) -> None:
    """Remembers what is needed of it."""
    if isinstance(record, MappedFile):
        if record.pid < 0:
            found.modules.append(record)
        elif record.executable:
            seen.maps.setdefault(record.pid, []).append(record)
    elif isinstance(record, Started):
        if record.pid != record.parent:
            seen.parents.setdefault(record.pid, record.parent)
    elif isinstance(record, LostEvents):
        found.lost += record.count


class Seen:
    """Different addresses, and what processes had mapped."""

    def __init__(self) -> None:
        self.kernel: set[int] = set()
        self.user: dict[int, set[int]] = {}
        self.maps: dict[int, list[MappedFile]] = {}
        self.parents: dict[int, int] = {}
        self._count = 0

    def add(self, batch: EventBatch) -> None:
        import numpy as np

        ip = batch.numbers.get("ip")
        if ip is not None:
            self._keep(batch.pid, ip)
        if batch.stacks is not None:
            size = np.asarray(batch.stacks.size, np.int64)
            whole = int(size.sum())
            # pieces may lie anywhere in the values: place of each frame = start of its piece + its number in it
            first = np.repeat(np.asarray(batch.stacks.start, np.int64) - (np.cumsum(size) - size), size)
            frames = batch.stacks.values[first + np.arange(whole)]
            self._keep(np.repeat(batch.pid, size), frames)

    def _keep(self, pids: Column, addresses: Column) -> None:
        import numpy as np

        addresses = np.asarray(addresses, np.uint64)
        usable = addresses < np.uint64(_MARKS)
        kernel = addresses >= np.uint64(KERNEL_SPACE)
        self.kernel.update(np.unique(addresses[usable & kernel]).tolist())
        user = addresses[~kernel & (addresses > 0)]
        owner = np.asarray(pids[~kernel & (addresses > 0)], np.uint64)
        if self._count > MOST_ADDRESSES:
            user = user & ~np.uint64(0xFFF)
        order = np.lexsort((user, owner))
        user, owner = user[order], owner[order]
        new = np.ones(len(user), np.bool_)
        new[1:] = (user[1:] != user[:-1]) | (owner[1:] != owner[:-1])
        for pid, address in zip(owner[new].tolist(), user[new].tolist(), strict=True):
            self.user.setdefault(pid, set()).add(address)
        self._count = sum(map(len, self.user.values()))

    def keep(self, pid: int, addresses: Iterable[int]) -> None:
        """The same for a few, without numpy."""
        for address in addresses:
            if address >= KERNEL_SPACE:
                if address < _MARKS:
                    self.kernel.add(address)
            elif address:
                self.user.setdefault(pid, set()).add(address)


def place(seen: Seen, found: Hits) -> None:
    """Puts the addresses of ``seen`` where they belong in ``found``."""
    found.kernel = tuple(sorted(seen.kernel))
    hit: dict[tuple[str, bytes, int], tuple[set[int], dict[int, None]]] = {}
    mapped: dict[tuple[str, bytes, int], dict[int, None]] = {}
    for pid, addresses in seen.user.items():
        spans = _spans(pid, seen.maps, seen.parents)
        for m in spans.maps:
            mapped.setdefault((m.path, m.build_id, m.inode), {})[pid] = None
        nameless: list[int] = []
        for address in addresses:
            within = spans.at(address)
            if within is None or within.path in {"", "//anon"}:
                nameless.append(address)
                continue
            offsets, pids = hit.setdefault((within.path, within.build_id, within.inode), (set(), {}))
            offsets.add(address - within.start + within.offset)
            pids[pid] = None
        if nameless:
            found.jits[pid] = tuple(sorted(nameless))
    found.files = [HitFile(*key, tuple(sorted(offsets)), tuple(pids)[:8]) for key, (offsets, pids) in hit.items()]
    found.unhit = [HitFile(*key, pids=tuple(pids)[:8]) for key, pids in mapped.items() if key not in hit]


class _Spans:
    """Mappings by start; of those that overlap the one that starts last is taken."""

    def __init__(self, maps: Iterable[MappedFile]) -> None:
        self.maps = sorted(maps, key=lambda m: m.start)
        self._starts = [m.start for m in self.maps]

    def at(self, address: int) -> MappedFile | None:
        k = bisect_right(self._starts, address)
        return next((m for m in reversed(self.maps[max(k - _FORKS, 0) : k]) if address < m.end), None)


def _spans(pid: int, maps: Mapping[int, Sequence[MappedFile]], parents: Mapping[int, int]) -> _Spans:
    out: list[MappedFile] = []
    met: set[int] = set()
    while pid > 0 and pid not in met and len(met) < _FORKS:
        met.add(pid)
        out += maps.get(pid, ())
        pid = parents.get(pid, 0)
    return _Spans(out)
