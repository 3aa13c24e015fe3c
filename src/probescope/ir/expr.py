"""Expressions. Every node knows its type; nothing is inferred after lowering.

Meaning that all collectors share:

* Integer arithmetic wraps at the operands' width. Both operands of ``Binary`` have the same type (shifts: the right
  one may be any integer; its value is taken modulo the width). The sign of the operands' type decides div, mod, shr
  and the comparisons.
* Division and remainder by zero give 1, as in bpftrace; each counts a ``div0`` runtime error. Signed division
  truncates toward zero; the least integer divided by -1 wraps to itself.
* A memory read that faults gives zero bytes (an empty string) and counts a ``read`` error of its clause.
* ``Logic`` and ``Select`` evaluate only what they need. Operands are evaluated left to right.
* Strings compare up to the first NUL; sizes need not be equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from probescope.diagnostics import NOWHERE, Span
from probescope.frozen import dataclass, field
from probescope.model.types import Space, Type

if TYPE_CHECKING:
    from probescope.ir.stmt import Stmt

Arithmetic = Literal["add", "sub", "mul", "div", "mod", "and", "or", "xor", "shl", "shr"]
Comparison = Literal["eq", "ne", "lt", "le", "gt", "ge"]

ARITHMETIC = frozenset({"add", "sub", "mul", "div", "mod", "and", "or", "xor", "shl", "shr"})
COMPARISON = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


@dataclass(frozen=True, slots=True)
class Expr:
    """Base: ``type`` of the value, ``span`` of the source text it came from (for diagnostics only)."""

    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """A scalar (``int``, wrapped to its type), a String or Buffer (``bytes``), or an opaque value's number
    (``int``)."""

    value: int | bytes


@dataclass(frozen=True, slots=True)
class Local(Expr):
    """A scratch variable of the clause. Names are unique within a clause (scopes were resolved); unset ones are
    zero."""

    name: str


@dataclass(frozen=True, slots=True)
class Address(Expr):
    """Where a scratch variable lies: a Pointer into kernel memory, good until the clause ends. What is read there is
    what the variable holds at that moment: numbers in host order, texts up to their NUL."""

    name: str


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """``neg`` and ``inv`` (bitwise not) on integers at the operand's width; ``not`` gives a Bool from any scalar or
    string."""

    op: Literal["neg", "inv", "not"]
    x: Expr


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """Arithmetic on integers (and pointer +- U64/I64 in bytes), or a comparison, whose type is Bool. ``eq`` and
    ``ne`` also take two Strings, Buffers, Arrays, Tuples or Opaques of one kind; the orderings take Strings too (as
    unsigned bytes)."""

    op: Arithmetic | Comparison
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Logic(Expr):
    """Short-circuit on Bools."""

    op: Literal["and", "or"]
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """Scalar to scalar: truncate, or extend by the *source's* sign; to Bool: is not zero. String to String of another
    size. Array or Buffer to and from an integer of equal size reinterprets the bytes (host order). Tuple to Tuple
    item by item. An integer to an Opaque of kind ksym, usym, timestamp, username, strerror, syscall_name,
    signal_name, cgroup_path."""

    x: Expr


@dataclass(frozen=True, slots=True)
class Select(Expr):
    cond: Expr
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Block(Expr):
    """Statements, then a value."""

    body: tuple[Stmt, ...]
    result: Expr


@dataclass(frozen=True, slots=True)
class Pack(Expr):
    """A Tuple, Record or Array from its items, in order."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Item(Expr):
    """The ``index``-th item of a Tuple or Record value."""

    x: Expr
    index: int


@dataclass(frozen=True, slots=True)
class Index(Expr):
    """Element of an Array, byte of a String or Buffer; out of range gives zero and counts a ``bounds`` error."""

    x: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Part(Expr):
    """A member at a constant byte ``offset`` of a Struct value (bit fields are Parts shifted and masked by Binary)."""

    x: Expr
    offset: int


# --- needs: what is asked of the outside world
# ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Context(Expr):
    """A fact of the moment, by name out of ``ir/context.py``: pid, tid, comm, cpu, nsecs, curtask, cgroup... ``arg``
    refines it (``nsecs`` of which clock; ``pid`` in which namespace)."""

    name: str
    arg: str = ""


@dataclass(frozen=True, slots=True)
class Field(Expr):
    """A named field of the event (``args.filename``); every site of the clause offers it with this type."""

    name: str


@dataclass(frozen=True, slots=True)
class Arg(Expr):
    """The ``index``-th argument: of the site's own definition (USDT, raw tracepoint) or by the calling convention."""

    index: int


@dataclass(frozen=True, slots=True)
class Ret(Expr):
    """The return value: kretprobe, uretprobe, fexit."""


@dataclass(frozen=True, slots=True)
class Reg(Expr):
    """A register of the interrupted context, by its kernel name (``di``, ``ip``)."""

    name: str


@dataclass(frozen=True, slots=True)
class Load(Expr):
    """``type`` read from ``address`` in ``space``: a scalar, or the bytes of an Array or Struct; may fault."""

    space: Space
    address: Expr


@dataclass(frozen=True, slots=True)
class ReadStr(Expr):
    """A NUL-terminated text at ``address``, at most ``limit`` bytes of it (``None``: the String's size); may fault."""

    space: Space
    address: Expr
    limit: Expr | None = None


@dataclass(frozen=True, slots=True)
class ReadBuf(Expr):
    """``length`` bytes at ``address``, no more than the Buffer's size; may fault."""

    space: Space
    address: Expr
    length: Expr


@dataclass(frozen=True, slots=True)
class Stack(Expr):
    """The call stack of the moment: its type is Opaque ``kstack`` or ``ustack`` with mode and depth. Equal stacks are
    equal."""


@dataclass(frozen=True, slots=True)
class MapGet(Expr):
    """The value under ``key`` (``None``: the map is a scalar), or the type's zero. On an aggregation: its number so
    far, over all CPUs (count, sum, min, max, avg). ``cpu`` reads one CPU's copy of a per-CPU map."""

    map: str
    key: Expr | None


@dataclass(frozen=True, slots=True)
class MapPart(Expr):
    """One of the two 64-bit numbers behind an average (avg, stats), over all CPUs: 0 is the total, 1 the count."""

    map: str
    key: Expr | None
    part: int


@dataclass(frozen=True, slots=True)
class MapHas(Expr):
    map: str
    key: Expr | None


@dataclass(frozen=True, slots=True)
class MapDelete(Expr):
    """Removes ``key``; the value says whether it was there."""

    map: str
    key: Expr | None


@dataclass(frozen=True, slots=True)
class MapLen(Expr):
    """Number of keys in a map."""

    map: str


@dataclass(frozen=True, slots=True)
class MapAdd(Expr):
    """Adds ``delta`` to an integer map's value atomically (absent counts as 0) and gives the value before or after."""

    map: str
    key: Expr | None
    delta: Expr
    returns: Literal["old", "new"] = "new"


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A built-in function out of ``ir/intrinsics.py``, by name."""

    name: str
    args: tuple[Expr, ...] = ()
