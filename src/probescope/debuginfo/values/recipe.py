"""What is read of a value while the probe is there: steps for BPF, by the type.

Budgets bound everything: steps, bytes, elements, depth. What they leave out is read afterwards, and marked (``Late``).
"""

from __future__ import annotations

from probescope.debuginfo.values import shapes as sh
from probescope.debuginfo.values.rust import is_reference
from probescope.debuginfo.values.vtypes import VType
from probescope.frozen import dataclass
from probescope.model.capture import Guard, Length, Step, Word

WORD = 8
MAX_STEPS = 24
MAX_BYTES = 3072
MAX_DEPTH = 5
ROOT_BYTES = 512
TEXT, INNER_TEXT, C_TEXT = 128, 48, 64
SEQUENCE, INNER_SEQUENCE = 256, 64
POINTEE = 128
FIRST = 4
"""Elements whose own pointers are followed."""
NODES = 5
"""Of a list."""
LEVELS = 3
"""Of a tree."""
MEMBERS = 64
LARGE = 768
"""Bytes of a node, or of the buckets of a table."""
BUCKETS = (4, 8, 16)
NUMBERS = ("int", "uint", "char", "float", "bool", "enum")


@dataclass(frozen=True, slots=True)
class Spot:
    """``at`` bytes into what ``step`` reads; ``guards``: when the value is there."""

    step: int
    at: int
    depth: int
    guards: tuple[Guard, ...] = ()

    def moved(self, by: int, *more: Guard, deeper: int = 1) -> Spot:
        return Spot(self.step, self.at + by, self.depth + deeper, (*self.guards, *more))

    def word(self, by: int, size: int = WORD) -> Word:
        return Word(self.step, self.at + by, size)


class Recipe:
    """Steps are numbered from 1; 0 is the value itself. ``speculative``: not all pointers are known to be some."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._bytes = ROOT_BYTES
        self.speculative = False

    def value(self, t: VType, spot: Spot) -> None:
        """Plans what ``t`` at ``spot`` needs besides its own bytes."""
        if spot.depth > MAX_DEPTH or len(self.steps) >= MAX_STEPS:
            return
        shape = sh.shape_of(t)
        if shape is not None:
            self._shape(shape, spot)
            return
        variants = t.variants()
        if variants is not None:
            self._variants(t, spot)
        elif t.kind == "array":
            for i in range(min(t.count, FIRST)):
                self.value(t.target, spot.moved(i * t.target.size))
        elif t.kind == "pointer":
            self._pointer(t, spot)
        elif t.kind == "struct":
            for m in t.members[:MEMBERS]:
                self.value(m.type, spot.moved(m.offset, deeper=0 if m.base else 1))

    def _step(self, spot: Spot, pointer: int, size: int, **how: object) -> int:
        """The number of a new step; 0 if there is no room."""
        if len(self.steps) >= MAX_STEPS or self._bytes + size > MAX_BYTES or size <= 0:
            return 0
        guards = (*spot.guards, *(how.pop("guards", ())))  # type: ignore[misc]
        self.steps.append(Step(spot.word(pointer), size, guards=guards, **how))  # type: ignore[arg-type]
        self._bytes += size
        return len(self.steps)

    def _pointer(self, t: VType, spot: Spot) -> None:
        target = t.target
        if target.kind == "char" and target.size == 1 and not t.is_go and not t.is_rust:
            self._step(spot, 0, C_TEXT, text=True)
        elif spot.depth <= 2 and is_reference(t):
            self._behind(target, spot, 0, 0)

    def _behind(self, target: VType, spot: Spot, pointer: int, add: int) -> None:
        step = self._step(spot, pointer, min(target.size, POINTEE), add=add)
        if step:
            self.value(target, Spot(step, 0, spot.depth + 1))

    def pointers(self, t: VType, spot: Spot) -> None:
        """What members of a type point to, for a printer of a user's own."""
        for at, m in list(t.flat())[:MEMBERS]:
            if m.type.kind == "pointer" and m.type.target.size and sh.shape_of(m.type) is None:
                self._behind(m.type.target, spot.moved(at), 0, 0)

    def _variants(self, t: VType, spot: Spot) -> None:
        found = t.variants()
        assert found is not None
        named = tuple(x for v in found.all for x in v.values)
        for v in found.all[:MEMBERS]:
            guard: tuple[Guard, ...] = ()
            if found.size and (v.values or named):
                word = spot.word(found.at, found.size)
                guard = (Guard(word, v.values),) if v.values else (Guard(word, named, invert=True),)
            if len(named) <= 8:
                self.value(v.type, spot.moved(v.offset, *guard))
        for at, m in t.flat():
            self.value(m.type, spot.moved(at))

    # --- shapes -------------------------------------------------------------------------------------------------------

    def _shape(self, shape: sh.Shape, spot: Spot) -> None:
        match shape:
            case sh.Text(pointer=pointer, length=length, unit=unit):
                most = TEXT if spot.depth <= 1 else INNER_TEXT
                self._step(spot, pointer, most, length=Length(spot.word(length), unit))
            case sh.Sequence():
                self._sequence(shape, spot)
            case sh.Bits(start=start):
                self._step(spot, start, WORD)
            case sh.Pointee(pointer=pointer, target=target, add=add):
                self._behind(target, spot, pointer, add)
            case sh.Maybe(flag=flag, value=value, type=t):
                self.value(t, spot.moved(value, Guard(spot.word(flag, 1), (0,), invert=True)))
            case sh.Inline(at=at, type=t):
                self.value(t, spot.moved(at))
            case sh.Tree():
                self._tree(shape, spot)
            case sh.Chain():
                self._chain(shape, spot)
            case sh.Buckets():
                self._buckets(shape, spot)
            case sh.Sorted():
                self._sorted(shape, spot)
            case sh.Ring(pointer=pointer, room=room, element=element):
                whole = Length(spot.word(room), element.size)
                step = self._step(spot, pointer, SEQUENCE // max(element.size, 1) * element.size, length=whole)
                self._elements(element, step, spot, FIRST)
            case sh.Counted(pointer=pointer, at=at, size=size):
                self._step(spot, pointer, at + size)
            case sh.Interface(tag=tag, data=data, table=table):
                if table >= 0:
                    self._step(spot, tag, table + WORD)
                self._message(self._step(spot, data, 32))
            case _:
                pass

    def _message(self, step: int) -> None:
        """What most errors of Go are: a struct with a text."""
        if step:
            self.speculative = True
            spot = Spot(step, 0, MAX_DEPTH)
            self._step(spot, 0, INNER_TEXT, length=Length(spot.word(WORD)))

    def _sequence(self, s: sh.Sequence, spot: Spot) -> None:
        size = s.element.size
        if not size:
            return
        most = SEQUENCE if spot.depth <= 1 else INNER_SEQUENCE
        most = max(most // size * size, min(size, POINTEE))
        length = Length(spot.word(s.length), 1 if s.end else size, end=s.end)
        step = self._step(spot, s.pointer, most, length=length)
        self._elements(s.element, step, spot, min(FIRST, most // size))

    def _elements(
        self, t: VType, step: int, spot: Spot, many: int, at: int = 0, guards: tuple[Guard, ...] = ()
    ) -> None:
        """What the first ones lead to. ``guards``: whether each is there."""
        if not step or t.kind in NUMBERS:
            return
        for i in range(many):
            self.value(t, Spot(step, at + i * t.size, spot.depth + 1, guards[i : i + 1]))

    def _buckets(self, s: sh.Buckets, spot: Spot) -> None:
        """Of small tables all items and their control bytes; of larger ones the first."""
        for buckets in BUCKETS:
            below = buckets * s.stride
            if below > LARGE:
                return
            known = Guard(spot.word(s.mask), (buckets - 1,)) if buckets < BUCKETS[-1] else None
            guard = known or Guard(spot.word(s.mask), above=buckets - 2)
            step = self._step(spot, s.control, below + buckets, add=-below, guards=(guard,))
            for i in range(min(FIRST, buckets) if step and s.type.kind not in NUMBERS else 0):
                there = Guard(Word(step, below + i, 1), below=0x80)
                self.value(s.type, Spot(step, below - (i + 1) * s.stride + s.item, spot.depth + 1, (there,)))

    def _sorted(self, s: sh.Sorted, spot: Spot) -> None:
        """The root, and of a higher tree the first of the nodes below it."""
        edges = -(-s.size // WORD) * WORD
        root = self._step(spot, s.root, min(edges + WORD, LARGE))
        self._node(s, root, spot)
        if root and edges + WORD <= LARGE:
            below = (Guard(spot.word(s.height), above=0),)
            self._node(s, self._step(Spot(root, 0, spot.depth), edges, min(s.size, LARGE), guards=below), spot)

    def _node(self, s: sh.Sorted, step: int, spot: Spot) -> None:
        size = min(s.size, LARGE)
        if not step or s.many + 2 > size:
            return
        there = tuple(Guard(Word(step, s.many, 2), above=i) for i in range(FIRST))
        for t, at in ((s.key, s.keys), (s.value, s.values)):
            if t is not None and at + FIRST * t.size <= size:
                self._elements(t, step, spot, FIRST, at, there)

    def _tree(self, s: sh.Tree, spot: Spot) -> None:
        size = min(s.item + s.type.size, POINTEE)
        level = [(spot, s.root)]
        for _ in range(LEVELS):
            below: list[tuple[Spot, int]] = []
            for where, pointer in level:
                step = self._step(where, pointer, size)
                if step:
                    node = Spot(step, 0, spot.depth + 2)
                    self.value(s.type, node.moved(s.item, deeper=0))
                    below += [(node, s.left), (node, s.right)]
            level = below

    def _chain(self, s: sh.Chain, spot: Spot) -> None:
        size = min(max(s.item + s.type.size, s.next + WORD), POINTEE)
        where, pointer = spot, s.first
        for i in range(NODES):
            guard = (Guard(spot.word(s.count), above=i),) if s.count >= 0 else ()
            step = self._step(where, pointer, size, guards=guard)
            if not step:
                return
            where, pointer = Spot(step, 0, spot.depth + 2, guard), s.next
            self.value(s.type, where.moved(s.item, deeper=0))
