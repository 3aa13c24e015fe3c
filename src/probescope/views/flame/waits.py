"""Time off the CPU as counted stacks: what threads waited for, by the stack that they went away with.

    sched_switch of CPU 0   prev 7 (stack A)  next 9      thread 7 waits ...
    sched_switch of CPU 1   prev 4            next 7      ... until here: so many ns of A

A sample of sched:sched_switch is taken in the thread that goes (its stack, its name); who comes is a field of its raw
record. Waits that the recording begins or ends in the middle of are not counted: nobody knows how long they were.
Source: include/trace/events/sched.h, sched_switch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from probescope.errors import UsageError
from probescope.model.alike import alike
from probescope.model.recording import OFF_CPU
from probescope.views.flame.recorded import Sampled
from probescope.views.flame.stacks import Group

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.told import Told, ToldBatch

    Column = np.ndarray[Any, Any]
    Next = Callable[[ToldBatch, Column], Column]

EVENT = "sched:sched_switch"
MOST_WAITING = 1 << 20


def summed_event(told: Told) -> int:
    """The index of the event of perf record --off-cpu in a recording, -1 without one: waits that are summed up."""
    names = [e.name for e in told.recording.events]
    return names.index(OFF_CPU) if OFF_CPU in names else -1


def switch_event(told: Told) -> int:
    """The index of sched_switch in a recording. Raises UsageError without one, and where it has no stacks."""
    for i, event in enumerate(told.recording.events):
        if event.name.partition(":")[2].partition(":")[0] == "sched_switch" and event.field("next_pid") is not None:
            if "callchain" in event.sampled:
                return i
            raise UsageError("its switches have no stacks", hints=[f"probescope record -g -e {EVENT} -a"])
    hints = [f"probescope record --off-cpu, or -g -e {EVENT} -a, records that"]
    raise UsageError("it does not tell when threads leave the CPU", hints=hints)


class Waits(Sampled):
    """``coming``: of some events of a batch, the thread that comes."""

    def __init__(self, told: Told, event: int, times: tuple[int, int], coming: Next) -> None:
        super().__init__(told, event, times)
        self.samples.unit = "ns"
        self._coming = coming
        self._gone: dict[int, tuple[int, ...]] = {}  # by thread: when, and its row

    def add(self, told: ToldBatch, keep: Column | None = None) -> None:
        import numpy as np

        b = told.batch
        which = told.of(self._event)
        if not len(which):
            return
        kept = np.ones(len(which), bool) if keep is None else np.isin(which, keep)
        nodes = self._node_column(told, which)
        columns = [nodes, told.names[which], b.pid[which], b.tid[which], b.cpu[which], kept]
        rows = np.stack(columns, 1).astype(np.int64)
        times = b.time[which].astype(np.int64)
        going, coming = b.tid[which].astype(np.int64), self._coming(told, which).astype(np.int64)
        begins, ends = self._paired(going, coming, times, rows)
        self._counted(begins, ends)

    def _paired(self, going: Column, coming: Column, times: Column, rows: Column) -> tuple[Column, Column]:
        """(rows with their time in front, when each of these waits ended). A thread's moments are put beside each
        other: one of going that is followed by one of coming is a wait."""
        import numpy as np

        count = len(times)
        thread = np.concatenate((coming, going))
        moment = np.concatenate((np.arange(count), np.arange(count))) * 2 + np.repeat([0, 1], count)
        order = np.lexsort((moment, thread))
        order = order[thread[order] > 0]
        out = order >= count  # of going
        same = thread[order][1:] == thread[order][:-1]
        first = np.flatnonzero(out[:-1] & ~out[1:] & same)
        begins, ends = order[first] - count, order[first + 1]
        starts = np.flatnonzero(np.concatenate(([True], ~same))) if len(order) else np.zeros(0, np.int64)
        lasts = np.append(starts[1:], len(order)) - 1 if len(order) else starts
        told = [np.column_stack((times[begins], rows[begins]))]
        until = [times[ends]]
        carried, over = self._carried(order[starts[~out[starts]]], thread, times)
        told.append(carried)
        until.append(over)
        for at in order[lasts[out[lasts]]].tolist():
            if len(self._gone) < MOST_WAITING:
                self._gone[int(thread[at])] = (int(times[at - count]), *rows[at - count].tolist())
        return np.concatenate(told), np.concatenate(until)

    def _carried(self, firsts: Column, thread: Column, times: Column) -> tuple[Column, Column]:
        """Waits that began in an earlier batch."""
        import numpy as np

        begins, ends = [], []
        for at in firsts.tolist():
            gone = self._gone.pop(int(thread[at]), None)
            if gone is not None:
                begins.append(gone)
                ends.append(int(times[at]))
        return np.array(begins, np.int64).reshape(-1, 7), np.array(ends, np.int64)

    def _counted(self, begins: Column, ends: Column) -> None:
        import numpy as np

        fine = (begins[:, 6] == 1) & (ends > begins[:, 0])
        begins, ends = begins[fine], ends[fine]
        if not len(begins):
            return
        slots = self._slots(begins[:, 0])
        columns = [*(begins[:, i] for i in range(1, 6)), slots]
        first, kinds = alike(columns)
        weights = np.bincount(kinds, (ends - begins[:, 0]).astype(np.float64), len(first))
        names = self._told.tasks.names
        for row, weight in zip(np.stack(columns, 1)[first].tolist(), weights.tolist(), strict=True):
            node, name, pid, tid, cpu, slot = row
            self.samples.add(node, weight, self.samples.group(Group(names[name], pid, tid, cpu)), slot)
