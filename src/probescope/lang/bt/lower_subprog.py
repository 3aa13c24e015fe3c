"""Functions of the script, ``fn name($a: int64): int64 { ... }``: their bodies are put in where they are called.

``return`` inside such a body leaves the body, not the clause. One that stands at its end just sets the result;
another sets a flag too, and what follows it is done only while the flag is not set:

    if (c) { return 1; } x; return 2;        if c { result = 1; done = true } if !done { x; result = 2 }
"""

from __future__ import annotations

from collections.abc import Sequence

from probescope.ir import expr as ir
from probescope.ir.stmt import Assign, Break, If
from probescope.lang.bt import ast
from probescope.lang.bt.lower_convert import coerce
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, effect
from probescope.lang.bt.scope import Var
from probescope.lang.bt.types import UNKNOWN, settle, show
from probescope.lang.bt.types_names import UNSIZED, resolve_type
from probescope.model.types import BOOL, VOID, String, Type, Void

MAX_INLINED = 500
"""Greatest number of calls that one clause may put in."""

MAX_DEPTH = 16


class Function:
    """One call being put in. ``depth``, ``loops``: how deep the body itself lies in scopes and loops."""

    __slots__ = ("depth", "done", "loops", "maybe_left", "name", "outer", "result", "returned", "returns")

    def __init__(self, name: str, returns: Type, result: Var | None, u: Unit) -> None:
        self.name = name
        self.returns = returns
        self.result = result
        self.outer = u.function
        self.loops = u.loops
        self.depth = 0
        self.done: Var | None = None
        self.maybe_left = False
        self.returned = False

    def statement(self, u: Unit, node: ast.Node, rest: Sequence[ast.Node]) -> bool:
        """Lowers one statement of the body; true if this took care of the ``rest`` too."""
        before, self.maybe_left = self.maybe_left, False
        u.stmt(node)
        left, self.maybe_left = self.maybe_left, before or self.maybe_left
        if not left or self.done is None:
            return False
        done = ir.Local(BOOL, self.done.name)
        if u.loops > self.loops:
            u.emit(If(done, (Break(),)))
            return False
        from probescope.lang.bt.lower_stmt import statements

        if rest:
            self.depth += 1
            body = u.block(lambda: statements(u, rest))
            self.depth -= 1
            u.emit(If(ir.Unary(BOOL, "not", done), body))
        return True

    def leave(self, u: Unit, node: ast.Return) -> None:
        """``return`` inside the body."""
        self._give(u, node)
        if u.scopes.depth == self.depth and u.loops == self.loops:
            self.returned = True
            return
        if self.done is None:
            self.done = u.scopes.temporary(BOOL, "done")
        u.emit(Assign(self.done.name, ir.Const(BOOL, 1), span=node.span))
        self.maybe_left = True
        if u.loops > self.loops:
            u.emit(Break(span=node.span))

    def _give(self, u: Unit, node: ast.Return) -> None:
        v = u.expr(node.value) if node.value is not None else V(VOID)
        if not v.known:
            return
        if isinstance(v.type, Void) != isinstance(self.returns, Void):
            u.error(f"Function {self.name} is of type {show(self.returns)}, cannot return {show(v.type)}", node.span)
            return
        if self.result is None:
            return
        e = coerce(u, v, self.returns, node.span)
        if e is None:
            u.error(f"Function {self.name} is of type {show(self.returns)}, cannot return {show(v.type)}", node.span)
        else:
            u.emit(Assign(self.result.name, e, span=node.span))


def call_subprog(u: Unit, node: ast.Call, fn: ast.Subprog) -> V:
    """A call of a function of the script."""
    if len(node.args) != len(fn.params):
        message = f"Function `{fn.name}` requires {len(fn.params)} arguments, got {len(node.args)}"
        return u.error(message, node.span)
    u.inlined += 1
    inside = u.function
    depth = 0
    while inside is not None:
        depth += 1
        if inside.name == fn.name or depth > MAX_DEPTH:
            return u.error(f"Function `{fn.name}` calls itself, which cannot be done in the kernel", node.span)
        inside = inside.outer
    if u.inlined > MAX_INLINED:
        return u.error(f"this clause calls functions more than {MAX_INLINED} times", node.span)
    return _inline(u, node, fn)


def _inline(u: Unit, node: ast.Call, fn: ast.Subprog) -> V:
    args = [(a, u.expr(a)) for a in node.args]
    hidden = u.scopes.isolate()
    try:
        body, v = u.collect(lambda: _body(u, node, fn, args))
    finally:
        u.scopes.restore(hidden)
    if not v.known:
        return NOTHING
    if v.ir is None:
        return effect(*body)
    return V(v.type, ir.Block(v.ir.type, body, v.ir, span=node.span))


def _body(u: Unit, node: ast.Call, fn: ast.Subprog, args: list[tuple[ast.Expr, V]]) -> V:
    bound = declare_params(u, fn)
    for var, (arg, v) in zip(bound, args, strict=True):
        _bind(u, var, arg, v)
    return _run(u, fn)


def _run(u: Unit, fn: ast.Subprog) -> V:
    """The body, with its parameters in place."""
    from probescope.lang.bt.lower_stmt import block

    returns: Type = VOID if fn.result is None else resolve_type(u, fn.result)
    if returns is UNKNOWN:
        return NOTHING
    if returns is UNSIZED:
        returns = String(u.program.settings.max_strlen)
    result = None if isinstance(returns, Void) else u.scopes.temporary(settle(returns), "result")
    function = Function(fn.name, returns, result, u)
    u.function = function
    u.scopes.push()
    function.depth = u.scopes.depth
    block(u, fn.body)
    u.scopes.pop()
    u.function = function.outer
    if function.done is not None:  # a call inside a loop begins anew each time
        u.out.insert(0, Assign(function.done.name, ir.Const(BOOL, 0)))
    _check_end(u, fn, function)
    return V(VOID) if result is None else V(returns, ir.Local(settle(returns), result.name))


def declare_params(u: Unit, fn: ast.Subprog) -> list[Var]:
    """A variable for each parameter, of its type; those with types of their own come before those that refer to
    them."""
    out = []
    for param in fn.params:
        var = u.scopes.define(param.var.name, param.span)
        var.assigned = True
        out.append(var)
    pairs = list(zip(fn.params, out, strict=True))
    for param, var in sorted(pairs, key=lambda p: isinstance(p[0].type, ast.TypeofType)):
        t = resolve_type(u, param.type)
        if t is not UNKNOWN and t is not UNSIZED:
            u.scopes.fix(var, t)
    return out


def _bind(u: Unit, var: Var, arg: ast.Expr, v: V) -> None:
    if not v.known:
        return
    u.scopes.widen(var, v.type)
    t = u.scopes.type_of(var)
    e = coerce(u, v, t, arg.span)
    if e is None:
        u.error(f"Expected {show(t)} for argument `{var.written}` got {show(v.type)}", arg.span)
    else:
        u.emit(Assign(var.name, e, span=arg.span))


def alone(u: Unit, fn: ast.Subprog) -> None:
    """Checks a function that nobody calls; nothing comes of it."""
    hidden = u.scopes.isolate()
    for param, var in zip(fn.params, declare_params(u, fn), strict=True):
        if var.type is UNKNOWN and not isinstance(param.type, ast.TypeofType):
            u.scopes.fix(var, String(u.program.settings.max_strlen))
    u.collect(lambda: _run(u, fn))
    u.scopes.restore(hidden)


def _check_end(u: Unit, fn: ast.Subprog, function: Function) -> None:
    """A function with a value has to return one on every way to its end."""
    if function.result is not None and not function.returned and not always_returns(fn.body):
        u.error(f"Function {fn.name} is of type {show(function.returns)}, cannot return void", fn.span)


def always_returns(body: ast.Block) -> bool:
    for s in body.statements:
        if isinstance(s, ast.Return):
            return True
        if isinstance(s, ast.ExprStatement) and isinstance(s.expr, ast.If) and _all_branches(s.expr):
            return True
    return isinstance(body.value, ast.If) and _all_branches(body.value)


def _all_branches(node: ast.If) -> bool:
    return node.otherwise is not None and all(
        always_returns(b) for b in [*(x.body for x in node.branches), node.otherwise]
    )
