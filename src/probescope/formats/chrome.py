"""Trace Event JSON, which chrome://tracing, Perfetto and others open.

    {"traceEvents": [
      {"ph": "X", "name", "cat", "pid", "tid", "ts", "dur", "args"}     a slice: a frame of a stack, a thread on a CPU
      {"ph": "i", "name", "cat", "pid", "tid", "ts", "s": "t", "args"}  an event, shown as a mark
      {"ph": "M", "name": "thread_name", "pid", "tid", "args": {"name"}}
     ], "otherData": {...}}

Times are in microseconds, with three digits for nanoseconds. A sample stands for a stretch of time; samples of a thread
that follow each other share the slices of the frames that they share, as in a flame chart. CPUs are threads of a
process of their own, with numbers that no process has. Events are written as they come.
Source: "Trace Event Format" (Chromium project).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from probescope.formats.jsontext import Texts, dumps
from probescope.formats.stacktable import Measure, Owner, SampleBatch, StackTable

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]

CPUS = (1 << 22) + 1
"""PID_MAX_LIMIT and one: the process that CPUs are threads of."""


class ChromeWriter:
    """``samples``, ``events`` and ``switches`` in order of time, then ``close``."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._texts = Texts()
        self._started = False
        self._threads: set[tuple[int, int]] = set()
        self._processes: dict[int, str] = {}
        self._running: dict[int, tuple[int, str, int, int]] = {}
        self._charts: list[Chart] = []
        out.write('{"displayTimeUnit":"ns","traceEvents":[\n')

    def _put(self, lines: Iterable[str]) -> None:
        text = ",\n".join(lines)
        if text:
            self._out.write(",\n" + text if self._started else text)
            self._started = True

    def named(self, owner: Owner) -> tuple[int, int]:
        """The numbers that an owner's events carry. Its name is written when it is met first."""
        pid = owner.pid if owner.pid >= 0 else max(owner.tid, 0)
        tid = owner.tid if owner.tid >= 0 else pid
        if (pid, tid) not in self._threads:
            self._threads.add((pid, tid))
            self._put(self._names(owner.comm or owner.title() or "all", pid, tid))
        return pid, tid

    def _names(self, name: str, pid: int, tid: int) -> Iterator[str]:
        shown = self._texts[name]
        yield f'{{"ph":"M","name":"thread_name","pid":{pid},"tid":{tid},"args":{{"name":{shown}}}}}'
        if pid not in self._processes or pid == tid:
            self._processes[pid] = name
            whole = '"CPUs"' if pid == CPUS else shown
            yield f'{{"ph":"M","name":"process_name","pid":{pid},"tid":{tid},"args":{{"name":{whole}}}}}'

    def chart(self, table: StackTable, measure: Measure) -> Chart:
        """For the samples of one measure."""
        made = Chart(self, table, measure)
        self._charts.append(made)
        return made

    def events(self, name: str, owners: Sequence[Owner], times: Column, fields: Mapping[str, Sequence[Any]]) -> None:
        """Marks. ``owners`` and each of ``fields`` have an item for each of ``times`` (ns)."""
        places = [self.named(o) for o in owners]
        head = f'{{"ph":"i","s":"t","cat":{self._texts[name.partition(":")[0]]},"name":{self._texts[name]}'
        keys = [f"{self._texts[key]}:" for key in fields]
        rows = zip(*(self._values(column) for column in fields.values()), strict=True) if fields else None
        lines = []
        for (pid, tid), time in zip(places, times.tolist(), strict=True):
            args = ",".join(map("".join, zip(keys, next(rows), strict=True))) if rows else ""
            lines.append(f'{head},"pid":{pid},"tid":{tid},"ts":{micro(time)},"args":{{{args}}}}}')
        self._put(lines)

    def _values(self, column: Sequence[Any]) -> list[str]:
        texts = self._texts
        return [texts[v] if isinstance(v, str) else str(v) for v in column]

    def switches(self, times: Column, cpus: Column, nexts: Column, names: Sequence[str], states: Sequence[Any]) -> None:
        """A CPU goes on with thread ``nexts`` called ``names``; what ran before is left in ``states``."""
        lines: list[str] = []
        rows = zip(times.tolist(), cpus.tolist(), nexts.tolist(), names, states, strict=True)
        for time, cpu, tid, name, state in rows:
            lines += self._left(cpu, time, state)
            self._running[cpu] = (tid, name, time, cpu)
        self._put(lines)

    def _left(self, cpu: int, time: int, state: object) -> list[str]:
        was = self._running.pop(cpu, None)
        if was is None or not was[0]:
            return []
        _, place = self.named(Owner(f"CPU {cpu}", CPUS, CPUS + 1 + cpu))  # viewers take equal tids for one thread
        args = f'"tid":{was[0]}' + (f',"left":{dumps(state)}' if state is not None else "")
        head = f'{{"ph":"X","cat":"cpu","name":{self._texts[was[1]]},"pid":{CPUS},"tid":{place}'
        return [f'{head},"ts":{micro(was[2])},"dur":{micro(time - was[2])},"args":{{{args}}}}}']

    def calls(self, rows: Iterable[tuple[Owner, int, str]]) -> None:
        """(whose, ns, function) where calls begin, without a function where they end; of each owner one within the
        other."""
        lines: list[str] = []
        for owner, time, name in rows:
            pid, place = self.named(owner)
            head = f'{{"ph":"{"B" if name else "E"}","pid":{pid},"tid":{place},"ts":{micro(time)}'
            lines.append(f'{head},"cat":"function","name":{self._texts[name]}}}' if name else head + "}")
        self._put(lines)

    def slice(self, place: tuple[int, int], name: str, module: str, start: int, end: int) -> str:
        args = f'{{"module":{self._texts[module]}}}' if module else "{}"
        head = f'{{"ph":"X","cat":"sample","name":{self._texts[name]},"pid":{place[0]},"tid":{place[1]}'
        return f'{head},"ts":{micro(start)},"dur":{micro(end - start)},"args":{args}}}'

    def close(self, end: int, other: Mapping[str, Any]) -> None:
        """``end``: when what still runs is cut off. ``other``: told about the recording."""
        for chart in self._charts:
            self._put(chart.closed())
        for cpu in list(self._running):
            self._put(self._left(cpu, end, None))
        self._out.write(f'\n],"otherData":{dumps(dict(other))}}}\n')


class Chart:
    """Samples of a measure as slices. A frame's slice goes on while the next sample of its owner has it too and comes
    before the time is over that the last one stands for."""

    def __init__(self, writer: ChromeWriter, table: StackTable, measure: Measure) -> None:
        self._writer, self._table = writer, table
        self._span = 10**9 // measure.hz if measure.hz else 0
        self._open: dict[int, _Open] = {}
        self._paths: dict[int, list[int]] = {}

    def add(self, batch: SampleBatch) -> None:
        lines: list[str] = []
        columns = (batch.time, batch.owner, batch.node, batch.weight)
        for time, owner, node, weight in zip(*(c.tolist() for c in columns), strict=True):
            state = self._open.get(owner)
            if state is None:
                state = self._open[owner] = _Open(self._writer.named(self._table.owners[owner]))
            span = self._span or int(weight)
            if state.frames and time > state.end + span // 2:
                lines += self._shut(state, 0, state.end)
            path = self._path(node)
            same = 0
            for (frame, _), other in zip(state.frames, path, strict=False):
                if frame != other:
                    break
                same += 1
            lines += self._shut(state, same, time)
            state.frames += [(frame, time) for frame in path[same:]]
            state.end = time + span
        self._writer._put(lines)

    def _path(self, node: int) -> list[int]:
        found = self._paths.get(node)
        if found is None:
            found = self._paths[node] = self._table.path(node)
        return found

    def _shut(self, state: _Open, keep: int, time: int) -> Iterator[str]:
        for frame, start in state.frames[keep:]:
            f = self._table.frames[frame]
            yield self._writer.slice(state.place, f.name, f.module, start, max(time, start))
        del state.frames[keep:]

    def closed(self) -> Iterator[str]:
        for state in self._open.values():
            yield from self._shut(state, 0, state.end)


class _Open:
    """``frames``: (frame, when it began), outermost first; ``end``: when the last sample's time is over."""

    __slots__ = ("end", "frames", "place")

    def __init__(self, place: tuple[int, int]) -> None:
        self.place = place
        self.frames: list[tuple[int, int]] = []
        self.end = 0


def micro(ns: int) -> str:
    whole, rest = divmod(ns, 1000)
    return f"{whole}.{rest:03}" if rest else str(whole)
