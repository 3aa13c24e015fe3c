"""Items of containers, each walk bounded: memory of a traced process may point in circles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from probescope.debuginfo.values import shapes as sh
from probescope.debuginfo.values.memory import Unreadable
from probescope.debuginfo.values.rust_maps import FANOUT
from probescope.debuginfo.values.value import Value

MAX_ITEMS = 1024
MAX_BUCKETS = 4096
MAX_DEPTH = 64
"""Of a tree; one of 2^32 items is 64 levels deep at most."""


def items(v: Value) -> Iterator[Value]:
    """Raises ``TypeError`` for what has none, ``Unreadable`` where memory is missing."""
    shape = sh.shape_of(v.type)
    match shape:
        case sh.Sequence():
            yield from _sequence(v, shape)
        case sh.Tree():
            yield from _tree(v, shape)
        case sh.Chain():
            yield from _chain(v, shape)
        case sh.Buckets():
            yield from _buckets(v, shape)
        case sh.Sorted():
            yield from _sorted(v, shape)
        case sh.Ring():
            yield from _ring(v, shape)
        case sh.Inline(at=at, type=t):
            yield from items(v.at(at, t))
        case _ if v.type.kind == "array":
            t = v.type.target
            yield from (v.at(i * t.size, t) for i in range(min(v.type.count, MAX_ITEMS)))
        case _:
            raise TypeError(f"{v.type.name} has no elements")


def count(v: Value, shape: sh.Shape | None) -> int:
    """Elements; -1 where nobody counts."""
    match shape:
        case sh.Sequence(pointer=pointer, length=length, element=element, end=end):
            word = v.memory.word(v.address + length)
            if not end:
                return word
            return max(word - v.memory.word(v.address + pointer), 0) // max(element.size, 1)
        case sh.Ring(until=True):
            behind, head, room = (v.memory.word(v.address + at) for at in (shape.length, shape.head, shape.room))
            return (behind - head) % max(room, 1)
        case sh.Tree(count=at) | sh.Buckets(count=at) | sh.Sorted(count=at) | sh.Ring(length=at):
            return v.memory.word(v.address + at)
        case sh.Chain(count=at) if at >= 0:
            return v.memory.word(v.address + at)
        case sh.Inline(at=at, type=t):
            return count(v.at(at, t), sh.shape_of(t))
        case _ if v.type.kind == "array":
            return v.type.count
        case _:
            return -1


def _sequence(v: Value, s: sh.Sequence) -> Iterator[Value]:
    start = v.memory.word(v.address + s.pointer)
    for i in range(min(count(v, s), MAX_ITEMS)):
        yield v.at(start + i * s.element.size - v.address, s.element)


def _tree(v: Value, s: sh.Tree) -> Iterator[Value]:
    """In order, without recursion. Nodes that cannot be read are left out with all that is below them."""
    stack: list[tuple[int, int]] = []
    at, given, steps, most = v.memory.word(v.address + s.root), 0, 0, count(v, s)
    while (at or stack) and given < min(most, MAX_ITEMS):
        steps += 1
        if steps > 4 * MAX_ITEMS or len(stack) > MAX_DEPTH:
            raise Unreadable("this is no tree")
        if at:
            found = _links(v, at, s)
            if found is not None:
                stack.append((at, found[1]))
            at = found[0] if found is not None else 0
            continue
        node, at = stack.pop()
        given += 1
        yield v.at(node + s.item - v.address, s.type)


def _links(v: Value, node: int, s: sh.Tree) -> tuple[int, int] | None:
    """To the left and to the right."""
    try:
        return v.memory.word(node + s.left), v.memory.word(node + s.right)
    except Unreadable:
        return None


def _chain(v: Value, s: sh.Chain) -> Iterator[Value]:
    at = v.memory.word(v.address + s.first)
    end = v.address + s.ring if s.ring >= 0 else 0
    most = count(v, s)
    for _ in range(min(most, MAX_ITEMS) if most >= 0 else MAX_ITEMS):
        if at in (0, end):
            return
        yield v.at(at + s.item - v.address, s.type)
        at = v.memory.word(at + s.next)


class Entry(Value):
    """A key with its value beside it, where they are no pair in memory."""

    __slots__ = ("second",)

    def __init__(self, key: Value, second: Value) -> None:
        super().__init__(key.type, key.address, key.memory, key._printer)
        self.second = second

    def __getitem__(self, name: str) -> Value:
        return {"__0": self, "__1": self.second}.get(name) or super().__getitem__(name)


def _buckets(v: Value, s: sh.Buckets) -> Iterator[Value]:
    control, mask = v.memory.word(v.address + s.control), v.memory.word(v.address + s.mask)
    left = count(v, s)
    for i in range(min(mask + 1, MAX_BUCKETS)):
        if not left:
            return
        if v.memory.word(control + i, 1) < 0x80:
            left -= 1
            yield v.at(control - (i + 1) * s.stride + s.item - v.address, s.type)


def _sorted(v: Value, s: sh.Sorted) -> Iterator[Value]:
    root, height = v.memory.word(v.address + s.root), v.memory.word(v.address + s.height)
    if count(v, s):
        if height > MAX_DEPTH // 4:
            raise Unreadable("this is no tree")
        yield from _node(v, s, root, height)


def _node(v: Value, s: sh.Sorted, node: int, height: int) -> Iterator[Value]:
    """In order: what lies before a key comes first. Nodes that cannot be read are left out."""
    many = v.memory.word(node + s.many, 2)
    if many > FANOUT:
        raise Unreadable("this is no node")
    edges = -(-s.size // 8) * 8
    for i in range(many + 1):
        if height:
            with suppress(Unreadable):
                yield from _node(v, s, v.memory.word(node + edges + 8 * i), height - 1)
        if i < many:
            key = v.at(node + s.keys + i * s.key.size - v.address, s.key)
            at = node + s.values + i * s.value.size - v.address if s.value is not None else 0
            yield Entry(key, v.at(at, s.value)) if s.value is not None else key


def _ring(v: Value, s: sh.Ring) -> Iterator[Value]:
    start, head, room = (v.memory.word(v.address + at) for at in (s.pointer, s.head, s.room))
    for i in range(min(count(v, s), MAX_ITEMS)):
        yield v.at(start + (head + i) % max(room, 1) * s.element.size - v.address, s.element)
