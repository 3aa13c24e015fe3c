"""Globs and regular expressions: ``strglob(s, "*.so")``, ``strmatch(s, "^lib.*")``. Patterns are compiled with the
script."""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.ir import expr as ir
from probescope.lang.bt import ast
from probescope.lang.bt.functions_args import str_lit
from probescope.lang.bt.functions_text import like_string
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, truth, value
from probescope.model.types import BOOL, String


def _match(u: Unit, node: ast.Call) -> V:
    from probescope.model.automaton import nfa_of

    e, pattern = like_string(u, node, 0), str_lit(u, node, 1)
    if e is None or pattern is None:
        return NOTHING
    raw = pattern.encode("utf-8", "surrogateescape")
    if not _compiles(u, node.function, raw, node.args[1].span):
        return NOTHING
    if isinstance(e, ir.Const) and isinstance(e.value, bytes):
        return truth(nfa_of(node.function, raw).matches(e.value))
    known = ir.Const(String(max(1, len(raw))), raw, span=node.args[1].span)
    return value(ir.Call(BOOL, node.function, (e, known), span=node.span))


strglob_ = strmatch_ = _match


def _compiles(u: Unit, function: str, pattern: bytes, span: Span) -> bool:
    from probescope.model.automaton import dfa_of
    from probescope.model.pattern import PatternError

    try:
        dfa_of(function, pattern)
    except PatternError as e:
        u.error(f"{function}(): {e}", span, *filter(None, [e.hint]))
        return False
    return True
