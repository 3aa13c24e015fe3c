"""A call graph as text, as perf-report(1) draws it.

            |
            ---main                    a chain that all share
               |
               |--41.05%--leaf         branches, the heaviest first
               |
                --19.77%--b            the last one
                          leaf

Source: tools/perf/ui/stdio/hist.c and util/callchain.c of Linux 6.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from probescope.errors import UsageError
from probescope.frozen import dataclass, replace
from probescope.model.visible import printable
from probescope.views.reporting.trees import Branch, Tree

MARGIN = " " * 12
STYLES = ("graph", "fractal", "flat", "folded", "none")
ORDERS = ("caller", "callee")
VALUES = ("percent", "period", "count")
_PASSED = ("function", "address", "srcline", "branch")


@dataclass(frozen=True, slots=True)
class Style:
    """``least``: percent that a branch must have. ``most``: branches at one place, 0 for all of them. ``order``: empty
    for caller with weights of callees and callee without."""

    name: str = "graph"
    least: float = 0.5
    most: int = 0
    order: str = ""
    value: str = "percent"


def parse_style(text: str, base: Style | None = None) -> Style:
    """``graph,0.5,caller``: any of the words in any order, then least percent and most branches. UsageError."""
    style = base or Style()
    numbers: list[float] = []
    for word in filter(None, text.split(",")):
        if word in STYLES:
            style = replace(style, name=word)
        elif word in ORDERS:
            style = replace(style, order=word)
        elif word in VALUES:
            style = replace(style, value=word)
        elif word == "function":
            continue
        else:
            numbers.append(_number(word))
    if numbers:
        style = replace(style, least=numbers[0])
    if len(numbers) > 1:
        style = replace(style, most=int(numbers[1]))
    return style


def _number(word: str) -> float:
    try:
        found = float(word)
    except ValueError:
        found = math.nan
    if math.isfinite(found) and found >= 0:
        return found
    hints = ["-g graph,0.5,caller", f"words: {', '.join((*STYLES, *ORDERS, *VALUES))}"]
    if word in _PASSED:
        hints.insert(0, "stacks are merged by function")
    raise UsageError(f"'{word}' says nothing about call graphs", hints=hints)


@dataclass(slots=True)
class _Run:
    """A function and all that follow it alone."""

    labels: list[int]
    first: Branch
    last: Branch


@dataclass(slots=True)
class _Level:
    """Branches that hang at one place: ``bars`` tells in which columns a bar goes down."""

    branches: list[_Run]
    at: int
    bars: tuple[bool, ...]
    whole: int
    left: int


class Graph:
    """``whole``: weight of which branches have their shares. ``name`` gives a label's text, ``place`` what sorts
    branches of equal weight."""

    def __init__(
        self, style: Style, whole: int, name: Callable[[int], str], place: Callable[[int], object] = lambda n: n
    ) -> None:
        self._style, self._whole = style, whole
        self._told, self._place = name, place

    def _name(self, label: int) -> str:
        return printable(self._told(label))

    def text(self, tree: Tree, row: int, *, skip: bool = False) -> Iterator[str]:
        """``row``: the weight of the row that this is about; ``skip``: its name is that of the first function."""
        match self._style.name:
            case "flat":
                yield from self._flat(tree)
            case "folded":
                yield from self._folded(tree)
            case "none":
                return
            case _:
                yield from self._tree(tree, row, skip=skip)

    # --- shares

    def _share(self, weight: int, count: int, whole: int) -> str:
        if self._style.value == "period":
            return str(weight)
        if self._style.value == "count":
            return str(count)
        return f"{100 * weight / (whole or 1):.2f}%"

    def _kept(self, tree: Tree, at: object, inside: int, limit: int) -> list[_Run]:
        """The branches at a place that are heavy enough, with what follows each alone. ``inside``: weight of all of
        them, of which fractal graphs take the limit."""
        least = math.ceil(inside * self._style.least / 100) if self._style.name == "fractal" else limit
        found = [b for b in tree.below(at) if b.weight >= least]
        found.sort(key=lambda b: (-b.weight, self._place(b.label)))
        return [self._run(tree, b) for b in found]

    @staticmethod
    def _run(tree: Tree, first: Branch) -> _Run:
        labels, last = [first.label], first
        while not last.own_count:
            below = tree.below(last.at)
            if len(below) != 1:
                break
            last = below[0]
            labels.append(last.label)
        return _Run(labels, first, last)

    # --- trees

    def _tree(self, tree: Tree, row: int, *, skip: bool) -> Iterator[str]:
        fractal = self._style.name == "fractal"
        limit = int((row if fractal else self._whole) * self._style.least / 100)
        # what hangs at the root itself is always measured by the row
        branches = [b for b in tree.below(None) if b.weight >= limit]
        branches.sort(key=lambda b: (-b.weight, self._place(b.label)))
        runs = [self._run(tree, b) for b in branches]
        margin, wrote = MARGIN, False
        if len(runs) == 1 and runs[0].first.weight == row:
            only = runs[0]
            names = [self._name(n) for n in only.labels][1 if skip else 0 :]
            for i, name in enumerate(names[: self._style.most or None]):
                yield f"{margin}|\n{margin}---{name}\n" if i == 0 else f"{margin}   {name}\n"
                wrote = True
            margin += " " * 3 if names else ""
            runs = self._kept(tree, only.last.at, only.last.weight - only.last.own, limit)
        for line in self._branches(tree, runs, row if fractal else self._whole, margin, limit):
            yield line
            wrote = True
        if wrote:
            yield "\n"

    def _branches(self, tree: Tree, runs: list[_Run], whole: int, margin: str, limit: int) -> Iterator[str]:
        """Without recursion: stacks are as deep as they are."""
        fractal = self._style.name == "fractal"
        levels = [_Level(runs[: self._style.most or None], 0, (True,), whole, whole)]
        while levels:
            level = levels[-1]
            if level.at == len(level.branches):
                levels.pop()
                if fractal and level.left and level.left != level.whole:
                    share = self._share(level.left, 0, level.whole)
                    if self._style.value != "count":
                        yield f"{margin}{_columns(level.bars[:-1])} --{share}--[...]\n"
                continue
            run = level.branches[level.at]
            level.at += 1
            level.left -= run.first.weight
            last = level.at == len(level.branches) and not (fractal and level.left)
            bars = (*level.bars[:-1], not last)
            yield f"{margin}{_columns(level.bars)}\n"
            share = self._share(run.first.weight, run.first.count, level.whole)
            head = _columns(bars)
            for i, label in enumerate(run.labels):
                lead = f"{head[:-10]}--{share}--" if i == 0 else head
                yield f"{margin}{lead}{self._name(label)}\n"
            inside = run.last.weight - run.last.own
            deeper = self._kept(tree, run.last.at, inside, limit)[: self._style.most or None]
            if deeper or (fractal and inside):
                part = inside if fractal else level.whole
                levels.append(_Level(deeper, 0, (*bars, True), part, part))

    # --- lists

    def _ends(self, tree: Tree) -> list[tuple[int, int, int, tuple[int, ...]]]:
        """(weight, own, own count, labels) of all stacks that are heavy enough. Those of equal weight as perf puts
        them: what is below a place comes before what ends at it, places in their own order."""
        limit = int(self._whole * self._style.least / 100)
        out: list[tuple[int, int, int, tuple[int, ...]]] = []
        waiting: list[tuple[Branch | None, tuple[int, ...]]] = [(None, ())]
        while waiting:  # the last stack first, so that a place comes before what is below it
            branch, path = waiting.pop()
            if branch is not None and branch.own and branch.own >= limit:
                out.append((branch.weight, branch.own, branch.own_count, path))
            below = [b for b in tree.below(branch and branch.at) if b.weight >= limit]
            below.sort(key=lambda b: (self._place(b.label),))
            waiting += [(b, (*path, b.label)) for b in below]
        out.reverse()
        out.sort(key=lambda e: -e[1])
        return out[: self._style.most or None]

    def _flat(self, tree: Tree) -> Iterator[str]:
        for _, own, count, labels in self._ends(tree):
            yield f"{' ' * 11}{self._share(own, count, self._whole)}\n"
            yield from (f"{' ' * 16}{self._name(n)}\n" for n in labels)
            yield "\n"

    def _folded(self, tree: Tree) -> Iterator[str]:
        for _, own, count, labels in self._ends(tree):
            yield f"{self._share(own, count, self._whole)} {';'.join(map(self._name, labels))}\n"


def _columns(bars: Sequence[bool]) -> str:
    return "".join("|          " if bar else " " * 11 for bar in bars)
