"""The syntax tree of bpftrace's language, before anything is known about types or about this host.

What comes in: nothing; this is data. Who makes it: the parser (``parser*.py``), the macro expander (``macros.py``).
Who reads it: the checker and the lowering beside it, and ``printer.py``.

Every node is frozen, compares by value without its ``span``, and takes ``span`` as its first argument.

    Program
      |-- Config, Import, CDeclaration*, MapDecl, Macro, Subprog    (``items`` keeps their order with the probes)
      `-- Probe: AttachPoint+, predicate?, Block
    Block: statements, and an optional value (a last expression without semicolon)
    Statement: Let Assign Discard ExprStatement While ForMap ForRange Unroll Return Break Continue Import
    Expr: literals, names, operators, calls, If and Block as values
    TypeExpr: NamedType PointerType ArrayType TypeofType

The height of a tree is at most ``MAX_DEPTH``, so that recursive passes need no guard of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from probescope.lang.bt.ast_expr import (
    ArrayType,
    Binary,
    Block,
    Bool,
    Branch,
    Call,
    Cast,
    Comptime,
    Expr,
    Field,
    If,
    Index,
    Int,
    Map,
    MapItem,
    Name,
    NamedExpr,
    NamedType,
    Offsetof,
    PointerType,
    Positional,
    PositionalCount,
    Record,
    Sizeof,
    Step,
    Str,
    Ternary,
    Tuple,
    TupleItem,
    TypeArg,
    TypeExpr,
    Typeinfo,
    TypeofType,
    Unary,
    Var,
)
from probescope.lang.bt.node import Node

if TYPE_CHECKING:
    from probescope.lang.bt.cdecl import CDeclaration
    from probescope.model.probe import ProbeSpec

MAX_DEPTH = 120
"""Greatest height of a tree in nodes; beyond it the parser and the macro expander report an error."""


# ---- statements -------------------------------------------------------------------------------------------------


class ExprStatement(Node):
    """An expression for its effect: a call, ``++``, an ``If``, a ``Block``."""

    expr: Expr


class Let(Node):
    """``let $x``, ``let $x: type``, ``let $x = value``."""

    var: Var
    type: TypeExpr | None
    value: Expr | None


class Assign(Node):
    """``target op= value``; ``op`` is empty for plain ``=``, else the operator without ``=`` (``+``, ``<<``).
    ``target`` is a ``Var``, ``Map`` or ``MapItem``; any other expression is for the checker to refuse.
    """

    target: Expr
    op: str
    value: Expr


class Discard(Node):
    """``_ = value``: the value is not wanted, and no warning about that."""

    value: Expr


class While(Node):
    condition: Expr
    body: Block


class ForMap(Node):
    """``for ($kv : @m)``: ``var`` is the tuple (key, value)."""

    var: Var
    map: Map
    body: Block


class ForRange(Node):
    """``for ($i : start..stop)``; both ends are evaluated once, ``stop`` is excluded."""

    var: Var
    start: Expr
    stop: Expr
    body: Block


class Unroll(Node):
    count: Expr
    body: Block


class Return(Node):
    value: Expr | None


class Break(Node):
    pass


class Continue(Node):
    pass


class Import(Node):
    """``import "path"``, at the top of a script or inside a block."""

    path: str


# ---- the program ------------------------------------------------------------------------------------------------


class ConfigEntry(Node):
    """``key`` as written; the value is a number, a truth value, or a word or string."""

    key: str
    value: int | bool | str


class Config(Node):
    entries: tuple[ConfigEntry, ...]


class MapDecl(Node):
    """``let @m = lruhash(100)``; ``kind`` as written."""

    map: Map
    kind: str
    entries: Expr


class MacroParam(Node):
    """``kind`` is ``$`` (a variable), ``@`` (a map) or empty (any expression); ``name`` without the sigil."""

    kind: str
    name: str


class Macro(Node):
    name: str
    params: tuple[MacroParam, ...]
    body: Block


class SubprogParam(Node):
    var: Var
    type: TypeExpr


class Subprog(Node):
    """``fn name($a: int64): int64 { ... }``; ``result`` is ``None`` for a function without a value."""

    name: str
    params: tuple[SubprogParam, ...]
    result: TypeExpr | None
    body: Block


class AttachPoint(Node):
    """One probe name: ``written`` as it stands in the text, ``spec`` what it says with parameters put in. Where the
    source is a glob there is one point for each source that it stands for. ``rank``: how many ``??`` stand before it
    since the last comma."""

    spec: ProbeSpec
    written: str
    rank: int = 0


class Probe(Node):
    points: tuple[AttachPoint, ...]
    predicate: Expr | None
    body: Block


class Directive(Node):
    """``#include``, ``#define``, ...: ``name`` without ``#``, ``rest`` of the line with continuations joined."""

    name: str
    rest: str


class CItem(Node):
    """The C declarations of one ``struct``, ``union``, ``enum`` or ``typedef`` at the top of the script."""

    declarations: tuple[CDeclaration, ...]
    text: str = ""


class Program(Node):
    """A whole script. ``items`` holds everything in the order of the text; the properties pick one kind each."""

    items: tuple[Item, ...]
    header: str = ""

    @property
    def probes(self) -> tuple[Probe, ...]:
        return tuple(i for i in self.items if isinstance(i, Probe))

    @property
    def macros(self) -> tuple[Macro, ...]:
        return tuple(i for i in self.items if isinstance(i, Macro))

    @property
    def subprogs(self) -> tuple[Subprog, ...]:
        return tuple(i for i in self.items if isinstance(i, Subprog))

    @property
    def map_decls(self) -> tuple[MapDecl, ...]:
        return tuple(i for i in self.items if isinstance(i, MapDecl))

    @property
    def imports(self) -> tuple[Import, ...]:
        return tuple(i for i in self.items if isinstance(i, Import))

    @property
    def configs(self) -> tuple[Config, ...]:
        return tuple(i for i in self.items if isinstance(i, Config))

    @property
    def declarations(self) -> tuple[CDeclaration, ...]:
        """All C declarations, in order."""
        return tuple(d for i in self.items if isinstance(i, CItem) for d in i.declarations)


Statement: TypeAlias = (
    "ExprStatement | Let | Assign | Discard | While | ForMap | ForRange | Unroll | Return | Break | Continue | Import"
)
Item: TypeAlias = "Directive | CItem | Config | Import | MapDecl | Macro | Subprog | Probe"

__all__ = [
    "MAX_DEPTH",
    "ArrayType",
    "Assign",
    "AttachPoint",
    "Binary",
    "Block",
    "Bool",
    "Branch",
    "Break",
    "CItem",
    "Call",
    "Cast",
    "Comptime",
    "Config",
    "ConfigEntry",
    "Continue",
    "Directive",
    "Discard",
    "Expr",
    "ExprStatement",
    "Field",
    "ForMap",
    "ForRange",
    "If",
    "Import",
    "Index",
    "Int",
    "Item",
    "Let",
    "Macro",
    "MacroParam",
    "Map",
    "MapDecl",
    "MapItem",
    "Name",
    "NamedExpr",
    "NamedType",
    "Node",
    "Offsetof",
    "PointerType",
    "Positional",
    "PositionalCount",
    "Probe",
    "Program",
    "Record",
    "Return",
    "Sizeof",
    "Statement",
    "Step",
    "Str",
    "Subprog",
    "SubprogParam",
    "Ternary",
    "Tuple",
    "TupleItem",
    "TypeArg",
    "TypeExpr",
    "Typeinfo",
    "TypeofType",
    "Unary",
    "Unroll",
    "Var",
    "While",
]
