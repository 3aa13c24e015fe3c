"""The nodes of expressions, types and blocks; read ``ast.py`` first, and import them from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.lang.bt.node import Node

if TYPE_CHECKING:
    from probescope.diagnostics import Span
    from probescope.lang.bt.ast import Statement


class Expr(Node):
    """Anything that has a value. Never instantiated itself."""


# ---- literals and names -----------------------------------------------------------------------------------------


class Int(Expr):
    """An integer literal, -2**63 .. 2**64-1; durations are nanoseconds. A minus sign before a literal is part of it.
    ``text`` is the literal as written (``0x10``, ``1e6``, ``5ms``), or empty if it was computed.
    """

    value: int
    text: str = ""


class Bool(Expr):
    value: bool


class Str(Expr):
    """A string literal, escapes resolved. Bytes that are no UTF-8 are lone surrogates (``surrogateescape``)."""

    value: str

    @property
    def data(self) -> bytes:
        """The bytes of the literal, without a terminating NUL."""
        return self.value.encode("utf-8", "surrogateescape")


class Name(Expr):
    """A bare word: a builtin (``pid``), an enumeration constant, or a macro called without parentheses."""

    name: str


class Var(Expr):
    """A scratch variable; ``name`` without the ``$``. Names that macros made unique contain a ``#``."""

    name: str


class Map(Expr):
    """A map as a whole; ``name`` without the ``@`` (empty for the map called ``@``)."""

    name: str


class MapItem(Expr):
    """``@m[key]``; ``@m[a, b]`` has a ``Tuple`` as its key, as ``@m[(a, b)]`` has."""

    map: Map
    key: Expr


class Positional(Expr):
    """``$1``, ``$2``: a parameter of the command line, before parameters are put in."""

    index: int


class PositionalCount(Expr):
    """``$#``."""


# ---- operators --------------------------------------------------------------------------------------------------


class Unary(Expr):
    """``op`` is one of ``-`` ``!`` ``~`` ``*`` (dereference) ``&`` (address of a variable or a map)."""

    op: str
    operand: Expr


class Step(Expr):
    """``++x``, ``x--``: ``op`` is ``++`` or ``--``; with ``prefix`` the value is the new one."""

    op: str
    target: Expr
    prefix: bool


class Binary(Expr):
    """``op`` is one of ``|| && | ^ & == != < > <= >= << >> + - * / %``."""

    op: str
    left: Expr
    right: Expr


class Ternary(Expr):
    """``a ? b : c``; ``then`` is ``None`` for ``a ?: c``, whose value is ``a`` where that is true."""

    condition: Expr
    then: Expr | None
    otherwise: Expr


class Cast(Expr):
    type: TypeExpr
    operand: Expr


class Field(Expr):
    """``base.name`` or ``base->name``: the same in this language, pointers are followed by both."""

    base: Expr
    name: str


class TupleItem(Expr):
    """``base.0``."""

    base: Expr
    index: int


class Index(Expr):
    """``base[index]`` of anything but a map: array, pointer, string, tuple."""

    base: Expr
    index: Expr


class Tuple(Expr):
    """``(a, b)``, ``(a,)``, ``()``."""

    items: tuple[Expr, ...]


class NamedExpr(Node):
    name: str
    value: Expr


class Record(Expr):
    """``(a=1, b="x")``."""

    fields: tuple[NamedExpr, ...]


class Call(Expr):
    """A function, a builtin with parentheses, or a macro. An argument may be a ``TypeArg``. ``callers``: of one that
    tells its place, the calls of macros that it came out of, innermost first."""

    function: str
    args: tuple[Expr, ...]
    callers: tuple[Span, ...] = ()


class TypeArg(Expr):
    """A type where an expression could be: ``typeof(int32)`` as argument of a macro or a builtin."""

    type: TypeExpr


class Sizeof(Expr):
    of: TypeExpr | Expr


class Offsetof(Expr):
    """``offsetof(struct x, a.b)``; ``path`` holds ``("a", "b")``."""

    of: TypeExpr | Expr
    path: tuple[str, ...]


class Typeinfo(Expr):
    """``typeinfo(x)``: a tuple of (id, kind, full name), known while compiling."""

    of: TypeExpr | Expr


class Comptime(Expr):
    """``comptime e``: ``e`` must be known while compiling."""

    operand: Expr


class Block(Expr):
    """``{ s; s; value }``; a probe's body, a branch, or a value."""

    statements: tuple[Statement, ...]
    value: Expr | None = None


class Branch(Node):
    condition: Expr
    body: Block


class If(Expr):
    """``if``, every ``else if`` (one ``Branch`` each) and the ``else``; a value if its blocks have one. In
    ``if comptime (c)`` the condition is a ``Comptime``.
    """

    branches: tuple[Branch, ...]
    otherwise: Block | None


# ---- types ------------------------------------------------------------------------------------------------------


class TypeExpr(Node):
    """A type as written. Never instantiated itself."""


class NamedType(TypeExpr):
    """``uint8``, ``struct task_struct`` (``tag`` is ``struct``, ``union``, ``enum`` or empty), ``unsigned long``,
    ``string[64]`` (``size`` for string, buffer and inet only; an ``Expr`` where it is not a plain number).
    """

    name: str
    tag: str = ""
    size: int | Expr | None = None


class PointerType(TypeExpr):
    target: TypeExpr


class ArrayType(TypeExpr):
    """``element[count]``; ``count`` is ``None`` for ``element[]``, an ``Expr`` where it is not a plain number."""

    element: TypeExpr
    count: int | Expr | None


class TypeofType(TypeExpr):
    """``typeof(of)`` where a type is wanted."""

    of: TypeExpr | Expr
