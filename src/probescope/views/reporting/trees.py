"""Call graphs: stacks merged where they begin alike, and what of them one row of a report shows.

Stacks are told outermost first ("caller" order) or innermost first ("callee"):

    main a leaf  3      main 5 -+- a 4 -+- leaf 3        a node's weight counts all that passes through it,
    main a       1              |       `- (own 1)       ``own`` what ends there
    main b       1              `- b 1

With weights of callees ("children") each function has a tree of its own: what lies below its outermost place in the
stacks. Those trees are not built. They are parts of one, and a row's view of it is worked out while it is printed:

    outermost places of f   o1, o2...     their parts, merged: but without stacks that end in f, since these are shown
    stacks that end in f    e1, e2...     whole, from the root on (so has perf it)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol


class Branch:
    """A function below another, as a printer sees it. ``at`` is what its tree knows it by."""

    __slots__ = ("at", "count", "label", "own", "own_count", "weight")

    def __init__(self, label: int, weight: int, count: int, own: int, own_count: int, at: object) -> None:
        self.label, self.weight, self.count = label, weight, count
        self.own, self.own_count, self.at = own, own_count, at


class Tree(Protocol):
    def below(self, at: object) -> list[Branch]:
        """In no particular order; ``None`` is the root."""
        ...


class Trie:
    """Stacks of labels. ``part`` of a node: which row its function belongs to."""

    def __init__(self) -> None:
        self.label: list[int] = [-1]
        self.part: list[int] = [-1]
        self.parent: list[int] = [-1]
        self.kids: list[dict[int, int]] = [{}]
        self.own: list[int] = [0]
        self.own_count: list[int] = [0]
        self.weight: list[int] = []
        self.count: list[int] = []

    def add(
        self, labels: Iterable[int], weight: int, count: int, parts_of: Callable[[], Sequence[int]] | None = None
    ) -> int:
        """The node that the stack ends at. ``parts_of`` is asked where there are functions that are not known yet."""
        at = 0
        parts: Sequence[int] | None = None
        for depth, label in enumerate(labels):
            below = self.kids[at].get(label)
            if below is None:
                if parts is None and parts_of is not None:
                    parts = parts_of()
                below = self.kids[at][label] = len(self.label)
                self.label.append(label)
                self.part.append(parts[depth] if parts is not None else label)
                self.parent.append(at)
                self.kids.append({})
                self.own.append(0)
                self.own_count.append(0)
            at = below
        self.more(at, weight, count)
        return at

    def more(self, node: int, weight: int, count: int) -> None:
        """Of a stack that ends there."""
        self.own[node] += weight
        self.own_count[node] += count

    def summed(self) -> None:
        """Weights with those of what is below: a node's number is above its parent's, so one pass from the end does."""
        self.weight, self.count = list(self.own), list(self.own_count)
        for node in range(len(self.label) - 1, 0, -1):
            self.weight[self.parent[node]] += self.weight[node]
            self.count[self.parent[node]] += self.count[node]

    def below(self, at: object) -> list[Branch]:
        node = at if isinstance(at, int) else 0
        return [
            Branch(label, self.weight[n], self.count[n], self.own[n], self.own_count[n], n)
            for label, n in self.kids[node].items()
        ]

    def depths(self) -> list[int]:
        """How many functions lie on the longest way down from each node, itself counted."""
        out = [1] * len(self.label)
        for node in range(len(self.label) - 1, 0, -1):
            out[self.parent[node]] = max(out[self.parent[node]], out[node] + 1)
        return out

    def levels(self) -> list[int]:
        """How many functions lie between the root and each node, itself counted."""
        out = [0] * len(self.label)
        for node in range(1, len(self.label)):
            out[node] = out[self.parent[node]] + 1
        return out

    def outermost(self) -> Iterator[tuple[int, int]]:
        """(part, node) of functions that lie below no other of their part."""
        waiting: list[tuple[int, frozenset[int]]] = [(0, frozenset())]
        while waiting:
            node, above = waiting.pop()
            part = self.part[node]
            inside = above
            if node and part not in above:
                yield part, node
                inside = above | {part}
            waiting += [(kid, inside) for kid in self.kids[node].values()]


class Callees:
    """What one row shows of a trie: see above. ``places``: its outermost nodes; ``ends``: (node, weight, count) of
    stacks that the row itself ends."""

    def __init__(self, trie: Trie, part: int, places: Sequence[int], ends: Sequence[tuple[int, int, int]]) -> None:
        self._trie = trie
        self._places = places
        self._less: dict[int, list[int]] = {}
        self._whole: dict[int, list[int]] = {}
        self._whole_kids: dict[int, list[int]] = {}
        """Those of its nodes that lie below one: few of all that the trie has there."""
        for node, weight, count in ends:
            self._end(part, node, weight, count)
        for kids in self._whole_kids.values():
            kids.sort()  # as the trie has them: what is of one weight is shown in that order

    def _end(self, part: int, node: int, weight: int, count: int) -> None:
        trie = self._trie
        path, at = [], node
        while at > 0:
            path.append(at)
            at = trie.parent[at]
        for n in path:
            whole = self._whole.get(n)
            if whole is None:
                whole = self._whole[n] = [0, 0]
                self._whole_kids.setdefault(trie.parent[n], []).append(n)
            whole[0] += weight
            whole[1] += count
        outermost = next((i for i in range(len(path) - 1, -1, -1) if trie.part[path[i]] == part), -1)
        for n in path[: outermost + 1]:
            less = self._less.setdefault(n, [0, 0, 0, 0])
            less[0] += weight
            less[1] += count
        if outermost >= 0:
            self._less[node][2] += weight
            self._less[node][3] += count

    def below(self, at: object) -> list[Branch]:
        """``at``: nodes of the part (True) or of whole stacks (False) that are one function here."""
        trie = self._trie
        if at is None:
            nodes = [(n, True) for n in self._places] + [(n, False) for n in self._whole_kids.get(0, ())]
        else:
            assert isinstance(at, list)
            kids = self._whole_kids
            nodes = [(k, p) for n, p in at for k in (trie.kids[n].values() if p else kids.get(n, ()))]
        out: dict[int, Branch] = {}
        for n, partial in nodes:
            sums = self._partial(n) if partial else self._entire(n)
            if sums[1] <= 0:
                continue
            label = trie.label[n]
            branch = out.get(label)
            if branch is None:
                branch = out[label] = Branch(label, 0, 0, 0, 0, [])
            branch.weight += sums[0]
            branch.count += sums[1]
            branch.own += sums[2]
            branch.own_count += sums[3]
            assert isinstance(branch.at, list)
            branch.at.append((n, partial))
        return list(out.values())

    def _partial(self, n: int) -> tuple[int, int, int, int]:
        trie, less = self._trie, self._less.get(n, (0, 0, 0, 0))
        return (
            trie.weight[n] - less[0],
            trie.count[n] - less[1],
            trie.own[n] - less[2],
            trie.own_count[n] - less[3],
        )

    def _entire(self, n: int) -> tuple[int, int, int, int]:
        """Of whole stacks: what ends below is known by its difference."""
        whole = self._whole[n]
        kids = [self._whole[k] for k in self._whole_kids.get(n, ())]
        return whole[0], whole[1], whole[0] - sum(k[0] for k in kids), whole[1] - sum(k[1] for k in kids)
