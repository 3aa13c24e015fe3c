"""The parameters of a function where it is entered: names, types, and where each one is at that moment.

What the debug information says of the entry comes first; compilers say it of optimised code only. Of other code it
tells where a parameter will be once the function has set up its frame, which is not yet: there the calling convention
answers. Copies of functions that an optimiser made (``f.isra.0``) follow no convention.
"""

from __future__ import annotations

from probescope.debuginfo import dwarf_calls as calls
from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo import dwarf_expr as ex
from probescope.debuginfo import dwarf_ranges
from probescope.debuginfo.dwarf_calls import Passed
from probescope.debuginfo.dwarf_constants import of_variable
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_find import entry_of
from probescope.debuginfo.dwarf_text import declaration
from probescope.debuginfo.dwarf_types import DwarfTypes
from probescope.frozen import dataclass
from probescope.model.arch import Arch
from probescope.model.capture import Pieces
from probescope.model.fetch import Deref, Fetch, Register
from probescope.model.site import Constant, Location, MemBytes, Reg, RegBytes, RegMem
from probescope.model.types import Type, Void, is_scalar, signed, width

MAX_PARAMETERS = 256
CHANGED = "is passed in a way of its own: an optimiser changed the function's parameters"
FBREG, DEREF = b"\x91", b"\x06"
ELSEWHERE = "is where only the running program can tell"


@dataclass(frozen=True, slots=True)
class Parameter:
    """``text`` declares it as C does. ``where`` at entry; ``None`` where nobody can read it, for the reason that
    ``lost`` gives: it completes a sentence that begins with the name."""

    name: str
    type: Type
    text: str
    where: Location | None
    lost: str = ""


@dataclass(frozen=True, slots=True)
class Signature:
    """``result``: what the function returns, where it is after the return; ``None`` for void."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Parameter | None


def signature(function: Die, types: DwarfTypes, arch: Arch, *, convention: bool = True) -> Signature:
    """Of a function with code. ``convention``: whether it follows that of the platform. Raises ``DwarfError``."""
    types.near = function.unit
    found = _parameter_dies(function)
    kinds = [p.type() for p in found]
    returned = function.type()
    language = function.unit.root.uint(c.AT_LANGUAGE)
    rust = language == c.RUST
    context = _Context(function, types, arch)
    hints = [calls.Param(t, context.by_address(p)) for p, t in zip(found, kinds, strict=True)]
    passed = calls.arguments(hints, returned, types, arch, rust=rust)
    if language == c.GO:
        return Signature(function.full_name(), context.of_go(), None)
    if not convention or function.uint(c.AT_CALLING_CONVENTION) == c.CC_NOCALL:
        passed = [Passed(lost=CHANGED)] * len(found)
    parameters = tuple(context.parameter(p, t, where) for p, t, where in zip(found, kinds, passed, strict=True))
    return Signature(function.full_name(), parameters, context.result(returned))


def _parameter_dies(function: Die) -> list[Die]:
    """Its own, or those of the function that it is an instance of."""
    for die in function.lineage():
        found = list(die.children(c.TAG_PARAM))
        if found:
            return found[:MAX_PARAMETERS]
    return []


class _Context:
    def __init__(self, function: Die, types: DwarfTypes, arch: Arch) -> None:
        self.function, self.types, self.arch = function, types, arch
        self.entry = entry_of(function) or 0

    def parameter(self, die: Die, kind: Die | None, passed: Passed) -> Parameter:
        name = die.full_name()
        t = self.types.type_of(kind)
        where, lost = self._where(die, kind, t, passed)
        return Parameter(name, t, declaration(kind, name), where, lost)

    def of_go(self) -> tuple[Parameter, ...]:
        from probescope.debuginfo import go_abi
        from probescope.debuginfo.values.vtypes import VTypes

        registers = go_abi.by_registers(self.function.unit.root.text(c.AT_PRODUCER))
        arch = go_abi.go_arch(self.arch, registers)
        given, _ = go_abi.values(self.function, VTypes(self.types), arch, registers)
        return tuple(self._of_go(v.name, v.die, v.x) for v in given)

    def _of_go(self, name: str, kind: Die | None, x: Fetch | None) -> Parameter:
        t = self.types.type_of(kind)
        size, where = self._size(t, kind), None
        match x:
            case Register(name=register) if size:
                where = _in_registers(((register, size),), t)
            case Pieces(parts=parts) if size and all(isinstance(p, Register) for p, _ in parts):
                where = _in_registers(tuple((p.name, n) for p, n in parts if isinstance(p, Register)), t)
            case Deref(x=Register(name=register), offset=offset) if size:
                where = _in_memory(register, offset, t, size)
            case _:
                pass
        return Parameter(name, t, declaration(kind, name), where, "" if where is not None else calls.IN_VECTOR)

    def result(self, kind: Die | None) -> Parameter | None:
        if kind is None:
            return None
        t = self.types.type_of(kind)
        found = calls.result(kind, self.types, self.arch)
        where = self._by_convention(found, t, kind)
        return Parameter("retval", t, declaration(kind, "retval"), where, found.lost)

    def _where(self, die: Die, kind: Die | None, t: Type, passed: Passed) -> tuple[Location | None, str]:
        told = self._told(die)
        if isinstance(told, ex.Held) and not told.name:
            return None, calls.IN_VECTOR
        size = self._size(t, kind)
        found = _location(told, t, size) if told is not None and size else None
        if found is None:
            found = self._by_convention(passed, t, kind)
        if found is not None:
            return found, ""
        return None, passed.lost or (calls.UNKNOWN if isinstance(t, Void) or not size else ELSEWHERE)

    def _size(self, t: Type, kind: Die | None) -> int:
        if is_scalar(t):
            return width(t)
        shape = calls.shape_of(kind, self.types)
        return shape.size if shape is not None else 0

    def _by_convention(self, passed: Passed, t: Type, kind: Die | None) -> Location | None:
        size = self._size(t, kind)
        if passed.lost or not size:
            return None
        if passed.by_address:
            return MemBytes(passed.registers[0], 0, size) if passed.registers and not is_scalar(t) else None
        if passed.registers:
            parts = passed.parts or tuple(min(8, size - 8 * i) for i in range(len(passed.registers)))
            return _in_registers(tuple(zip(passed.registers, parts, strict=False)), t)
        return _in_memory(self.arch.sp, passed.stack, t, size) if passed.stack >= 0 else None

    def by_address(self, die: Die) -> bool:
        """Whether the place of a struct begins with finding its address somewhere."""
        expression = die.block(c.AT_LOCATION) or b""
        found = ex.evaluate(expression, self.arch)
        if isinstance(found, ex.Near):
            return found.register in self.arch.arg_regs
        return expression[:1] == FBREG and expression[-1:] == DEREF

    # --- what DWARF says of the entry ---------------------------------------------------------------------------------

    def _told(self, die: Die) -> ex.Place | None:
        if die.has(c.AT_CONST_VALUE):
            value = of_variable(die)
            return ex.Fixed(value) if value is not None else None
        expression = die.block(c.AT_LOCATION)
        if expression is not None:
            return self._whole(expression)
        if not die.has(c.AT_LOCATION):
            return None
        for low, high, part in dwarf_ranges.locations(die, c.AT_LOCATION):
            if low <= self.entry < high:
                return ex.evaluate(part, self.arch, frame=self._frame(at_entry=True))
        return None

    def _whole(self, expression: bytes) -> ex.Place | None:
        """One place for the whole function. It holds at entry already if it is where arguments arrive: in a register
        that passes them, or in the frame of the caller."""
        found = ex.evaluate(expression, self.arch, frame=self._frame(at_entry=False))
        if isinstance(found, ex.Held):
            return found if found.name in self.arch.arg_regs else None
        if isinstance(found, ex.Near):
            if found.register in self.arch.arg_regs:  # its address is passed
                return found if not found.offset else None
            inside = found.register != self.arch.sp or found.offset < self.arch.stack_args
            return None if inside else found
        return found if isinstance(found, ex.Fixed) else None

    def _frame(self, *, at_entry: bool) -> ex.Near | None:
        """What DW_OP_fbreg counts from. Of a function that keeps a frame pointer, only the caller's part of the frame
        can be told from it: on x86-64 that begins 16 bytes above."""
        base = self.function.block(c.AT_FRAME_BASE) or b""
        found = ex.evaluate(base, self.arch)
        if isinstance(found, ex.Near):
            return found
        if isinstance(found, ex.Held) and found.name == self.arch.sp and at_entry:
            return ex.Near(self.arch.sp, 0)
        if isinstance(found, ex.Held) and found.name == self.arch.fp and self.arch.name == "x86_64":
            return ex.Near(self.arch.sp, self.arch.stack_args - 16)
        return None


def _location(place: ex.Place, t: Type, size: int) -> Location | None:
    match place:
        case ex.Held(name=name):
            return _in_registers(((name, size),), t) if size <= 8 else None
        case ex.Near(register=register, offset=offset):
            return _in_memory(register, offset, t, size)
        case ex.Fixed(value=value):
            return Constant(value) if is_scalar(t) else None
        case ex.Pieces(parts=parts):
            return _pieces(parts, t, size)
        case _:
            return None


def _pieces(parts: tuple[tuple[ex.Place | None, int], ...], t: Type, size: int) -> Location | None:
    if any(not isinstance(p, ex.Held) or not p.name or n > 8 for p, n in parts) or sum(n for _, n in parts) < size:
        return None
    return _in_registers(tuple((p.name, n) for p, n in parts if isinstance(p, ex.Held)), t)


def _in_registers(parts: tuple[tuple[str, int], ...], t: Type) -> Location | None:
    if is_scalar(t):
        return Reg(parts[0][0], width(t), signed(t)) if len(parts) == 1 else None
    return RegBytes(parts)


def _in_memory(register: str, offset: int, t: Type, size: int) -> Location:
    if is_scalar(t):
        return RegMem(register, offset, width(t), signed(t))
    return MemBytes(register, offset, size)


__all__ = ["Parameter", "Signature", "signature"]
