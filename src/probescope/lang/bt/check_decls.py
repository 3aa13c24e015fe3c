"""Map declarations, ``let @m = lruhash(100)``, and what can be said of maps once all clauses are known."""

from __future__ import annotations

from typing import get_args

from probescope.diagnostics import Diagnostic, nearest
from probescope.ir.program import MapKind
from probescope.lang.bt import ast, fold
from probescope.lang.bt.check_program import ProgramState

KINDS = tuple(k for k in get_args(MapKind) if k != "auto")
MAX_ENTRIES = 1 << 30


def declare(state: ProgramState, decl: ast.MapDecl) -> list[Diagnostic]:
    """Notes a declaration; returns what is wrong with it."""
    m = state.maps.get(decl.map.name)
    found: list[Diagnostic] = []
    if decl.kind not in KINDS:
        near = [f"did you mean '{n}'?" for n in nearest(decl.kind, KINDS)[:1]] or ["kinds are " + ", ".join(KINDS)]
        found.append(Diagnostic("error", f"Invalid bpf map type: {decl.kind}", decl.span, tuple(near), state.source))
    if m.kind != "auto":
        found.append(Diagnostic("error", f"@{m.name} is declared twice", decl.span, (), state.source))
    entries = fold.integer(decl.entries)
    if entries is None or not 1 <= entries <= MAX_ENTRIES:
        message = f"the number of entries has to be known while compiling, from 1 to {MAX_ENTRIES}"
        found.append(Diagnostic("error", message, decl.entries.span, (), state.source))
    m.kind, m.entries = decl.kind, entries or 1
    m.first = decl.span
    return found


def check_maps(state: ProgramState, tree: ast.Program) -> list[Diagnostic]:
    """Declared kinds against values, and maps that nobody uses or sets."""
    found = _never_set(state)
    for decl in tree.map_decls:
        m = state.maps.get(decl.map.name)
        if not m.used:
            found.append(Diagnostic("warning", f"Unused map: @{m.name}", decl.span, (), state.source))
            continue
        per_cpu, agg = m.kind.startswith("percpu"), m.agg is not None
        if per_cpu != agg:
            is_kind = "percpuhash" if agg else "hash"
            message = f"Incompatible map types. Type from declaration: {m.kind}. Type from value/key type: {is_kind}"
            found.append(Diagnostic("error", message, m.first, (), state.source))
    return found


def _never_set(state: ProgramState) -> list[Diagnostic]:
    """Maps that are only read: most often a name that is misspelt."""
    known = [m.name for m in state.maps if m.written]
    found = []
    for m in state.maps:
        if m.used and not m.written:
            hints = tuple(f"did you mean '@{n}'?" for n in nearest(m.name, known)[:1])
            message = f"@{m.name} is read, but nothing is ever put into it"
            found.append(Diagnostic("warning", message, m.first, hints, state.source))
    return found
