"""Text of perf script, opened: ``PerfText``, which stands for a perf.data wherever one is read.

Addresses are those of the text, and names are looked up there alone: ``frame_names`` says what each address is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.perfdata.damage import Tally
from probescope.formats.tracetext.graph_text import Entry, Missing
from probescope.formats.tracetext.kinds import Kind
from probescope.formats.tracetext.names import Names
from probescope.formats.tracetext.perf_entries import entries, is_tracepoint
from probescope.formats.tracetext.perf_heads import TextFrame, fact, in_kernel
from probescope.formats.tracetext.reader import Making, OpenText
from probescope.formats.tracetext.survey import Survey
from probescope.formats.tracing.symbols import Context
from probescope.frozen import replace
from probescope.kernel.uapi.perf import PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER
from probescope.model.recording import EventBatch, EventType, LostEvents, Machine, MappedFile, Named, Ragged

if TYPE_CHECKING:
    from probescope.formats.tracetext import Known
    from probescope.formats.tracetext.opening import TextFile
    from probescope.model.recording import Column

IN_KERNEL, IN_USER = 1, 2
"""PERF_RECORD_MISC_KERNEL and _USER."""
MOST_FRAMES = 1 << 20
MOST_TURNS, TURN = 64, 52
"""Equal addresses of different frames differ in bits from there on."""
_FACTS = {"hostname": "hostname", "os release": "release", "arch": "arch", "cpudesc": "cpu_model"}


class PerfSurvey(Survey):
    def noted(self, kind: Kind, entry: Entry) -> None:
        for there, name in (
            (entry.cpu >= 0, "cpu"),
            (entry.period > 0, "period"),
            (bool(entry.frames) and not entry.after, "callchain"),
            (bool(entry.frames), "ip"),
        ):
            if there:
                kind.has.add(name)

    def _new(self, name: str) -> Kind:
        return super()._new(name) if is_tracepoint(name) else Kind(name)

    def _decide(self) -> None:
        super()._decide()
        kinds = [k for k in self._ordered() if not k.printed]
        self.events = tuple(self._sampled(k, e) for k, e in zip(kinds, self.events, strict=True))

    def _ordered(self) -> list[Kind]:
        """Counters before tracepoints: what is asked of a recording without a name is its first event."""
        return sorted(self.kinds.values(), key=lambda kind: is_tracepoint(kind.name))

    @staticmethod
    def _sampled(kind: Kind, event: EventType) -> EventType:
        has = frozenset({"tid", "time", *kind.has} | ({"raw"} if is_tracepoint(kind.name) else set()))
        if is_tracepoint(kind.name):
            return replace(event, sampled=has)
        return EventType(kind.name, sampled=has)


class PerfText(OpenText):
    """Satisfies ``model.recording.Recording``, and what else is asked of a ``PerfData``. ``frame_names``: from
    (process, -1 for the kernel; address) to what the text calls it, inlined calls first; it grows as batches are
    read."""

    build_ids = ()
    groups = ()

    def __init__(self, file: TextFile, known: Known | None) -> None:
        super().__init__(file, lambda tally: PerfSurvey(known).walk(entries(file.lines(tally), tally)))
        self.features: dict[str, Any] = {}
        self.frame_names: dict[tuple[int, int], tuple[TextFrame, ...]] = {}
        self.machine = self._machine()

    def context(self, resolve: Callable[[int], tuple[str, int] | None] | None = None) -> Context:
        """What text of its tracepoints needs, as of a perf.data."""
        return Context(self.machine.big_endian, self.machine.long_size, resolve=resolve)

    def _machine(self) -> Machine:
        lines = self._file.start.decode("utf-8", "replace").split("\n")
        told = dict(found for line in lines if (found := fact(line)) is not None)
        known = {name: told[word] for word, name in _FACTS.items() if word in told}
        return Machine(cpus=self.survey.cpus, recorder="perf script", **known)  # type: ignore[arg-type]

    def _entries(self, tally: Tally) -> Iterator[Entry | Missing]:
        return entries(self._file.lines(tally), tally)

    def _making(self, tally: Tally) -> Making:
        return PerfMaking(self.survey, tally, self.frame_names)


class PerfMaking(Making):
    """Threads' names are told where they change; each process has all of its addresses mapped, from nowhere."""

    def __init__(self, survey: Survey, tally: Tally, names: dict[tuple[int, int], tuple[TextFrame, ...]]) -> None:
        super().__init__(survey, Names(), tally)
        self._frame_names = names
        self._addresses = {(pid, frames): address for (pid, address), frames in names.items()}
        self._comm: dict[int, str] = {}
        self._pids: set[int] = set()
        self._stacks: list[list[int]] = []
        self._ips: list[tuple[int, int]] = []

    def add(self, one: Entry | Missing) -> None:
        if isinstance(one, Missing):
            self.between(LostEvents(cpu=one.cpu, count=one.count))
            return
        pid = one.pid = one.pid if one.pid >= 0 else one.tid
        one.period = one.period or 1
        if self._comm.get(one.tid) != one.comm:
            self._comm[one.tid] = one.comm
            self.between(Named(time=one.time, pid=pid, tid=one.tid, comm=one.comm))
        if one.frames and pid not in self._pids:
            self._pids.add(pid)
            self.between(MappedFile(time=one.time, pid=pid, tid=one.tid, start=0, size=1 << 63, path="//text"))
        self._stacks.append([] if one.after else self._stack(one))
        self._ips.append(self._place(one))
        super().add(one)

    def _stack(self, one: Entry) -> list[int]:
        """Addresses with perf's marks; what was inlined at an address belongs to the frame behind it. What was found on
        a program's stack may look like any address: behind the program's frames the kernel's are those with a name."""
        out: list[int] = []
        kernel: bool | None = None
        inner: list[TextFrame] = []
        for f in one.frames:
            inner.append(f)
            if f.inlined:
                continue
            above = in_kernel(f) and (kernel is not False or bool(f.name or f.module))
            if above is not kernel:
                kernel = above
                out.append(PERF_CONTEXT_KERNEL if kernel else PERF_CONTEXT_USER)
            out.append(self._named(-1 if kernel else one.pid, f.address, tuple(inner)))
            inner = []
        return out

    def _named(self, pid: int, address: int, frames: tuple[TextFrame, ...]) -> int:
        """The address that stands for these frames: perf prints places in files, of which several may be equal."""
        found = self._addresses.get((pid, frames))
        if found is not None:
            return found
        if len(self._frame_names) >= MOST_FRAMES:
            self._tally.add("names", "addresses of which no name is kept: there are too many")
            return address
        turns = (address ^ turn << TURN for turn in range(MOST_TURNS))
        found = next((one for one in turns if (pid, one) not in self._frame_names), address)
        self._frame_names.setdefault((pid, found), frames)
        self._addresses[pid, frames] = found
        return found

    def _place(self, one: Entry) -> tuple[int, int]:
        """(address, whose) where an event was: the place alone, or the innermost frame of its stack."""
        if not one.frames:
            return 0, IN_USER
        f: TextFrame = one.frames[0]
        kernel = in_kernel(f)
        address = self._named(-1 if kernel else one.pid, f.address, (f,)) if one.after else f.address
        return address, IN_KERNEL if kernel else IN_USER

    def _record(self, one: Entry) -> tuple[int, bytes]:
        kind = self._survey.kind(one.name)
        return (self._survey.index(kind), b"") if not is_tracepoint(kind.name) else super()._record(one)

    def batch(self, **columns: Any) -> EventBatch:
        order = np.argsort(np.array([r[1] for r in self._rows], np.uint64), kind="stable")
        size = np.array([len(s) for s in self._stacks], np.int64)
        values = np.array([a for s in self._stacks for a in s], np.uint64)
        stacks = Ragged(values, (np.cumsum(size) - size)[order], size[order]) if len(values) else None
        ips: Column = np.array(self._ips, np.uint64).reshape(len(self._ips), 2)[order]
        self._stacks, self._ips = [], []
        made = super().batch(stacks=stacks, **columns)
        numbers = {**made.numbers, "ip": np.ascontiguousarray(ips[:, 0]), "misc": ips[:, 1].astype(np.uint16)}
        return replace(made, numbers=numbers)
