"""How a whole value is taken when a probe fires: its own bytes, and those behind its pointers, by a fixed recipe.

A ``std::vector<std::string>`` at the address in %di:

    0  24 bytes at %di                                         the three pointers of the vector
    1  at the first of those, as far as the second says        the strings, 32 bytes each, of which 256 at most
    2  at the pointer 0 bytes into 1, as long as the word 8 bytes into 1 says          the text of the first string
    3  at the pointer 32 bytes into 1 ...                      the text of the second one, if 1 is that long

Each step reads from where an earlier one told. User space makes sense of the bytes (``Capture.show``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probescope.frozen import dataclass, field
from probescope.model.fetch import Fetch


@dataclass(frozen=True, slots=True)
class Word:
    """A number of ``size`` bytes, ``at`` bytes into what step ``step`` read."""

    step: int
    at: int
    size: int = 8


@dataclass(frozen=True, slots=True)
class Length:
    """``word`` times ``scale`` bytes; where it is a pointer to the ``end``, what lies between."""

    word: Word
    scale: int = 1
    end: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """A step is taken only if ``word`` is one of ``values`` (with ``invert``: none of them); or, with ``above``, more
    than that; or, with ``below``, less."""

    word: Word
    values: tuple[int, ...] = ()
    invert: bool = False
    above: int | None = None
    below: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """At most ``size`` bytes from the address that ``pointer`` holds, plus ``add``. ``text``: no further than to a
    NUL."""

    pointer: Word
    size: int
    add: int = 0
    length: Length | None = None
    guards: tuple[Guard, ...] = ()
    text: bool = False


@dataclass(frozen=True, slots=True)
class Pieces(Fetch):
    """A value in several registers, or places of the stack, of so many bytes each, in order."""

    parts: tuple[tuple[Fetch, int], ...]

    def __str__(self) -> str:
        return str(self.parts[0][0]) if self.parts else ""


@dataclass(frozen=True, slots=True)
class Segment:
    """What a step read, and where."""

    address: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Hit:
    """``task``: the thread that was there; ``shift``: how much higher than in its file the binary is mapped, ``None``
    where that is not known."""

    segments: Sequence[Segment]
    task: int = 0
    shift: int | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """What filters compare of a value: the ``number`` in its own bytes, or the text behind ``pointer``, of ``length``
    bytes (without it up to a NUL)."""

    number: Word | None = None
    signed: bool = False
    pointer: Word | None = None
    length: Word | None = None


Show = Callable[[Hit], str]


@dataclass(frozen=True, slots=True)
class Capture:
    """``root``: the value, ``Pieces`` or an address (``Deref``) where ``size`` bytes of it lie.
    ``speculative``: some of what is taken for pointers may be none, and lead nowhere. ``compared``: by filters, if that
    is a number or a text."""

    root: Fetch
    size: int
    steps: tuple[Step, ...] = ()
    speculative: bool = False
    show: Show = field(default=lambda _: "", compare=False, repr=False)
    compared: Compared | None = None


IN_REGISTERS = 1 << 63
"""The address that the bytes of ``Pieces`` have for readers: no pointer of a program is that."""
