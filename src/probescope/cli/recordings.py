"""Recordings as commands open them: what kind of file it is, which events are wanted, what was lost of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Self, TextIO

from probescope.cli.numbers import whole_list
from probescope.cli.parsing import cpu_list
from probescope.errors import FormatError, UsageError

if TYPE_CHECKING:
    import argparse

    import numpy as np

    from probescope.collect.recorded.missing import Missing
    from probescope.collect.recorded.search import Search
    from probescope.collect.recorded.told import ToldBatch
    from probescope.formats.perfdata.reader import PerfData
    from probescope.formats.tracing.cells import Cells
    from probescope.formats.tracing.fields import Records
    from probescope.formats.tracing.print_fmt import Printer
    from probescope.model.recording import Damage

    Column = np.ndarray[Any, Any]
    Keep = Callable[[ToldBatch], Column | None]


_USUAL = {
    "perf.data": ("probescope COMMAND -i FILE names another", "probescope record writes one"),
    "perf.data.old": ("probescope diff OLD NEW names others", "probescope record keeps the one before under this name"),
}
"""What helps where a file is not there that nobody has named."""


def opened(name: str, search: Search | None = None) -> Opened:
    """``search``: how names are looked for, if not as usual. Raises UsageError where it cannot be opened, FormatError
    where it is no recording."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts in half the time
    from probescope.cli.symbols import plain_search
    from probescope.formats.perfdata import open_perfdata
    from probescope.formats.sniff import OF_FTRACE, recording_kind

    try:
        kind = recording_kind(name)
        if kind not in {"", "perf.data"}:
            from probescope.recorded import opened as any_opened

            recording: Any = any_opened(name)
            if kind in OF_FTRACE:
                from probescope.collect.recorded.traced import Traced

                recording = Traced(recording)
            return Opened(recording, search or plain_search(name))
        recording = open_perfdata(sys.stdin.buffer if name == "-" else name)
        return Opened(recording, search or plain_search(name))
    except OSError as e:
        raise UsageError(f"cannot read {name}: {e.strerror}", hints=_USUAL.get(name, ())) from e


class Opened:
    """``told`` goes through the events once."""

    def __init__(self, recording: PerfData, search: Search) -> None:
        from probescope.collect.recorded.modules import build_ids
        from probescope.collect.recorded.told import Told, here
        from probescope.formats.tracing.fields import Texts
        from probescope.model.recording import OFF_CPU

        self.recording = recording
        self.told = Told(recording, here(), build_ids(recording.build_ids), search)
        if any(e.name == OFF_CPU for e in recording.events):
            self.told.tasks.forget_ended = False  # they waited before they ended, and are told of behind it
        self._context = recording.context(self.told.function)
        self._printers: dict[int, Printer] = {}
        self._texts = Texts()
        self._pauses: dict[int, list[int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.recording.close()

    def records(self, told: ToldBatch, which: Column) -> Records:
        """The raw records of some events."""
        from probescope.formats.tracing.fields import Records
        from probescope.model.recording import Ragged

        raw = told.batch.raw
        if raw is None:
            raise FormatError("these events have no raw records", file=self.recording.name)
        some = Ragged(raw.values, raw.start[which], raw.size[which])
        m = self.recording.machine
        return Records(some, m.big_endian, m.long_size, self._texts)

    def traces(self, told: ToldBatch, kind: int, which: Column) -> list[str]:
        """Texts of a tracepoint's records."""
        if told.batch.raw is None:
            return [""] * len(which)
        return self._printer(kind).texts(self.records(told, which))

    def _printer(self, kind: int) -> Printer:
        from probescope.formats.tracing.print_fmt import compile_event

        printer = self._printers.get(kind)
        if printer is None:
            printer = self._printers[kind] = compile_event(self.recording.events[kind], self._context)
        return printer

    def trace_cells(self, told: ToldBatch, kind: int, which: Column) -> list[Cells]:
        """The same as columns of bytes."""
        from probescope.formats.tracing.repeats import cells_of

        if told.batch.raw is None:
            return []
        own = (f.offset for f in self.recording.events[kind].fields if not f.name.startswith("common_"))
        pause = self._pauses.setdefault(kind, [0])
        return cells_of(self._printer(kind), self.records(told, which), min(own, default=0), pause)

    def parts(self, make: Callable[[ToldBatch], bytes], jobs: int = 0) -> Generator[bytes | memoryview]:
        """What is made of each batch, in order, by ``jobs`` processes (0: as many as are worth it): see
        ``sharing.parts``."""
        from probescope.collect.recorded.sharing import jobs_for, parts

        yield from parts(self.told, make, jobs_for(self.told, jobs))

    def sums(
        self,
        add: Callable[[ToldBatch], None],
        part: Callable[[], Any],
        join: Callable[[Any], None],
        jobs: int = 0,
    ) -> None:
        """Sums of all batches by ``jobs`` processes (0: as many as are worth it): see ``sharing.sums``."""
        from probescope.collect.recorded.sharing import jobs_for, sums

        sums(self.told, add, part, join, jobs_for(self.told, jobs))

    def filter(self, args: argparse.Namespace) -> Keep:
        """Indices of the events that the options ask for; ``None`` for all of them. Raises UsageError."""
        import numpy as np

        from probescope.views.spans import within

        tests: list[Callable[[ToldBatch], Column]] = []
        for option, column in (("pid", "pid"), ("tid", "tid")):
            wanted = _numbers(getattr(args, option, None), option)
            if wanted is not None:
                tests.append(lambda t, c=column, w=wanted: np.isin(getattr(t.batch, c), w))  # type: ignore[misc]
        if getattr(args, "cpu", None) is not None:
            cpus = cpu_list(args.cpu)
            self._must_have("cpu", "-C", "record --sample-cpu, or -a")
            tests.append(lambda t: np.isin(t.batch.cpu, cpus))
        if getattr(args, "comms", None):
            names = set(args.comms.split(","))
            tests.append(lambda t: np.isin(t.names, [i for i, n in enumerate(self.told.tasks.names) if n in names]))
        if getattr(args, "time", None):
            found = self.spans(args.time)
            self._must_have("time", "--time", "record -T")
            tests.append(lambda t: within(t.batch.time, found))

        def keep(told: ToldBatch) -> Column | None:
            if not tests:
                return None
            mask = tests[0](told)
            for test in tests[1:]:
                mask = mask & test(told)
            return np.flatnonzero(mask)

        return keep

    def _must_have(self, number: str, option: str, how: str) -> None:
        """Raises UsageError where no event has what is asked for. Of a pipe nothing is known yet."""
        events = self.recording.events
        if events and not any(number in e.sampled for e in events):
            raise UsageError(f"{option}: no event was recorded with its {number.replace('cpu', 'CPU')}", hints=[how])

    def event(self, name: str | None) -> int:
        """The index of an event by its name; without one, of the first that is no dummy. Raises UsageError,
        FormatError."""
        from probescope.diagnostics import nearest

        names = [e.name for e in self.recording.events]
        if not names:
            raise FormatError("it tells of no events", file=self.recording.name)
        own = getattr(self.recording, "default_event", None)
        if name is None and own is not None:
            return int(own())
        if name is None:
            return next((i for i, n in enumerate(names) if not n.startswith("dummy")), 0)
        if name in names:
            return names.index(name)
        hints = [f"did you mean {n}?" for n in nearest(name, names)]
        raise UsageError(f"there is no event '{name}' in it", hints=[*hints, "events: " + ", ".join(names)])

    def times(self) -> tuple[int, int]:
        """Of the first and the last sample, in ns, if the file's header says so; else (0, 0)."""
        found = self.recording.features.get("SAMPLE_TIME")
        first, last = getattr(found, "first", 0), getattr(found, "last", 0)
        if isinstance(found, tuple | list) and len(found) == 2:
            first, last = found
        return (first, last) if last > first else (0, 0)

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """(from, to) in ns of ``--time``, ends included; shares of a file whose header does not tell when it begins and
        ends take a walk through its events. Raises UsageError."""
        from probescope.views.spans import HINTS, spans

        found, times = spans(text), self.times()
        if found.shares and not any(times) and self.recording.name != "<stdin>":
            ends = [(int(b.time[0]), int(b.time[-1])) for b in self.recording.batches() if b.count]
            times = (min(e[0] for e in ends), max(e[1] for e in ends)) if ends else (0, 0)
        if found.shares and not any(times):
            raise UsageError("the file does not tell when it begins and ends", hints=HINTS[:1])
        return found.resolved(*times)

    def missing(self) -> list[Missing]:
        """What has no names, so far."""
        from probescope.collect.recorded.missing import missing
        from probescope.kernel.packages import advice

        return missing(self.told.symbols, advice)

    def tell_missing(self, out: TextIO) -> None:
        """The modules whose functions have no names, the most frequent first; stacks that were not recorded whole."""
        from probescope.collect.recorded.missing import lines

        found = self.missing()
        if found:
            out.write("WARNING: functions without a name:\n" + "".join(f"{line}\n" for line in lines(found)))
        cut, unwound = self.told.unwinder.cut, self.told.unwinder.unwound
        if cut * 100 > unwound:
            out.write(f"NOTE: {cut} of {unwound} stacks are longer than what was recorded of them\n")
            out.write("HINT: record more of each: --call-graph dwarf,32768\n")

    def tell_damage(self, out: TextIO) -> None:
        tell_damage(self.recording.name, self.recording.damage, out)
        traced = getattr(self.recording, "aux_bytes", 0)
        if traced:
            out.write(f"NOTE: {self.recording.name}: {traced} bytes of trace data of processors are not decoded here\n")
        merged = self.told.tasks.merged
        if merged:
            about = "memory changed too often: its names before may be those of after"
            out.write(f"WARNING: {self.recording.name}: {merged} times: {about}\n")


def tell_damage(name: str, damage: Iterable[Damage], out: TextIO) -> None:
    """What of a file could not be used, for the end of a command's standard error."""
    for d in damage:
        where = f" (first at {d.offset:#x})" if d.offset >= 0 else ""
        out.write(f"WARNING: {name}: {d.count} times: {d.about}{where}\n")


def _numbers(text: str | None, option: str) -> list[int] | None:
    if text is None:
        return None
    numbers = whole_list(text)
    if numbers is None:
        raise UsageError(f"'{text}' is not a list of numbers", hints=[f"--{option} 12,34"])
    return numbers
