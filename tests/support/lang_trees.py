"""Random trees of bpftrace's language, such as the parser could have made: for print-and-parse tests and as fuzz seeds.

Trees keep to what a text can say: a minus before a literal is part of it, an ``if`` that is a statement has no
values, a map is not indexed like an array.
"""

from __future__ import annotations

from hypothesis import strategies as st

from probescope.diagnostics import NOWHERE as AT
from probescope.lang.bt import ast
from probescope.lang.bt.parser_expr import PRECEDENCE
from probescope.lang.bt.parser_stmt import without_value
from probescope.lang.bt.words import KEYWORDS, is_builtin
from probescope.model.probe import ProbeSpec

names = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True).filter(lambda n: n not in KEYWORDS and n != "_")
type_words = names.filter(lambda n: not is_builtin(n) and n not in ("string", "buffer", "inet"))
texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=8)
variables = names.map(lambda n: ast.Var(AT, n))
maps = st.one_of(st.just(ast.Map(AT, "")), names.map(lambda n: ast.Map(AT, n)))


def _integers() -> st.SearchStrategy[ast.Int]:
    return st.one_of(st.integers(0, 300), st.integers(-(2**63), 2**64 - 1)).map(lambda v: ast.Int(AT, v))


leaves = st.one_of(
    _integers(),
    st.booleans().map(lambda v: ast.Bool(AT, v)),
    texts.map(lambda v: ast.Str(AT, v)),
    names.map(lambda n: ast.Name(AT, n)),
    variables,
    maps,
    st.integers(1, 99).map(lambda i: ast.Positional(AT, i)),
    st.just(ast.PositionalCount(AT)),
)

base_types = st.one_of(
    type_words.map(lambda n: ast.NamedType(AT, n)),
    st.tuples(type_words, st.sampled_from(["struct", "union", "enum"])).map(lambda p: ast.NamedType(AT, *p)),
    st.sampled_from(["unsigned long", "unsigned int", "long long"]).map(lambda n: ast.NamedType(AT, n)),
    st.tuples(st.sampled_from(["string", "buffer", "inet"]), st.integers(0, 64)).map(
        lambda p: ast.NamedType(AT, p[0], "", p[1])
    ),
)

types = st.recursive(
    base_types,
    lambda inner: st.one_of(
        inner.map(lambda t: ast.PointerType(AT, t)),
        st.tuples(inner, st.one_of(st.none(), st.integers(0, 99))).map(lambda p: ast.ArrayType(AT, *p)),
    ),
    max_leaves=4,
)


def _unary(p: tuple[str, ast.Expr]) -> ast.Expr:
    op, operand = p
    folds = op == "-" and isinstance(operand, ast.Int) and operand.value >= 0
    return ast.Unary(AT, "~" if folds else op, operand)


def _index(p: tuple[ast.Expr, ast.Expr]) -> ast.Expr:
    base, index = p
    return ast.MapItem(AT, base, index) if isinstance(base, ast.Map) else ast.Index(AT, base, index)


def _type_context(p: tuple[type, ast.TypeExpr | ast.Expr]) -> ast.Expr:
    make, of = p
    made: ast.Expr = make(AT, of)
    return made


def _records(p: list[tuple[str, ast.Expr]]) -> ast.Expr:
    return ast.Record(AT, tuple(ast.NamedExpr(AT, n, e) for n, e in dict(p).items()))


def _targets(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    return st.one_of(variables, maps, st.tuples(maps, inner).map(lambda p: ast.MapItem(AT, *p)))


def _compound(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    args = st.one_of(inner, types.map(lambda t: ast.TypeArg(AT, t)))
    return st.one_of(
        st.tuples(st.sampled_from(list(PRECEDENCE)), inner, inner).map(lambda p: ast.Binary(AT, *p)),
        st.tuples(st.sampled_from("-!~*"), inner).map(_unary),
        _targets(inner).map(lambda t: ast.Unary(AT, "&", t)),
        st.tuples(st.sampled_from(["++", "--"]), _targets(inner), st.booleans()).map(lambda p: ast.Step(AT, *p)),
        st.tuples(inner, st.one_of(st.none(), inner), inner).map(lambda p: ast.Ternary(AT, *p)),
        st.tuples(types, inner).map(lambda p: ast.Cast(AT, *p)),
        st.tuples(inner, names).map(lambda p: ast.Field(AT, *p)),
        st.tuples(inner, st.integers(0, 20)).map(lambda p: ast.TupleItem(AT, *p)),
        st.tuples(inner, inner).map(_index),
        st.lists(inner, max_size=3).map(lambda items: ast.Tuple(AT, tuple(items))),
        st.lists(st.tuples(names, inner), min_size=1, max_size=3).map(_records),
        st.tuples(names, st.lists(args, max_size=3)).map(lambda p: ast.Call(AT, p[0], tuple(p[1]))),
        st.tuples(st.sampled_from([ast.Sizeof, ast.Typeinfo]), st.one_of(types, inner)).map(_type_context),
        st.tuples(st.one_of(types, inner), st.lists(names, min_size=1, max_size=3).map(tuple)).map(
            lambda p: ast.Offsetof(AT, *p)
        ),
        inner.map(lambda e: ast.Comptime(AT, e)),
        inner.map(lambda e: ast.Cast(AT, ast.TypeofType(AT, e), e) if not isinstance(e, ast.Name) else e),
        _blocks(inner, values=True),
        _ifs(inner, values=True),
    )


def _statements(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Statement]:
    simple_types = st.one_of(st.none(), types)
    optional = st.one_of(st.none(), inner)
    plain = st.one_of(
        inner.map(lambda e: ast.ExprStatement(AT, without_value(e))),
        st.tuples(variables, simple_types, optional).map(lambda p: ast.Let(AT, *p)),
        st.tuples(
            _targets(inner), st.sampled_from(["", "+", "-", "<<", ">>", "*", "/", "%", "&", "|", "^"]), inner
        ).map(lambda p: ast.Assign(AT, *p)),
        inner.map(lambda e: ast.Discard(AT, e)),
        optional.map(lambda e: ast.Return(AT, e)),
        st.sampled_from([ast.Break(AT), ast.Continue(AT)]),
        texts.map(lambda p: ast.Import(AT, p)),
    )
    body = st.lists(plain, max_size=2).map(lambda s: ast.Block(AT, tuple(s)))
    bounds = inner.filter(lambda e: not isinstance(e, ast.Block))  # a brace there begins the body
    return st.one_of(
        plain,
        st.tuples(inner, body).map(lambda p: ast.While(AT, *p)),
        st.tuples(inner, body).map(lambda p: ast.Unroll(AT, *p)),
        st.tuples(variables, maps, body).map(lambda p: ast.ForMap(AT, *p)),
        st.tuples(variables, bounds, bounds, body).map(lambda p: ast.ForRange(AT, *p)),
        _ifs(inner, values=False).map(lambda e: ast.ExprStatement(AT, without_value(e))),
    )


def _blocks(inner: st.SearchStrategy[ast.Expr], *, values: bool) -> st.SearchStrategy[ast.Block]:
    value = st.one_of(st.none(), inner) if values else st.none()
    statements = st.lists(inner.map(lambda e: ast.ExprStatement(AT, without_value(e))), max_size=2)
    return st.tuples(statements, value).map(lambda p: ast.Block(AT, tuple(p[0]), p[1]))


def _ifs(inner: st.SearchStrategy[ast.Expr], *, values: bool) -> st.SearchStrategy[ast.If]:
    block = _blocks(inner, values=values)
    branches = st.lists(st.tuples(inner, block).map(lambda p: ast.Branch(AT, *p)), min_size=1, max_size=2)
    return st.tuples(branches, st.one_of(st.none(), block)).map(lambda p: ast.If(AT, tuple(p[0]), p[1]))


expressions: st.SearchStrategy[ast.Expr] = st.recursive(leaves, _compound, max_leaves=8)
statements = _statements(expressions)
blocks = st.lists(statements, max_size=4).map(lambda s: ast.Block(AT, tuple(s)))

points = st.sampled_from(
    ["kprobe:f", "k:f*", "u:/bin/a:f+4", "t:a:b", "i:s:1", "BEGIN", 'usdt:"/a b":n:p', "w:0x10:8:rw", "n=k:g"]
).map(lambda text: ast.AttachPoint(AT, ProbeSpec("begin"), text))

probes = st.tuples(st.lists(points, min_size=1, max_size=3), st.one_of(st.none(), expressions), blocks).map(
    lambda p: ast.Probe(AT, tuple(p[0]), p[1], p[2])
)

macro_params = st.lists(
    st.tuples(st.sampled_from(["$", "@", ""]), type_words), max_size=3, unique_by=lambda p: p[1]
).map(lambda ps: tuple(ast.MacroParam(AT, *p) for p in ps))
macros = st.tuples(names, macro_params, _blocks(expressions, values=True)).map(lambda p: ast.Macro(AT, *p))

subprogs = st.tuples(
    names,
    st.lists(st.tuples(variables, types).map(lambda p: ast.SubprogParam(AT, *p)), max_size=2).map(tuple),
    st.one_of(st.none(), types),
    blocks,
).map(lambda p: ast.Subprog(AT, *p))

map_decls = st.tuples(maps, names, expressions).map(lambda p: ast.MapDecl(AT, *p))
config_values = st.one_of(st.integers(0, 2**32), st.booleans(), texts)
configs = st.lists(st.tuples(names, config_values).map(lambda p: ast.ConfigEntry(AT, *p)), max_size=3).map(
    lambda e: ast.Config(AT, tuple(e))
)
imports = texts.map(lambda p: ast.Import(AT, p))

programs = st.tuples(
    st.lists(st.one_of(configs, imports), max_size=2),
    st.lists(st.one_of(probes, macros, subprogs, map_decls), max_size=3),
).map(lambda p: ast.Program(AT, (*p[0], *p[1])))
