"""Names for values that are printed: columns of tables, keys of JSON."""

from __future__ import annotations

from probescope.lang.bt import ast


def label(node: ast.Expr) -> str:
    """A name for a value, out of the expression that gives it; empty if it has none."""
    match node:
        case ast.Name(name=name) | ast.Var(name=name) | ast.Field(name=name):
            return name
        case ast.Map(name=name):
            return f"@{name}"
        case ast.MapItem(map=ast.Map(name=name)):
            return f"@{name}"
        case ast.Call(function="str" | "buf", args=(first, *_)):
            return label(first)
        case ast.Call(function="ntop" | "ksym" | "usym", args=(*_, last)):
            return label(last)
        case ast.Call(function="kstack" | "ustack" as function) | ast.Call(function=function, args=()):
            return function
        case ast.Cast(operand=operand):
            return label(operand)
        case _:
            return ""


def labels(nodes: tuple[ast.Expr, ...]) -> tuple[str, ...]:
    """A name for each value; nothing if none has one."""
    found = tuple(map(label, nodes))
    return found if any(found) else ()


def key_labels(key: ast.Expr) -> tuple[str, ...]:
    """For each item of a map's key."""
    return labels(key.items if isinstance(key, ast.Tuple) else (key,))
