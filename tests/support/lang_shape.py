"""Trees of bpftrace's language as S-expressions, so that an expected tree fits into one line of a test.

2 + 3 * 4                 (+ 2 (* 3 4))
$x = (int32)arg0;         (set $x (cast int32 arg0))
"""

from __future__ import annotations

from probescope.diagnostics import Source
from probescope.lang.bt import ast
from probescope.lang.bt.node import Node
from probescope.lang.bt.parser import ParseOptions, parse, parse_expression


def program(text: str, **options: object) -> ast.Program:
    return parse(Source("stdin", text), ParseOptions(**options))  # type: ignore[arg-type]


def body(statements: str) -> str:
    """The shape of the statements of a block."""
    block = program(f"begin {{ {statements} }}").probes[0].body
    return " ".join(map(shape, block.statements))


def expr(text: str) -> str:
    return shape(parse_expression(Source("stdin", text)))


def _many(nodes: tuple[Node, ...]) -> str:
    return "".join(" " + shape(n) for n in nodes)


def _size(size: object) -> str:
    return "" if size is None else str(size) if isinstance(size, int) else shape(size)  # type: ignore[arg-type]


def shape(n: Node) -> str:
    match n:
        case ast.Int(value=v):
            return str(v)
        case ast.Bool(value=v):
            return "true" if v else "false"
        case ast.Str(value=v):
            return repr(v)
        case ast.Name(name=name):
            return name
        case ast.Var(name=name):
            return f"${name}"
        case ast.Map(name=name):
            return f"@{name}"
        case ast.MapItem(map=m, key=k):
            return f"(at {shape(m)} {shape(k)})"
        case ast.Positional(index=i):
            return f"${i}"
        case ast.PositionalCount():
            return "$#"
        case ast.Unary(op=op, operand=o):
            return f"({op} {shape(o)})"
        case ast.Step(op=op, target=t, prefix=prefix):
            return f"({op}_ {shape(t)})" if prefix else f"(_{op} {shape(t)})"
        case ast.Binary(op=op, left=a, right=b):
            return f"({op} {shape(a)} {shape(b)})"
        case ast.Ternary(condition=c, then=a, otherwise=b):
            return f"(? {shape(c)}{'' if a is None else ' ' + shape(a)} : {shape(b)})"
        case ast.Cast(type=t, operand=o):
            return f"(cast {shape(t)} {shape(o)})"
        case ast.Field(base=b, name=name):
            return f"(. {shape(b)} {name})"
        case ast.TupleItem(base=b, index=i):
            return f"(. {shape(b)} {i})"
        case ast.Index(base=b, index=i):
            return f"([] {shape(b)} {shape(i)})"
        case ast.Tuple(items=items):
            return f"(tuple{_many(items)})"
        case ast.Record(fields=fields):
            return f"(record{''.join(f' {f.name}={shape(f.value)}' for f in fields)})"
        case ast.Call(function=f, args=args):
            return f"({f}(){_many(args)})"
        case ast.TypeArg(type=t):
            return f"(type {shape(t)})"
        case ast.Sizeof(of=of):
            return f"(sizeof {shape(of)})"
        case ast.Typeinfo(of=of):
            return f"(typeinfo {shape(of)})"
        case ast.Offsetof(of=of, path=path):
            return f"(offsetof {shape(of)} {'.'.join(path)})"
        case ast.Comptime(operand=o):
            return f"(comptime {shape(o)})"
        case _:
            return _shape_of_more(n)


def _shape_of_more(n: Node) -> str:
    match n:
        case ast.Block(statements=s, value=v):
            return f"{{{_many(s)}{'' if v is None else ' => ' + shape(v)} }}"
        case ast.If(branches=branches, otherwise=o):
            inner = "".join(f" {shape(b.condition)} {shape(b.body)}" for b in branches)
            return f"(if{inner}{'' if o is None else ' else ' + shape(o)})"
        case ast.NamedType(name=name, tag=tag, size=size):
            return f"{tag + ' ' if tag else ''}{name}{f'<{_size(size)}>' if size is not None else ''}"
        case ast.PointerType(target=t):
            return f"{shape(t)}*"
        case ast.ArrayType(element=e, count=c):
            return f"{shape(e)}[{_size(c)}]"
        case ast.TypeofType(of=of):
            return f"typeof<{shape(of)}>"
        case ast.ExprStatement(expr=e):
            return shape(e)
        case ast.Let(var=v, type=t, value=e):
            return f"(let {shape(v)}{'' if t is None else ':' + shape(t)}{'' if e is None else ' ' + shape(e)})"
        case ast.Assign(target=t, op=op, value=v):
            return f"(set{op} {shape(t)} {shape(v)})"
        case ast.Discard(value=v):
            return f"(discard {shape(v)})"
        case ast.While(condition=c, body=b):
            return f"(while {shape(c)} {shape(b)})"
        case ast.Unroll(count=c, body=b):
            return f"(unroll {shape(c)} {shape(b)})"
        case ast.ForMap(var=v, map=m, body=b):
            return f"(for {shape(v)} {shape(m)} {shape(b)})"
        case ast.ForRange(var=v, start=a, stop=z, body=b):
            return f"(for {shape(v)} {shape(a)}..{shape(z)} {shape(b)})"
        case ast.Return(value=v):
            return "(return)" if v is None else f"(return {shape(v)})"
        case ast.Break():
            return "(break)"
        case ast.Continue():
            return "(continue)"
        case ast.Import(path=path):
            return f"(import {path})"
        case _:
            raise AssertionError(f"no shape for {type(n).__name__}")
