"""A value of a program that was traced: what printers get.

v["name"]      a member, of a base class too; v.members: all      v.address, v.size, v.bytes(n)
v.deref()      what a pointer or reference points to              int(v), float(v), bool(v): a number
v.elements(n)  the first n of an array, a vector, a list, a map   v.text(n): a text, of a string or a char pointer
v.type.name    how its language calls the type                    str(v): as it is printed without a printer
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from probescope.debuginfo.values import shapes as sh
from probescope.debuginfo.values.memory import Memory, Unreadable
from probescope.debuginfo.values.vtypes import VType

if TYPE_CHECKING:
    from probescope.debuginfo.values.show import Printer

MAX_TEXT = 4096
MAX_ELEMENTS = 1024


class Value:
    """Reads raise ``Unreadable`` where memory is not there; a printer need not catch it."""

    __slots__ = ("_printer", "address", "bits", "memory", "type")

    def __init__(
        self, t: VType, address: int, memory: Memory, printer: Printer, bits: tuple[int, int] | None = None
    ) -> None:
        self.type, self.address, self.memory, self._printer, self.bits = t, address, memory, printer, bits

    def __str__(self) -> str:
        return self._printer.plain(self)

    def __repr__(self) -> str:
        return f"<value of {self.type.name} at {self.address:#x}>"

    @property
    def size(self) -> int:
        return self.type.size

    def bytes(self, size: int = -1) -> bytes:
        """Its own, or the first ``size`` of what lies there."""
        return self.memory.read(self.address, self.type.size if size < 0 else size)

    def at(self, offset: int, t: VType, bits: tuple[int, int] | None = None) -> Value:
        return Value(t, self.address + offset, self.memory, self._printer, bits)

    # --- parts --------------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Value:
        """A member. Raises ``KeyError``."""
        found = self.type.member(name)
        if found is None:
            raise KeyError(f"{self.type.name} has no member {name}")
        return self.at(found.offset, found.type, found.bits)

    @property
    def members(self) -> dict[str, Value]:
        return {m.name: self.at(at, m.type, m.bits) for at, m in self.type.flat()}

    def deref(self) -> Value:
        """Raises ``Unreadable`` for what points nowhere, ``TypeError`` for what is no pointer."""
        shape = sh.shape_of(self.type)
        if isinstance(shape, sh.Pointee):
            return self._behind(shape.pointer, shape.target, shape.add)
        if self.type.kind not in ("pointer", "reference"):
            raise TypeError(f"{self.type.name} is no pointer")
        return self._behind(0, self.type.target, 0)

    def _behind(self, at: int, target: VType, add: int) -> Value:
        to = self.memory.word(self.address + at)
        if not to:
            raise Unreadable("a null pointer")
        return Value(target, to + add, self.memory, self._printer)

    def text(self, most: int = 256) -> str:
        """Raises ``TypeError`` for what is no text."""
        from probescope.debuginfo.values.show import text_of

        return text_of(self, min(most, MAX_TEXT))[0]

    def elements(self, most: int = 64) -> list[Value]:
        """Raises ``TypeError`` for what has none."""
        from probescope.debuginfo.values.walks import items

        return [v for _, v in zip(range(min(most, MAX_ELEMENTS)), items(self), strict=False)]

    # --- numbers ------------------------------------------------------------------------------------------------------

    def __int__(self) -> int:
        size = self.type.size
        number = int.from_bytes(self.bytes()[:16], "little")
        if self.bits is not None:
            wide, shift = self.bits
            number, size = number >> shift & (1 << wide) - 1, 0
            return number - (1 << wide) if self.type.kind == "int" and number >> (wide - 1) else number
        signed = self.type.kind == "int"
        return number - (1 << 8 * size) if signed and size and number >> (8 * size - 1) else number

    __index__ = __int__

    def __float__(self) -> float:
        if self.type.kind != "float":
            return float(int(self))
        data = self.bytes()
        if len(data) == 16:
            return _extended(data)
        return float(struct.unpack({2: "<e", 4: "<f", 8: "<d"}.get(len(data), "<d"), data)[0])

    def __bool__(self) -> bool:
        return any(self.bytes())


def _extended(data: bytes) -> float:
    """Ten bytes of the x87: 64 bits of a fraction, 15 of an exponent, a sign."""
    fraction, top = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:10], "little")
    exponent = (top & 0x7FFF) - 16383 - 63
    try:
        out = fraction * 2.0**exponent
    except OverflowError:
        out = float("inf")
    return -out if top >> 15 else out


__all__ = ["Unreadable", "Value"]
