"""Stacks of a trace.dat: events of their own, written right after the event that they are of, on the same CPU.

    [000] sched_switch: ...
    [001] irq_handler_entry: ...
    [000] kernel_stack: <addresses>      of the sched_switch

Source: __ftrace_trace_stack in kernel/trace/trace.c. Old kernels end a stack with ULONG_MAX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.modules import KERNEL
from probescope.collect.recorded.stacks import Stacks
from probescope.collect.recorded.symbols import Frame
from probescope.model.recording import Ragged

if TYPE_CHECKING:
    import numpy as np

    from probescope.formats.tracedat.reader import TraceDat
    from probescope.formats.tracetext.reader import TraceText
    from probescope.model.recording import EventBatch

    Column = np.ndarray[Any, Any]

NAME = "ftrace:kernel_stack"


class KernelStacks:
    def __init__(self, recording: TraceDat | TraceText) -> None:
        self._recording = recording
        self._stacks = Stacks()
        self._kind = next((i for i, e in enumerate(recording.events) if e.name == NAME), -1)
        event = recording.events[self._kind] if self._kind >= 0 else None
        caller = event.field("caller") if event is not None else None
        self._offset = caller.offset if caller is not None else -1

    def there(self, batch: EventBatch) -> bool:
        return self._offset >= 0 and bool((batch.event == self._kind).any())

    def which(self, batch: EventBatch) -> Column:
        """A mask of those that are stacks."""
        found: Column = batch.event == self._kind
        return found

    def addresses(self, stack: int) -> tuple[int, ...]:
        """Innermost first."""
        return self._stacks.chains[stack][1]

    def frames(self, stack: int) -> tuple[Frame, ...]:
        """The same by their names."""
        return tuple(map(self.frame, self.addresses(stack)))

    def frame(self, address: int) -> Frame:
        """Of the kernel, by the symbols that the recording holds."""
        found = self._recording.symbols.name(address)
        if found is None:
            return Frame(address, "", 0, KERNEL, kernel=True)
        name, _, module = found[0].partition(" ")
        return Frame(address, name, address - found[1], module or KERNEL, kernel=True)

    def of(self, batch: EventBatch) -> tuple[Column | None, Column | None]:
        """(the number of each event's stack, -1 for none; which events are no stacks); None where there are no
        stacks. A stack at the beginning of a batch, whose event was in the one before, is nobody's."""
        import numpy as np

        if self._kind < 0 or self._offset < 0 or batch.raw is None:
            return None, None
        stacks, before = self._places(batch)
        if not len(stacks):
            return None, None
        numbers = np.full(batch.count, -1, np.int32)
        chains = self._chains(batch.raw, stacks)
        numbers[before] = self._stacks.numbers(chains, np.zeros(len(stacks), np.int32))
        return numbers, batch.event != self._kind

    def _places(self, batch: EventBatch) -> tuple[Column, Column]:
        """Indices of stacks, and of the events that they are of."""
        import numpy as np

        stacks = np.flatnonzero(batch.event == self._kind)
        order = np.argsort(batch.cpu, kind="stable")
        place = np.empty(batch.count, np.int64)
        place[order] = np.arange(batch.count)
        before = order[np.maximum(place[stacks] - 1, 0)]
        fits = (place[stacks] > 0) & (batch.cpu[before] == batch.cpu[stacks]) & (batch.tid[before] == batch.tid[stacks])
        fits &= batch.event[before] != self._kind
        return stacks[fits], before[fits]

    def _chains(self, raw: Ragged, which: Column) -> Ragged:
        import numpy as np

        m = self._recording.machine
        kind = (">" if m.big_endian else "<") + f"u{m.long_size}"
        end = (1 << 8 * m.long_size) - 1
        pieces = [np.zeros(0, np.uint64)]
        for start, size in zip(raw.start[which].tolist(), raw.size[which].tolist(), strict=True):
            count = max(0, size - self._offset) // m.long_size
            data = raw.values[start + self._offset : start + self._offset + count * m.long_size].tobytes()
            found = np.frombuffer(data, kind).astype(np.uint64)
            pieces.append(found[(found != 0) & (found != end)])
        sizes = np.array([len(p) for p in pieces[1:]], np.int64)
        return Ragged(np.concatenate(pieces), np.cumsum(sizes) - sizes, sizes)
