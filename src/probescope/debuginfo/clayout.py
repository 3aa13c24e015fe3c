"""Offsets of the members of a C struct or union: System V AMD64 psABI 3.1.2, AAPCS64 10.1.8 ("bit-fields")."""

from __future__ import annotations

from probescope.debuginfo.cbits import place_bits
from probescope.model.types import Layout, Member, Type


class LayoutBuilder:
    """Takes the members in order. Positions are kept in bits."""

    def __init__(self, name: str, union: bool, packed: bool) -> None:
        self.name, self._union, self._packed = name, union, packed
        self._at = 0
        self._end = 0  # greatest end of a member, for unions
        self._align = 1
        self._members: list[Member] = []
        self._bit_fields: list[tuple[int, str, Type, int, int, int]] = []
        self._tags: list[tuple[str, str]] = []

    def member(
        self, name: str, t: Type, size: int, align: int, asked: int = 0, tags: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """``asked``: alignment of an attribute, which only ever adds to the natural one."""
        at = self._take(size, align, asked)
        self._members.append(Member(name, t, at))
        self._tags += tags

    def lift(self, inner: Layout, size: int, align: int) -> None:
        """The members of a nameless struct or union become ours."""
        at = self._take(size, align, 0)
        self._members += [Member(m.name, m.type, m.offset + at, m.bit_offset, m.bit_size) for m in inner.members]
        self._tags += inner.tags

    def _take(self, size: int, align: int, asked: int) -> int:
        align = max(1 if self._packed else align, asked)
        self._align = max(self._align, align)
        at = 0 if self._union else _up(_up(self._at, 8) // 8, align)
        self._advance(8 * (at + size))
        return at

    def _advance(self, end: int) -> None:
        self._at = 0 if self._union else end
        self._end = max(self._end, end)

    def bits(self, name: str, t: Type, width: int, size: int, asked: int = 0) -> None:
        """A bit field of a type of ``size`` bytes. It does not cross a boundary of that type, unless packed; width 0
        moves to the next one; one without a name takes room but does not align the struct."""
        unit = 8 * size
        if width == 0:
            self._advance(0 if self._union else _up(self._at, unit))
            return
        at = _up(self._at, 8 * asked) if asked else self._at
        if not self._packed and at // unit != (at + width - 1) // unit:
            at = _up(at, unit)
        if name:
            self._align = max(self._align, 1 if self._packed else size, asked)
            self._bit_fields.append((len(self._members), name, t, at, width, size))
            self._members.append(Member(name, t, 0))  # placed when the size of the struct is known
        self._advance(at + width)

    def finish(self, asked: int = 0) -> tuple[Layout, int]:
        align = max(self._align, asked)
        size = _up(_up(self._end, 8) // 8, align)
        for index, name, t, at, width, unit in self._bit_fields:
            self._members[index] = place_bits(name, t, at, width, unit, size)
        return Layout(self.name, size, tuple(self._members), tuple(self._tags), align), align


def _up(value: int, align: int) -> int:
    return (value + align - 1) // align * align
