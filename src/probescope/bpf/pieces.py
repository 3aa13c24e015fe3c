"""What the programs of one object share: maps, counters, constants, tables of stacks, scratch memory.

Each program asks for what it needs while it is lowered; ``maps`` are those that were asked for, and all that the
program declares.
"""

from __future__ import annotations

import struct

from probescope.bpf.storage import MMAPABLE, Storage, storages
from probescope.bpf.unit import GLOBAL_WORDS, LATE_WORDS, Counter, CounterKind, MapSpec, Options
from probescope.diagnostics import NOWHERE, Span
from probescope.errors import LimitError
from probescope.ir.program import Program
from probescope.model import unwind
from probescope.model.abi import align_up

RING, COUNTERS, GLOBALS, SCRATCH, CONSTANTS = "ring", "counters", "globals", "scratch", "constants"
LATE = "late"

UNWIND_PIDS, UNWIND_TABLES, UNWIND_WANTED = "unwind_pids", "unwind_tables", "unwind_wanted"

_HASH, _ARRAY, _PERF_EVENT_ARRAY, _PERCPU_ARRAY, _STACK_TRACE, _LRU_HASH = 1, 2, 4, 6, 7, 9
_ARRAY_OF_MAPS, _HASH_OF_MAPS, _RINGBUF = 12, 13, 27
_NO_PREALLOC, _RDONLY_PROG, _INNER_MAP = 1 << 0, 1 << 7, 1 << 12

SCRATCH_LEVELS = 4
"""How many runs may hold scratch memory on one CPU at once: a program, an interrupt's, an NMI's, and one to spare for
tasks that were preempted inside theirs."""

SCRATCH_BUSY = 8
"""Bytes at the start of a scratch value: the word that says it is taken."""

SCRATCH_LIMIT = 32 << 10
"""Bytes of one value of a per-CPU map. Where a clause needs more, an ordinary array has ``SCRATCH_LEVELS`` values for
each CPU: the same, but for the memory's place."""

SCRATCH_MOST = 256 << 10


MOST_OFFSET = 1 << 15
"""What the offset of an instruction reaches, and so the largest value in scratch memory: what lies further behind gets
a base of its own."""


class TooWide(Exception):
    """Scratch memory of more than ``SCRATCH_LIMIT`` bytes is needed: compile with ``wide``."""


class Pieces:
    """Collects what the programs of one object share. Mutable; one per compilation."""

    def __init__(self, program: Program, options: Options, *, wide: bool = False) -> None:
        self.wide = wide
        self.program = program
        self.options = options
        self.storages: dict[str, Storage] = storages(program, options)
        self.counters: dict[Counter, int] = {}
        self.notes: dict[str, None] = {}
        self.deleted: frozenset[str] = frozenset()  # maps that some clause deletes keys of
        self.updaters: dict[str, int] = {}  # how many units update a map
        self._constants = bytearray()
        self._places: dict[tuple[bytes, int], int] = {}
        self._stacks: dict[str, MapSpec] = {}
        self._unwind: dict[str, MapSpec] = {}
        self._scratch = 0
        self._used: set[str] = set()
        self.late: dict[int, int] = {}  # actions that can be put off, in order

    @property
    def has_ring(self) -> bool:
        return not self.options.features.lacks("map:ringbuf")

    def use(self, name: str) -> str:
        """Notes that a program refers to one of the compiler's own maps; gives its name back."""
        self._used.add(name)
        return name

    def counter(self, kind: CounterKind, clause: int, span: Span = NOWHERE, map_: str = "", helper: str = "") -> int:
        """Byte offset, in the counters map, of the word for this loss or error."""
        self.use(COUNTERS)
        return 8 * self.counters.setdefault(Counter(kind, clause, map_, span, helper), len(self.counters))

    def put_off(self, action: int) -> int:
        """Byte offset, in the late map, of the words of an action."""
        self.use(LATE)
        return 8 * (1 + LATE_WORDS * self.late.setdefault(action, len(self.late)))

    def constant(self, data: bytes, align: int = 1) -> int:
        """Offset of ``data`` in the constants map."""
        self.use(CONSTANTS)
        at = self._places.get((data, align))
        if at is None:
            at = align_up(len(self._constants), align)
            self._constants += bytes(at - len(self._constants)) + data
            self._places[data, align] = at
        return at

    def note(self, text: str) -> None:
        """A choice worth telling."""
        self.notes[text] = None

    def stacks(self, user: bool, depth: int) -> str:
        """Name of the table for stacks of one kind and depth: with a depth of its own, equal stacks are equal."""
        depth = self._depth(depth)
        name = f"stacks_{'u' if user else 'k'}{depth}"
        if name not in self._stacks:
            self._stacks[name] = MapSpec(name, "stacks", _STACK_TRACE, 4, 8 * depth, self.options.stack_entries)
        return name

    def _depth(self, depth: int) -> int:
        most = self.options.max_stack
        if depth > most:
            self.note(f"stacks are cut at {most} frames: sysctl kernel.perf_event_max_stack")
        return depth if 0 < depth <= most else most

    def unwound(self, depth: int) -> tuple[str, int]:
        """Name of the table of stacks that programs unwind themselves, and how many frames one can have."""
        depth = self._depth(depth)
        name = f"unwound_{depth}"
        if name not in self._stacks:
            size, entries = unwind.STACK_HEAD + 8 * depth, self.options.stack_entries
            flags = _NO_PREALLOC if self.options.features.has("map:no_prealloc") else 0
            self._stacks[name] = MapSpec(name, "unwound", _HASH, 4, size, entries, flags)
        return name, depth

    def use_unwind(self, name: str) -> str:
        """Notes that a program refers to one of the maps of unwind tables; gives its name back."""
        self._unwind[name] = _UNWIND[name]
        return name

    def scratch(self, size: int) -> None:
        """Some program needs ``size`` bytes of scratch memory, the busy word included."""
        self.use(SCRATCH)
        self._scratch = max(self._scratch, align_up(size, 8))
        if self._scratch > SCRATCH_MOST:
            raise too_large("values in one clause", self._scratch, SCRATCH_MOST)
        if self._scratch > SCRATCH_LIMIT and not self.wide:
            raise TooWide

    def maps(self) -> tuple[MapSpec, ...]:
        """All maps, the program's own first."""
        own = [s.spec for s in self.storages.values()]
        made = {
            RING: self._ring,
            GLOBALS: lambda: MapSpec(GLOBALS, "globals", _ARRAY, 4, 8 * GLOBAL_WORDS, 1, MMAPABLE),
            COUNTERS: lambda: MapSpec(COUNTERS, "counters", _ARRAY, 4, 8 * len(self.counters), 1, MMAPABLE),
            LATE: lambda: MapSpec(LATE, "late", _ARRAY, 4, 8 * (1 + LATE_WORDS * len(self.late)), 1, MMAPABLE),
            SCRATCH: self._scratch_map,
            CONSTANTS: self._constants_map,
        }
        kept = (*self._stacks.values(), *self._unwind.values())
        return (*own, *kept, *(make() for name, make in made.items() if name in self._used))

    def _scratch_map(self) -> MapSpec:
        if self.wide:
            return MapSpec(SCRATCH, "scratch", _ARRAY, 4, self._scratch, SCRATCH_LEVELS * self.options.cpus)
        return MapSpec(SCRATCH, "scratch", _PERCPU_ARRAY, 4, self._scratch, SCRATCH_LEVELS, per_cpu=True)

    def _ring(self) -> MapSpec:
        if self.has_ring:
            return MapSpec(RING, "ring", _RINGBUF, 0, 0, self.options.ring_bytes)
        return MapSpec(RING, "ring", _PERF_EVENT_ARRAY, 4, 4, self.options.cpus)

    def _constants_map(self) -> MapSpec:
        content = bytes(self._constants).ljust(8, b"\0")
        return MapSpec(CONSTANTS, "constants", _ARRAY, 4, len(content), 1, _RDONLY_PROG, content=content)


_MAPPINGS = MapSpec("unwind_maps", "unwind", _ARRAY, 4, unwind.MAPPING.size, 1, _INNER_MAP)
_ROWS = MapSpec("unwind_rows", "unwind", _ARRAY, 4, unwind.BLOCK_BYTES, 1, _INNER_MAP)
_UNWIND = {
    UNWIND_PIDS: MapSpec(UNWIND_PIDS, "unwind", _HASH_OF_MAPS, 4, 4, unwind.MOST_PROCESSES, inner=_MAPPINGS),
    UNWIND_TABLES: MapSpec(UNWIND_TABLES, "unwind", _ARRAY_OF_MAPS, 4, 4, unwind.MOST_BUNDLES, inner=_ROWS),
    UNWIND_WANTED: MapSpec(UNWIND_WANTED, "unwind", _LRU_HASH, 4, 8, 1024),
}
"""Arrays in them may differ in size since "bpf: Allow for map-in-map with dynamic inner array map entries" (5.10)."""


def table16(numbers: dict[int, int], size: int) -> bytes:
    """A table of u16 by index: ``numbers[i] + 1``, 0 where there is none."""
    return struct.pack(f"={size}H", *[numbers.get(i, -1) + 1 for i in range(size)])


def within_reach(size: int) -> int:
    if size >= MOST_OFFSET:
        raise too_large("one value, or one event", size, MOST_OFFSET)
    return size


def too_large(what: str, size: int, most: int) -> LimitError:
    return LimitError(
        f"{what}: {size} bytes, of which at most {most} can be kept",
        hints=["lower max_strlen, or give str() a smaller length"],
    )
