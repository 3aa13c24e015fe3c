"""What the parts of a well-known type mean, as places in its bytes. A language's file recognises its types and gives
one of these; ``recipe`` plans by them what is read at a probe, ``show`` prints by them.

std::string   Text(pointer=0, length=8)          Vec<T>    Sequence(pointer=8, length=16)      map<K, V>  Tree(...)
"""

from __future__ import annotations

from probescope.debuginfo.values.vtypes import VType
from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """Places are bytes from the beginning of the value."""


@dataclass(frozen=True, slots=True)
class Text(Shape):
    """``unit``: bytes of a character. ``length`` -1: up to a NUL."""

    pointer: int
    length: int
    unit: int = 1


@dataclass(frozen=True, slots=True)
class Sequence(Shape):
    """Elements from ``pointer`` on: as many as the word at ``length`` says; with ``end``, up to the pointer there."""

    pointer: int
    length: int
    element: VType
    end: bool = False
    open: str = "{"
    close: str = "}"


@dataclass(frozen=True, slots=True)
class Bits(Shape):
    """std::vector<bool>: words from ``start`` up to bit ``offset`` of the word at ``finish``."""

    start: int
    finish: int
    offset: int


@dataclass(frozen=True, slots=True)
class Pointee(Shape):
    """What a pointer owns: ``add`` bytes from where it points."""

    pointer: int
    target: VType
    add: int = 0
    empty: str = "nullptr"
    before: str = ""


@dataclass(frozen=True, slots=True)
class Maybe(Shape):
    """``value`` if the byte ``flag`` is not 0."""

    flag: int
    value: int
    type: VType
    empty: str = "nullopt"


@dataclass(frozen=True, slots=True)
class Tree(Shape):
    """A red-black tree: ``root`` points to a node with pointers to its ``left`` and ``right``, its item at ``item``."""

    root: int
    count: int
    left: int
    right: int
    item: int
    type: VType
    pairs: bool


@dataclass(frozen=True, slots=True)
class Chain(Shape):
    """Nodes in a list: ``first`` points to one, whose pointer at ``next`` points to the next one. ``ring``: the last
    points to the byte ``ring`` of the value itself; else it is null. ``count`` -1: nobody counts."""

    first: int
    next: int
    item: int
    count: int
    type: VType
    ring: int = -1
    pairs: bool = False


@dataclass(frozen=True, slots=True)
class Buckets(Shape):
    """A hash table of Rust: below where ``control`` points lie items of ``stride`` bytes, the first one next to it;
    from there on a byte for each, with its top bit set where there is none. ``mask``: their number, less 1. ``item``:
    where in them what is shown is."""

    control: int
    mask: int
    count: int
    stride: int
    item: int
    type: VType
    pairs: bool


@dataclass(frozen=True, slots=True)
class Sorted(Shape):
    """A B-tree of Rust. ``root`` points to a node of ``height``, with ``many`` keys from ``keys`` on and ``values``
    beside them; of height 0 it is ``size`` bytes, of more it has pointers to the nodes between them behind that.
    ``value`` ``None``: of a set."""

    root: int
    height: int
    count: int
    size: int
    many: int
    keys: int
    values: int
    key: VType
    value: VType | None


@dataclass(frozen=True, slots=True)
class Ring(Shape):
    """``length`` elements from number ``head`` on, in room for ``room`` that is used in a circle. ``until``: the word
    at ``length`` is the number behind the last one."""

    pointer: int
    head: int
    length: int
    room: int
    element: VType
    until: bool = False


@dataclass(frozen=True, slots=True)
class Counted(Shape):
    """Behind ``pointer`` lies a table of ``name`` whose word at ``at`` says how many items it has."""

    pointer: int
    at: int
    name: str
    size: int = 8


@dataclass(frozen=True, slots=True)
class Interface(Shape):
    """Of Go: the word at ``tag`` points to the type of what ``data`` points to; with ``table``, that type's address is
    so many bytes behind it."""

    tag: int
    data: int
    table: int = -1


@dataclass(frozen=True, slots=True)
class Inline(Shape):
    """Nothing but the value of another type inside, as std::array and wrappers have it. ``before`` and ``behind`` are
    put around it."""

    at: int
    type: VType
    before: str = ""
    behind: str = ""


def shape_of(t: VType) -> Shape | None:
    """``None`` for a type whose members are all there is to it. Raises ``DwarfError``."""
    if t.kind == "void" or t.die is None:
        return None
    if t.is_cpp:
        from probescope.debuginfo.values.cpp import recognise
    elif t.is_rust:
        from probescope.debuginfo.values.rust import recognise
    elif t.is_go:
        from probescope.debuginfo.values.golang import recognise
    else:
        return None
    return recognise(t)
