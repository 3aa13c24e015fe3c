r"""printf formats, parsed once: literal pieces and conversions.

    "%-16s %5d\n"  ->  Conv('s', flags='-', width=16), " ", Conv('d', width=5), "\n"

The conversions are those of bpftrace's printf: ``d i u x X o p c s`` with ``hh h l ll j z`` lengths (which change
nothing, since values know their width), ``r`` with ``rx`` and ``rh`` for buffers, ``gr`` for GFP flags. ``%%`` is a
literal. ``f e g`` are ours: numbers with a fraction.
"""

from __future__ import annotations

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Conv:
    """``width`` and ``precision`` are -1 where not given. ``column`` is the 0-based place of its ``%`` in the format
    text."""

    kind: str  # one of d i u x X o p c s r rx rh gr f e g
    flags: str = ""
    width: int = -1
    precision: int = -1
    length: str = ""
    column: int = 0


@dataclass(frozen=True, slots=True)
class Format:
    """``text`` as written (escapes resolved), and its pieces in order."""

    text: str
    parts: tuple[str | Conv, ...]

    @property
    def conversions(self) -> tuple[Conv, ...]:
        return tuple(p for p in self.parts if isinstance(p, Conv))


class FormatTextError(ValueError):
    """A conversion that does not exist: ``column`` is where it starts."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


_FLAGS = "-+ #0'"
_LENGTHS = ("hh", "ll", "h", "l", "j", "z", "t", "L", "q")
_KINDS = ("gr", "rx", "rh", "r", "d", "i", "u", "x", "X", "o", "p", "c", "s", "f", "e", "g")
_GREATEST_WIDTH = 65536


def parse_format(text: str) -> Format:
    """Split a format text. Raises ``FormatTextError`` for an unknown or unfinished conversion."""
    parts: list[str | Conv] = []
    literal: list[str] = []
    i = 0
    while i < len(text):
        if text[i] != "%":
            j = text.find("%", i)
            j = len(text) if j < 0 else j
            literal.append(text[i:j])
            i = j
        elif text.startswith("%%", i):
            literal.append("%")
            i += 2
        else:
            conv, i = _conversion(text, i)
            if literal:
                parts.append("".join(literal))
                literal = []
            parts.append(conv)
    if literal:
        parts.append("".join(literal))
    return Format(text, tuple(parts))


def _conversion(text: str, start: int) -> tuple[Conv, int]:
    i = start + 1
    j = i
    while j < len(text) and text[j] in _FLAGS:
        j += 1
    flags, i = text[i:j], j
    width, i = _number(text, i, start)
    precision = -1
    if i < len(text) and text[i] == ".":
        precision, i = _number(text, i + 1, start)
        precision = max(precision, 0)
    length = next((n for n in _LENGTHS if text.startswith(n, i)), "")
    i += len(length)
    kind = next((k for k in _KINDS if text.startswith(k, i)), "")
    if not kind:
        raise FormatTextError(f"unknown conversion {text[start : i + 1]!r}", start)
    return Conv(kind, flags, width, precision, length, start), i + len(kind)


def _number(text: str, i: int, start: int) -> tuple[int, int]:
    j = i
    while j < len(text) and text[j].isascii() and text[j].isdigit():
        j += 1
    if j == i:
        return -1, i
    value = int(text[i:j]) if j - i < 8 else _GREATEST_WIDTH + 1
    if value > _GREATEST_WIDTH:
        raise FormatTextError(f"width {text[i:j]} is greater than {_GREATEST_WIDTH}", start)
    return value, j
