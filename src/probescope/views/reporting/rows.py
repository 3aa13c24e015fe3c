"""Groups of alike samples -> rows of a report, with what they weigh and the stacks that they have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from probescope.frozen import dataclass
from probescope.views.reporting import branches, sample_keys
from probescope.views.reporting.keys import BRANCH, SUMS, Key, Sum, Value, module_of
from probescope.views.reporting.naming import Naming
from probescope.views.reporting.trees import Callees, Tree, Trie

if TYPE_CHECKING:
    from probescope.collect.recorded.symbols import Frame
    from probescope.views.reporting.sums import Group, Sums

PARENT = "^sys_|^do_page_fault"
"""Functions whose callers are told apart by --sort parent, if no others are named."""
_BY_MODE = {1: "overhead_sys", 2: "overhead_us", 4: "overhead_guest_sys", 5: "overhead_guest_us"}


class Stats:
    """Of one kind of event: ``own`` weight, ``total`` with callees, weight by the mode that the CPU was in."""

    __slots__ = ("modes", "own", "samples", "total")

    def __init__(self) -> None:
        self.own = self.total = self.samples = 0
        self.modes: dict[str, int] = {}

    def sum(self, name: str) -> int:
        match name:
            case "overhead" | "period":
                return self.own
            case "overhead_children":
                return self.total
            case "sample":
                return self.samples
            case _:
                return self.modes.get(name, 0)


class Row:
    """``values``: one a key. ``stats``: one a kind of event. ``common``: the values that do not differ along a stack;
    ``part``: number of those that do. ``depth``: functions on the longest way down from it, or up. ``named``: all its
    samples have a function's name. ``places`` and ``ends``: as ``trees.Callees`` takes them."""

    __slots__ = ("common", "depth", "ends", "named", "part", "places", "stacks", "stats", "values")

    def __init__(self, values: tuple[Value, ...], stats: list[Stats], common: int, part: int) -> None:
        self.values, self.stats, self.common, self.part = values, stats, common, part
        self.depth, self.named = 0, True
        self.stacks: dict[int, list[int]] = {}
        self.places: list[int] = []
        self.ends: list[tuple[int, int, int]] = []


@dataclass(frozen=True, slots=True)
class Wanted:
    """``children``: a row for each function of a stack. ``graph``: "", "caller" or "callee". ``modules`` and
    ``symbols``: only samples that were taken there. ``resolved``: only those whose function has a name. ``holding``:
    only where the function's name holds this. ``order``: what rows are sorted by, if not by weight and then the keys.
    ``by_event``: of a group, the event whose sums come first in that."""

    keys: tuple[Key, ...]
    children: bool = False
    graph: str = ""
    modules: frozenset[str] = frozenset()
    symbols: frozenset[str] = frozenset()
    resolved: bool = False
    parent: str = PARENT
    with_parent: bool = False
    holding: str = ""
    nanoseconds: bool = False
    order: tuple[Key | Sum, ...] = ()
    by_event: int = 0

    def columns(self) -> list[str]:
        """What ``Sums`` must tell apart."""
        out = ["mode"] if any(k.name == "symbol" for k in self.keys) else []
        for key in self.keys:
            out += key.columns
        if self.children or self.graph or self.with_parent:
            out.append("stack")
        if self.children or self.modules or self.symbols or self.resolved or self.holding or "stack" in out:
            out += ["ip", "mode", "space"]
        return list(dict.fromkeys(out))


class Rows:
    """``rows``: in the order in which they are shown. ``tree`` gives the call graph of one. Of the groups only those
    are looked at that ``keep`` is true of. ``unresolved``: weight and number of samples without a function's name that
    are left out for that, of each kind of event."""

    def __init__(
        self,
        sums: Sums,
        wanted: Wanted,
        naming: Naming | None = None,
        keep: Callable[[Group], bool] | None = None,
    ) -> None:
        self.sums, self.wanted = sums, wanted
        self._plain = [i for i, k in enumerate(wanted.keys) if not k.framed]
        self._framed = [i for i, k in enumerate(wanted.keys) if k.framed]
        self._naming = naming or Naming(sums.told, tuple(wanted.keys[i] for i in self._framed))
        self._texts = [k for k in sums.columns if k == "trace" or k.startswith("field ")]
        self._rows: dict[tuple[int, int], Row] = {}
        self._commons: dict[tuple[Value, ...], int] = {}
        self._common_values: list[tuple[Value, ...]] = []
        self._named_alone = all(wanted.keys[i].name == "comm" for i in self._plain)
        self._by_name: dict[int, int] = {}  # what is common, of groups that differ in the thread's name alone
        self._choosy = bool(wanted.modules or wanted.symbols or wanted.holding)
        self._tries: dict[int, Trie] = {}
        self._beside: Counter[tuple[int, int, int, int]] = Counter()  # weight of a group's others, by stacks
        self._ends: dict[tuple[int, tuple[int, ...]], int] = {}
        self._parent = re.compile(wanted.parent)
        self._places = {k: i for i, k in enumerate(wanted.keys)}
        weights = ("overhead_children", "overhead")[not wanted.children :]
        self._usual: tuple[Key | Sum, ...] = (*(SUMS[w] for w in weights), *wanted.keys)
        self.unresolved = [[0, 0] for _ in sums.kinds]
        for group in sums.groups():
            if keep is None or keep(group):
                self._add(group)
        if wanted.children:
            self._add_callees()
        self.rows: list[Row] = sorted(self._rows.values(), key=self._order)

    @property
    def names(self) -> list[str]:
        """Of labels."""
        return self._naming.names

    @property
    def place(self) -> Callable[[int], object]:
        """What sorts branches of equal weight, by label."""
        return self._naming.place

    # --- what samples and frames are called

    def _add(self, group: Group) -> None:
        w = self.wanted
        own = self.sums.self_frame(group)
        if w.resolved and not self._resolved(group, own):
            self.unresolved[group.event][0] += group.period
            self.unresolved[group.event][1] += group.samples
            return
        if self._choosy and (own is None or not self._passes(own)):
            return
        if w.with_parent and self._parent_of(group) == "[other]":
            return
        part = self._naming.part(own, group.mode, group.space)
        common = self._common(group)
        row = self._row(common, part, len(self.sums.kinds))
        row.named = row.named and (own is None or bool(own.name))
        stats = row.stats[group.event]
        stats.own += group.period
        stats.samples += group.samples
        if group.mode in _BY_MODE:
            name = _BY_MODE[group.mode]
            stats.modes[name] = stats.modes.get(name, 0) + group.period
        if w.children:
            stats.total += group.period
        if group.event == 0 and (w.graph or w.children):
            self._stacked(row, group)
        elif w.children and group.stack >= 0:
            self._beside[common, part, group.stack, group.event] += group.period

    def _resolved(self, group: Group, own: Frame | None) -> bool:
        """Has a name; of a branch, both its ends."""
        ahead = own if "from" not in group.numbers else branches.frame_at(self.sums.told, group, "from")
        return own is not None and bool(own.name) and ahead is not None and bool(ahead.name)

    def _common(self, group: Group) -> int:
        """Number of its values of the keys that do not differ along a stack."""
        known = self._by_name.get(group.name) if self._named_alone else None
        if known is not None:
            return known
        values = tuple(self._value(self.wanted.keys[i], group) for i in self._plain)
        found = self._commons.setdefault(values, len(self._commons))
        if found == len(self._common_values):
            self._common_values.append(values)
        if self._named_alone:
            self._by_name[group.name] = found
        return found

    def _passes(self, frame: Frame) -> bool:
        w = self.wanted
        return (
            (not w.modules or module_of(frame) in w.modules or frame.module in w.modules)
            and (not w.symbols or frame.name in w.symbols)
            and w.holding in frame.name
        )

    def _row(self, common: int, part: int, kinds: int) -> Row:
        row = self._rows.get((common, part))
        if row is None:
            values: list[Value] = [Value("", "")] * len(self.wanted.keys)
            for i, value in zip(self._plain, self._common_values[common], strict=True):
                values[i] = value
            for i, value in zip(self._framed, self._naming.parts[part], strict=True):
                values[i] = value
            row = self._rows[common, part] = Row(tuple(values), [Stats() for _ in range(kinds)], common, part)
        return row

    def _value(self, key: Key, group: Group) -> Value:
        tasks = self.sums.told.tasks
        if key.name in BRANCH:
            return branches.value(key, group, self.sums.told, self._naming.lines)
        of_sample = sample_keys.value(key, group, self.sums.told)
        if of_sample is not None:
            return of_sample
        match key.name:
            case "comm":
                name = tasks.names[group.name]
                return Value(name, name)
            case "pid" | "tid" | "tgid":
                number = group.pid if key.name == "tgid" else group.tid
                name = tasks.names[self.sums.last_name.get(number, tasks.name_of(number))]
                return Value(number, f"{number:>7}:{name}")
            case "cpu":
                return Value(group.cpu, f"{group.cpu:03d}")
            case "time":
                digits = 9 if self.wanted.nanoseconds else 6
                return Value(group.time, f"{group.time // 10**9}.{group.time % 10**9:09d}"[: digits - 9 or None])
            case "parent":
                name = self._parent_of(group)
                return Value(name, name)
            case _:
                pass
        text = group.texts[self._texts.index(key.columns[0])]
        return Value(int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text, text)

    def _parent_of(self, group: Group) -> str:
        frames = self.sums.told.frames(group.stack) if group.stack >= 0 else ()
        return next((f.name for f in frames if self._parent.search(f.name)), "[other]")

    # --- stacks

    def _stacked(self, row: Row, group: Group) -> None:
        if group.stack < 0:
            return
        if not self.wanted.children:
            sums = row.stacks.setdefault(group.stack, [0, 0])
            sums[0] += group.period
            sums[1] += group.samples
            return
        trie = self._tries.get(row.common)
        if trie is None:
            trie = self._tries[row.common] = Trie()
        path = self._naming.path(group.stack)
        node = self._ends.get((row.common, path))
        if node is None:
            parts = self._naming.part_path
            node = trie.add(reversed(path), group.period, group.samples, lambda: parts(group.stack)[::-1])
            self._ends[row.common, path] = node
        else:
            trie.more(node, group.period, group.samples)
        row.ends.append((node, group.period, group.samples))
        sums = row.stacks.setdefault(group.stack, [0, 0])
        sums[0] += group.period
        sums[1] += group.samples

    def _add_callees(self) -> None:
        for common, trie in self._tries.items():
            trie.summed()
            below = trie.depths() if self.wanted.graph != "callee" else []
            for part, node in trie.outermost():
                row = self._row(common, part, len(self.sums.kinds))
                row.places.append(node)
                row.stats[0].total += trie.weight[node]
                row.depth = max(row.depth, below[node] if below else 0)
            for node, level in enumerate(trie.levels() if not below else ()):
                if node:
                    row = self._rows[common, trie.part[node]]
                    row.depth = max(row.depth, level)
        for row in list(self._rows.values()):
            row.ends = merged(row.ends)
            self._without_own(row)
        for (common, part, stack, event), weight in self._beside.items():
            for caller in {*self._naming.part_path(stack)} - {part}:
                self._row(common, caller, len(self.sums.kinds)).stats[event].total += weight

    def _without_own(self, row: Row) -> None:
        """Stacks that end in the row were counted with its own weight already, if it lies in them."""
        trie = self._tries.get(row.common)
        for node, weight, _ in row.ends if trie is not None else ():
            assert trie is not None
            at, length = node, 0
            inside = False
            while at > 0:
                inside = inside or trie.part[at] == row.part
                at, length = trie.parent[at], length + 1
            row.depth = max(row.depth, length)
            if inside:
                row.stats[0].total -= weight

    def tree(self, row: Row) -> Tree:
        """Of the first kind of event."""
        if self.wanted.children and self.wanted.graph == "caller":
            trie = self._tries.get(row.common)
            return Callees(trie, row.part, row.places, row.ends) if trie is not None else Trie()
        out = Trie()
        stacks: Iterable[tuple[tuple[int, ...], list[int]]]
        if self.wanted.children:
            stacks = self._callers(row)
        else:
            stacks = ((self._naming.path(s), sums) for s, sums in row.stacks.items())
        for path, (weight, count) in stacks:
            out.add(reversed(path) if self.wanted.graph == "caller" else path, weight, count)
        out.summed()
        return out

    def _callers(self, row: Row) -> Iterable[tuple[tuple[int, ...], list[int]]]:
        """Stacks of a row's samples, and of others from the innermost place of the row on."""
        for stack, sums in row.stacks.items():
            yield self._naming.path(stack), sums
        for other in self._rows.values():
            if other.common != row.common or other is row:
                continue
            for stack, sums in other.stacks.items():
                parts = self._naming.part_path(stack)
                if row.part in parts:
                    yield self._naming.path(stack)[parts.index(row.part) :], sums

    # --- order

    def _order(self, row: Row) -> tuple[object, ...]:
        """The heaviest first; of equal ones with callees, those that call the others; then by what they are called."""
        w = self.wanted
        out: list[object] = []
        first = w.by_event if w.by_event < len(row.stats) else 0
        # perf asks the group's leader last of all, which is never, if another event comes first
        stats = [row.stats[first], *row.stats[1:first], *row.stats[first + 1 :]]
        for column in w.order or self._usual:
            if isinstance(column, Key):
                value = row.values[self._places[column]]
                order = (1, value.order) if isinstance(value.order, str) else (0, value.order)
                out.append(_Down(order) if column.falling else order)
                continue
            out += [-s.sum(column.name) for s in stats]
            if column.name == "overhead_children":
                out.append(0 if not w.graph else -row.depth if w.graph == "caller" else row.depth)
        return tuple(out)


def merged(ends: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """One for each node: many stacks differ in nothing but addresses."""
    sums: dict[int, list[int]] = {}
    for node, weight, count in ends:
        found = sums.setdefault(node, [0, 0])
        found[0] += weight
        found[1] += count
    return [(node, weight, count) for node, (weight, count) in sums.items()]


class _Down:
    """What is greater comes first: so has perf fields of tracepoints, and files of branches."""

    __slots__ = ("order",)

    def __init__(self, order: tuple[int, str | int]) -> None:
        self.order = order

    def __lt__(self, other: _Down) -> bool:
        return other.order < self.order

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Down) and other.order == self.order

    __hash__ = None  # type: ignore[assignment]
