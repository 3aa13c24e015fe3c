"""Where a calling convention puts parameters: general registers, the stack, or where nobody can look.

    int f(long a, struct {int x, y, z;} b, double c, struct {char s[40];} d, char e)
    x86-64      a di       b si, dx          c xmm0    d sp+8..48               e cx
    AArch64     a x0       b x1, x2          d0        address of d in x3       e x4

Source: System V AMD64 psABI, 3.2.3 (classes of eightbytes); Procedure Call Standard for the Arm 64-bit Architecture,
6.8.2; Itanium C++ ABI, 3.1.2 (classes that cannot be copied go by address) and 3.1.3 (their results).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_classes import by_reference
from probescope.debuginfo.dwarf_die import Die, plain
from probescope.debuginfo.dwarf_layout import definition
from probescope.debuginfo.dwarf_types import DwarfTypes, count_of
from probescope.model.arch import Arch

MAX_SCALARS = 256
VECTOR_REGISTERS = 8
MAX_EQUAL = 4
"""Numbers of a homogeneous aggregate."""
IN_VECTOR = "is passed in a floating-point register, which BPF cannot read"
EMPTY = "has no bytes"
UNKNOWN = "is of a type that is not known here"
AFTER_UNKNOWN = "follows a parameter whose place is not known"


class Passed(NamedTuple):
    """``registers`` hold the value, eight bytes each or as many as ``parts`` says; or it is at ``stack`` bytes from the
    stack pointer at entry. ``by_address``: what is there is the value's address. ``lost``: why it cannot be read."""

    registers: tuple[str, ...] = ()
    stack: int = -1
    by_address: bool = False
    lost: str = ""
    parts: tuple[int, ...] = ()


class Param(NamedTuple):
    """``by_address``: what the debug information says of the place shows that it is passed so."""

    type: Die | None
    by_address: bool = False


class Shape(NamedTuple):
    """What a convention looks at. ``kinds``: of each eight bytes, ``i`` or ``f``; ``memory``: never in registers.
    ``equal``: how many numbers, where all are floating-point ones, or vectors, of one size without gaps; else 0."""

    size: int
    align: int
    kinds: str
    memory: bool
    equal: int = 0
    single: bool = True  # no struct
    pair: tuple[int, ...] = ()  # offsets of its scalars, where they are two


class _Scalar(NamedTuple):
    offset: int
    size: int
    kind: str  # i, f, x (of the x87), v (a vector)


def arguments(
    parameters: Sequence[Param], result: Die | None, types: DwarfTypes, arch: Arch, *, rust: bool = False
) -> list[Passed]:
    """For all parameters, in order, and the type of the result (``None``: void). ``rust``: its own convention, which is
    not written down, as compilers have it today: structs of two scalars take a register for each."""
    state = _Registers(arch)
    if result is not None and arch.name == "x86_64" and _returned_in_memory(result, types):
        state.take(1)  # the address of where the result goes
    return [_argument(state, p, types, rust) for p in parameters]


def result(die: Die | None, types: DwarfTypes, arch: Arch) -> Passed:
    """Where a result is when the function has returned: one general register, or out of reach."""
    shape = shape_of(die, types)
    if shape is None:
        return Passed(lost=UNKNOWN)
    if not shape.size:
        return Passed(lost=EMPTY)
    if arch.name == "aarch64" and shape.equal and not by_reference(die, types):
        return Passed(lost=IN_VECTOR)
    if by_reference(die, types) or (shape.memory and arch.name == "x86_64") or shape.size > 16:
        if arch.name == "x86_64" and shape.kinds != "f":
            return Passed((arch.ret_reg,), by_address=True)
        return Passed(lost="is returned in memory whose address is gone")
    if "f" in shape.kinds and arch.name == "x86_64":
        return Passed(lost=IN_VECTOR)
    held = (arch.ret_reg, "dx" if arch.name == "x86_64" else "x1")
    if die is not None and die.unit.root.uint(c.AT_LANGUAGE) == c.RUST and not shape.single:
        return _result_of_rust(shape, held)
    return Passed(held[: (shape.size + 7) // 8])


def _result_of_rust(shape: Shape, held: tuple[str, str]) -> Passed:
    """A register for each of two scalars, as of arguments; what else is larger than one is in memory or in two, by the
    version."""
    if shape.pair:
        first = shape.pair[1] - shape.pair[0]
        return Passed(held, parts=(min(first, 8), min(shape.size - first, 8)))
    return Passed(held[:1]) if shape.size <= 8 else Passed(lost=UNKNOWN)


def _returned_in_memory(die: Die, types: DwarfTypes) -> bool:
    shape = shape_of(die, types)
    return by_reference(die, types) or (shape is not None and not shape.single and shape.memory)


class _Registers:
    def __init__(self, arch: Arch) -> None:
        self.arch, self.general, self.vector, self.stack = arch, 0, 0, arch.stack_args
        self.broken = False  # how much a parameter takes is not known: the others may be anywhere

    def take(self, count: int) -> tuple[str, ...]:
        """The next general registers; none if there are not so many."""
        if self.general + count > len(self.arch.arg_regs):
            return ()
        self.general += count
        return self.arch.arg_regs[self.general - count : self.general]

    def push(self, size: int, align: int) -> int:
        """A place on the stack."""
        start = self.arch.stack_args
        step = 16 if align >= 16 else 8
        at = start + (self.stack - start + step - 1) // step * step
        self.stack = at + (size + 7) // 8 * 8
        return at


def _argument(state: _Registers, p: Param, types: DwarfTypes, rust: bool) -> Passed:
    shape = shape_of(p.type, types)
    if shape is None or state.broken:
        state.broken = True
        return Passed(lost=UNKNOWN if shape is None else AFTER_UNKNOWN)
    if rust and shape.pair:
        return _pair(state, shape)
    if p.by_address or by_reference(p.type, types) or (rust and shape.memory and not shape.single):
        held = state.take(1)
        return Passed(held, by_address=True) if held else Passed(stack=state.push(8, 8), by_address=True)
    if not shape.size or (not shape.kinds and not shape.memory):
        if shape.size and state.arch.name == "aarch64":  # a class of C++ without members is a byte
            _on_arm(state, shape)
        return Passed(lost=EMPTY)
    return _on_x86(state, shape) if state.arch.name == "x86_64" else _on_arm(state, shape)


def _pair(state: _Registers, shape: Shape) -> Passed:
    first = shape.pair[1] - shape.pair[0]
    if "f" in shape.kinds:
        state.vector += shape.kinds.count("f")
        state.take(shape.kinds.count("i"))
        return Passed(lost=IN_VECTOR)
    held = state.take(2)
    if held:
        return Passed(held, parts=(min(first, 8), min(shape.size - first, 8)))
    return Passed(lost=AFTER_UNKNOWN)


def _on_x86(state: _Registers, shape: Shape) -> Passed:
    general, vector = shape.kinds.count("i"), shape.kinds.count("f")
    fits = state.general + general <= len(state.arch.arg_regs) and state.vector + vector <= VECTOR_REGISTERS
    if shape.memory or not fits:
        return Passed(stack=state.push(shape.size, shape.align))
    state.vector += vector
    held = state.take(general)
    return Passed(lost=IN_VECTOR) if vector else Passed(held)


def _on_arm(state: _Registers, shape: Shape) -> Passed:
    if shape.equal:
        if state.vector + shape.equal <= VECTOR_REGISTERS:
            state.vector += shape.equal
            return Passed(lost=IN_VECTOR)
        state.vector = VECTOR_REGISTERS
        return Passed(stack=state.push(shape.size, shape.align))
    if shape.size > 16:
        held = state.take(1)
        return Passed(held, by_address=True) if held else Passed(stack=state.push(8, 8), by_address=True)
    if shape.align >= 16:
        state.general += state.general % 2
    held = state.take((shape.size + 7) // 8)
    if held:
        return Passed(held)
    state.general = len(state.arch.arg_regs)
    return Passed(stack=state.push(shape.size, shape.align))


# --- shapes -----------------------------------------------------------------------------------------------------------


def shape_of(die: Die | None, types: DwarfTypes) -> Shape | None:
    """``None`` for a type that is not known."""
    found = plain(die)
    if found is None:
        return None
    single = found.tag not in c.STRUCTS and found.tag != c.TAG_ARRAY
    if not single and found.tag in c.STRUCTS:
        found = definition(types, found)
        if found.is_declaration:
            return None
    size = _size(found)
    if found.flag(c.AT_GNU_VECTOR):
        return Shape(size, min(size, 16), "f", False, 1 if size in (8, 16) else 0)
    walk = _Walk(types)
    walk.add(found, 0, 0)
    if walk.variants:
        return None
    shape = _shape(size, walk.scalars, single)
    if len(walk.scalars) == 2 and not single and size <= 16:
        kinds = "".join(s.kind for s in walk.scalars) if found.unit.root.uint(c.AT_LANGUAGE) == c.RUST else shape.kinds
        shape = shape._replace(kinds=kinds, pair=tuple(s.offset for s in walk.scalars))
    return shape


def _shape(size: int, scalars: list[_Scalar], single: bool) -> Shape:
    align = max((min(s.size, 16) for s in scalars), default=1)
    loose = any(s.offset % min(s.size, 16) for s in scalars if s.size)
    kinds = {s.kind for s in scalars}
    if "x" in kinds or size > 16 or loose or len(scalars) >= MAX_SCALARS:
        return Shape(size, align, "f" if single and kinds else "", True, _equal(size, scalars), single)
    words = ""
    for start in range(0, size, 8):
        inside = {s.kind for s in scalars if s.offset < start + 8 and s.offset + s.size > start}
        words += "i" if "i" in inside else "f" if inside else ""
    return Shape(size, align, words, False, _equal(size, scalars), single)


def _equal(size: int, scalars: list[_Scalar]) -> int:
    """Of a homogeneous aggregate, which may be a union, a complex number or one number alone."""
    kinds, sizes, count = {s.kind for s in scalars}, {s.size for s in scalars}, len({s.offset for s in scalars})
    if len(sizes) != 1 or not (kinds <= {"f", "x"} or kinds == {"v"}):
        return 0
    return count if count <= MAX_EQUAL and count * sizes.pop() == size else 0


def _size(die: Die) -> int:
    if die.tag in c.REFERENCES:
        return die.uint(c.AT_BYTE_SIZE) or die.unit.format.address
    size = die.uint(c.AT_BYTE_SIZE)
    if size is None and die.tag == c.TAG_ARRAY:
        element = plain(die.type())
        count = 1
        for dimension in die.children(c.TAG_SUBRANGE):
            count *= count_of(dimension)
        return count * (_size(element) if element is not None else 0)
    return size or (8 if die.tag in (c.TAG_PTR_TO_MEMBER, c.TAG_UNSPECIFIED) else 0)


class _Walk:
    """Collects the scalars of a type, as far as a convention may care for them."""

    def __init__(self, types: DwarfTypes) -> None:
        self.types = types
        self.scalars: list[_Scalar] = []
        self.visited = 0
        self.variants = False

    def add(self, die: Die, base: int, depth: int) -> None:
        self.visited += 1
        if depth > 16 or self.visited > MAX_SCALARS:
            return
        if die.tag in c.STRUCTS:
            self._members(definition(self.types, die), base, depth)
        elif die.tag == c.TAG_ARRAY:
            self._elements(die, base, depth)
        elif die.tag == c.TAG_BASE:
            self.scalars += _base(die, base)
        else:
            self.scalars.append(_Scalar(base, _size(die), "i"))

    def _members(self, die: Die, base: int, depth: int) -> None:
        for m in die.children(c.TAG_MEMBER, c.TAG_INHERITANCE, c.TAG_VARIANT_PART):
            self.variants |= m.tag == c.TAG_VARIANT_PART  # an enum of Rust: which form it has is told at run time
            at = m.uint(c.AT_MEMBER_LOCATION)
            bits = m.uint(c.AT_DATA_BIT_OFFSET)
            inner = plain(m.type())
            if inner is None or m.is_declaration or m.flag(c.AT_EXTERNAL):
                continue
            if m.has(c.AT_BIT_SIZE):  # a bit field: its bytes are those that it touches
                self.scalars.append(_Scalar(base + (bits // 8 if bits is not None else at or 0), 1, "i"))
            else:
                self.add(inner, base + (at or 0), depth + 1)
            if self.visited > MAX_SCALARS:
                return

    def _elements(self, die: Die, base: int, depth: int) -> None:
        element = plain(die.type())
        if element is None:
            return
        if die.flag(c.AT_GNU_VECTOR):
            self.scalars.append(_Scalar(base, _size(die), "v"))
            return
        each = _size(element)
        total = _size(die) // each if each else 0
        for i in range(min(total, MAX_SCALARS - self.visited + 1)):
            self.add(element, base + i * each, depth + 1)


def _base(die: Die, base: int) -> list[_Scalar]:
    encoding, size = die.uint(c.AT_ENCODING), _size(die)
    if encoding == c.ATE_COMPLEX:
        kind = "x" if size == 32 else "f"
        return [_Scalar(base, size // 2, kind), _Scalar(base + size // 2, size // 2, kind)]
    if encoding in (c.ATE_FLOAT, c.ATE_DECIMAL):
        # of 16 bytes: long double of the x87 by name, __float128 in a vector register
        return [_Scalar(base, size, "x" if size == 16 and die.name == "long double" else "f")]
    return [_Scalar(base, size, "i")]
