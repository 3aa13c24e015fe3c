"""Recorded events as lines, as perf-script(1) prints them.

        COMM    TID [CPU]  SECONDS.MICROS:     PERIOD EVENT: ADDRESS symbol+0xoff (module)
        COMM    TID [CPU]  SECONDS.MICROS: system:event: text of the tracepoint
    COMM TID [CPU] SECONDS.MICROS: ... EVENT:
    <tab>ADDRESS symbol+0xoff (module)          with a stack: a line for each frame, then an empty one

A line is joined of pieces that are worked out once for many events: who and where once for each thread and CPU, places
once for each address, stacks once for each different one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.alike import alike
from probescope.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.symbols import Frame
    from probescope.collect.recorded.told import Told, ToldBatch
    from probescope.model.recording import EventType

    Column = np.ndarray[Any, Any]

FIELDS = ("comm", "pid", "tid", "cpu", "time", "period", "event", "trace", "ip", "sym", "symoff", "dso", "addr")
_THREE = [f"{n:03d}" for n in range(1000)]
Traces = Callable[["ToldBatch", int, "Column"], Sequence[str]]
"""The texts of some events (by their indices) of a tracepoint, by its index."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is printed. ``fields`` empty: what perf prints by itself for each kind of event, with ``changes`` such as
    ``+pid`` and ``-cpu``. ``nanoseconds``: nine digits of time. ``start``: ns that are taken from all times.
    ``max_stack``: frames of a stack, the innermost ones (perf's own limit is 127)."""

    fields: frozenset[str] = frozenset()
    changes: tuple[str, ...] = ()
    nanoseconds: bool = False
    start: int = 0
    max_stack: int = 127


class ScriptView:
    def __init__(self, told: Told, traces: Traces, choice: Choice) -> None:
        self._told, self._traces, self._choice = told, traces, choice
        self._places: dict[Frame, str] = {}
        self._blocks: dict[int, str] = {}
        self._width = 0
        self._kinds = 0

    def text(self, told: ToldBatch, keep: Column | None = None) -> str:
        """The lines of a batch; ``keep``: only of these events (indices, ascending)."""
        import numpy as np

        batch = told.batch
        events = self._told.recording.events
        if len(events) != self._kinds:
            self._kinds, self._width = len(events), max((len(e.name) for e in events), default=0)
        which = np.arange(batch.count) if keep is None else keep
        kinds = batch.event[which]
        present = np.unique(kinds).tolist()
        if len(present) == 1:
            return "".join(self._lines(told, which, present[0]))
        out: list[str] = [""] * len(which)
        for kind in present:
            places = np.flatnonzero(kinds == kind)
            for at, line in zip(places.tolist(), self._lines(told, which[places], kind), strict=True):
                out[at] = line
        return "".join(out)

    def _shown(self, event: EventType, told: ToldBatch) -> set[str]:
        """What perf chooses for a kind of event, less what was not recorded."""
        has = event.sampled
        chosen = set(self._choice.fields)
        if not chosen:
            chosen = {"comm", "tid", "cpu", "time", "event"}
            if event.fields:
                chosen.add("trace")
            else:
                chosen.add("period")
            if not event.fields or "callchain" in has:
                chosen |= {"ip", "sym", "symoff", "dso"}
        for change in self._choice.changes:
            (chosen.add if change[0] == "+" else chosen.discard)(change[1:])
        absent = {f for f in ("cpu", "time", "ip", "addr") if f not in has}
        return chosen - absent

    def _lines(self, told: ToldBatch, which: Column, kind: int) -> Iterator[str]:
        event = self._told.recording.events[kind]
        shown = self._shown(event, told)
        stacked = told.stacks is not None and "callchain" in event.sampled and "ip" in shown
        columns: list[Sequence[str]] = [self._who(told, which, shown, stacked)]
        if "time" in shown:
            columns += self._times(told.batch.time[which])
        if "period" in shown:
            columns.append([f"{p:10d} " for p in told.batch.period[which].tolist()])
        if "event" in shown:
            columns.append([f"{event.name:>{self._width}}: "] * len(which))
        if "trace" in shown and event.fields:
            columns.append(self._traces(told, kind, which))
        if "addr" in shown:
            columns.append([f"{a:16x} " for a in told.batch.numbers["addr"][which].tolist()])
        if stacked:
            columns.append(self._stacks(told, which, shown))
        elif "ip" in shown:
            columns.append(self._ips(told, which, shown))
        columns.append(["\n"] * len(which))
        return map("".join, zip(*columns, strict=True))

    # --- who, where, when

    def _who(self, told: ToldBatch, which: Column, shown: set[str], stacked: bool) -> list[str]:
        """Texts are made once for each thread, CPU and name."""
        b = told.batch
        columns = [told.names[which], b.pid[which], b.tid[which], b.cpu[which]]
        first, kinds = alike(columns)
        rows = zip(*(c[first].tolist() for c in columns), strict=True)
        texts = [self._one(*row, shown=shown, stacked=stacked) for row in rows]
        return list(map(texts.__getitem__, kinds.tolist()))

    def _one(self, name: int, pid: int, tid: int, cpu: int, *, shown: set[str], stacked: bool) -> str:
        out = ""
        if "comm" in shown:
            comm = self._told.tasks.names[name]
            out += f"{comm} " if stacked else f"{comm:>16} "
        if {"pid", "tid"} <= shown:
            out += f"{pid:7d}/{tid:<7d} "
        elif "pid" in shown:
            out += f"{pid:7d} "
        elif "tid" in shown:
            out += f"{tid:7d} "
        return out + (f"[{cpu:03d}] " if "cpu" in shown else "")

    def _times(self, times: Column) -> list[list[str]]:
        import numpy as np

        since = times - np.uint64(self._choice.start)
        seconds, rest = np.divmod(since, np.uint64(1_000_000_000))
        micros, nanos = np.divmod(rest, np.uint64(1000))
        high, low = np.divmod(micros, np.uint64(1000))
        width = 2 if self._choice.nanoseconds else 5
        out = [
            list(map((f"%{width}d.").__mod__, seconds.tolist())),
            list(map(_THREE.__getitem__, high.tolist())),
            list(map(_THREE.__getitem__, low.tolist())),
        ]
        if self._choice.nanoseconds:
            out.append(list(map(_THREE.__getitem__, nanos.tolist())))
        out.append([": "] * len(times))
        return out

    # --- places in code

    def _ips(self, told: ToldBatch, which: Column, shown: set[str]) -> list[str]:
        from probescope.collect.recorded.told import CPUMODE, KERNEL

        b = told.batch
        modes = (b.numbers["misc"][which] & CPUMODE).tolist() if "misc" in b.numbers else [2] * len(which)
        rows = zip(told.spaces[which].tolist(), b.numbers["ip"][which].tolist(), modes, strict=True)
        frame = self._told.frame
        return [" " + self._place(frame(space, ip, mode == KERNEL), shown) for space, ip, mode in rows]

    def _stacks(self, told: ToldBatch, which: Column, shown: set[str]) -> list[str]:
        assert told.stacks is not None
        numbers = told.stacks[which].tolist()
        blocks = self._blocks
        for n in set(numbers) - blocks.keys():
            frames = self._told.frames(n)[: self._choice.max_stack] if n >= 0 else ()
            blocks[n] = "\n" + "".join(f"\t{self._place(f, shown)}\n" for f in frames)
        return [blocks[n] for n in numbers]

    def _place(self, frame: Frame, shown: set[str]) -> str:
        found = self._places.get(frame)
        if found is None:
            found = f"{frame.address:16x}"
            if "sym" in shown:
                offset = f"+{frame.offset:#x}" if "symoff" in shown else ""
                found += f" {frame.name}{offset}" if frame.name else " [unknown]"
            if "dso" in shown:
                found += f" ({module_name(frame.module)})"
            self._places[frame] = found
        return found


def module_name(path: str) -> str:
    """As perf calls it: what is not known is ``[unknown]``."""
    return path or "[unknown]"
