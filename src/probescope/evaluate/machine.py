"""Statements, clauses and the machine that runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probescope.diagnostics import Span
from probescope.evaluate.expr import ExprCompiler, Run
from probescope.evaluate.store import Store
from probescope.evaluate.world import EffectHandler, Emitter, Event, Frame
from probescope.ir import stmt as s
from probescope.ir.program import Clause, Program
from probescope.model.types import TypeTable, wrap

Signal = str  # what a statement asks of the loop or clause around it: "", "break", "continue" or "return"
Do = Callable[[Frame], Signal]


def _no_effect(kind: str, args: tuple[Any, ...], clause: Clause) -> None:
    raise KeyError(kind)


class Machine:
    """Runs the clauses of one program against ``store``. ``emit`` gets every record; ``errors`` counts, by kind and
    clause id, what ``ir/expr.py`` says is counted; ``misses``, by place, reads of map entries that were not there, if
    the program's settings ask for it."""

    def __init__(
        self,
        program: Program,
        store: Store,
        emit: Emitter,
        *,
        types: TypeTable | None = None,
        effect: EffectHandler = _no_effect,
    ) -> None:
        self.program = program
        self.store = store
        self.emit = emit
        self.types = types
        self.effect = effect
        self.errors: dict[tuple[str, int], int] = {}
        self.misses: dict[Span, int] = {}
        self._clauses = {c.id: c for c in program.clauses}
        self._compiled: dict[int, tuple[Run | None, Do]] = {}

    def run(self, clause_id: int, event: Event) -> bool:
        """One firing of a clause; whether its predicate held."""
        predicate, body = self.prepared(clause_id)
        frame = Frame(event, self.errors, {})
        if predicate is not None and not predicate(frame):
            return False
        body(frame)
        return True

    def prepared(self, clause_id: int) -> tuple[Run | None, Do]:
        """Predicate (``None``: always) and body of a clause, compiled once."""
        found = self._compiled.get(clause_id)
        if found is None:
            found = self._compiled[clause_id] = self._compile(self._clauses[clause_id])
        return found

    def _compile(self, clause: Clause) -> tuple[Run | None, Do]:
        compiler = ExprCompiler(self, clause.id)
        predicate = None if clause.predicate is None else compiler.condition(clause.predicate)
        return predicate, self.statements(compiler, clause.body)

    def statements(self, c: ExprCompiler, body: tuple[s.Stmt, ...]) -> Do:
        steps = [self._statement(c, x) for x in body]
        if len(steps) == 1:
            return steps[0]

        def run(f: Frame) -> Signal:
            for step in steps:
                signal = step(f)
                if signal:
                    return signal
            return ""

        return run

    def _statement(self, c: ExprCompiler, x: s.Stmt) -> Do:
        return getattr(self, "_" + type(x).__name__.lower())(c, x)  # type: ignore[no-any-return]

    # --- plain statements
    # -----------------------------------------------------------------------------------------------

    def _assign(self, c: ExprCompiler, x: s.Assign) -> Do:
        value, name = c.compile(x.value), x.name

        def run(f: Frame) -> Signal:
            f.variables[name] = value(f)
            return ""

        return run

    def _discard(self, c: ExprCompiler, x: s.Discard) -> Do:
        value = c.compile(x.value)

        def run(f: Frame) -> Signal:
            value(f)
            return ""

        return run

    def _mapset(self, c: ExprCompiler, x: s.MapSet) -> Do:
        key, value, name = c.optional(x.key), c.compile(x.value), x.map

        def run(f: Frame) -> Signal:
            k = key(f)
            if not self.store.set(name, k, value(f)):
                c.miss(f, "map_full")
            return ""

        return run

    def _mapupdate(self, c: ExprCompiler, x: s.MapUpdate) -> Do:
        key, name = c.optional(x.key), x.map
        value, weight = c.optional(x.value), c.optional(x.weight)

        def run(f: Frame) -> Signal:
            k, v, w = key(f), value(f), weight(f)
            if not self.store.update(name, k, 1 if v is None else v, 1 if w is None else w):
                c.miss(f, "map_full")
            return ""

        return run

    def _emit(self, c: ExprCompiler, x: s.Emit) -> Do:
        values, action = [c.compile(v) for v in x.values], x.action

        def run(f: Frame) -> Signal:
            self.emit(action, tuple(v(f) for v in values))
            return ""

        return run

    def _effect(self, c: ExprCompiler, x: s.Effect) -> Do:
        args, clause = [c.compile(a) for a in x.args], self._clauses[c.clause]

        def run(f: Frame) -> Signal:
            self.effect(x.kind, tuple(a(f) for a in args), clause)
            return ""

        return run

    # --- control
    # --------------------------------------------------------------------------------------------------------

    def _break(self, c: ExprCompiler, x: s.Break) -> Do:
        return lambda _: "break"

    def _continue(self, c: ExprCompiler, x: s.Continue) -> Do:
        return lambda _: "continue"

    def _return(self, c: ExprCompiler, x: s.Return) -> Do:
        value = c.optional(x.value)

        def run(f: Frame) -> Signal:
            value(f)
            return "return"

        return run

    def _if(self, c: ExprCompiler, x: s.If) -> Do:
        cond, then = c.condition(x.cond), self.statements(c, x.then)
        otherwise = self.statements(c, x.otherwise)
        return lambda f: then(f) if cond(f) else otherwise(f)

    def _while(self, c: ExprCompiler, x: s.While) -> Do:
        cond, body = c.condition(x.cond), self.statements(c, x.body)

        def run(f: Frame) -> Signal:
            turn = 0
            while cond(f):
                turn += 1
                if self._out_of_turns(c, f, turn):
                    return ""
                signal = body(f)
                if signal == "break":
                    return ""
                if signal == "return":
                    return signal
            return ""

        return run

    def _forrange(self, c: ExprCompiler, x: s.ForRange) -> Do:
        start, end, body = c.compile(x.start), c.compile(x.end), self.statements(c, x.body)

        def run(f: Frame) -> Signal:
            first, last = start(f), end(f)
            for turn, i in enumerate(range(first, last), 1):
                if self._out_of_turns(c, f, turn):
                    return ""
                f.variables[x.name] = wrap(i, x.type)
                signal = body(f)
                if signal == "break":
                    return ""
                if signal == "return":
                    return signal
            return ""

        return run

    def _formap(self, c: ExprCompiler, x: s.ForMap) -> Do:
        body, name = self.statements(c, x.body), x.map

        def run(f: Frame) -> Signal:
            for pair in self.store.items(name):
                f.variables[x.name] = pair
                signal = body(f)
                if signal == "break":
                    return ""
                if signal == "return":
                    return signal
            return ""

        return run

    def _out_of_turns(self, c: ExprCompiler, f: Frame, turn: int) -> bool:
        """Each loop may turn so often; a clause has no limit of its own."""
        if turn <= self.program.settings.max_loop:
            return False
        c.miss(f, "loop")
        return True
