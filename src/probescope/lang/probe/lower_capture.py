"""Whole values: a recipe (``model.capture``) as reads of a program.

Values of the record, of ``Pieces``: a word for each; else the address and the bytes there. Then, if there are few
steps, the address (0: the step was not taken) and the bytes of each. Of more, each is a record of its own, sent before:
the verifier follows each length that a record's tail may have, and each step that is taken or not, through all that
comes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

from probescope.ir.expr import Binary, Cast, Const, Expr, Load, Local, Logic, ReadBuf, ReadStr, Select
from probescope.ir.stmt import Assign, If, Stmt
from probescope.model.capture import IN_REGISTERS, Capture, Guard, Hit, Length, Pieces, Segment, Step, Word
from probescope.model.fetch import Fetch, Immediate
from probescope.model.types import BOOL, I64, U32, U64, Buffer, Int, Space, String

BAD = 1 << 47
"""Addresses of a program are below it."""
MOST = 256
"""Bytes of a text that filters compare."""
WITHIN = 2
"""So many steps have their bytes in the record itself."""


Send = Callable[[tuple[Expr, ...]], Stmt]
"""A record of its own with these values."""


class CaptureReads:
    """``address_of`` and ``word_of`` read what a root begins with. ``body``: what comes first; ``values``: of the
    record."""

    def __init__(
        self,
        capture: Capture,
        argument: int,
        space: Space,
        address_of: Callable[[Fetch], Expr],
        word_of: Callable[[Fetch], Expr],
        send: Send,
    ) -> None:
        self._space: Space = space
        self._capture, self._argument, self._sender = capture, argument, send
        self.body: list[Stmt] = []
        self.values: list[Expr] = []
        self.locals: list[str] = []
        self._sizes: dict[int, Local | int] = {}
        self._pieces: tuple[tuple[Expr, int], ...] = ()
        if isinstance(capture.root, Pieces):
            self._pieces = tuple((self._kept(self.body, word_of(x)), n) for x, n in capture.root.parts)
            self.values += [x for x, _ in self._pieces]
        else:
            start = self._kept(self.body, address_of(capture.root), "0")
            self._sizes[0] = capture.size
            self.values += [start, ReadBuf(Buffer(capture.size), space, start, Const(U64, capture.size))]
        if len(capture.steps) <= WITHIN:
            for i, step in enumerate(capture.steps, 1):
                self._within(i, step)
        else:
            self.body += self._below(0)

    def _kept(self, body: list[Stmt], x: Expr, what: str = "") -> Local:
        name = f"c{self._argument}_{what or f't{len(self.locals)}'}"
        self.locals.append(name)
        body.append(Assign(name, x))
        return Local(U64, name)

    def _start(self, step: int) -> Local:
        return Local(U64, f"c{self._argument}_{step}")

    # --- steps --------------------------------------------------------------------------------------------------------

    def _below(self, parent: int) -> list[Stmt]:
        """Steps that read from where ``parent`` told, each with what is below it: a condition is asked once, and what
        it was is forgotten behind it."""
        out: list[Stmt] = []
        for i, step in enumerate(self._capture.steps, 1):
            if step.pointer.step != parent:
                continue
            conditions = self._conditions(out, step)
            before: list[Stmt] = []
            pointer = self._kept(before, self._word(step.pointer))
            inner: list[Stmt] = []
            start = self._kept(inner, _plus(pointer, step.add), str(i))
            size = self._size(inner, i, step)
            read, _ = self._read(step, start, size)
            inner.append(self._sender((Const(U32, self._argument), Const(U32, i), start, read)))
            before.append(If(_all(_valid(pointer)), (*inner, *self._below(i))))
            out += [If(_all(conditions), tuple(before))] if conditions else before
        return out

    def _within(self, i: int, step: Step) -> None:
        """In the record itself."""
        body, nothing = self.body, Const(U64, 0)
        conditions = self._conditions(body, step)
        pointer = self._word(step.pointer)
        kept = self._kept(body, Select(U64, _all(conditions), pointer, nothing) if conditions else pointer)
        start = self._kept(body, Select(U64, _all(_valid(kept)), _plus(kept, step.add), nothing), str(i))
        read, empty = self._read(step, start, self._size(body, i, step))
        self.values += [start, Select(read.type, Binary(BOOL, "ne", start, nothing), read, empty)]

    def _conditions(self, body: list[Stmt], step: Step) -> list[Expr]:
        return [*self._there(step.pointer), *(c for g in step.guards for c in self._guard(body, g))]

    def _size(self, body: list[Stmt], i: int, step: Step) -> Expr:
        self._sizes[i] = step.size
        if step.length is None:
            return Const(U64, step.size)
        size = self._length(body, i, step.length, step.size)
        if any(i == s.pointer.step for s in self._capture.steps):
            size = self._sizes[i] = self._kept(body, size)
        return size

    def _read(self, step: Step, start: Local, size: Expr) -> tuple[Expr, Expr]:
        """The bytes, and no bytes."""
        if step.text:
            text = String(step.size)
            return ReadStr(text, self._space, start), Const(text, b"")
        data = Buffer(step.size)
        return ReadBuf(data, self._space, start, size), Const(data, b"")

    # --- words --------------------------------------------------------------------------------------------------------

    def _there(self, word: Word) -> list[Expr]:
        """Whether the step that a word is of was taken, and is long enough."""
        size = self._sizes.get(word.step)
        if size is None:
            return []  # of registers
        out: list[Expr] = []
        if word.step and len(self._capture.steps) <= WITHIN:  # else it is inside of it
            out.append(Binary(BOOL, "ne", self._start(word.step), Const(U64, 0)))
        if isinstance(size, Local):
            out.append(Binary(BOOL, "ge", size, Const(U64, word.at + word.size)))
        return out

    def _word(self, word: Word) -> Expr:
        if not word.step and self._pieces:
            return of_pieces(self._pieces, word)
        at = Binary(U64, "add", self._start(word.step), Const(U64, word.at)) if word.at else self._start(word.step)
        t = Int(word.size if word.size in (1, 2, 4, 8) else 8, False)
        read = Load(t, self._space, at)
        return read if t == U64 else Cast(U64, read)

    def _guard(self, body: list[Stmt], g: Guard) -> Iterable[Expr]:
        value = self._kept(body, self._word(g.word))
        if g.above is not None:
            return [Binary(BOOL, "gt", value, Const(U64, g.above))]
        if g.below is not None:
            return [Binary(BOOL, "lt", value, Const(U64, g.below))]
        tests: list[Expr] = [Binary(BOOL, "ne" if g.invert else "eq", value, Const(U64, v)) for v in g.values]
        return tests if g.invert else [reduce(lambda a, b: Logic(BOOL, "or", a, b), tests)]

    def _length(self, body: list[Stmt], i: int, length: Length, most: int) -> Expr:
        """In bytes, not more than ``most``: a length out of a program may be any number."""
        limit, nothing, start = Const(U64, most), Const(U64, 0), self._start(i)
        word = self._kept(body, self._word(length.word))
        if length.end:
            between = Select(U64, Binary(BOOL, "gt", word, start), Binary(U64, "sub", word, start), nothing)
            word = self._kept(body, between)
        few = Binary(BOOL, "lt", word, Const(U64, most // length.scale + 1))
        scaled = Binary(U64, "mul", word, Const(U64, length.scale)) if length.scale != 1 else word
        return Select(U64, few, scaled, limit)


def of_pieces(pieces: Sequence[tuple[Expr, int]], word: Word) -> Expr:
    """A word out of registers."""
    at = 0
    for x, size in pieces:
        if at <= word.at and word.at + word.size <= at + max(size, 1):
            shift = 8 * (word.at - at)
            moved: Expr = Binary(U64, "shr", x, Const(U64, shift)) if shift else x
            mask = (1 << 8 * word.size) - 1
            return Binary(U64, "and", moved, Const(U64, mask)) if word.size < 8 else moved
        at += size
    return Const(U64, 0)


def compared(
    capture: Capture, space: Space, address_of: Callable[[Fetch], Expr], word_of: Callable[[Fetch], Expr]
) -> Expr | None:
    """What a filter compares of a value: an expression of its own, before the value is read."""
    key = capture.compared
    if key is None:
        return None

    def word(w: Word) -> Expr:
        if isinstance(capture.root, Pieces):
            return of_pieces(tuple((word_of(x), n) for x, n in capture.root.parts), w)
        t = Int(w.size, False)
        read = Load(t, space, _plus(address_of(capture.root), w.at))
        return read if t == U64 else Cast(U64, read)

    if key.number is not None:
        value = word(key.number)
        wide = key.number.size
        return Cast(I64, Cast(Int(wide, True), value)) if key.signed else value
    if key.pointer is None:
        return None
    text, pointer = String(MOST), word(key.pointer)
    if key.length is None:
        return ReadStr(text, space, pointer)
    length = word(key.length)
    read = ReadStr(text, space, pointer, length)
    return Select(text, Binary(BOOL, "gt", length, Const(U64, 0)), read, Const(text, b""))


def _valid(pointer: Local) -> list[Expr]:
    """An address that a program may have: nothing is asked of what is none."""
    return [Binary(BOOL, "gt", pointer, Const(U64, 4095)), Binary(BOOL, "lt", pointer, Const(U64, BAD))]


def _plus(x: Expr, add: int) -> Expr:
    return Binary(U64, "add", x, Const(U64, add)) if add else x


def _all(conditions: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: Logic(BOOL, "and", a, b), conditions)


# --- afterwards -------------------------------------------------------------------------------------------------------


def hit_of(
    capture: Capture, values: Sequence[Any], more: Sequence[tuple[int, int, Any]], task: int, shift: int | None
) -> Hit:
    """Out of what a record has, and of ``more``: (step, address, bytes) of records of their own."""
    segments: list[Segment] = []
    at = 0
    if isinstance(capture.root, Pieces):
        at = len(capture.root.parts)
        segments += _in_registers(capture.root, values[:at])
    else:
        segments.append(Segment(int(values[0]), _bytes(values[1])))
        at = 2
    for i, k in enumerate(range(at, len(values) - 1, 2)):
        segments.append(_segment(capture.steps[i], int(values[k]), values[k + 1]))
    for step, address, data in more:
        if 0 < step <= len(capture.steps):
            segments.append(_segment(capture.steps[step - 1], address, data))
    return Hit(segments, task, shift)


def _in_registers(root: Pieces, values: Sequence[Any]) -> list[Segment]:
    """Numbers that stand for what cannot be read are left out."""
    out = [Segment(IN_REGISTERS, b"")]
    at = IN_REGISTERS
    for (x, size), value in zip(root.parts, values, strict=True):
        if isinstance(x, Immediate):
            out.append(Segment(at + size, b""))
        else:
            out[-1] = Segment(out[-1].address, out[-1].data + int(value).to_bytes(8, "little")[:size])
        at += size
    return out


def _segment(step: Step, address: int, data: Any) -> Segment:
    """A text that ended before its room did has its NUL."""
    raw = _bytes(data)
    return Segment(address, raw + b"\0" if step.text and len(raw) < step.size else raw)


def _bytes(value: Any) -> bytes:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
