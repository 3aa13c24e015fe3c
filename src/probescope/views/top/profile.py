"""Sums that fade, and what of them is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from probescope.frozen import dataclass
from probescope.model.visible import printable
from probescope.views.reporting.graph import Graph, Style
from probescope.views.reporting.keys import Key, module_of
from probescope.views.reporting.naming import Naming
from probescope.views.reporting.rows import Row, Rows, Wanted
from probescope.views.reporting.sums import Group, Sums

if TYPE_CHECKING:
    from probescope.collect.recorded.told import Told, ToldBatch
    from probescope.views.annotate.hits import Function
    from probescope.views.code import Code

_COLUMNS = ("name", "pid", "tid", "mode", "ip", "space", "cpu")
KERNEL_MODES = frozenset({1, 4})
MOST_KEPT = 20_000
"""Different places, threads and stacks that are kept from one look to the next."""
MOST_GRAPH = 200
"""Lines of one call graph."""


@dataclass(frozen=True, slots=True)
class View:
    """``comm``, ``tid`` (-1: all) and ``module``: what is looked at alone; ``typed``: rows that hold this text.
    ``expanded``: rows with their call graphs. ``hidden``: ``kernel``, ``user``."""

    keys: tuple[Key, ...]
    children: bool = False
    graph: str = ""
    comm: str = ""
    tid: int = -1
    module: str = ""
    typed: str = ""
    hidden: str = ""
    event: int = 0
    expanded: frozenset[tuple[str, ...]] = frozenset()
    style: Style = Style()

    @property
    def zoom(self) -> str:
        parts = []
        if self.comm or self.tid >= 0:
            parts.append(f"thread {self.comm}{f' ({self.tid})' if self.tid >= 0 else ''}")
        parts += [f"in {self.module}"] if self.module else []
        parts += [f"without {self.hidden}"] if self.hidden else []
        parts += [f"with '{self.typed}'"] if self.typed else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Shown:
    """A row: ``share`` in percent, ``own`` as well; ``graph``: lines below it, if it is expanded."""

    key: tuple[str, ...]
    share: float
    own: float
    samples: int
    graph: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    rows: tuple[Shown, ...]
    samples: int
    taken: int
    weight: int
    lost: int
    total_rows: int


class Profile:
    """``stacks``: call chains are recorded. ``zero``: nothing of before is kept at a look."""

    def __init__(self, told: Told, events: int, *, stacks: bool, zero: bool = False) -> None:
        self._stacks, self.zero = stacks, zero
        self._events = events
        self.taken = 0
        self.renew(told)

    def renew(self, told: Told) -> None:
        """Begins anew."""
        self._naming: dict[tuple[Key, ...], Naming] = {}
        columns = (*_COLUMNS, "stack") if self._stacks else _COLUMNS
        self._sums = [Sums(told, [kind], columns) for kind in range(self._events)]

    def add(self, batches: Iterable[ToldBatch]) -> None:
        for batch in batches:
            for sums in self._sums:
                sums.add(batch)
            self.taken += len(batch.batch)

    def fade(self) -> None:
        for sums in self._sums:
            sums.fade(0, 1) if self.zero else sums.fade(7, 8, MOST_KEPT)

    def forget(self) -> None:
        for sums in self._sums:
            sums.fade(0, 1)

    def snapshot(self, view: View, most: int, lost: int = 0) -> Snapshot:
        sums = self._sums[view.event]
        wanted = Wanted(view.keys, view.children and self._stacks, view.graph if self._stacks else "")
        rows = Rows(sums, wanted, self._named(sums.told, view.keys), _Keep(view, sums))
        found = [r for r in rows.rows if _matches(r, view.typed)]
        whole = sums.weight[0] or 1
        graph = Graph(view.style, whole, rows.names.__getitem__, rows.place)
        shown = tuple(_shown(r, rows, graph, view, whole) for r in found[:most])
        return Snapshot(shown, sums.samples[0], self.taken, sums.weight[0], lost, len(found))

    def function(self, view: View, name: str, module: str, code: Code) -> Function | None:
        """The heaviest one of that name, with its hits by address; with no module, of any."""
        from probescope.views.annotate.hits import functions

        found = functions(self._sums[view.event], code)
        return next((f for f in found if f.name == name and module in {"", f.module}), None)

    def _named(self, told: Told, keys: tuple[Key, ...]) -> Naming:
        framed = tuple(k for k in keys if k.framed)
        found = self._naming.get(framed)
        if found is None:
            found = self._naming[framed] = Naming(told, framed)
        return found


class _Keep:
    """Whether samples are of what is looked at."""

    def __init__(self, view: View, sums: Sums) -> None:
        self._view, self._sums = view, sums

    def __call__(self, group: Group) -> bool:
        v = self._view
        kernel = group.mode in KERNEL_MODES
        if (v.hidden == "kernel" and kernel) or (v.hidden == "user" and not kernel):
            return False
        if v.tid >= 0 and group.tid != v.tid:
            return False
        if v.comm and self._sums.told.tasks.names[group.name] != v.comm:
            return False
        if v.module:
            frame = self._sums.self_frame(group)
            return frame is not None and module_of(frame) == v.module
        return True


def _matches(row: Row, typed: str) -> bool:
    return not typed or any(typed.lower() in v.text.lower() for v in row.values)


def _shown(row: Row, rows: Rows, graph: Graph, view: View, whole: int) -> Shown:
    key = tuple(printable(v.text.strip()) for v in row.values)
    stats = row.stats[0]
    weight = stats.total if rows.wanted.children else stats.own
    lines: Sequence[str] = ()
    if key in view.expanded and rows.wanted.graph:
        text = "".join(_some(graph.text(rows.tree(row), weight)))
        lines = [line.rstrip() for line in text.splitlines() if line.strip(" |")]
    return Shown(key, 100 * weight / whole, 100 * stats.own / whole, stats.samples, tuple(lines[:MOST_GRAPH]))


def _some(pieces: Iterable[str]) -> Iterable[str]:
    for i, piece in enumerate(pieces):
        if i >= 2 * MOST_GRAPH:
            return
        yield piece
