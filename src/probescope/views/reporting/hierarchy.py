"""Rows as a tree of their keys: one level a key, each with the sum of what is below it.

#       Overhead  Command / Shared Object / Symbol
# ..............  ................................
#
   100.00%        work
       83.19%        work
          80.95%        [.] leaf
"""

from __future__ import annotations

from collections.abc import Iterator

from probescope.frozen import dataclass, field
from probescope.model.visible import printable
from probescope.views.reporting.graph import Graph
from probescope.views.reporting.keys import Key, Sum, Value
from probescope.views.reporting.rows import Row, Stats
from probescope.views.reporting.table import Table

INDENT = 3


@dataclass(slots=True)
class _Level:
    value: Value
    stats: list[Stats]
    row: Row | None = None
    below: dict[Value, _Level] = field(default_factory=dict)


class Hierarchy(Table):
    def text(self) -> Iterator[str]:
        keys = [c for c in self._columns if isinstance(c, Key)]
        sums = [c for c in self._columns if isinstance(c, Sum)]
        root = _Level(Value("", ""), [])
        for row in self._rows.rows:
            at = root
            for key in keys:
                value = row.values[self._keys[key.name]]
                at = at.below.setdefault(value, _Level(value, [Stats() for _ in row.stats]))
                for into, stats in zip(at.stats, row.stats, strict=True):
                    _add(into, stats)
            at.row = row
        if not self._look.quiet:
            yield from self._titles(keys, sums)
        yield from self._levels(root, sums, keys)

    def _titles(self, keys: list[Key], sums: list[Sum]) -> Iterator[str]:
        separator = self._look.separator
        pad = "" if separator else " " * INDENT * (len(keys) - 1)
        title = " / ".join(k.head.strip() for k in keys)
        widths = [self._width(k) + INDENT * i for i, k in enumerate(keys)]
        heads = [f"{self._head(s):>{self._width(s)}}" for s in sums]
        yield f"# {pad}{(separator or '  ').join(heads)}{separator or '  '}{title}\n"
        dots = (separator or "..").join("." * self._width(s) for s in sums)
        yield f"# {'.' * len(pad)}{dots}{separator or '  '}{'.' * max(len(title), *widths)}\n#\n"

    def _levels(self, root: _Level, sums: list[Sum], keys: list[Key]) -> Iterator[str]:
        graph = Graph(self._look.style, self._whole[0], self._rows.names.__getitem__, self._rows.place)
        children = self._rows.wanted.children
        waiting = [(level, 0) for level in reversed(self._sorted(root))]
        separator = self._look.separator
        while waiting:
            level, depth = waiting.pop()
            cells = (separator or "  ").join(self._sum_of(level, s) for s in sums)
            after = separator or " " * (INDENT * (len(keys) - 1) + 2)
            yield f"{' ' * INDENT * depth}{'' if separator else '  '}{cells}{after}{self._cell(level, keys[depth])}\n"
            if level.row is not None and self._rows.wanted.graph:
                weight = level.row.stats[0].total if children else level.row.stats[0].own
                yield from graph.text(self._rows.tree(level.row), weight)
            below = self._sorted(level)
            if level.below and not below:
                room = 0 if separator else INDENT * (len(keys) + depth)
                room += sum(self._width(s) for s in sums) + 2 * (len(sums) - 1) + 4
                yield f"{' ' * room}no entry >= {self._look.least:.2f}%\n"
            waiting += [(b, depth + 1) for b in reversed(below)]

    def _cell(self, level: _Level, key: Key) -> str:
        text = printable(level.value.text.lstrip())
        padded = key.padded and not self._look.separator
        return f"{text:<{self._width(key)}}" if padded else text

    def _sorted(self, level: _Level) -> list[_Level]:
        children = self._rows.wanted.children
        least = self._look.least * (self._whole[0] or 1) / 100
        found = [b for b in level.below.values() if (b.stats[0].total if children else b.stats[0].own) >= least]
        return sorted(
            found,
            key=lambda b: (*(-(s.total if children else s.own) for s in b.stats), str(b.value.order)),
        )

    def _sum_of(self, level: _Level, column: Sum) -> str:
        return self.sum(Row((level.value,), level.stats, 0, 0), column)


def _add(into: Stats, stats: Stats) -> None:
    into.own += stats.own
    into.total += stats.total
    into.samples += stats.samples
    for name, weight in stats.modes.items():
        into.modes[name] = into.modes.get(name, 0) + weight
