"""What samples and frames are called by: each different name once, with a number.

Kept from one table to the next where these are of one recording: ``top`` asks every few seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from probescope.collect.recorded.stacks import CONTEXT
from probescope.collect.recorded.told import KERNEL_MARK, USER_MARK
from probescope.views.reporting.keys import Key, Value, label_of, module_of, symbol_of

if TYPE_CHECKING:
    from probescope.collect.recorded.symbols import Frame
    from probescope.collect.recorded.told import Told

_KERNEL = -2
"""The kernel's addresses among those of address spaces."""
_OF_KERNEL, _OF_USER, _MARKS = (KERNEL_MARK,), (USER_MARK,), frozenset({KERNEL_MARK, USER_MARK})
_NONE: Mapping[int, tuple[int, ...]] = {}

Lines = Callable[["Frame", int], tuple[str, str]]
"""Of a frame and its address space: source line and file, as perf report shows them."""


class Naming:
    """``keys``: those of a row that differ along a stack; their values together are a *part*. A *label* is what a call
    graph calls a function. Both are numbers: ``parts`` and ``names`` have the values. ``most``: innermost functions of
    a stack that are told, 0 for all."""

    def __init__(self, told: Told, keys: tuple[Key, ...], lines: Lines | None = None, most: int = 0) -> None:
        self._told, self._keys, self._lines = told, keys, lines
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
        self._labels_at: dict[int, dict[int, tuple[int, ...]]] = {_KERNEL: {}}  # by space, then by address
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
        line, file = self._lines(frame, space) if self._lines is not None else ("", "")
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
            try:
                found = self._met(space, addresses)
            except KeyError:
                found = self._new(space, addresses)
            found = found[: self._most]
            found = self._paths[stack] = self._alike.setdefault(found, found)
        return found

    def _met(self, space: int, addresses: tuple[int, ...]) -> tuple[int, ...]:
        """Without a step of Python for each address. Raises KeyError where one is new, or after marks of other kinds
        than the kernel's and the process's."""
        first = addresses[:1]
        user = self._labels_at.get(space, _NONE)
        if first == _OF_USER:
            return tuple(chain.from_iterable(map(user.__getitem__, addresses[1:])))
        if first != _OF_KERNEL:
            raise KeyError(first)
        end = addresses.index(USER_MARK) if USER_MARK in addresses else len(addresses)
        inner = map(self._labels_at[_KERNEL].__getitem__, addresses[1:end])
        return tuple(chain(chain.from_iterable(inner), *map(user.__getitem__, addresses[end + 1 :])))

    def _new(self, space: int, addresses: tuple[int, ...]) -> tuple[int, ...]:
        """Each address alone, and remembered."""
        out: list[int] = []
        mark = 0
        for address in addresses:
            if address >= CONTEXT:
                mark = address
                continue
            known = self._labels_at.setdefault(_KERNEL if mark == KERNEL_MARK else space, {})
            found = known.get(address) if mark in _MARKS else None
            if found is None:
                found = self._labels_of(self._told.along(space, (mark, address) if mark else (address,)))
                if mark in _MARKS:
                    known[address] = found
            out += found
        return tuple(out)

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
