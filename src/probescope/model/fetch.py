r"""What is fetched when a dynamic event fires, in the kernel's own terms: registers, and memory from them.

    %di                   a register                     +8(+16(%di))      memory, by one pointer after another
    $retval $comm $stack  what the kernel knows          @sym+8 @0xffff..  memory of a symbol, at an address
    $arg1 $stack2         by the calling convention      \5                a constant
    $goid                 the goroutine of a Go program

Text and meaning: Documentation/trace/kprobetrace.rst and uprobetracer.rst. ``+u8(...)`` reads user memory.
"""

from __future__ import annotations

from typing import Literal

from probescope.diagnostics import NOWHERE, Span
from probescope.frozen import dataclass, field

Special = Literal["retval", "comm", "stack", "stackN", "argN", "goid"]


@dataclass(frozen=True, slots=True)
class Fetch:
    """Base of everything that an argument may be made of."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Register(Fetch):
    """By the kernel's short name: ``di``, ``ax``; ``x0`` on AArch64."""

    name: str

    def __str__(self) -> str:
        return f"%{self.name}"


@dataclass(frozen=True, slots=True)
class Known(Fetch):
    """What the kernel finds by itself; ``number`` of ``$stackN`` (words from the top, from 0) and ``$argN`` (from
    1)."""

    kind: Special
    number: int = 0

    def __str__(self) -> str:
        return f"${self.kind[:-1]}{self.number}" if self.kind.endswith("N") else f"${self.kind}"


@dataclass(frozen=True, slots=True)
class Symbol(Fetch):
    """Memory of the kernel at a symbol."""

    name: str
    offset: int = 0

    def __str__(self) -> str:
        return f"@{self.name}{self.offset:+d}" if self.offset else f"@{self.name}"


@dataclass(frozen=True, slots=True)
class Absolute(Fetch):
    """Memory at an address of the kernel; ``in_file``: of a binary, at a place of its file (``@+0x..``)."""

    address: int
    in_file: bool = False

    def __str__(self) -> str:
        return f"@+{self.address:#x}" if self.in_file else f"@{self.address:#x}"


@dataclass(frozen=True, slots=True)
class Immediate(Fetch):
    """A number, or a text."""

    value: int | str

    def __str__(self) -> str:
        return f'\\"{self.value}"' if isinstance(self.value, str) else f"\\{self.value}"


@dataclass(frozen=True, slots=True)
class Deref(Fetch):
    """Memory ``offset`` bytes from where ``x`` points; ``user``: of the process, where the probe is in the kernel."""

    x: Fetch
    offset: int = 0
    user: bool = False

    def __str__(self) -> str:
        return f"{'+' if self.offset >= 0 else '-'}{'u' if self.user else ''}{abs(self.offset)}({self.x})"


@dataclass(frozen=True, slots=True)
class Sum(Fetch):
    """What ``x`` holds, and a number: an address that code calculates when it needs it. tracefs cannot fetch it, only
    the memory that it points to."""

    x: Fetch
    offset: int

    def __str__(self) -> str:
        return f"({self.x}{self.offset:+d})"


Kind = Literal["u", "s", "x", "char", "string", "ustring", "symbol", "symstr", "b"]


@dataclass(frozen=True, slots=True)
class FetchType:
    """How what was fetched is taken and shown. ``bits`` of a number, 0: as many as there are; of a bit field (``b``)
    those of the field, which begins ``shift`` bits into ``container`` bits. ``count``: elements of an array, 0: it is
    none. ``signed``: the field is a whole number with a sign, of 8, 16 or 32 bits; tracefs knows no such fields."""

    kind: Kind
    bits: int = 0
    shift: int = 0
    container: int = 0
    count: int = 0
    signed: bool = False

    def __str__(self) -> str:
        if self.kind == "b":
            text = f"b{self.bits}@{self.shift}/{self.container}"
        else:
            text = f"{self.kind}{self.bits}" if self.bits else self.kind
        return f"{text}[{self.count}]" if self.count else text

    @property
    def is_text(self) -> bool:
        return self.kind in ("string", "ustring")


@dataclass(frozen=True, slots=True)
class FetchArg:
    """One argument of an event. ``name`` is empty where the kernel chooses (``arg1``). ``type`` ``None``: as wide as
    the machine's words."""

    name: str
    x: Fetch
    type: FetchType | None = None

    def __str__(self) -> str:
        name = f"{self.name}=" if self.name else ""
        return f"{name}{self.x}{'' if self.type is None else f':{self.type}'}"


def shown_name(arg: FetchArg, index: int) -> str:
    """As the event's format has it; ``index`` from 0."""
    return arg.name or f"arg{index + 1}"


def behind(x: Fetch, offset: int = 0, *, user: bool = False) -> Deref:
    """The memory ``offset`` bytes from where ``x`` points."""
    if isinstance(x, Sum):
        return Deref(x.x, x.offset + offset, user)
    return Deref(x, offset, user)


def base_of(x: Fetch) -> Fetch:
    """What a chain of pointers begins with."""
    while isinstance(x, Deref):
        x = x.x
    return x
