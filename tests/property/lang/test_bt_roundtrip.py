"""Print, then parse: the same tree. What holds for trees also holds for texts: a second print is the first."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lang_trees import expressions, programs, types

from probescope.diagnostics import Source
from probescope.lang.bt import ast
from probescope.lang.bt.literals import quote, unescape
from probescope.lang.bt.node import children, depth, rebuild, walk
from probescope.lang.bt.parser import parse, parse_expression
from probescope.lang.bt.printer import expr_text, program_text, type_text

relaxed = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@given(expressions)
@relaxed
def test_expressions_survive(tree: ast.Expr) -> None:
    """Brackets are printed wherever precedence, casts or statements would read the text another way."""
    text = expr_text(tree)
    again = parse_expression(Source("x", text))
    assert again == tree, text
    assert expr_text(again) == text


@given(types)
@relaxed
def test_types_survive(tree: ast.TypeExpr) -> None:
    text = f"({type_text(tree)})$x"
    assert parse_expression(Source("x", text)) == ast.Cast(tree.span, tree, ast.Var(tree.span, "x"))


@given(programs)
@relaxed
def test_programs_survive(tree: ast.Program) -> None:
    text = program_text(tree)
    again = parse(Source("x", text))
    assert again == tree, text
    assert program_text(again) == text


@given(st.binary(max_size=20))
def test_any_bytes_survive_in_a_string(data: bytes) -> None:
    """Whatever bytes a string holds, its literal gives them back."""
    value = data.decode("utf-8", "surrogateescape")
    assert unescape(quote(value)[1:-1]) == value
    found = parse_expression(Source("x", quote(value)))
    assert isinstance(found, ast.Str)
    assert found.data == data


@given(programs)
@settings(relaxed, max_examples=50)
def test_walking_and_rebuilding(tree: ast.Program) -> None:
    """``walk`` meets every node once, in order; a rebuild that changes nothing is the same object."""
    nodes = list(walk(tree))
    assert nodes[0] is tree
    assert len(nodes) == 1 + sum(len(list(children(n))) for n in nodes)
    assert depth(tree) <= len(nodes)
    assert rebuild(tree, lambda n: n) is tree
    assert hash(tree) == hash(parse(Source("x", program_text(tree))))
