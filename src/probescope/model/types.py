"""The types of values: those of programs and those of C, one universe.

A type says what a value *is*; how its bytes lie in a map key, a map value or an event record is ``model/abi.py``.
Structs are referred to by name and looked up in a ``TypeTable``, so that a type stays a small, hashable, printable
value even where the kernel's own types refer to each other in circles.

Opaque types are numbers in the kernel and texts at the end: a stack id, an address, a uid. The function that finishes
one is named by its ``kind``, once, for every collector (``views/finish.py``).
"""

from __future__ import annotations

from typing import Literal, Protocol

from probescope.frozen import dataclass

Space = Literal["kernel", "user", "context", "none"]
"""Where a pointer points: kernel memory, memory of the current process, the probe's context, or nowhere known."""


@dataclass(frozen=True, slots=True)
class Type:
    """Base of all types; never instantiated itself."""


@dataclass(frozen=True, slots=True)
class Void(Type):
    """No value: the result of a call for its effect."""

    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True, slots=True)
class Bool(Type):
    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True, slots=True)
class Int(Type):
    """Two's complement of ``size`` bytes (1, 2, 4, 8); arithmetic wraps at that width."""

    size: int
    signed: bool

    def __str__(self) -> str:
        return f"{'' if self.signed else 'u'}int{self.size * 8}"


@dataclass(frozen=True, slots=True)
class Enum(Type):
    """A C enumeration. ``name`` without the keyword; the constants are in the type table."""

    name: str
    size: int = 4
    signed: bool = False

    def __str__(self) -> str:
        return f"enum {self.name}"


@dataclass(frozen=True, slots=True)
class String(Type):
    """At most ``size`` bytes, ending at the first NUL or at ``size``: no terminator is stored for a full one."""

    size: int

    def __str__(self) -> str:
        return f"string[{self.size}]"


@dataclass(frozen=True, slots=True)
class Buffer(Type):
    """Up to ``size`` bytes of anything, with its length."""

    size: int

    def __str__(self) -> str:
        return f"buffer[{self.size}]"


@dataclass(frozen=True, slots=True)
class Tuple(Type):
    items: tuple[Type, ...]

    def __str__(self) -> str:
        return "(" + ",".join(map(str, self.items)) + ")"


@dataclass(frozen=True, slots=True)
class Record(Type):
    """A tuple whose items have names."""

    fields: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        return "(" + ",".join(f"{n}={t}" for n, t in self.fields) + ")"


@dataclass(frozen=True, slots=True)
class Array(Type):
    element: Type
    count: int

    def __str__(self) -> str:
        return f"{self.element}[{self.count}]"


@dataclass(frozen=True, slots=True)
class Struct(Type):
    """A C struct or union by its full name: ``struct task_struct``, ``union sigval``, or a typedef's own name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Pointer(Type):
    """The address of a ``target`` in ``space``; ``size`` bytes of storage on the traced side (8 on 64-bit)."""

    target: Type
    space: Space = "none"
    size: int = 8

    def __str__(self) -> str:
        return f"{self.target} *"


OpaqueKind = Literal[
    "kstack",  # stack id in a kernel stack table
    "ustack",  # stack id and the process it belongs to
    "ksym",  # kernel address -> symbol
    "usym",  # user address and process -> symbol
    "timestamp",  # nanoseconds of a clock -> strftime text
    "inet",  # address family and up to 16 bytes -> dotted or colon text
    "mac",  # 6 bytes -> aa:bb:..
    "cgroup_path",  # cgroup id -> path
    "container",  # cgroup id -> name of the container or unit
    "username",  # uid -> name
    "strerror",  # errno number -> message
    "syscall_name",  # system call number -> name
    "signal_name",  # signal number -> name
    "probe",  # number of a site of this program -> its name
    "func",  # number of a site of this program -> its function
    "float",  # of IEEE 754, 4 bytes: nothing calculates with it
    "double",  # the same, 8 bytes
]
FLOATS: dict[str, int] = {"float": 4, "double": 8}
"""Bytes of floating-point numbers."""


@dataclass(frozen=True, slots=True)
class Opaque(Type):
    """``param`` refines the kind: the strftime format, the stack mode (``bpftrace``, ``perf``, ``raw``), the cgroup
    filter. ``depth`` is the greatest number of frames of a stack."""

    kind: OpaqueKind
    param: str = ""
    depth: int = 0

    def __str__(self) -> str:
        return {"timestamp": "timestamp", "mac": "macaddr", "kstack": "kstack", "ustack": "ustack"}.get(
            self.kind, self.kind
        )


AggKind = Literal[
    "count", "sum", "min", "max", "avg", "stats", "stddev", "hist", "lhist", "llquantize", "tseries", "last"
]
"""``last``: the value observed last; inside of tseries only."""


@dataclass(frozen=True, slots=True)
class Agg(Type):
    """What a map holds that is updated by an aggregation; meaning and merging are in ``model/aggregate.py``.

    ``value`` is the integer type that is aggregated (its sign decides min, max, avg). ``args`` are the constants:
    hist (bits,), lhist (min, max, step), llquantize (factor, low, high, steps), tseries (interval_ns, count, code of
    the inner one).
    """

    kind: AggKind
    value: Int = Int(8, True)
    args: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}_t"


VOID = Void()
BOOL = Bool()
I8, I16, I32, I64 = Int(1, True), Int(2, True), Int(4, True), Int(8, True)
U8, U16, U32, U64 = Int(1, False), Int(2, False), Int(4, False), Int(8, False)
CHAR = I8


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a layout. ``offset`` in bytes from the start of the outer struct. A bit field has ``bit_size`` >
    0, and ``bit_offset`` counted from the least significant bit of the ``type``-sized unit at ``offset``
    (little-endian)."""

    name: str
    type: Type
    offset: int
    bit_offset: int = 0
    bit_size: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """A struct or union: size in bytes and its members; members of anonymous structs are lifted into ``members`` too.
    ``tags`` names annotations such as ``percpu``, ``user``, ``rcu`` by member. ``align``: bytes, 0 where nobody told.
    """

    name: str
    size: int
    members: tuple[Member, ...]
    tags: tuple[tuple[str, str], ...] = ()
    align: int = 0

    def member(self, name: str) -> Member | None:
        return next((m for m in self.members if m.name == name), None)


class TypeTable(Protocol):
    """Where named C types are found: BTF, DWARF, a script's own definitions, or several in turn."""

    def layout(self, name: str) -> Layout | None:
        """By full name (``struct file``); ``None`` if unknown."""
        ...

    def named(self, name: str) -> Type | None:
        """The type that a C name stands for: ``struct file``, ``u32``, ``pid_t``, ``enum foo``, ``unsigned long``."""
        ...

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        """The value of an enumeration constant, by its bare name."""
        ...

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        """The constants of an enumeration, by its name without the keyword; empty if unknown."""
        ...

    def names(self) -> list[str]:
        """All full names, for messages about the nearest one."""
        ...


def is_integer(t: Type) -> bool:
    return isinstance(t, Int | Enum)


def is_scalar(t: Type) -> bool:
    """Held in one register: integers, booleans, enums, pointers."""
    return isinstance(t, Int | Enum | Bool | Pointer)


def is_float(t: Type | None) -> bool:
    return isinstance(t, Opaque) and t.kind in FLOATS


def signed(t: Type) -> bool:
    return isinstance(t, Int | Enum) and t.signed


def width(t: Type) -> int:
    """Bytes of a scalar."""
    match t:
        case Int(size=n) | Enum(size=n) | Pointer(size=n):
            return n
        case Bool():
            return 1
        case _:
            raise TypeError(f"{t} is not a scalar")


def number_width(t: Type) -> int:
    """Bytes of a number or pointer, floating-point numbers among them; 0 for anything else."""
    if isinstance(t, Opaque):
        return FLOATS.get(t.kind, 0)
    return width(t) if is_scalar(t) else 0


def wrap(value: int, t: Type) -> int:
    """``value`` reduced to the width and sign of the scalar ``t``."""
    if isinstance(t, Bool):
        return int(bool(value))
    bits = width(t) * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed(t) and value >> (bits - 1) else value


def item_names(t: Type | None) -> tuple[str, ...]:
    """Column names for a key: ``key``, or ``key0``, ``key1``... for a tuple, or the names of a record; none for no
    key."""
    match t:
        case None:
            return ()
        case Tuple(items=items):
            return tuple(f"key{i}" for i in range(len(items)))
        case Record(fields=fields):
            return tuple(n for n, _ in fields)
        case _:
            return ("key",)
