"""Expansion of ``macro``: the body of a macro in the place of its call, hygienically.

    $x  a parameter: the caller's variable        any other: a variable of this expansion alone (``x#3``)
    @m  a parameter: the caller's map             any other: an error
    e   a parameter: the caller's expression, as often as it is written; or the type of ``typeof(...)``

Macros of one name are told apart by the number and kinds of their parameters. The macros of the standard library are
builtins here (``stdlib.py``); a script's own macro goes before one of the same name and signature.
"""

from __future__ import annotations

from typing import Any

from probescope.diagnostics import Diagnostic, Source, Span
from probescope.errors import ScriptError
from probescope.frozen import dataclass
from probescope.lang.bt.ast import (
    MAX_DEPTH,
    Block,
    Call,
    Cast,
    Expr,
    ExprStatement,
    Field,
    Let,
    Macro,
    Map,
    MapItem,
    Name,
    NamedType,
    Node,
    Offsetof,
    Program,
    Sizeof,
    Step,
    TypeArg,
    TypeExpr,
    Typeinfo,
    TypeofType,
    Var,
)
from probescope.lang.bt.node import depth, rebuild, replace
from probescope.lang.bt.parser_stmt import without_value
from probescope.lang.bt.words import FUNCTIONS

MAX_LEVEL = 200
"""Greatest depth of nodes and macros inside each other while expanding (about four Python frames each)."""

MAX_NODES = 500_000
"""Greatest size that macros may blow a program up to, in nodes."""

PLACED = frozenset({"errorf", "warnf", "assert"})
"""Functions that print their place: also where the macros were called that they stand in."""

MOST_CALLERS = 16

_KINDS = {"$": "a variable", "@": "a map", "": "an expression"}


@dataclass(slots=True)
class _Frame:
    """One expansion: what its parameters stand for. ``sizes`` are those of ``exprs``, in nodes."""

    macro: Macro
    number: int
    variables: dict[str, str]
    maps: dict[str, str]
    exprs: dict[str, Expr]
    sizes: dict[str, int]


class _Stop(Exception):  # ends an expansion that outgrew its limits
    pass


def expand(program: Program, source: Source | None = None) -> Program:
    """The program without macros: all calls replaced. Raises ``ScriptError`` with everything that is wrong."""
    if not program.macros:
        return program
    expander = _Expander(source)
    expander.learn(program.macros)
    try:
        items = tuple(expander.visit(i) for i in program.items if not isinstance(i, Macro))
    except _Stop:
        items = ()
    for item in items:
        if depth(item, MAX_DEPTH * 2) > MAX_DEPTH + 4:
            expander.report(f"macros make this more than {MAX_DEPTH} operations deep", item.span)
    if expander.findings:
        raise ScriptError(expander.findings)
    return replace(program, items=items)


class _Expander:
    def __init__(self, source: Source | None) -> None:
        self.source = source
        self.findings: list[Diagnostic] = []
        self.macros: dict[str, list[Macro]] = {}
        self.frame: _Frame | None = None
        self.chain: tuple[str, ...] = ()
        self.calls: tuple[Span, ...] = ()  # of the macros that are being expanded, innermost first
        self.level = 0
        self.count = 0
        self.expansions = 0

    def report(self, message: str, span: Span, *hints: str) -> None:
        finding = Diagnostic("error", message, span, hints, self.source)
        if finding not in self.findings:
            self.findings.append(finding)

    def learn(self, macros: tuple[Macro, ...]) -> None:
        for macro in macros:
            known = self.macros.setdefault(macro.name, [])
            kinds = [p.kind for p in macro.params]
            if any([p.kind for p in other.params] == kinds for other in known):
                self.report(f"Redefinition of macro: {macro.name}", macro.span)
                continue
            names = [(p.kind, p.name) for p in macro.params]
            for i, param in enumerate(macro.params):
                if names[i] in names[:i]:
                    self.report(
                        f"the argument {param.kind}{param.name} of this macro has already been used", param.span
                    )
            known.append(macro)

    # ---- the walk -----------------------------------------------------------------------------------------------

    def visit(self, node: Node) -> Node:  # type: ignore[type-var, unused-ignore]
        self.count += 1
        if self.count > MAX_NODES:
            self.report(f"macros expand to more than {MAX_NODES} operations", node.span)
            raise _Stop
        self.level += 1
        if self.level > MAX_LEVEL:
            self.report(f"macros and expressions nest deeper than {MAX_LEVEL} levels", node.span)
            raise _Stop
        special = _VISITORS.get(type(node).__name__)
        made: Node = special(self, node) if special else rebuild(node, self.visit)
        self.level -= 1
        return made

    def _variable(self, node: Var) -> Node:
        frame = self.frame
        if frame is None:
            return node
        return Var(node.span, frame.variables.get(node.name) or f"{node.name}#{frame.number}")

    def _map(self, node: Map) -> Node:
        if self.frame is None:
            return node
        name = self.frame.maps.get(node.name)
        if name is None:
            self.report(
                f"Unhygienic access to map: @{node.name}. Maps must be passed into the macro as arguments", node.span
            )
            return node
        return Map(node.span, name)

    def _name(self, node: Name) -> Node:
        value = self._argument_named(node.name)
        if value is not None:
            if isinstance(value, TypeArg):
                self.report(f"'{node.name}' stands for a type here, and a value is wanted", node.span)
            return value
        if node.name in self.macros:
            return self._call(Call(node.span, node.name, ()))
        return node

    def _argument_named(self, name: str) -> Expr | None:
        frame = self.frame
        if frame is None or name not in frame.exprs:
            return None
        self.count += frame.sizes[name]
        return frame.exprs[name]

    def _let(self, node: Let) -> Node:
        if self.frame is not None and node.var.name in self.frame.variables:
            self.report(f"Variable declaration shadows macro arg ${node.var.name}", node.span)
        return rebuild(node, self.visit)

    def _step(self, node: Step) -> Node:
        made = rebuild(node, self.visit)
        if not isinstance(made.target, Var | Map | MapItem):
            self.report("increment and decrement need a variable or a map", made.target.span)
        return made

    def _expr_statement(self, node: ExprStatement) -> Node:
        made = rebuild(node, self.visit)
        return made if made is node else replace(made, expr=without_value(made.expr))

    # ---- types --------------------------------------------------------------------------------------------------

    def _named_type(self, node: NamedType) -> Node:
        value = self._argument_named(node.name)
        if value is None:
            return rebuild(node, self.visit)
        if not isinstance(value, TypeArg):
            self.report(f"'{node.name}' stands for an expression here, and a type is wanted", node.span, _TYPE_HINT)
            return node
        kind = value.type
        if not node.tag:
            return kind
        if not isinstance(kind, NamedType) or kind.tag or kind.size is not None:
            self.report(
                f"'{node.tag} {node.name}' needs the bare name of a type for '{node.name}'", node.span, _TYPE_HINT
            )
            return node
        return NamedType(node.span, kind.name, node.tag)

    def _of(self, of: TypeExpr | Expr) -> TypeExpr | Expr:
        """What ``sizeof`` and its like ask about: there a parameter may be a type or an expression."""
        if isinstance(of, NamedType) and not of.tag and of.size is None:
            value = self._argument_named(of.name)
            if value is not None:
                return value.type if isinstance(value, TypeArg) else value
        made = self.visit(of)
        assert isinstance(made, TypeExpr | Expr)
        return made

    def _type_context(self, node: Sizeof | Typeinfo) -> Node:
        return replace(node, of=self._of(node.of))

    def _typeof(self, node: TypeofType) -> Node:
        of = self._of(node.of)
        return of if isinstance(of, TypeExpr) else replace(node, of=of)

    def _type_arg(self, node: TypeArg) -> Node:
        inner = node.type
        of = self._of(inner.of) if isinstance(inner, TypeofType) else self._of(inner)
        return replace(node, type=of if isinstance(of, TypeExpr) else TypeofType(inner.span, of))

    def _offsetof(self, node: Offsetof) -> Node:
        of = self._of(node.of)
        path: list[str] = []
        for name in node.path:
            value = self._argument_named(name)
            parts = [name] if value is None else _field_path(value)
            if parts is None:
                self.report(f"'{name}' must be a field, or fields with dots between them, in offsetof", node.span)
                parts = [name]
            path += parts
        return replace(node, of=of, path=tuple(path))

    def _cast(self, node: Cast) -> Node:
        kind = node.type
        if self.frame and isinstance(kind, NamedType) and not kind.tag:
            value = self.frame.exprs.get(kind.name)
            if value is not None and not isinstance(value, TypeArg):
                message = f"'{kind.name}' stands for an expression here, and ({kind.name}) before a value is a cast"
                self.report(message, node.span, f"write {kind.name} without brackets, or pass typeof(...)")
                return node
        return rebuild(node, self.visit)

    # ---- calls --------------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> Node:
        if node.function not in self.macros:
            same = rebuild(node, self.visit)
            return replace(same, callers=self.calls[:MOST_CALLERS]) if self.calls and node.function in PLACED else same
        before = self.count
        args: list[Expr] = []
        sizes: list[int] = []
        for arg in node.args:
            made = self._macro_argument(arg)
            assert isinstance(made, Expr)
            args.append(made)
            sizes.append(self.count - before)
            before = self.count
        macro = self._choose(node, args)
        if macro is None:
            return replace(node, args=tuple(args))
        if macro.name in self.chain:
            names = " > ".join((*self.chain[self.chain.index(macro.name) :], macro.name))
            self.report(f"Recursive macro call detected. Call chain: {names}", node.span)
            raise _Stop
        return self._expanded(node, macro, args, sizes)

    def _macro_argument(self, arg: Expr) -> Node:
        """An argument of a macro: a parameter that stands for a type may be handed on by its bare name."""
        if isinstance(arg, Name):
            value = self._argument_named(arg.name)
            if isinstance(value, TypeArg):
                return value
        return self.visit(arg)

    def _choose(self, node: Call, args: list[Expr]) -> Macro | None:
        """The macro that fits best: with the most parameters that ask for a variable or a map."""
        candidates = self.macros[node.function]
        fitting = [m for m in candidates if len(m.params) == len(args) and not _mismatch(m, args)]
        if fitting:
            return max(fitting, key=lambda m: sum(bool(p.kind) for p in m.params))
        if node.function not in FUNCTIONS:
            self._explain(node, candidates, args)
        return None

    def _explain(self, node: Call, candidates: list[Macro], args: list[Expr]) -> None:
        name = node.function
        close = min(candidates, key=lambda m: abs(len(m.params) - len(args)))
        message = f"Call to {name}() has arguments that do not match any definition."
        if len(close.params) != len(args):
            detail = (
                f"The closest definition of {name}() has a different number of arguments. "
                f"Expected: {len(close.params)} but got {len(args)}"
            )
        else:
            i = _mismatch(close, args) - 1
            param = close.params[i]
            given = _KINDS["$" if isinstance(args[i], Var) else "@" if isinstance(args[i], Map) else ""]
            wanted = f"{_KINDS[param.kind]} for arg {param.kind}{param.name}"
            detail = f"Mismatched arg. {name}() expects {wanted} but got {given}."
        forms = ", ".join(f"{name}({', '.join(p.kind + p.name for p in m.params)})" for m in candidates)
        self.report(message, node.span, detail, f"definitions: {forms}")

    def _expanded(self, node: Call, macro: Macro, args: list[Expr], sizes: list[int]) -> Node:
        self.expansions += 1
        frame = _Frame(macro, self.expansions, {}, {}, {}, {})
        for param, arg, size in zip(macro.params, args, sizes, strict=True):
            if param.kind == "$" and isinstance(arg, Var):
                frame.variables[param.name] = arg.name
            elif param.kind == "@" and isinstance(arg, Map):
                frame.maps[param.name] = arg.name
            else:
                frame.exprs[param.name] = arg
                frame.sizes[param.name] = size
        outside, self.frame = self.frame, frame
        self.chain, self.calls = (*self.chain, macro.name), (node.span, *self.calls)
        body = self.visit(macro.body)
        self.chain, self.calls = self.chain[:-1], self.calls[1:]
        self.frame = outside
        assert isinstance(body, Block)
        if not body.statements and body.value is not None:
            return body.value
        return replace(body, span=node.span)


_TYPE_HINT = "pass a type to a macro as typeof(...)"


def _mismatch(macro: Macro, args: list[Expr]) -> int:
    """1 + the number of the first argument that its parameter cannot take, or 0."""
    for i, (param, arg) in enumerate(zip(macro.params, args, strict=False)):
        if (param.kind == "$" and not isinstance(arg, Var)) or (param.kind == "@" and not isinstance(arg, Map)):
            return i + 1
    return 0


def _field_path(expr: Expr) -> list[str] | None:
    path: list[str] = []
    while isinstance(expr, Field):
        path.insert(0, expr.name)
        expr = expr.base
    return [expr.name, *path] if isinstance(expr, Name) else None


_VISITORS: dict[str, Any] = {
    "Var": _Expander._variable,
    "Map": _Expander._map,
    "Name": _Expander._name,
    "Let": _Expander._let,
    "Step": _Expander._step,
    "ExprStatement": _Expander._expr_statement,
    "NamedType": _Expander._named_type,
    "Sizeof": _Expander._type_context,
    "Typeinfo": _Expander._type_context,
    "TypeofType": _Expander._typeof,
    "TypeArg": _Expander._type_arg,
    "Offsetof": _Expander._offsetof,
    "Cast": _Expander._cast,
    "Call": _Expander._call,
}
