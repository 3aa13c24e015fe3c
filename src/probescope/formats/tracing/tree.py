"""What ``print fmt:`` says, as a tree. ``Num`` to ``Cast`` are numbers, ``Str`` and the helpers are texts; ``Cond`` is
either. Helpers are named as in include/trace/stages/stage3_trace_output.h."""

from __future__ import annotations

from probescope.frozen import dataclass
from probescope.model.recording import RawField


@dataclass(frozen=True, slots=True)
class Num:
    """``width`` 4 or 8 bytes, as C takes the literal."""

    value: int
    width: int = 4
    signed: bool = True


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name that stands for an address or a constant which the kernel did not put in its place."""

    name: str


@dataclass(frozen=True, slots=True)
class Field:
    field: RawField


@dataclass(frozen=True, slots=True)
class Dynamic:
    """``__get_dynamic_array(f)``, ``__get_rel_dynamic_array(f)``: the address of its bytes."""

    field: RawField


@dataclass(frozen=True, slots=True)
class DynamicLength:
    """``__get_dynamic_array_len(f)``, in bytes."""

    field: RawField


@dataclass(frozen=True, slots=True)
class Unary:
    op: str
    value: Node


@dataclass(frozen=True, slots=True)
class Binary:
    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Cond:
    test: Node
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class Cast:
    """``size`` in bytes, 0: of a type that is not known, which changes nothing; ``pointee``: bytes of what a pointer
    type points to."""

    size: int
    signed: bool
    value: Node
    pointee: int = 0
    pointee_signed: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    base: Node
    at: Node


@dataclass(frozen=True, slots=True)
class Str:
    text: str


@dataclass(frozen=True, slots=True)
class DynamicText:
    """``__get_str(f)``, ``__get_rel_str(f)``, ``__get_sockaddr`` is ``Dynamic``."""

    field: RawField


@dataclass(frozen=True, slots=True)
class Flags:
    """``__print_flags(value, delimiter, {flag, name}...)``."""

    value: Node
    delimiter: str
    names: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Symbolic:
    """``__print_symbolic(value, {number, name}...)``."""

    value: Node
    names: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Mask:
    """``__get_bitmask(f)``: hexadecimal; ``cpus``: ``__get_cpumask(f)``, a list of numbers."""

    field: RawField
    cpus: bool


@dataclass(frozen=True, slots=True)
class Hex:
    """``__print_hex(bytes, length)``: with spaces; ``__print_hex_str``: without."""

    base: Node
    length: Node
    spaced: bool


@dataclass(frozen=True, slots=True)
class Elements:
    """``__print_array(start, count, size)``; ``__print_dynamic_array(f, size)`` with ``count`` None: all of them."""

    base: Node
    count: Node | None
    size: Node


@dataclass(frozen=True, slots=True)
class HexDump:
    """``__print_hex_dump(prefix, type, row size, group size, bytes, length, ascii)``."""

    prefix: str
    kind: Node
    row: Node
    group: Node
    base: Node
    length: Node
    ascii: Node


@dataclass(frozen=True, slots=True)
class Seconds:
    """``__print_ns_to_secs(n)`` and, with ``rest``, ``__print_ns_without_secs(n)``: 64-bit numbers."""

    value: Node
    rest: bool


Node = (
    Num
    | Symbol
    | Field
    | Dynamic
    | DynamicLength
    | Unary
    | Binary
    | Cond
    | Cast
    | Index
    | Str
    | DynamicText
    | Flags
    | Symbolic
    | Mask
    | Hex
    | Elements
    | HexDump
    | Seconds
)


@dataclass(frozen=True, slots=True)
class PrintFmt:
    """The format's text, escapes resolved, and what goes into it."""

    format: str
    args: tuple[Node, ...]
