"""Counted stacks: a tree of frames, and rows that say how much of it was seen where and when.

frames  ["main", "parse", "read_[k]"]            names, each once
parent  [-1, 0, 1]   frame [-1, 0, 1]             node 0 is the root; a stack is known by its innermost node
rows    (node, group, slot) -> weight             group: a process, thread or CPU; slot: a piece of time
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from probescope.errors import FormatError, LimitError
from probescope.frozen import dataclass, field

MAX_NODES = 4_000_000
MAX_DEPTH = 4096
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Group:
    """Whose stacks these are: empty and -1 where it is not known."""

    process: str = ""
    pid: int = -1
    tid: int = -1
    cpu: int = -1


@dataclass(slots=True)
class StackSamples:
    """``unit``: what weights count ("samples", "ns"...). ``times``: start and end in ns of what the slots divide, both
    0 if nothing is known of time. ``base``: rows of an earlier recording, to compare with."""

    unit: str = "samples"
    slots: int = 1
    times: tuple[int, int] = (0, 0)
    frames: list[str] = field(default_factory=list)
    parent: list[int] = field(default_factory=lambda: [-1])
    frame: list[int] = field(default_factory=lambda: [-1])
    groups: list[Group] = field(default_factory=list)
    rows: dict[tuple[int, int, int], float] = field(default_factory=dict)
    base: dict[tuple[int, int, int], float] | None = None
    _names: dict[str, int] = field(default_factory=dict)
    _nodes: dict[tuple[int, int], int] = field(default_factory=dict)
    _known: dict[Group, int] = field(default_factory=dict)

    def node(self, stack: Iterable[str], start: int = 0, above: int = 0) -> int:
        """The node of a stack, outermost frame first; or of what goes on at the node ``start``, which has so many
        ``above`` it. Raises LimitError past ``MAX_NODES`` or ``MAX_DEPTH``."""
        at = start
        for depth, name in enumerate(stack):
            frame = self._names.get(name)
            if frame is None:
                frame = self._names[name] = len(self.frames)
                self.frames.append(name)
            below = self._nodes.get((at, frame))
            if below is None:
                below = self._grow(at, frame, above + depth)
            at = below
        return at

    def _grow(self, parent: int, frame: int, depth: int) -> int:
        if depth >= MAX_DEPTH:
            raise LimitError(f"a stack of more than {MAX_DEPTH} frames")
        if len(self.parent) >= MAX_NODES:
            raise LimitError(f"more than {MAX_NODES} different stacks", hints=["leave some out: grep the folded text"])
        made = self._nodes[parent, frame] = len(self.parent)
        self.parent.append(parent)
        self.frame.append(frame)
        return made

    def group(self, group: Group) -> int:
        found = self._known.get(group)
        if found is None:
            found = self._known[group] = len(self.groups)
            self.groups.append(group)
        return found

    def add(self, node: int, weight: float, group: int = -1, slot: int = 0, *, before: bool = False) -> None:
        """``group`` -1: nothing is known of it. ``before``: into what is compared with."""
        if group < 0:
            group = self.group(Group())
        if before and self.base is None:
            self.base = {}
        rows = self.base if before and self.base is not None else self.rows
        key = (node, group, slot)
        rows[key] = rows.get(key, 0) + weight

    def part(self) -> Any:
        """All of it as plain values, for ``join``."""
        groups = [(g.process, g.pid, g.tid, g.cpu) for g in self.groups]
        return self.frames, self.parent, self.frame, groups, self.rows

    def join(self, part: Any) -> None:
        """Adds what another one has counted."""
        frames, parent, frame, groups, rows = part
        nodes, depths = [0], [0]
        for above, name in zip(parent[1:], frame[1:], strict=True):
            nodes.append(self.node((frames[name],), nodes[above], depths[above]))
            depths.append(depths[above] + 1)
        known = [self.group(Group(*g)) for g in groups]
        for (node, group, slot), weight in rows.items():
            self.add(nodes[node], weight, known[group], slot)

    def ordered(self) -> None:
        """Numbers everything anew: outer frames before inner ones, by name; groups and rows likewise. So the same
        recording gives the same graph, in whatever order it was counted."""
        paths = sorted((tuple(self.path(n)), n) for n in range(1, len(self.parent)))
        moved = {0: 0} | {n: i for i, (_, n) in enumerate(paths, 1)}
        every = sorted(range(len(self.groups)), key=lambda g: _order(self.groups[g]))
        place = {g: i for i, g in enumerate(every)}
        rows = sorted(((moved[n], place[g], s), w) for (n, g, s), w in self.rows.items())
        self.parent = [-1, *(moved[self.parent[n]] for _, n in paths)]
        names = [path[-1] for path, _ in paths]
        self.frames = list(dict.fromkeys(names))
        self._names = {name: i for i, name in enumerate(self.frames)}
        self.frame = [-1, *(self._names[name] for name in names)]
        self._nodes = {(self.parent[i], self.frame[i]): i for i in range(1, len(self.parent))}
        self.groups = [self.groups[g] for g in every]
        self._known = {group: i for i, group in enumerate(self.groups)}
        self.rows = dict(rows)

    @property
    def total(self) -> float:
        return sum(self.rows.values())

    def path(self, node: int) -> list[str]:
        """Names from the outermost frame to ``node``."""
        out: list[str] = []
        while node > 0:
            out.append(self.frames[self.frame[node]])
            node = self.parent[node]
        return out[::-1]


def _order(group: Group) -> tuple[str, int, int, int]:
    return group.process, group.pid, group.tid, group.cpu


def read_folded(lines: Iterable[str], name: str = "stdin", *, into: StackSamples | None = None) -> StackSamples:
    """Folded text: ``outer;inner COUNT`` a line; ``outer;inner BEFORE AFTER`` where two are compared. Frames may hold
    blanks. With ``into``, what is read is what ``into`` is compared with. Raises FormatError naming the line."""
    samples = into or StackSamples()
    found = 0
    for number, line in enumerate(lines, 1):
        text = line.strip("\r\n \t\0")
        stack, counts = _counts(text)
        if not text or (text.startswith("#") and not counts):
            continue
        if not counts or not stack:
            raise FormatError(
                "this is not a folded stack: 'outer;inner COUNT' is one",
                file=name,
                section=f"line {number}",
                hints=["probescope run -f folded -e 'profile:hz:99 { @[kstack, ustack, comm] = count(); }' makes some"],
            )
        node = samples.node(part or "?" for part in stack.split(";"))
        if len(counts) == 2 and into is None:
            samples.add(node, counts[0], before=True)
        samples.add(node, counts[-1], before=into is not None)
        found += 1
    if not found:
        raise FormatError("there are no stacks in it", file=name, section="folded text")
    return samples


def _counts(text: str) -> tuple[str, list[float]]:
    """The stack, and the one or two numbers behind it."""
    words = text.rsplit(None, 2)
    numbers = [w for w in words[1:] if _NUMBER.fullmatch(w)]
    if len(words) == 3 and len(numbers) == 2:
        return words[0], [float(n) for n in numbers]
    head, _, last = text.rpartition(" ")
    return (head.rstrip(), [float(last)]) if _NUMBER.fullmatch(last) else (text, [])


def folded(samples: StackSamples) -> Iterator[str]:
    """The same as folded text, a line for each stack, groups and times put together; with two numbers where two
    recordings are compared."""
    sums: dict[int, list[float]] = {}
    for at, rows in ((0, samples.base or {}), (1, samples.rows)):
        for (node, _, _), weight in rows.items():
            sums.setdefault(node, [0, 0])[at] += weight
    for node, pair in sorted(sums.items(), key=lambda item: samples.path(item[0])):
        numbers: Sequence[float] = pair if samples.base is not None else pair[1:]
        yield ";".join(samples.path(node)) + "".join(f" {plain(n)}" for n in numbers)


def plain(n: float) -> str:
    """Without a fraction where there is none."""
    return str(int(n)) if n == int(n) else f"{n:.6g}"
