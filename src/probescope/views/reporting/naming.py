"""What samples and frames are called by: each different name once, with a number.

Kept from one table to the next where these are of one recording: ``top`` asks every few seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from probescope.collect.recorded.along import KERNEL_MARK, USER_MARK, Along
from probescope.views.reporting.keys import Key, Value, label_of, module_of, symbol_of

if TYPE_CHECKING:
    from probescope.collect.recorded.symbols import Frame
    from probescope.collect.recorded.told import Told

Lines = Callable[["Frame", int], tuple[str, str]]
"""Of a frame and its address space: source line and file, as perf report shows them."""


class Naming:
    """``keys``: those of a row that differ along a stack; their values together are a *part*. A *label* is what a call
    graph calls a function. Both are numbers: ``parts`` and ``names`` have the values. ``most``: innermost functions of
    a stack that are told, 0 for all."""

    def __init__(self, told: Told, keys: tuple[Key, ...], lines: Lines | None = None, most: int = 0) -> None:
        self._told, self._keys, self.lines = told, keys, lines
        self._most = most or None
        self.parts: list[tuple[Value, ...]] = []
        self.names: list[str] = []
        self._parts: dict[tuple[Value, ...], int] = {}
        self._part_of: dict[tuple[int, int], int] = {}
        self._labels: dict[tuple[str, str], int] = {}
        self._label_of: dict[int, int] = {}
        self._spots: list[tuple[bool, int]] = []
        self._held: list[Frame] = []  # frames whose identity is a key above
        self._paths: dict[int, tuple[int, ...]] = {}
        self._expanded = Along(self._labels_at)
        self._alike: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._part_paths: dict[int, tuple[int, ...]] = {}

    def part(self, frame: Frame | None, mode: int, space: int) -> int:
        key = (id(frame), mode)
        found = self._part_of.get(key)
        if found is None:
            if frame is not None:
                self._held.append(frame)
            values = tuple(self._value(k, frame, mode, space) for k in self._keys)
            found = self._part_of[key] = self._parts.setdefault(values, len(self._parts))
            if found == len(self.parts):
                self.parts.append(values)
        return found

    def _value(self, key: Key, frame: Frame | None, mode: int, space: int) -> Value:
        if frame is None:
            return Value("", "[unknown]")
        match key.name:
            case "dso":
                module = module_of(frame)
                return Value(module, module)
            case "symbol":
                return symbol_of(frame, mode)
            case _:
                pass
        line, file = self.lines(frame, space) if self.lines is not None else ("", "")
        text = line if key.name == "srcline" else file
        return Value(text, text)

    def label(self, frame: Frame) -> int:
        found = self._label_of.get(id(frame))
        if found is None:
            self._held.append(frame)
            key = (module_of(frame), label_of(frame))
            found = self._labels.setdefault(key, len(self.names))
            spot = frame.kernel, (frame.offset if frame.name else 0) - frame.address
            if found == len(self.names):
                self.names.append(key[1])
                self._spots.append(spot)
            else:  # of those with one name the same, in whatever order they were met
                self._spots[found] = min(self._spots[found], spot)
            self._label_of[id(frame)] = found
        return found

    def place(self, label: int) -> object:
        """What sorts branches of equal weight: higher addresses first, the kernel's last, as perf has them."""
        return self._spots[label]

    def path(self, stack: int) -> tuple[int, ...]:
        """Labels, innermost first."""
        found = self._paths.get(stack)
        if found is None:
            space, addresses = self._told.stacks.chains[stack]
            found = tuple(self._expanded.of(space, addresses))
            found = found[: self._most]
            found = self._paths[stack] = self._alike.setdefault(found, found)
        return found

    def _labels_at(self, space: int, address: int, kernel: bool) -> tuple[int, ...]:
        return self._labels_of(self._told.along(space, (KERNEL_MARK if kernel else USER_MARK, address)))

    def _labels_of(self, frames: Iterable[Frame]) -> tuple[int, ...]:
        known = self._label_of
        try:
            return tuple([known[id(f)] for f in frames])
        except KeyError:
            return tuple(self.label(f) for f in frames)

    def part_path(self, stack: int) -> tuple[int, ...]:
        """Parts, innermost first."""
        found = self._part_paths.get(stack)
        if found is None:
            space = self._told.stacks.chains[stack][0]
            found = self._part_paths[stack] = tuple(
                self.part(f, 0, space) for f in self._told.frames(stack)[: self._most]
            )
        return found
