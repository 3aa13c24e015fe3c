"""Samples of a recording that are alike in all that is asked for: their weights and numbers.

columns asked for      name  ip          mode  |  weight  samples
of each batch          sh    0x55..1136  user  |  250000  1
put together           sh    0x55..1136  user  |  9750000 39
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.told import CPUMODE
from probescope.errors import LimitError
from probescope.views.reporting.sums_table import Table

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.sharing import Known
    from probescope.collect.recorded.symbols import Frame
    from probescope.collect.recorded.told import Told, ToldBatch

    Column = np.ndarray[Any, Any]
    Texts = Callable[[ToldBatch, int, Column, str], Sequence[str]]

MOST_GROUPS = 4_000_000
MASK = (1 << 64) - 1
NUMBER = "number "


class Group:
    """Samples that are alike. ``event``: index in ``Sums.kinds``. What was not asked for is as it is here."""

    __slots__ = (
        *("cpu", "event", "ip", "mode", "name", "period", "pid"),
        *("numbers", "samples", "space", "stack", "texts", "tid", "time"),
    )

    def __init__(self, event: int = 0, period: int = 0, samples: int = 0) -> None:
        self.event, self.period, self.samples = event, period, samples
        self.name = self.pid = self.tid = self.cpu = self.stack = self.space = -1
        self.time = self.ip = self.mode = 0
        self.texts: tuple[str, ...] = ()
        self.numbers: dict[str, int] = {}


class Sums:
    """Of the events ``kinds``. ``columns``: names of ``Group``; ``number NAME``, of ``EventBatch.numbers``; ``trace``
    and ``field NAME``, which are got from ``texts(batch, kind, which, column)``. ``quantum``: of times, in ns."""

    def __init__(
        self,
        told: Told,
        kinds: Sequence[int],
        columns: Sequence[str],
        texts: Texts | None = None,
        quantum: int = 100_000_000,
    ) -> None:
        self.told, self.kinds = told, tuple(kinds)
        self.columns = tuple(dict.fromkeys(columns))
        self.weight = [0] * len(self.kinds)
        self.samples = [0] * len(self.kinds)
        self.last_name: dict[int, int] = {}
        self._texts, self._quantum = texts, quantum
        self._numbers: dict[str, int] = {}
        self._told_texts: list[str] = []
        self._sums: dict[tuple[int, ...], list[int]] = {}
        self._table = Table()

    def add(self, told: ToldBatch, keep: Column | None = None, counted: Column | None = None) -> None:
        """Events of ``keep`` go into groups; those of ``counted`` (by default the same) into the whole."""
        for event, kind in enumerate(self.kinds):
            which = told.of(kind, keep)
            whole = which if counted is None or counted is keep else told.of(kind, counted)
            self.weight[event] += int(told.batch.period[whole].sum())
            many = told.batch.numbers.get("samples")
            self.samples[event] += len(whole) if many is None else int(many[whole].sum())
            if len(which):
                self._grouped(event, kind, told, which)

    def without(self, some: Sequence[Sequence[int]]) -> None:
        """The whole is less by this weight and this number of samples of each event."""
        for event, (weight, samples) in enumerate(some):
            self.weight[event] -= weight
            self.samples[event] -= samples

    def part(self) -> Any:
        """All of it, for ``join``: what names, stacks and address spaces its numbers mean is told beside."""
        self._table.empty(self._add)
        return self.weight, self.samples, self._sums, self._told_texts

    def join(self, part: Any, known: Known) -> None:
        """Adds what another process has counted of the same recording; ``known``: what its numbers mean here."""
        weight, samples, sums, texts = part
        for event in range(len(self.kinds)):
            self.weight[event] += weight[event]
            self.samples[event] += samples[event]
        number = [self._number(text) for text in texts]
        places = [self._meaning(name, known, number) for name in self.columns]
        for (event, *values), (more, count) in sums.items():
            row = [v if table is None or v < 0 else table[v] for table, v in zip(places, values, strict=False)]
            self._add((event, *row), more, count)

    @staticmethod
    def _meaning(name: str, known: Known, texts: list[int]) -> Mapping[int, int] | Sequence[int] | None:
        match name:
            case "name":
                return known.names
            case "space":
                return known.spaces
            case "stack":
                return known.stacks
            case _:
                return texts if name == "trace" or name.startswith("field ") else None

    @property
    def shared(self) -> bool:
        """Whether several processes may count this. What a thread was called last, and what each group of processes
        is called, is known to none of them."""
        return not {"tid", "number cgroup"} & set(self.columns)

    def fade(self, times: int, over: int, most: int = MOST_GROUPS) -> None:
        """All weights and numbers times ``times / over``; what comes to nothing, or to a quarter of a usual sample, is
        forgotten; so are the lightest beyond ``most``."""
        self._table.empty(self._add)
        least = [w // (4 * n) if n else 0 for w, n in zip(self.weight, self.samples, strict=True)]
        for key, found in list(self._sums.items()):
            found[0] = found[0] * times // over
            if found[0] <= least[key[0]]:
                del self._sums[key]
            else:
                found[1] = -(-found[1] * times // over)
        if len(self._sums) > most:
            kept = sorted(self._sums.items(), key=lambda item: -item[1][0])[:most]
            self._sums = dict(kept)
        for event in range(len(self.kinds)):
            some = [found for key, found in self._sums.items() if key[0] == event]
            self.weight[event] = sum(w for w, _ in some)
            self.samples[event] = sum(n for _, n in some)

    def _grouped(self, event: int, kind: int, told: ToldBatch, which: Column) -> None:
        import numpy as np

        all_of_it = len(which) == len(told.batch)
        rows = slice(None) if all_of_it else which
        columns = [self._column(name, kind, told, which, rows) for name in self.columns]
        columns = columns or [np.zeros(len(which), np.int64)]
        many = told.batch.numbers.get("samples")
        counts = None if many is None else many[rows]
        self._table.add(event, columns, told.batch.period[rows], self._add, counts)
        if "tid" in self.columns:
            self.last_name.update(zip(told.batch.tid[which].tolist(), told.names[which].tolist(), strict=True))
        if len(self._sums) + len(self._table) > MOST_GROUPS:
            raise LimitError(f"more than {MOST_GROUPS} different rows", hints=["sort by less, or cut with --time"])

    def _add(self, row: tuple[int, ...], weight: int, count: int) -> None:
        row = row if self.columns else row[:1]
        found = self._sums.get(row)
        if found is None:
            self._sums[row] = [weight, count]
        else:
            found[0] += weight
            found[1] += count

    def _column(self, name: str, kind: int, told: ToldBatch, which: Column, rows: Column | slice) -> Column:
        """``rows``: the same as ``which``, without a copy where it is everything."""
        import numpy as np

        b = told.batch
        match name:
            case "name":
                return told.names[rows]
            case "pid" | "tid" | "cpu":
                found: Column = getattr(b, name)[rows]
                return found
            case "stack" if told.stacks is not None:
                return told.stacks[rows]
            case "time":
                times = b.time[rows]
                return (times - times % np.uint64(self._quantum)).view(np.int64)
            case "ip" if "ip" in b.numbers:
                return b.numbers["ip"][rows].view(np.int64)
            case "mode" if "misc" in b.numbers:
                return (b.numbers["misc"][rows] & CPUMODE).astype(np.int64)
            case "space":
                return told.spaces[rows]
            case _:
                pass
        if name.startswith(NUMBER):
            number = b.numbers.get(name.removeprefix(NUMBER))
            return np.zeros(len(which), np.int64) if number is None else number[rows].view(np.int64)
        if (name == "trace" or name.startswith("field ")) and self._texts is not None:
            return np.array([self._number(t) for t in self._texts(told, kind, which, name)], np.int64)
        return np.full(len(which), 0 if name in {"mode", "ip", "time"} else -1, np.int64)

    def _number(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._told_texts)
            self._told_texts.append(text)
        return found

    def groups(self) -> Iterator[Group]:
        self._table.empty(self._add)
        texts = [i for i, c in enumerate(self.columns, 1) if c == "trace" or c.startswith("field ")]
        numbers = [(i, c.removeprefix(NUMBER)) for i, c in enumerate(self.columns, 1) if c.startswith(NUMBER)]
        plain = [(i, c) for i, c in enumerate(self.columns, 1) if i not in texts and not c.startswith(NUMBER)]
        for key, (weight, count) in self._sums.items():
            group = Group(key[0], weight, count)
            for i, name in plain:
                setattr(group, name, key[i])
            group.numbers = {name: key[i] for i, name in numbers}
            group.texts = tuple(self._told_texts[key[i]] if key[i] >= 0 else "" for i in texts)
            yield group

    def self_frame(self, group: Group) -> Frame | None:
        """Where the sample was taken: its address, or the innermost of its stack if that was not recorded."""
        if group.ip:
            return self.told.frame(group.space, group.ip & MASK, group.mode == 1)
        if group.stack >= 0:
            frames = self.told.frames(group.stack)
            return next((f for f in frames if not f.inlined), None)
        return None
