"""What is at hand while one clause is lowered: its sites, variables, findings, and the program around it.

A ``Unit`` is a clause, or those of its sites that look alike to its body. It is lowered as often as it takes until
the types of its variables and of the maps it reads stand still; only the last run counts.

``asks`` collects what the body wanted to know of the sites: if they differ in it, the clause is split (``resolve.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from probescope.diagnostics import Diagnostic, Source, Span, nearest
from probescope.ir import expr as ir
from probescope.ir.program import Action
from probescope.ir.stmt import Assign, Emit, Stmt
from probescope.lang.bt import ast
from probescope.lang.bt.lower_value import NOTHING, V, load
from probescope.lang.bt.scope import Scopes, Var
from probescope.lang.bt.types import UNKNOWN, settle, show
from probescope.model.site import Site, UprobeAttach
from probescope.model.types import Agg, Enum, Space, Type, Void

if TYPE_CHECKING:
    from probescope.lang.bt.check_maps import MapInfo
    from probescope.lang.bt.check_program import ProgramState
    from probescope.lang.bt.lower_subprog import Function

LowerExpr = Callable[["Unit", Any], V]
LowerStmt = Callable[["Unit", Any], None]

MAX_STATEMENTS = 50_000
"""Greatest number of statements that one clause may grow to (``unroll`` inside ``unroll``)."""

_USER_SOURCES = frozenset({"uprobe", "uretprobe", "usdt"})


class Unit:
    def __init__(self, program: ProgramState, probe: ast.Probe, sites: tuple[Site, ...]) -> None:
        self.program = program
        self.probe = probe
        self.sites = sites
        self.source: Source = program.source
        self.scopes = Scopes()
        self.reads: set[MapInfo] = set()
        self.dirty = True
        self.asks: set[tuple[str, object]] = set()
        self.runs = 0
        self.final = False
        self.alone: ast.Subprog | None = None  # a function to be checked by itself
        self._exprs: dict[type, LowerExpr] = program.exprs
        self._stmts: dict[type, LowerStmt] = program.stmts
        self._restart()

    def _restart(self) -> None:
        self.predicate: ir.Expr | None = None
        self.body: tuple[Stmt, ...] = ()
        self.found: list[Diagnostic] = []
        self.emits: list[tuple[Emit, Action]] = []
        self.out: list[Stmt] = []
        self.unresolved = False
        self.loops = 0
        self.function: Function | None = None
        self.inlined = 0
        self.unevaluated = 0  # inside sizeof, typeof...: what is lowered is thrown away
        self.long_text = False  # a format or name, which never becomes a value
        self.discarding: ast.Node | None = None  # the expression whose value nobody wants

    def restart(self) -> None:
        """Forgets the last run, except for the types that it found."""
        self._restart()
        self.scopes.restart()
        for m in self.reads:
            m.readers.discard(self)
        self.reads.clear()
        self.dirty = False
        self.runs += 1

    def wake(self) -> None:
        """A type that this unit used has changed: it has to be lowered again."""
        if not self.dirty:
            self.dirty = True
            self.program.queue.append(self)

    # --- findings -----------------------------------------------------------------------------------------------------

    def error(self, message: str, span: Span, *hints: str) -> V:
        """Reports, and gives the value of what is wrong."""
        self.found.append(Diagnostic("error", message, span, hints, self.source))
        return NOTHING

    def warn(self, message: str, span: Span, *hints: str) -> None:
        if not self.unevaluated:
            self.found.append(Diagnostic("warning", message, span, hints, self.source))

    def pending(self, what: str, span: Span, *hints: str) -> V:
        """The value of what is not inferred yet; ``what`` is the error if it never will be."""
        self.unresolved = True
        if self.final and not self.failed:
            self.error(what, span, *hints)
        return NOTHING

    def undefined(self, m: MapInfo, span: Span) -> V:
        """``pending`` for a map that nothing was assigned to."""
        hints: list[str] = []
        if self.final:
            known = [o.name for o in self.program.maps if o.value is not UNKNOWN]
            hints = [f"did you mean '@{n}'?" for n in nearest(m.name, known)[:1]]
        return self.pending(f"Undefined map: @{m.name}", span, *hints)

    @property
    def failed(self) -> bool:
        return any(d.severity == "error" for d in self.found)

    # --- lowering -----------------------------------------------------------------------------------------------------

    def expr(self, node: ast.Expr) -> V:
        return self._exprs[type(node)](self, node)

    def stmt(self, node: ast.Node) -> None:
        self._stmts[type(node)](self, node)

    def value(self, node: ast.Expr) -> ir.Expr | None:
        """The value of an expression that has to have one; ``None`` if it is wrong or not known yet."""
        return self.read(self.expr(node), node.span)

    def read(self, v: V, span: Span) -> ir.Expr | None:
        """The value behind a ``V``, read from memory if need be."""
        if v.ir is not None:
            return v.ir
        if v.address is not None:
            return load(v, span)
        if isinstance(v.type, Void):
            self.error("this has no value", span)
        elif isinstance(v.type, Agg):
            self.error(f"a {show(v.type)} has no single value", span, "print the whole map")
        return None

    def emit(self, stmt: Stmt) -> None:
        self.out.append(stmt)

    def block(self, body: Callable[[], None]) -> tuple[Stmt, ...]:
        """The statements that ``body`` emits, in a scope of their own."""
        outer, self.out = self.out, []
        self.scopes.push()
        body()
        self.scopes.pop()
        inner, self.out = self.out, outer
        return tuple(inner)

    def collect(self, body: Callable[[], V]) -> tuple[tuple[Stmt, ...], V]:
        """The statements that ``body`` emits, and its value."""
        outer, self.out = self.out, []
        v = body()
        inner, self.out = self.out, outer
        return tuple(inner), v

    def action(self, action: Action, values: Sequence[ir.Expr] = (), span: Span | None = None) -> Emit:
        """A record for ``action``; its number is given when the whole program is known."""
        stmt = Emit(0, tuple(values)) if span is None else Emit(0, tuple(values), span=span)
        self.emits.append((stmt, action))
        return stmt

    def temporary(self, e: ir.Expr, stem: str = "t") -> tuple[Assign, ir.Local]:
        """A variable that holds ``e``, so that it is evaluated once."""
        t = settle(e.type)
        var = self.scopes.temporary(t, stem)
        return Assign(var.name, e, span=e.span), ir.Local(t, var.name, span=e.span)

    # --- variables and maps -------------------------------------------------------------------------------------------

    def variable(self, var: Var, span: Span) -> V:
        t = self.scopes.type_of(var)
        if t is UNKNOWN:
            return self.pending("Could not resolve the type of this variable", span)
        return V(t, ir.Local(settle(t), var.name, span=span))

    def map(self, name: str) -> MapInfo:
        found = self.program.maps.get(name)
        found.used = True
        return found

    def map_value(self, m: MapInfo, span: Span) -> Type | Agg:
        """The type of a map's values, which this unit now depends on."""
        m.read_by(self)
        if m.value is UNKNOWN:
            m.wanted = True
            self.undefined(m, span)
        return m.value

    # --- the site -----------------------------------------------------------------------------------------------------

    @property
    def site(self) -> Site:
        return self.sites[0]

    def ask(self, what: str, detail: object = "") -> Site:
        """Notes that the body depends on this aspect of its sites; gives one of them."""
        self.asks.add((what, detail))
        return self.site

    @property
    def space(self) -> Space:
        """Where a bare number points to in this clause."""
        return space_of(self.ask("space"))

    def named(self, name: str) -> Type | None:
        """What a C name stands for in this clause: to the script, to the program that is probed, to the kernel."""
        programs, attach = self.program.env.programs, self.site.attach
        if programs is not None and isinstance(attach, UprobeAttach) and not self.program.types.shadows(name):
            self.ask("binary")
            found = programs.named_in(attach.path, name)
            if found is not None:
                return found
        return self.program.types.named(name)

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        """A constant of an enumeration, looked for as ``named`` does."""
        programs, attach = self.program.env.programs, self.site.attach
        if programs is not None and isinstance(attach, UprobeAttach) and not self.program.types.shadows(name):
            found = programs.enumerator_in(attach.path, name)
            if found is not None:
                self.ask("binary")
                return found
        return self.program.types.enumerator(name)

    def show(self, t: Type) -> str:
        return show(t)


def space_of(site: Site) -> Space:
    """User space where user code or its system calls are probed, else the kernel."""
    if site.source in _USER_SOURCES or site.name.startswith("tracepoint:syscalls:"):
        return "user"
    return "user" if site.source in ("watchpoint", "asyncwatchpoint") and site.pid > 0 else "kernel"
