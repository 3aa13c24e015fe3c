"""Rows of several recordings beside each other, as perf-diff(1) prints them.

# Baseline  Delta Abs  Shared Object      Symbol
# ........  .........  .................  .......
#
    80.95%    -11.18%  work               [.] leaf
               +0.66%  [kernel.kallsyms]  [k] iowrite16          not in the first one

Source: tools/perf/builtin-diff.c of Linux 6.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from probescope.frozen import dataclass
from probescope.model.visible import printable
from probescope.views.reporting.keys import Key, Value

HEADS = {"delta": "Delta", "delta-abs": "Delta Abs", "ratio": "Ratio", "wdiff": "Weighted diff"}
_WIDTHS = {"delta": 7, "delta-abs": 7, "ratio": 14, "wdiff": 14}


@dataclass(frozen=True, slots=True)
class Look:
    """``compute``: of ``HEADS``. ``order``: the number of the file whose column sorts, 0 for the first file's shares.
    ``weights``: of the old and the new in weighted differences."""

    keys: tuple[Key, ...]
    compute: str = "delta-abs"
    order: int = 1
    weights: tuple[int, int] = (1, 1)
    periods: bool = False
    formula: bool = False
    baseline_only: bool = False
    separator: str = ""
    quiet: bool = False


@dataclass(slots=True)
class Line:
    """``weights``: one a file, ``None`` where a file has no such row."""

    values: tuple[Value, ...]
    weights: list[int | None]


def joined(tables: Sequence[dict[tuple[Value, ...], int]]) -> list[Line]:
    """Rows of all files, by what they are called."""
    out: dict[tuple[str, ...], Line] = {}
    for i, table in enumerate(tables):
        for values, weight in table.items():
            key = tuple(v.text for v in values)
            line = out.get(key)
            if line is None:
                line = out[key] = Line(values, [None] * len(tables))
            line.weights[i] = (line.weights[i] or 0) + weight
    return list(out.values())


class Diff:
    """``totals``: weight of each file, which shares are of."""

    def __init__(self, lines: Sequence[Line], totals: Sequence[int], look: Look) -> None:
        self._look, self._totals = look, [t or 1 for t in totals]
        self._lines = list(lines)
        self._base_total = self._totals[0]
        if look.baseline_only:  # the first file's shares are of what is left then; differences are what they were
            self._lines = [n for n in lines if n.weights[0] is not None and any(w is not None for w in n.weights[1:])]
            self._base_total = sum(n.weights[0] or 0 for n in self._lines) or 1

    def text(self) -> Iterator[str]:
        columns = [*self._sums(), *(self._key(i) for i in range(len(self._look.keys)))]
        separator = self._look.separator
        if not self._look.quiet:
            heads = [c.head if separator else c.placed(c.head) for c in columns]
            yield "# " + (separator or "  ").join(heads) + "\n"
            if not separator:
                yield "# " + "  ".join("." * c.width for c in columns) + "\n#\n"
        for line in self.lines():
            cells = [c.cell(line) for c in columns]
            if separator:
                yield separator.join(c.strip().replace(separator, ".") for c in cells) + "\n"
                continue
            last = len(columns) - 1
            placed = [
                c.placed(text) if i < last or c.padded else text
                for i, (c, text) in enumerate(zip(columns, cells, strict=True))
            ]
            yield "  " + "  ".join(placed) + "\n"

    def lines(self) -> list[Line]:
        """In the order in which they are shown."""
        return sorted(self._lines, key=self._order)

    # --- columns

    def _sums(self) -> list[_Column]:
        several = len(self._totals) > 2
        look = self._look
        out = [_Column(f"Baseline{'/0' if several else ''}", 8, self._base)]
        if look.periods:
            out.append(_Column(f"Base period{'/0' if several else ''}", 14, self._of(self._weight, 0)))
        for i in range(1, len(self._totals)):
            end = f"/{i}" if several else ""
            out.append(_Column(HEADS[look.compute] + end, _WIDTHS[look.compute], self._of(self._told, i)))
            if look.formula:
                out.append(_Column("Formula" + end, 70, self._of(self._formula, i)))
            if look.periods:
                out.append(_Column("Period" + end, 14, self._of(self._weight, i)))
        return out

    @staticmethod
    def _of(cell: Callable[[Line, int], str], i: int) -> Callable[[Line], str]:
        return lambda line: cell(line, i)

    @staticmethod
    def _weight(line: Line, i: int) -> str:
        weight = line.weights[i]
        return "" if weight is None and i else str(weight or 0)

    def _key(self, at: int) -> _Column:
        key = self._look.keys[at]
        width = max([len(key.head), key.width, *(len(printable(n.values[at].text)) for n in self._lines)])
        return _Column(key.head, width, lambda n: printable(n.values[at].text), key.right, key.padded)

    def _base(self, line: Line) -> str:
        return "" if line.weights[0] is None else f"{100 * line.weights[0] / self._base_total:.2f}%"

    def _told(self, line: Line, i: int) -> str:
        value = self.value(line, i)
        if value is None:
            return "" if line.weights[i] is None else "N/A"
        if self._look.compute.startswith("delta"):
            return f"{value:+.2f}%"
        return f"{value:.6f}" if self._look.compute == "ratio" else f"{value:.0f}"

    def value(self, line: Line, i: int) -> float | None:
        """Of file ``i`` against the first one; ``None`` where there is nothing to compare."""
        old, new = line.weights[0], line.weights[i]
        if new is None:
            return None
        match self._look.compute:
            case "ratio":
                return new / old if old else None
            case "wdiff":
                return None if old is None else float(new * self._look.weights[1] - old * self._look.weights[0])
            case _:
                return 100 * new / self._totals[i] - 100 * (old or 0) / self._totals[0]

    def _formula(self, line: Line, i: int) -> str:
        old, new = line.weights[0], line.weights[i]
        if new is None:
            return ""
        old = old or 0
        match self._look.compute:
            case "ratio":
                return f"{new} / {old}"
            case "wdiff":
                return f"({new} * {self._look.weights[1]}) - ({old} * {self._look.weights[0]})"
            case _:
                return f"({new} * 100 / {self._totals[i]}) - ({old} * 100 / {self._totals[0]})"

    def _order(self, line: Line) -> tuple[int, float, float, tuple[str, ...]]:
        """What can be compared, what is new, what is gone."""
        base = 100 * (line.weights[0] or 0) / self._totals[0]
        value = base if not self._look.order else self.value(line, self._look.order)
        if value is not None and self._look.compute == "delta-abs" and self._look.order:
            value = abs(value)
        known = 0 if value is not None else 1 if line.weights[self._look.order] is not None else 2
        return known, -(value or 0.0), -base, tuple(str(v.order) for v in line.values)


class _Column:
    def __init__(
        self, head: str, width: int, cell: Callable[[Line], str], right: bool = True, padded: bool = False
    ) -> None:
        self.head, self.width = head, max(width, len(head))
        self.cell = cell
        self.right, self.padded = right, padded or right

    def placed(self, text: str) -> str:
        return f"{text:>{self.width}}" if self.right else f"{text:<{self.width}}"
