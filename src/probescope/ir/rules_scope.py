"""What the rules may look up, and what counts as a condition."""

from __future__ import annotations

from collections.abc import Iterator

from probescope.ir import stmt as s
from probescope.ir.program import Clause, Program
from probescope.ir.walk import Node, clause_nodes
from probescope.model.types import U64, Agg, Int, String, Tuple, Type, is_scalar

Broken = Iterator[str]


def is_condition(t: Type) -> bool:
    return is_scalar(t) or isinstance(t, String)


class Scope:
    """What rules may look up."""

    def __init__(self, program: Program, clause: Clause) -> None:
        self.program = program
        self.maps = {m.name: m for m in program.maps}
        self.variables: dict[str, Type] = {v.name: v.type for v in clause.variables}
        self.sites = clause.sites
        for node in clause_nodes(clause):
            if isinstance(node, s.ForRange):
                self.variables[node.name] = node.type
            elif isinstance(node, s.ForMap) and node.map in self.maps:
                decl = self.maps[node.map]
                self.variables[node.name] = Tuple((decl.key or U64, _read_type(decl.value)))


def _read_type(t: Type | Agg) -> Type:
    return Int(8, t.value.signed) if isinstance(t, Agg) else t


def fine(_: Scope, _x: Node) -> Broken:
    """Of nodes whose fields cannot be wrong."""
    return iter(())
