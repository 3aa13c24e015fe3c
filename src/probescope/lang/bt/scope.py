"""Scratch variables: which one a name means, and what its type is.

A variable lives in the block in which it was first assigned or declared, and in all blocks inside it. Types are found
by lowering a clause until nothing changes: ``Scopes`` outlives the runs, and remembers each variable's type by its
unique name."""

from __future__ import annotations

from probescope.diagnostics import NOWHERE, Span
from probescope.ir.program import Variable
from probescope.lang.bt.types import UNKNOWN, promote, settle
from probescope.model.types import Type


class Var:
    """``fixed``: its type was declared. ``read``: its type was used in this run, so that a change of it asks for
    another. ``locked``: its type must not change now."""

    __slots__ = ("assigned", "declared", "fixed", "locked", "name", "read", "span", "type", "written")

    def __init__(self, name: str, written: str, span: Span) -> None:
        self.name = name
        self.written = written
        self.span = span
        self.type: Type = UNKNOWN
        self.fixed = False
        self.locked = False
        self.declared = False
        self.assigned = False
        self.read = False


class Scopes:
    """``changed``: a type that was already used has changed since; run again."""

    def __init__(self) -> None:
        self._types: dict[str, Type] = {}
        self._stack: list[dict[str, Var]] = [{}]
        self._made: dict[str, int] = {}
        self.all: list[Var] = []
        self.changed = False

    def restart(self) -> None:
        self._stack = [{}]
        self._made = {}
        self.all = []
        self.changed = False

    def push(self) -> None:
        self._stack.append({})

    def pop(self) -> None:
        self._stack.pop()

    @property
    def depth(self) -> int:
        return len(self._stack)

    def isolate(self) -> list[dict[str, Var]]:
        """Hides all variables, for the body of a function; give the result to ``restore``."""
        hidden, self._stack = self._stack, [{}]
        return hidden

    def restore(self, hidden: list[dict[str, Var]]) -> None:
        self._stack = hidden

    def find(self, name: str) -> Var | None:
        for scope in reversed(self._stack):
            found = scope.get(name)
            if found is not None:
                return found
        return None

    def define(self, name: str, span: Span = NOWHERE) -> Var:
        """A new variable in the innermost block."""
        var = Var(self._unique(name), name, span)
        var.type = self._types.get(var.name, UNKNOWN)
        self._stack[-1][name] = var
        self.all.append(var)
        return var

    def temporary(self, t: Type, stem: str = "t") -> Var:
        """A variable that no script can name."""
        var = Var(self._unique(f"{stem}#"), stem, NOWHERE)
        var.type, var.fixed, var.assigned = t, True, True
        self.all.append(var)
        return var

    def _unique(self, name: str) -> str:
        stem = name.replace("#", "_")
        n = self._made[stem] = self._made.get(stem, 0) + 1
        return stem if n == 1 and not stem.endswith("_") else f"{stem.rstrip('_')}_{n}"

    def fix(self, var: Var, t: Type) -> None:
        """The declared type of a variable."""
        var.type, var.fixed = t, True
        self._types[var.name] = t

    def widen(self, var: Var, t: Type) -> bool:
        """Makes room for a value of type ``t``; false if the variable can hold none."""
        if var.fixed:
            return True
        found = promote(var.type, t)
        if found is None:
            return False
        if found is not var.type and found != var.type:
            if var.locked:
                return False
            self.changed = self.changed or var.read
            var.type = self._types[var.name] = found
        return True

    def type_of(self, var: Var) -> Type:
        var.read = True
        return var.type

    def names(self) -> list[str]:
        """What can be named here."""
        return [name for scope in self._stack for name in scope]

    def variables(self) -> tuple[Variable, ...]:
        """Those of the clause that have a value."""
        return tuple(Variable(v.name, settle(v.type)) for v in self.all if v.type is not UNKNOWN)
