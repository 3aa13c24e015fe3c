"""Items of containers, each walk bounded: memory of a traced process may point in circles."""

from __future__ import annotations

from collections.abc import Iterator

from probescope.debuginfo.values import shapes as sh
from probescope.debuginfo.values.memory import Unreadable
from probescope.debuginfo.values.value import Value

MAX_ITEMS = 1024
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
        case sh.Tree(count=at):
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
