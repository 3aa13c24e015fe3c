"""Expressions turned into Python closures, once: ``Frame -> value``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from probescope.evaluate import arithmetic as ops
from probescope.evaluate.intrinsics import PURE
from probescope.evaluate.world import Frame
from probescope.ir import expr as e
from probescope.model.abi import size_align
from probescope.model.codec import decoder, encoder, zero
from probescope.model.types import (
    Array,
    Bool,
    Buffer,
    Int,
    Opaque,
    Space,
    String,
    Type,
    is_integer,
    is_scalar,
    wrap,
)

if TYPE_CHECKING:
    from probescope.evaluate.machine import Machine

Run = Callable[[Frame], Any]

_PLACES, _PLACE = 0xFFFF_C900_0000_0000, 1 << 16
"""Where variables lie if anybody asks, and how far apart: kernel stacks of x86-64 are there."""


class ExprCompiler:
    """Knows the program's maps and where errors are counted; one per clause."""

    def __init__(self, machine: Machine, clause: int) -> None:
        self.machine = machine
        self.clause = clause
        self.store = machine.store
        self.types = machine.types
        self.addressed: dict[int, tuple[str, Type]] = {}  # made-up addresses of variables

    def compile(self, x: e.Expr) -> Run:
        return getattr(self, "_" + type(x).__name__.lower())(x)  # type: ignore[no-any-return]

    def optional(self, x: e.Expr | None) -> Run:
        return (lambda _: None) if x is None else self.compile(x)

    def condition(self, x: e.Expr) -> Run:
        run, t = self.compile(x), x.type
        return run if isinstance(t, Bool) else lambda f: ops.truth(run(f), t)

    def miss(self, frame: Frame, kind: str) -> None:
        key = (kind, self.clause)
        frame.errors[key] = frame.errors.get(key, 0) + 1

    # --- values
    # ---------------------------------------------------------------------------------------------------------

    def _const(self, x: e.Const) -> Run:
        value = x.value
        if isinstance(x.type, Bool):
            value = bool(value)
        return lambda _: value

    def _local(self, x: e.Local) -> Run:
        name, unset = x.name, zero(x.type)
        return lambda f: f.variables.get(name, unset)

    def _address(self, x: e.Address) -> Run:
        base = next((b for b, (n, _) in self.addressed.items() if n == x.name), 0)
        if not base:
            base = _PLACES + len(self.addressed) * _PLACE
            clause = next(c for c in self.machine.program.clauses if c.id == self.clause)
            self.addressed[base] = x.name, next(v.type for v in clause.variables if v.name == x.name)
        return lambda _: base

    def _peek(self, f: Frame, space: Space, address: int, size: int) -> bytes | None:
        """Memory of the event, or of a variable whose address was taken."""
        found = self.addressed.get(address - address % _PLACE) if self.addressed else None
        if found is None:
            return f.event.read(space, address, size)
        name, t = found
        raw = encoder(t, self.types)(f.variables.get(name, zero(t)))
        return raw[address % _PLACE :][:size].ljust(size, b"\0")

    def _unary(self, x: e.Unary) -> Run:
        run, t = self.compile(x.x), x.x.type
        match x.op:
            case "neg":
                kept = ops.wrapper(t)
                return lambda f: kept(-run(f))
            case "inv":
                kept = ops.wrapper(t)
                return lambda f: kept(~run(f))
            case _:
                return lambda f: not ops.truth(run(f), t)

    def _binary(self, x: e.Binary) -> Run:
        a, b = self.compile(x.a), self.compile(x.b)
        if x.op in e.COMPARISON:
            f2 = ops.comparison(x.op)
            if isinstance(x.a.type, String):
                return lambda f: f2(ops.text(a(f)), ops.text(b(f)))
            return lambda f: f2(a(f), b(f))
        apply = ops.arithmetic(x.op, x.type)
        if x.op in ("div", "mod"):
            return self._division(x.op, apply, a, b)
        return lambda f: apply(a(f), b(f))

    def _division(self, op: str, apply: Callable[[Any, Any], Any], a: Run, b: Run) -> Run:
        def run(f: Frame) -> Any:
            x, y = a(f), b(f)
            if y == 0:
                self.miss(f, "div0")
                return ops.AT_ZERO
            return apply(x, y)

        return run

    def _logic(self, x: e.Logic) -> Run:
        a, b = self.condition(x.a), self.condition(x.b)
        if x.op == "and":
            return lambda f: a(f) and b(f)
        return lambda f: a(f) or b(f)

    def _select(self, x: e.Select) -> Run:
        cond, a, b = self.condition(x.cond), self.compile(x.a), self.compile(x.b)
        return lambda f: a(f) if cond(f) else b(f)

    def _block(self, x: e.Block) -> Run:
        body, result = self.machine.statements(self, x.body), self.compile(x.result)

        def run(f: Frame) -> Any:
            body(f)
            return result(f)

        return run

    def _pack(self, x: e.Pack) -> Run:
        items = [self.compile(i) for i in x.items]
        return lambda f: tuple(i(f) for i in items)

    def _item(self, x: e.Item) -> Run:
        run, i = self.compile(x.x), x.index
        return lambda f: run(f)[i]

    def _index(self, x: e.Index) -> Run:
        run, index, unset, t = self.compile(x.x), self.compile(x.index), zero(x.type), x.type
        limit = x.x.type.count if isinstance(x.x.type, Array) else size_align(x.x.type)[0]
        is_bytes = isinstance(x.x.type, String | Buffer)

        def at(f: Frame) -> Any:
            value, i = run(f), index(f)
            if not 0 <= i < limit:
                self.miss(f, "bounds")
                return unset
            if is_bytes:
                return wrap(value[i], t) if i < len(value) else 0
            return value[i]

        return at

    def _part(self, x: e.Part) -> Run:
        run, decode, at = self.compile(x.x), decoder(x.type, self.types), x.offset
        size = size_align(x.type, self.types)[0]
        return lambda f: decode(run(f).ljust(at + size, b"\0"), at)

    def _cast(self, x: e.Cast) -> Run:
        run, to, of = self.compile(x.x), x.type, x.x.type
        convert = caster(of, to)
        return lambda f: convert(run(f))

    # --- needs
    # ----------------------------------------------------------------------------------------------------------

    def _context(self, x: e.Context) -> Run:
        name, arg = x.name, x.arg
        return lambda f: f.event.context(name, arg)

    def _field(self, x: e.Field) -> Run:
        name, t = x.name, x.type
        return lambda f: f.event.field(name, t)

    def _arg(self, x: e.Arg) -> Run:
        i, t = x.index, x.type
        return lambda f: wrap(f.event.argument(i), t) if is_scalar(t) else f.event.argument(i)

    def _ret(self, x: e.Ret) -> Run:
        t = x.type
        return lambda f: wrap(f.event.returned(), t) if is_scalar(t) else f.event.returned()

    def _reg(self, x: e.Reg) -> Run:
        name, t = x.name, x.type
        return lambda f: wrap(f.event.register(name), t)

    def _load(self, x: e.Load) -> Run:
        address, space, decode = self.compile(x.address), x.space, decoder(x.type, self.types)
        size, unset = size_align(x.type, self.types)[0], zero(x.type)

        def run(f: Frame) -> Any:
            raw = self._peek(f, space, address(f), size)
            if raw is None or len(raw) < size:
                self.miss(f, "read")
                return unset
            return decode(raw, 0)

        return run

    def _readstr(self, x: e.ReadStr) -> Run:
        address, limit, space = self.compile(x.address), self.optional(x.limit), x.space
        size = x.type.size if isinstance(x.type, String) else 0

        def run(f: Frame) -> Any:
            n = limit(f)
            n = size if n is None else max(0, min(size, n))
            raw = self._peek(f, space, address(f), n) if n else b""
            if raw is None:
                self.miss(f, "read")
                return b""
            return ops.text(raw)

        return run

    def _readbuf(self, x: e.ReadBuf) -> Run:
        address, length, space = self.compile(x.address), self.compile(x.length), x.space
        size = x.type.size if isinstance(x.type, Buffer) else 0

        def run(f: Frame) -> Any:
            n = max(0, min(size, length(f)))
            raw = self._peek(f, space, address(f), n) if n else b""
            if raw is None or len(raw) < n:
                self.miss(f, "read")
                return bytes(n)
            return raw

        return run

    def _stack(self, x: e.Stack) -> Run:
        t = x.type
        if not isinstance(t, Opaque):
            raise TypeError("a stack is opaque")
        return lambda f: f.event.stack(t)

    def _call(self, x: e.Call) -> Run:
        args = [self.compile(a) for a in x.args]
        pure = PURE.get(x.name)
        if pure is not None:
            return lambda f: pure(x, tuple(a(f) for a in args))
        name = x.name
        if name == "within":
            return lambda f: self._within(f, args[0](f), args[1](f))
        return lambda f: f.event.call(name, tuple(a(f) for a in args))

    def _within(self, f: Frame, index: int, limit: int) -> int:
        if not 0 <= index < limit:
            self.miss(f, "outside")
        return index

    # --- state
    # ----------------------------------------------------------------------------------------------------------

    def _mapget(self, x: e.MapGet) -> Run:
        key, name, unset, t = self.optional(x.key), x.map, zero(x.type), x.type
        kept = ops.wrapper(t) if is_integer(t) else None
        counts, misses = self.machine.program.settings.count_misses and x.key is not None, self.machine.misses

        def run(f: Frame) -> Any:
            value = self.store.get(name, key(f))
            if value is None:
                if counts:
                    misses[x.span] = misses.get(x.span, 0) + 1
                return unset
            return value if kept is None else kept(value)

        return run

    def _mappart(self, x: e.MapPart) -> Run:
        key, name, part, t = self.optional(x.key), x.map, x.part, x.type

        def run(f: Frame) -> Any:
            state = self.store.parts(name, key(f))
            return 0 if state is None else wrap(state[part], t)

        return run

    def _maphas(self, x: e.MapHas) -> Run:
        key, name = self.optional(x.key), x.map
        return lambda f: self.store.get(name, key(f)) is not None

    def _mapdelete(self, x: e.MapDelete) -> Run:
        key, name = self.optional(x.key), x.map
        return lambda f: self.store.delete(name, key(f))

    def _maplen(self, x: e.MapLen) -> Run:
        name = x.map
        return lambda _: self.store.length(name)

    def _mapadd(self, x: e.MapAdd) -> Run:
        key, delta, name, t = self.optional(x.key), self.compile(x.delta), x.map, x.type
        old_wanted = x.returns == "old"

        def run(f: Frame) -> int:
            k, d = key(f), delta(f)  # in this order: either may change the map
            old, kept = self.store.add(name, k, d)
            if not kept:
                self.miss(f, "map_full")
            return wrap(old if old_wanted else old + d, t)

        return run


def caster(of: Type, to: Type) -> Callable[[Any], Any]:
    """The conversion from one type to another, as ``ir.expr.Cast`` says."""
    if isinstance(to, Bool):
        return lambda v: ops.truth(v, of)
    if is_scalar(to):
        if is_scalar(of):
            kept = ops.wrapper(to)
            return kept if not isinstance(of, Bool) else int
        raw = encoder(of) if not isinstance(of, Buffer | Opaque) else None
        if isinstance(of, Opaque):
            return lambda v: wrap(v[0] if isinstance(v, tuple) else v, to)
        size = size_align(to)[0]
        return lambda v: ops.from_bytes((raw(v) if raw else v).ljust(size, b"\0")[:size], to)
    if isinstance(to, String):
        return lambda v: ops.text(v if isinstance(v, bytes) else encoder(of)(v))[: to.size]
    if isinstance(to, Array) and isinstance(of, Int):
        decode = decoder(to)
        size = size_align(to)[0]
        return lambda v: decode(ops.to_bytes(v, of).ljust(size, b"\0"), 0)
    if isinstance(to, Opaque):
        return _to_opaque(of, to)
    return _by_items(of, to)


def _to_opaque(of: Type, to: Opaque) -> Callable[[Any], Any]:
    if to.kind in ("ustack", "usym", "kstack"):
        return lambda v: v
    return int if is_scalar(of) else (lambda v: v)


def _by_items(of: Type, to: Type) -> Callable[[Any], Any]:
    from probescope.model.abi import item_types
    from probescope.model.types import Record, Tuple

    if isinstance(to, Tuple | Record) and isinstance(of, Tuple | Record):
        parts = [caster(a, b) if a != b else None for a, b in zip(item_types(of), item_types(to), strict=True)]
        return lambda v: tuple(i if p is None else p(i) for p, i in zip(parts, v, strict=True))
    if isinstance(to, Buffer):
        return lambda v: v[: to.size] if isinstance(v, bytes) else encoder(of)(v)[: to.size]
    return lambda v: v
