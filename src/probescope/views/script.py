"""Recorded events as lines, as perf-script(1) prints them.

        COMM    TID [CPU]  SECONDS.MICROS:     PERIOD EVENT: ADDRESS symbol+0xoff (module)
        COMM    TID [CPU]  SECONDS.MICROS: system:event: text of the tracepoint
    COMM TID [CPU] SECONDS.MICROS: ... EVENT:
    <tab>ADDRESS symbol+0xoff (module)          with a stack: a line for each frame, then an empty one

Lines are put together of columns of bytes. Their texts are worked out once for many events: who and where once for each
thread and CPU, places once for each address, stacks once for each different one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from probescope.frozen import dataclass
from probescope.model.alike import alike
from probescope.views.script_fields import Asked, of_head, shown
from probescope.views.script_parts import NUMBERS, packed, unpacked, until, worded
from probescope.views.sides import HEAD, Sides

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.symbols import Frame
    from probescope.collect.recorded.told import Told, ToldBatch
    from probescope.formats.tracing.cells import Cells

    Column = np.ndarray[Any, Any]

Traces = Callable[["ToldBatch", int, "Column"], "list[Cells]"]
"""The texts of some events (by their indices) of a tracepoint, by its index, as columns of cells."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is printed. ``asked``: what each ``-F`` says; none, and it is what perf prints by itself. ``nanoseconds``:
    nine digits of time. ``relative``: times since the first that is printed. ``max_stack``: frames of a stack, the
    innermost ones (perf's own limit is 127). ``sides``: what else is printed, of ``sides.KINDS``. ``stacks``: printed
    where they were recorded; else where each event was. ``deltas``: times since the line before; lines must be asked
    for in order then. ``stop``: functions behind which stacks end. ``latency``: names cut to eight characters, CPUs
    without brackets."""

    asked: tuple[Asked, ...] = ()
    nanoseconds: bool = False
    relative: bool = False
    max_stack: int = 127
    sides: tuple[str, ...] = ()
    stacks: bool = True
    deltas: bool = False
    stop: frozenset[str] = frozenset()
    latency: bool = False


class ScriptView:
    def __init__(self, told: Told, traces: Traces, choice: Choice) -> None:
        self._told, self._traces, self._choice = told, traces, choice
        self._places: dict[int, tuple[Frame, str]] = {}  # with the frame, so that no other one has its identity
        self._lines: dict[int, str] = {}  # the same as lines of a stack
        self._blocks: dict[int, bytes] = {}
        head = of_head(choice.asked, HEAD)
        self._sides = Sides(choice.sides, self._time, head) if choice.sides else None
        self._width = 0
        self._kinds = 0
        self._start = 0
        self._last = 0
        """The time of the line before."""
        self._room = 0
        """Columns of the longest text of a memory access so far: shorter ones are filled up, as perf does."""
        self._rooms: Column | None = None
        self._shown_of: dict[int, set[str]] = {}
        self._silent = any(one.fields == frozenset() for one in choice.asked)

    def text(self, told: ToldBatch, keep: Column | None = None) -> bytes:
        """The lines of a batch; ``keep``: only of these events (indices, ascending)."""
        import numpy as np

        from probescope.formats.tracing import cells

        batch = told.batch
        events = self._told.recording.events
        if len(events) != self._kinds:
            self._kinds, self._width = len(events), max((len(e.name) for e in events), default=0)
            self._shown_of = {kind: self._shown(kind) for kind in range(len(events))}
        which = np.arange(batch.count) if keep is None else keep
        if self._silent:
            which = which[np.array([bool(self._shown_of[k]) for k in range(len(events))])[batch.event[which]]]
        if self._choice.relative and not self._start:
            self._start = self._first(told, which)
        if self._choice.deltas:
            told = self._since_before(told, which)
        if self._sides is None or not batch.between:
            pieces = (which[at : at + cells.AT_ONCE] for at in range(0, len(which), cells.AT_ONCE))
            return b"".join(cells.lines(self._parts(told, piece), len(piece)) for piece in pieces)
        found = cells.each_line(self._parts(told, which), len(which)) if len(which) else []
        return b"".join(self._with_sides(told, found, which))

    def _first(self, told: ToldBatch, which: Column) -> int:
        """The earliest time that is printed."""
        times = told.batch.time[which[:1]].tolist()
        for _, record in told.batch.between if self._sides is not None else ():
            if record.time and self._sides is not None and self._sides.line(record) is not None:
                times.append(record.time)
                break
        return min(times, default=0)

    def _since_before(self, told: ToldBatch, which: Column) -> ToldBatch:
        """With times since what was printed before: each event, and each record that is shown."""
        import numpy as np

        from probescope.frozen import replace

        times = told.batch.time.copy()
        moments = np.array(times[which], np.uint64)
        before = np.concatenate((np.array([self._last], np.uint64), moments[:-1])) if len(moments) else moments
        self._last = int(moments[-1]) if len(moments) else self._last
        since = np.where(before > 0, moments - before, np.uint64(0))
        times[which] = since
        return replace(told, batch=replace(told.batch, time=times))

    def _with_sides(self, told: ToldBatch, found: list[bytes], which: Column) -> Iterator[bytes]:
        """The lines of events, and of what happened between."""
        assert self._sides is not None
        done = 0
        for at, record in told.batch.between:
            line = self._sides.line(record)
            if line is not None:
                until = int(which.searchsorted(at))
                yield from found[done:until]
                done = max(done, until)
                yield _bytes(line)
        yield from found[done:]

    def _parts(self, told: ToldBatch, which: Column) -> list[tuple[Column | None, list[Cells]]]:
        """The cells of each kind of event, with the places of its lines."""
        import numpy as np

        kinds = told.batch.event[which]
        present = np.flatnonzero(np.bincount(kinds, minlength=1)).tolist() if len(which) else []
        accesses = [kind for kind in present if "data_src" in self._shown_of[kind]]
        if accesses:
            self._widen(told, which[np.isin(kinds, accesses)])
        if len(present) == 1:
            return [(None, self._cells(told, which, present[0]))]
        places = {kind: (kinds == kind).nonzero()[0] for kind in present}
        return [(at, self._cells(told, which[at], kind)) for kind, at in places.items()]

    def _widen(self, told: ToldBatch, which: Column) -> None:
        """Each text of a memory access is at least as long as those before it, of whatever event they are."""
        import numpy as np

        from probescope.views import script_memory

        different, kinds = np.unique(told.batch.numbers["data_src"][which], return_inverse=True)
        lengths = np.array([len(script_memory.told(n)) for n in different.tolist()])[kinds]
        self._rooms = np.zeros(told.batch.count, np.int64)
        self._rooms[which] = np.maximum(np.maximum.accumulate(lengths), self._room)
        self._room = int(self._rooms[which[-1]])

    def _sources(self, told: ToldBatch, which: Column) -> Cells:
        from probescope.views import script_memory

        assert self._rooms is not None
        found = told.batch.numbers["data_src"][which]
        columns = [found.view("i8"), self._rooms[which]]
        return self._each(columns, lambda n, room: script_memory.told(n & (1 << 64) - 1).ljust(room))

    def _shown(self, kind: int) -> set[str]:
        attrs = getattr(self._told.recording, "attrs", ())
        event = self._told.recording.events[kind]
        type_ = attrs[kind].type if kind < len(attrs) else -1
        return shown(event, type_, self._choice.asked, stacks=self._choice.stacks)

    def _cells(self, told: ToldBatch, which: Column, kind: int) -> list[Cells]:
        from probescope.views import script_parts as parts

        event = self._told.recording.events[kind]
        shown = self._shown_of[kind]
        stacked = told.stacks is not None and "callchain" in event.sampled and "ip" in shown and self._choice.stacks
        columns: list[Cells] = [self._who(told, which, shown, stacked)]
        if "misc" in shown and "misc" in told.batch.numbers:
            columns.append(self._alike(told.batch.numbers["misc"][which] & 7, parts.misc))
        if "time" in shown:
            columns += self._times(told.batch.time[which])
        if "period" in shown:
            columns.append(self._numbers(told.batch.period[which], "%10d "))
        if "event" in shown:
            columns.append(_bytes(f"{event.name:>{self._width}}: "))
        if "trace" in shown and event.fields:
            columns += self._traces(told, kind, which)
        if "addr" in shown:
            columns.append(self._addresses(told, which, kind, shown))
        if "data_src" in shown:
            columns.append(self._sources(told, which))
        for name, form in NUMBERS.items():
            if name in shown and name in told.batch.numbers:
                columns.append(self._numbers(told.batch.numbers[name][which], form))
        if stacked:
            columns.append(self._stacks(told, which, shown))
        elif "ip" in shown:
            columns.append(self._ips(told, which, shown))
        return [*columns, *self._parts_of(told, which, kind, shown), b"\n"]

    def _parts_of(self, told: ToldBatch, which: Column, kind: int, shown: set[str]) -> list[Cells]:
        """What is printed only where it is asked for."""
        from probescope.views import script_parts as parts

        b, recording = told.batch, self._told.recording
        attrs = getattr(recording, "attrs", ())
        out: list[Cells] = []
        for field, values, mask, abi in (
            ("iregs", b.registers_intr, "sample_regs_intr", None),
            ("uregs", b.registers, "sample_regs_user", b.numbers.get("regs_abi")),
        ):
            if field in shown and values is not None and kind < len(attrs):
                names = parts.named(recording.machine.arch, getattr(attrs[kind], mask))
                out.append(parts.registers(names, values, abi, which))
        out += self._branches(told, which, shown)
        there = shown & recording.events[kind].sampled & b.numbers.keys()
        if "phys_addr" in there:
            out.append(self._numbers(b.numbers["phys_addr"][which], "%16x"))
        out += [self._alike(b.numbers[field][which], parts.page) for field in parts.PAGES if field in there]
        told_by_program = kind < len(attrs) and (attrs[kind].type, attrs[kind].config) == parts.BPF_OUTPUT
        if "bpf-output" in shown and b.raw is not None and told_by_program:
            out.append(parts.dumped(b.raw, which))
        return out

    def _branches(self, told: ToldBatch, which: Column, shown: set[str]) -> list[Cells]:
        from probescope.views import script_branches

        def look(i: int, address: int) -> Frame:
            return self._told.anywhere(int(told.spaces[i]), address)

        return [
            script_branches.branches(told.batch, which, look, names=field == "brstacksym", files="dso" in shown)
            for field in ("brstack", "brstacksym")
            if field in shown
        ]

    # --- who, where, when

    def _who(self, told: ToldBatch, which: Column, shown: set[str], stacked: bool) -> Cells:
        """Texts are made once for each thread, CPU and name."""
        import numpy as np

        b = told.batch
        pid = b.pid[which] if "pid" in shown else np.zeros(len(which), np.int32)
        # two numbers in one, as fewer are told apart faster
        columns = [packed(told.names[which], pid), packed(b.tid[which], b.cpu[which])]

        def text(first: int, second: int) -> str:
            name, pid, tid, cpu = (*unpacked(first), *unpacked(second))
            return self._one(name, pid, tid, cpu, shown=shown, stacked=stacked)

        return self._each(columns, text)

    def _each(self, columns: list[Column], text: Callable[..., str]) -> Cells:
        """The text of each row of numbers, made once for those that are alike."""
        from probescope.formats.tracing import cells

        first, kinds = alike(columns)
        made = cells.texts(_bytes(text(*row)) for row in zip(*(c[first].tolist() for c in columns), strict=True))
        return made.take(kinds)

    def _alike(self, numbers: Column, text: Callable[[int], str]) -> Cells:
        import numpy as np

        from probescope.formats.tracing import cells

        different, kinds = np.unique(numbers, return_inverse=True)
        return cells.texts(_bytes(text(n)) for n in different.tolist()).take(kinds)

    def _numbers(self, numbers: Column, form: str) -> Cells:
        import numpy as np

        from probescope.formats.tracing import cells

        if len(numbers) and (numbers == numbers[0]).all():
            return _bytes(form % int(numbers[0]))
        different, kinds = np.unique(numbers, return_inverse=True)
        return cells.texts(_bytes(form % n) for n in different.tolist()).take(kinds)

    def _one(self, name: int, pid: int, tid: int, cpu: int, *, shown: set[str], stacked: bool) -> str:
        out = ""
        if "comm" in shown:
            comm = self._told.tasks.names[name]
            out += f"{comm:>8.8} " if self._choice.latency else f"{comm} " if stacked else f"{comm:>16} "
        if {"pid", "tid"} <= shown:
            out += f"{pid:7d}/{tid:<7d} "
        elif "pid" in shown:
            out += f"{pid:7d} "
        elif "tid" in shown:
            out += f"{tid:7d} "
        if "cpu" in shown:
            out += f"{cpu:3d} " if self._choice.latency else f"[{cpu:03d}] "
        return out

    def _time(self, time: int) -> str:
        seconds, rest = divmod(time - self._start if time else 0, 1_000_000_000)
        return f"{seconds:2d}.{rest:09d}" if self._choice.nanoseconds else f"{seconds:5d}.{rest // 1000:06d}"

    def _times(self, times: Column) -> list[Cells]:
        import numpy as np

        from probescope.formats.tracing import cells

        long = self._choice.nanoseconds
        since = times - np.uint64(self._start)
        return [*cells.seconds(since, 2 if long else 5, 9 if long else 6), b": "]

    # --- places in code

    def _ips(self, told: ToldBatch, which: Column, shown: set[str]) -> Cells:
        import numpy as np

        from probescope.collect.recorded.told import CPUMODE, KERNEL

        b = told.batch
        kernel = (b.numbers["misc"][which] & CPUMODE) == KERNEL if "misc" in b.numbers else np.zeros(len(which), "?")
        columns = [told.spaces[which], b.numbers["ip"][which].view(np.int64), kernel]
        if "srcline" in shown:
            return self._each(columns, lambda space, ip, k: " " + self._with_line(space, ip, bool(k), shown))
        frame = self._told.frame
        return self._each(
            columns, lambda space, ip, k: " " + self._place(frame(space, ip & (1 << 64) - 1, bool(k)), shown)
        )

    def _with_line(self, space: int, ip: int, kernel: bool, shown: set[str]) -> str:
        from probescope.frozen import replace

        address = ip & (1 << 64) - 1
        file, line = self._told.line(space, address, kernel)
        return worded(replace(self._told.frame(space, address, kernel), file=file, line=line), shown)

    def _addresses(self, told: ToldBatch, which: Column, kind: int, shown: set[str]) -> Cells:
        """What was accessed: of page faults with what is there."""
        import numpy as np

        from probescope.views.script_parts import FAULTS

        attrs = getattr(self._told.recording, "attrs", ())
        found = told.batch.numbers["addr"][which]
        fault = kind < len(attrs) and (attrs[kind].type, attrs[kind].config) in FAULTS
        if not fault or not {"sym", "dso"} & shown:
            return self._numbers(found, "%16x")
        data, named = self._told.data, shown - {"srcline"}
        return self._each(
            [told.spaces[which], found.view(np.int64)],
            lambda space, address: worded(data(space, address & (1 << 64) - 1), named),
        )

    def _stacks(self, told: ToldBatch, which: Column, shown: set[str]) -> list[bytes]:
        assert told.stacks is not None
        numbers = told.stacks[which].tolist()
        blocks = self._blocks
        for n in set(numbers) - blocks.keys():
            frames = until(self._told.frames(n)[: self._choice.max_stack] if n >= 0 else (), self._choice.stop)
            blocks[n] = _bytes("\n" + self._frames(frames, shown))
        return [blocks[n] for n in numbers]

    def _frames(self, frames: Sequence[Frame], shown: set[str]) -> str:
        known = self._lines
        try:
            return "".join([known[id(f)] for f in frames])
        except KeyError:
            known.update((id(f), f"\t{self._place(f, shown)}\n") for f in frames)
            return "".join([known[id(f)] for f in frames])

    def _place(self, frame: Frame, shown: set[str]) -> str:
        """Frames are few objects, of which ``Told`` gives the same again and again: a hash of all that they hold would
        cost more than the text."""
        known = self._places.get(id(frame))
        if known is not None:
            return known[1]
        found = worded(frame, shown)
        self._places[id(frame)] = frame, found
        return found


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
