"""The half of a session that lives in the kernel: compiled object, maps, links, ring."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from time import CLOCK_TAI
from typing import TYPE_CHECKING

from probescope.bpf.storage import storages
from probescope.bpf.unit import GLOBAL_ACTIVE, GLOBAL_START, GLOBAL_STOP, GLOBAL_TAI, GLOBAL_WALL, MapSpec, Object
from probescope.collect.actions import Actions
from probescope.collect.btfs import KernelBtf
from probescope.collect.event import OwnEvent
from probescope.collect.execute import Execution
from probescope.collect.late import Late
from probescope.collect.losses import Losses
from probescope.collect.maps import KernelStore
from probescope.collect.options import SessionOptions
from probescope.collect.records import RecordReader
from probescope.ir.program import Program
from probescope.kernel.bpf_map import Map
from probescope.kernel.host import Mapping, host
from probescope.kernel.leftovers import tidy
from probescope.kernel.machine import boot_offset_ns, clock_offset_ns, uptime_ns, wall_offset_ns
from probescope.kernel.ringbuf import RingBuffer
from probescope.kernel.uapi.bpf import BPF_MAP_TYPE_RINGBUF
from probescope.model.output import Lost
from probescope.model.plan import RunOnce
from probescope.model.types import Opaque
from probescope.plan.request import BpfPlan

if TYPE_CHECKING:
    from threading import Thread

    from probescope.collect.names import Names
    from probescope.collect.unattached import Failure
    from probescope.evaluate.machine import Machine
    from probescope.kernel.perfbuf import PerfBuffer

WAKEUP_NEVER = 0x7FFFFFFF  # we look by ourselves
MOST_U64 = (1 << 64) - 1
MUCH = 1 << 16  # bytes: who brought so many has more by now
MOST_LOOKS = 1 << 13  # a probe that fires for ever must not keep us draining


class KernelSide:
    """Phases as in session.py. ``store`` is there after ``prepare``."""

    def __init__(self, program: Program, plan: BpfPlan, options: SessionOptions, cpid: int) -> None:
        self.program = program
        self.plan = plan
        self.options = options
        self.cpid = cpid
        self.object: Object | None = None
        self.execution: Execution | None = None
        self._ring: RingBuffer | PerfBuffer | None = None
        self._globals: Mapping | None = None
        self._late: Late | None = None
        self._reader: RecordReader | None = None
        self._walk: Thread | None = None
        self._attached = False

    def compile(self) -> Object:
        """The object for this host."""
        from probescope.bpf.compile import compile_program
        from probescope.collect.host import compile_options

        self.build = compile_options(self.program, self.plan, self.cpid)
        return compile_program(self.program, self.plan.units, self.build)

    def prepare(self) -> None:
        tidy()
        self.object = self.compile()
        self.execution = Execution(self.object, self.plan.plan, KernelBtf(), self.program)
        self.execution.create_maps()
        self.store = KernelStore(storages(self.program, self.build), self.execution.maps)
        globals_ = self._map("globals")
        if globals_ is not None:
            self._globals = globals_.mmap()
            self._set_clocks()
        ring = self._spec("ring")
        if ring is not None:
            self._ring = self._open_ring(ring, self.execution.maps[ring.name])
        late = self._map("late")
        if late is not None:
            self._late = Late(late.mmap(), self.object.late, self.program)
        counters, missed = self._map("counters"), self.execution.missed
        self._losses = Losses(self.program, self.object, counters, missed, self.build.ring_bytes)

    @property
    def maps(self) -> KernelStore:
        return self.store

    @property
    def by_clock(self) -> bool:
        return True

    @property
    def wall_offset(self) -> None:
        return None

    def names(self) -> Names:
        from probescope.collect.names import Names

        return Names(self.program, self)

    def own_event(self, site: int, start_ns: int) -> OwnEvent:
        return OwnEvent(site, start_ns, self.cpid)

    def wire(self, actions: Actions, machine: Machine, *, texts: bool) -> None:
        self._reader = RecordReader(self.program, actions, types=self.program.types, texts=texts)

    def columnar(self) -> None:
        """From now on what is printed comes as ``Batch``."""
        if self._reader is not None:
            self._reader.columnar = True

    def load(self) -> None:
        self._execution.load()

    def attach(self, give_up: Callable[[], bool]) -> None:
        self._execution.attach(give_up)
        self._attached = True

    @property
    def failures(self) -> list[Failure]:
        """Probes that were left out, after ``attach``."""
        return self._execution.failures

    def activate(self, start_ns: int) -> None:
        self._losses.begin()
        self._poke(GLOBAL_START, start_ns)
        self._poke(GLOBAL_ACTIVE, 1)
        if self._execution.iterators():
            self._read_iterators()

    def others_live(self) -> bool:
        from probescope.plan.follow import ALIVE, FOLLOWED

        return any(state == ALIVE for _, state in self.store.snapshot(FOLLOWED))

    def live(self) -> bool:
        """Whether anything can still fire: a program of iterators alone is over when they have been walked."""
        if not self._attached:
            return False
        return len(self.plan.units) > self._walkers() or (self._walk is not None and self._walk.is_alive())

    @property
    def walking(self) -> bool:
        """Whether an iterator has not come to its end."""
        return self._walk is not None and self._walk.is_alive()

    @property
    def busy(self) -> bool:
        """Whether records can come, or an iterator is being walked: neither wakes us."""
        return self._ring is not None or (self._walk is not None and self._walk.is_alive())

    def consume(self) -> bool:
        """Acts on all that is in the ring; whether it was much, and looking again at once is worth while."""
        if self._ring is None or self._reader is None:
            return False
        late = self._late is not None and self._late.noticed(self._ring)
        found = self._ring.consume()
        much = late
        for records in found if isinstance(found, list) else [found]:
            if len(records):
                self._reader.take(records)
            much = much or len(records.data) > MUCH
        if late:
            self._take_late()
        return much

    def _take_late(self, *, last: bool = False) -> None:
        """Carries out what found the ring full, when all that was in it then has been read."""
        if self._late is None or self._reader is None or self._ring is None:
            return
        for action, values in self._late.due(self._ring, last=last):
            self._reader.perform(action, values)

    def run_once(self, step: RunOnce) -> None:
        self._execution.run_once(step)
        self.drain()

    def trial(self, step: RunOnce, repeat: int) -> tuple[int, int]:
        """Return value and mean ns of a test or bench."""
        found = self._execution.trial(step, repeat)
        self.drain()
        return found

    def drain(self) -> None:
        for _ in range(MOST_LOOKS):
            if not self.consume():
                return

    def stop(self) -> None:
        """Closes the gate first: what fires while programs are taken off is not counted."""
        self._poke(GLOBAL_ACTIVE, 0)
        self._poke(GLOBAL_STOP, 1)
        self.drain()
        if self._walk is not None:
            self._walk.join()
        self._execution.detach()
        self.drain()
        self._take_late(last=True)
        self._attached = False

    def losses(self, *, final: bool) -> Iterator[Lost]:
        everything = self.options.everything
        return self._losses.final(everything=everything) if final else self._losses.urgent(everything=everything)

    def stack_map(self, type_: Opaque, *, unwound: bool = False) -> Map | None:
        """The table of stacks of one kind and depth; a depth that the kernel does not allow was cut to its greatest.
        ``unwound``: of those that programs walked themselves."""
        prefix = "unwound_" if unwound else "stacks_u" if type_.kind == "ustack" else "stacks_k"
        names = [m.name for m in self._maps_of("unwound" if unwound else "stacks") if m.name.startswith(prefix)]
        tables = {int(name.removeprefix(prefix)): name for name in names}
        name = tables.get(type_.depth) or tables.get(max(tables, default=0))
        return self._execution.maps.get(name) if name else None

    def unwind_maps(self) -> dict[str, Map]:
        """Those that user space fills so that programs can unwind stacks; none if no program does."""
        return {m.name: self._execution.maps[m.name] for m in self._maps_of("unwind")}

    def close(self) -> None:
        if self._walk is not None:
            self._poke(GLOBAL_STOP, 1)
            self._walk.join()
        for held in (self._ring, self._late, self._globals, self.execution):
            if held is not None:
                held.close()
        self._ring = self._late = self._globals = None

    # --- inside
    # ---------------------------------------------------------------------------------------------------------

    def _open_ring(self, spec: MapSpec, held: Map) -> RingBuffer | PerfBuffer:
        """Before 5.8 there is a ring for each CPU: events of one CPU are in order, those of several as they are
        read. What does not fit is counted by the programs themselves, as for the one ring."""
        if spec.type == BPF_MAP_TYPE_RINGBUF:
            return RingBuffer(held, spec.max_entries)
        from probescope.kernel.perfbuf import PerfBuffer

        pages = self.build.ring_bytes // host().page_size // max(1, self.build.cpus)
        return PerfBuffer(held, max(1, 1 << (pages.bit_length() - 1) if pages else 1), wakeup=WAKEUP_NEVER)

    @property
    def _execution(self) -> Execution:
        if self.execution is None:
            raise RuntimeError("prepare() comes first")
        return self.execution

    def _walkers(self) -> int:
        return sum(u.kind in ("iter", "syscall") for u in self.plan.units)

    def _maps_of(self, role: str) -> list[MapSpec]:
        return [m for m in self.object.maps if m.role == role] if self.object else []

    def _spec(self, role: str) -> MapSpec | None:
        return next(iter(self._maps_of(role)), None)

    def _map(self, role: str) -> Map | None:
        spec = self._spec(role)
        return self._execution.maps[spec.name] if spec else None

    def _set_clocks(self) -> None:
        """Before ``begin`` runs, which may ask for them; ``elapsed`` starts anew at activation."""
        boot = boot_offset_ns()
        self._poke(GLOBAL_START, uptime_ns())
        self._poke(GLOBAL_WALL, wall_offset_ns() - boot)
        self._poke(GLOBAL_TAI, clock_offset_ns(CLOCK_TAI) - boot)

    def _poke(self, word: int, value: int) -> None:
        if self._globals is not None:
            struct.pack_into("=Q", self._globals.view, word * 8, value & MOST_U64)

    def _read_iterators(self) -> None:
        """One read(2) walks up to a million objects, and the ring has to be emptied meanwhile: hence a thread."""
        import threading

        fds = self._execution.iterators()

        def walk() -> None:
            h = host()
            for fd in fds:
                while h.read(fd, 1 << 16):
                    pass

        thread = threading.Thread(target=walk, name="probescope-iter", daemon=True)
        thread.start()
        self._walk = thread  # what did not start cannot be waited for
