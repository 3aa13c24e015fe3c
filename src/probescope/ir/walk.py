"""Walking a program's trees without recursion limits: children of a node, and all nodes below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probescope.frozen import fields
from probescope.ir.expr import Expr
from probescope.ir.program import Clause
from probescope.ir.stmt import Stmt

Node = Expr | Stmt

_CHILD_FIELDS: dict[type, tuple[str, ...]] = {}


def _child_fields(kind: type) -> tuple[str, ...]:
    """Names of the fields of a node class that may hold nodes or tuples of nodes."""
    found = _CHILD_FIELDS.get(kind)
    if found is None:
        found = tuple(
            f.name
            for f in fields(kind)
            if f.name not in ("type", "span", "name", "op", "map", "space", "kind", "offset")
        )
        _CHILD_FIELDS[kind] = found
    return found


def children(node: Node) -> Iterator[Node]:
    """Direct children, in order of evaluation."""
    for name in _child_fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Expr | Stmt):
            yield value
        elif isinstance(value, tuple):
            for v in value:
                if isinstance(v, Expr | Stmt):
                    yield v


def walk(roots: Iterable[Node]) -> Iterator[Node]:
    """Every node below and including ``roots``, a parent before its children."""
    stack = list(roots)[::-1]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(list(children(node))[::-1])


def clause_nodes(clause: Clause) -> Iterator[Node]:
    """Every node of a clause: the predicate, then the body."""
    if clause.predicate is not None:
        yield from walk([clause.predicate])
    yield from walk(clause.body)
