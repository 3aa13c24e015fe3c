"""A report's rows as text: perf report --stdio's headings, widths and blanks, or fields with a separator.

# Overhead  Command  Shared Object      Symbol
# ........  .......  .................  ...................
#
    30.99%  swapper  [kernel.kallsyms]  [k] default_idle

Source: tools/perf/ui/stdio/hist.c, ui/hist.c and util/sort.c of Linux 6.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from probescope.frozen import dataclass
from probescope.model.visible import printable
from probescope.views.reporting.graph import Graph, Style
from probescope.views.reporting.keys import Key, Sum
from probescope.views.reporting.rows import Row, Rows

UNNAMED = 22
"""Characters that a symbol's column has room for where one is not known: [.] 0x and 16 digits."""
NOWHERE = 16
"""The same of the file that it lies in: those digits."""
_SHORT = ((10**9, "G"), (10**6, "M"), (10**3, "K"))


@dataclass(frozen=True, slots=True)
class Look:
    """``columns``: sums and keys, from the left. ``least``: rows below this percentage are left out. ``separator``
    between fields, instead of blanks. ``hidden``: keys that have one value only, which is told above.
    ``widths`` of the first columns, 0 for those that are as wide as what is in them: longer texts are cut."""

    columns: tuple[Key | Sum, ...]
    style: Style
    least: float = 0.0
    separator: str = ""
    hidden: tuple[str, ...] = ()
    quiet: bool = False
    most_rows: int = 0
    widths: tuple[int, ...] = ()


def short(n: int) -> str:
    """``1K``, and ``12 `` with its blank."""
    for size, unit in _SHORT:
        if n >= size:
            return f"{n // size}{unit}"
    return f"{n} "


def heading(names: Sequence[str], group: str, samples: int, weight: int, slices: str = "") -> str:
    """Above a table. ``group``: what its events are called together; ``slices``: of time, as they were asked for."""
    inside = ", ".join(map(printable, names))
    of = f"event '{inside}'" if len(names) == 1 else f"events '{printable(group or 'anon group')} {{ {inside} }}'"
    of += f" (time slices: {printable(slices)})" if slices else ""
    return f"# Samples: {short(samples)} of {of}\n# Event count (approx.): {weight}\n#\n"


class Table:
    """Of the rows of one kind of event, or of a group of kinds."""

    def __init__(self, rows: Rows, look: Look) -> None:
        self._rows, self._look = rows, look
        self._columns = [c for c in look.columns if c.name not in look.hidden]
        self._keys = {k.name: i for i, k in enumerate(rows.wanted.keys)}
        self._events = len(rows.sums.kinds)
        self._whole = rows.sums.weight
        self._fixed = {c.name: w for c, w in zip(self._columns, look.widths, strict=False) if w > 0}

    def text(self) -> Iterator[str]:
        shown = self.shown()
        widths = [self._width(c) for c in self._columns]
        if not self._look.quiet:
            yield from self._heads(widths)
        wanted = self._rows.wanted
        graph = Graph(self._look.style, self._whole[0], self._rows.names.__getitem__, self._rows.place)
        first = self._columns[0] if self._columns else None
        skip = bool(wanted.keys) and wanted.keys[0].name == "symbol" and not isinstance(first, Key)
        for row in shown:
            yield self._line(row, widths) + "\n"
            if wanted.graph and row.stats[0].samples + row.stats[0].total:
                weight = row.stats[0].total if wanted.children else row.stats[0].own
                yield from graph.text(self._rows.tree(row), weight, skip=skip)

    def shown(self) -> list[Row]:
        whole = self._whole[0] or 1
        children = self._rows.wanted.children
        out = [
            r
            for r in self._rows.rows
            if not self._look.least
            or 100 * (r.stats[0].total if children else r.stats[0].own) / whole >= self._look.least
        ]
        return out[: self._look.most_rows or None]

    def _heads(self, widths: list[int]) -> Iterator[str]:
        if self._look.separator:
            yield "# " + self._look.separator.join(self._head(c).strip() for c in self._columns) + "\n"
            return
        heads = [self._head(c) if isinstance(c, Sum) else self._head(c)[:w] for c, w in self._each(widths)]
        each = zip(heads, self._columns, widths, strict=True)
        cells = [f"{head:>{w}}" if _right(c) else f"{head:<{w}}" for head, c, w in each]
        yield "# " + "  ".join(cells) + "\n"
        yield "# " + "  ".join("." * w for w in widths) + "\n#\n"

    def _each(self, widths: list[int]) -> Iterator[tuple[Key | Sum, int]]:
        return zip(self._columns, widths, strict=True)

    def _head(self, column: Key | Sum) -> str:
        return "Self" if column.name == "overhead" and self._rows.wanted.children else column.head

    def _width(self, column: Key | Sum) -> int:
        fixed = self._fixed.get(column.name, 0)
        if isinstance(column, Sum):
            return max(fixed or column.width, column.width * self._events if self._events > 1 else 0, len(column.head))
        if fixed:
            return fixed
        at = self._keys[column.name]
        texts = [len(printable(r.values[at].text)) for r in self._rows.rows]
        texts.append(self._unnamed(column.name))
        return max([len(column.head), column.width, *texts])

    def _unnamed(self, name: str) -> int:
        """Least width of a column, where what one of its places is called is not known."""
        nowhere = 0 if self._look.separator or self._rows.wanted.modules else NOWHERE
        least = {"symbol": UNNAMED, "dso": nowhere}.get(name, 0)
        return least if least and any(not r.named for r in self._rows.rows) else 0

    def _line(self, row: Row, widths: list[int]) -> str:
        separator = self._look.separator
        cells = []
        last = len(self._columns) - 1
        for i, (column, width) in enumerate(self._each(widths)):
            if isinstance(column, Sum):
                fixed = self._fixed.get(column.name, 0)
                cells.append(
                    self.sum(row, column) if not fixed or separator else self._narrow(row, column, fixed, width)
                )
                continue
            text = printable(row.values[self._keys[column.name]].text)
            if column.name != "symbol" or row.named:
                text = text[: self._fixed.get(column.name, len(text))]
            if separator:
                cells.append(text.strip().replace(separator, "."))
            elif column.right:
                cells.append(f"{text:>{width}}")
            else:
                cells.append(text if i == last and not column.padded else f"{text:<{width}}")
        return separator.join(cells) if separator else "  " + "  ".join(cells)

    def sum(self, row: Row, column: Sum) -> str:
        """A cell: a share or number for each event of the group."""
        separator = self._look.separator
        if not column.percent:
            return separator.join(f"{s.sum(column.name):>{0 if separator else column.width}}" for s in row.stats)
        width = 0 if separator else column.width - 1
        parts = [100 * s.sum(column.name) / (w or 1) for s, w in zip(row.stats, self._whole, strict=True)]
        return separator.join(f"{p:>{width}.2f}%" for p in parts)

    def _narrow(self, row: Row, column: Sum, width: int, whole: int) -> str:
        """In a column of a width that was asked for, or of its heading's."""
        if not column.percent:
            return "".join(f" {s.sum(column.name):>{max(width - 1, 0)}}" for s in row.stats).ljust(whole)
        parts = [100 * s.sum(column.name) / (w or 1) for s, w in zip(row.stats, self._whole, strict=True)]
        return "".join(f" {p:>{max(width - 2, 0)}.2f}%" for p in parts).ljust(whole)


def _right(column: Key | Sum) -> bool:
    return isinstance(column, Sum) or column.right
