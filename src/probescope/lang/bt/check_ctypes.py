"""The C types that a script declares itself: each once, each with members whose sizes are known.

Headers are not looked at: they declare much that nobody uses."""

from __future__ import annotations

from collections.abc import Iterator

from probescope.diagnostics import Diagnostic
from probescope.lang.bt import ast, cdecl
from probescope.lang.bt.check_program import ProgramState


def check_c(state: ProgramState, tree: ast.Program) -> list[Diagnostic]:
    """What is wrong with them, at the declaration."""
    seen: set[str] = set()
    found: list[Diagnostic] = []
    for item in tree.items:
        if not isinstance(item, ast.CItem) or not item.text:  # only what the script says itself has its text
            continue
        for name in _defined(item.declarations):
            if name in seen:
                found.append(Diagnostic("error", f"redefinition of '{name}'", item.span, (), state.source))
            elif not name.startswith("enum ") and state.types.layout(name) is None:
                found.append(_senseless(state, name, item))
            seen.add(name)
    return found


def _defined(declarations: tuple[cdecl.CDeclaration, ...]) -> Iterator[str]:
    for d in declarations:
        if isinstance(d, cdecl.CStruct) and d.members is not None:
            yield d.full_name
        elif isinstance(d, cdecl.CEnum) and d.values is not None:
            yield f"enum {d.name}"


def _senseless(state: ProgramState, name: str, item: ast.CItem) -> Diagnostic:
    reasons = state.types.near(name)
    message = f"{name} cannot be laid out" + (f": {reasons[0]}" if reasons else "")
    return Diagnostic("error", message, item.span, (), state.source)
