"""How values lie as bytes: in map keys, map values, and event records. One definition for the compiler and the readers.

Host byte order. Scalars have their natural size and alignment; a Tuple, Record or Array is laid out as C would.
Padding is zero (keys compare as bytes). The others:

    String(n)     n bytes, zero after the first NUL                          align 1
    Buffer(n)     u32 length, n bytes                                        align 4
    kstack        i32 stack id (negative: none), u32 0                       align 4
    ustack        i32 stack id, u32 pid                                      align 4
    ksym          u64 address                                                align 8
    usym          u64 address, u32 pid, u32 0                                align 8
    timestamp     u64 nanoseconds of the clock in its param                  align 8
    inet          u8 length (4 or 16, 0 none), 16 bytes, 3 zero bytes        align 4
    mac           6 bytes, 2 zero bytes                                      align 2
    cgroup_path, container, syscall_name u64                                     align 8
    username, signal_name, probe, func, strerror    u32 (strerror: i32)      align 4
    float, double                                   4 and 8 bytes            align 4, 8

An event record, as it comes out of the ring:

     0        4        8                                   fixed             fixed + tails
    +--------+--------+-----------------------------------+-----------------+
    | action | 0      | values, laid out as one Tuple     | tail bytes ...  |
    +--------+--------+-----------------------------------+-----------------+

In a record, a String of more than 32 bytes, and every Buffer, takes only a u32 in the fixed part: the number of its
bytes in the tail (a String's without a NUL). Tails follow each other in the order of the values, with nothing
between. This applies to values themselves, not to Strings inside tuples.
"""

from __future__ import annotations

from probescope.frozen import dataclass
from probescope.model.types import (
    Agg,
    Array,
    Bool,
    Buffer,
    Enum,
    Int,
    Opaque,
    Pointer,
    Record,
    String,
    Struct,
    Tuple,
    Type,
    TypeTable,
    Void,
)

RECORD_HEADER = 8
INLINE_STRING = 32

_OPAQUE: dict[str, tuple[int, int]] = {
    "kstack": (8, 4),
    "ustack": (8, 4),
    "ksym": (8, 8),
    "usym": (16, 8),
    "timestamp": (8, 8),
    "inet": (20, 4),
    "mac": (8, 2),
    "cgroup_path": (8, 8),
    "container": (8, 8),
    "syscall_name": (8, 8),
    "username": (4, 4),
    "strerror": (4, 4),
    "signal_name": (4, 4),
    "probe": (4, 4),
    "func": (4, 4),
    "float": (4, 4),
    "double": (8, 8),
}


def align_up(n: int, to: int) -> int:
    return (n + to - 1) // to * to


def size_align(t: Type, types: TypeTable | None = None) -> tuple[int, int]:
    """Bytes and alignment of a stored value. Struct values need ``types``; raises ``TypeError`` for what cannot be
    stored."""
    match t:
        case Int(size=n) | Enum(size=n) | Pointer(size=n):
            return n, n
        case Bool():
            return 1, 1
        case String(size=n):
            return n, 1
        case Buffer(size=n):
            return align_up(4 + n, 4), 4
        case Tuple() | Record():
            return _tuple_size(item_types(t), types)
        case Array(element=e, count=n):
            size, align = size_align(e, types)
            return size * n, align
        case Opaque(kind=k):
            return _OPAQUE[k]
        case Struct(name=name):
            layout = types.layout(name) if types else None
            if layout is None:
                raise TypeError(f"the size of {name} is not known")
            return layout.size, min(layout.align, 8) or (8 if layout.size % 8 == 0 else 1)
        case Void():
            return 0, 1
        case Agg():
            raise TypeError("aggregations have no single layout: see bpf/storage.py")
        case _:
            raise TypeError(f"{t} cannot be stored")


def item_types(t: Type) -> tuple[Type, ...]:
    """The types inside a Tuple or Record."""
    match t:
        case Tuple(items=items):
            return items
        case Record(fields=fields):
            return tuple(f for _, f in fields)
        case _:
            raise TypeError(f"{t} has no items")


def offsets(items: tuple[Type, ...], types: TypeTable | None = None, start: int = 0) -> tuple[tuple[int, ...], int]:
    """Offsets of items laid out as C would, from ``start``, and the end of the last one (not rounded up)."""
    at, out = start, []
    for t in items:
        size, align = size_align(t, types)
        at = align_up(at, align)
        out.append(at)
        at += size
    return tuple(out), at


def _tuple_size(items: tuple[Type, ...], types: TypeTable | None) -> tuple[int, int]:
    _, end = offsets(items, types)
    align = max((size_align(t, types)[1] for t in items), default=1)
    return align_up(end, align), align


def has_tail(t: Type) -> bool:
    """Whether a record value of this type lies in the tail."""
    return isinstance(t, Buffer) or (isinstance(t, String) and t.size > INLINE_STRING)


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """``offsets`` of the values (of the u32 length for tails) from the start of the record, ``fixed`` the size of the
    fixed part, ``tails`` the indices of the values that lie in the tail, ``limit`` the greatest size of a record."""

    types: tuple[Type, ...]
    offsets: tuple[int, ...]
    fixed: int
    tails: tuple[int, ...]
    limit: int


def record_layout(values: tuple[Type, ...], types: TypeTable | None = None) -> RecordLayout:
    slots = tuple(Int(4, False) if has_tail(t) else t for t in values)
    at, end = offsets(slots, types, RECORD_HEADER)
    fixed = align_up(end, 8)
    tails = tuple(i for i, t in enumerate(values) if has_tail(t))
    room = sum(t.size for t in values if isinstance(t, String | Buffer) and has_tail(t))
    return RecordLayout(values, at, fixed, tails, fixed + room)
