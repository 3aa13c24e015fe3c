"""Random clauses over random columns of events, for holding the evaluation of columns against that of rows."""

from __future__ import annotations

import random

import numpy as np

from probescope.evaluate.columns.values import Coded, constant, dtype_of
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import Action, Clause, MapDecl, Program, Settings, Variable
from probescope.ir.rules import check
from probescope.model.site import CtxLoad, Field, Site, TracepointAttach
from probescope.model.types import (
    BOOL,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Agg,
    Array,
    Int,
    Opaque,
    String,
    Tuple,
    wrap,
)

INTS = (I8, U8, I16, U16, I32, U32, I64, U64)
TEXTS = (b"", b"a", b"bash", b"hello world", b"swapper/0", b"\xff\x80", b"x" * 16)
FIELDS = {
    **{f"{'s' if t.signed else 'u'}{t.size}": t for t in INTS},
    "few": U8,
    "text": String(16),
    "other": String(16),
    "array": Array(I16, 3),
    "stack": Opaque("kstack", "bpftrace", 5),
}
EDGES = (0, 1, 2, 3, 7, 8, 63, 64, 99, 100, 127, 128, 255, 256, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1)
AGGS = (
    Agg("count"),
    *(Agg(k, t) for k in ("sum", "min", "max", "avg", "stats") for t in (I64, U64)),
    *(Agg("hist", t, (bits,)) for t in (I64, U64) for bits in (0, 2)),
    Agg("lhist", I64, (0, 100, 7)),
    Agg("lhist", U64, (-50, 1000, 10)),
    Agg("stddev", I64),
)
OFFERED = tuple(Field(name, t, CtxLoad(0, 8)) for name, t in FIELDS.items() if not isinstance(t, Opaque))
SITES = tuple(Site(f"tracepoint:t:e{n}", "tracepoint", TracepointAttach("t", f"e{n}", n), OFFERED) for n in range(4))


class RandomEvents:
    """``evaluate.columns.expr.Events`` with a column of every field."""

    def __init__(self, rng: random.Random, count: int, site: int) -> None:
        self.count, self.site = count, site
        self._columns = {name: self._column(rng, name, t) for name, t in FIELDS.items()}

    def _column(self, rng: random.Random, name: str, t: object) -> object:
        if isinstance(t, Int):
            values = [self._number(rng, name, t) for _ in range(self.count)]
            return np.array(values, dtype_of(t))
        if isinstance(t, Array):
            rows = [[wrap(rng.choice(EDGES), t.element) for _ in range(t.count)] for _ in range(self.count)]
            return np.array(rows, dtype_of(t.element)).reshape(self.count, t.count)
        values = list(range(5)) if isinstance(t, Opaque) else [*TEXTS, b"a"]  # one of them twice
        return Coded(np.array([rng.randrange(len(values)) for _ in range(self.count)], np.int64), values)

    @staticmethod
    def _number(rng: random.Random, name: str, t: Int) -> int:
        if name == "few":
            return rng.randrange(4)
        return wrap(rng.choice(EDGES) * rng.choice((1, 1, -1)) if rng.random() < 0.7 else rng.randrange(-300, 300), t)

    def context(self, name: str, arg: str) -> object:
        if name == "comm":
            return self._columns["other"]
        return constant(7, U32, self.count) if name == "pid" else self._columns["u8"]

    def field(self, name: str, type_: object) -> object:
        return self._columns[name]

    def element(self, name: str, type_: object, index: int) -> object:
        return self._columns[name][:, index]

    def stack(self, type_: object) -> object:
        return self._columns["stack"]


class RandomProgram:
    """``program``: one clause a site, of which most can run in columns."""

    def __init__(self, rng: random.Random, clauses: int) -> None:
        self.rng = rng
        self.maps: dict[str, MapDecl] = {}
        self.variables: dict[str, object] = {}
        made = tuple(self._clause(i) for i in range(clauses))
        action = Action("printf", (U64,))
        self.program = check(Program(made, tuple(self.maps.values()), (action,), Settings()))

    def _clause(self, i: int) -> Clause:
        self.variables = {}
        body = self._block(3, 2)
        predicate = self.bool(2) if self.rng.random() < 0.5 else None
        variables = tuple(Variable(n, t) for n, t in self.variables.items())
        return Clause(i, (SITES[i],), body, predicate, variables)

    # --- statements

    def _block(self, most: int, depth: int) -> tuple[s.Stmt, ...]:
        return tuple(self._statement(depth) for _ in range(self.rng.randrange(1, most + 1)))

    def _statement(self, depth: int) -> s.Stmt:
        r = self.rng.random()
        if r < 0.5:
            return self._update()
        if r < 0.6:
            m = self._map("n", self.rng.choice((I64, U64, U32)))
            return s.Discard(x.MapAdd(m.value, m.name, self._key(m), self.int(m.value, 2)))
        if r < 0.7 and depth:
            otherwise = self._block(2, depth - 1) if self.rng.random() < 0.5 else ()
            return s.If(self.bool(2), self._block(2, depth - 1), otherwise)
        if r < 0.85:
            return self._assign()
        if r < 0.9 and depth < 2:
            return s.Return()
        if r < 0.93:
            m = self._map("v", U64)
            return s.MapSet(m.name, self._key(m), self.int(U64, 2))
        if r < 0.95:
            return s.Emit(0, (self.int(U64, 2),))
        return self._update()

    def _assign(self) -> s.Stmt:
        kind = self.rng.choice((I32, U64, String(16), Tuple((U8, String(16)))))
        name = f"v{len(self.variables)}" if not self.variables or self.rng.random() < 0.5 else ""
        if name:
            self.variables[name] = kind
        else:
            name, kind = self.rng.choice(list(self.variables.items()))
        return s.Assign(name, self.of(kind, 2))

    def _update(self) -> s.Stmt:
        agg = self.rng.choice(AGGS)
        m = self._map("a", agg)
        value = None if m.value.kind == "count" else self.int(m.value.value, 3)
        weight = x.Const(U64, 3) if m.value.kind in {"hist", "lhist"} and self.rng.random() < 0.2 else None
        return s.MapUpdate(m.name, self._key(m), value, weight)

    def _map(self, prefix: str, value: object) -> MapDecl:
        own = [m for m in self.maps.values() if m.name[0] == prefix]
        if own and self.rng.random() < 0.4:
            return self.rng.choice(own)
        keys = (None, U8, I64, U64, BOOL, String(16), Opaque("kstack", "bpftrace", 5), Tuple((U8, String(16))))
        m = MapDecl(f"{prefix}{len(self.maps)}", self.rng.choice(keys), value, "auto", self.rng.choice((3, 4096)))
        self.maps[m.name] = m
        return m

    def _key(self, m: MapDecl) -> x.Expr | None:
        return None if m.key is None else self.of(m.key, 2)

    # --- expressions

    def of(self, t: object, depth: int) -> x.Expr:
        locals_ = [n for n, k in self.variables.items() if k == t]
        if locals_ and self.rng.random() < 0.5:
            return x.Local(t, self.rng.choice(locals_))
        match t:
            case Int():
                return self.int(t, depth)
            case String():
                return self.text(depth)
            case Opaque():
                return x.Stack(t)
            case Tuple(items=items):
                return x.Pack(t, tuple(self.of(i, depth - 1) for i in items))
            case _:
                return self.bool(depth)

    def int(self, t: Int, depth: int) -> x.Expr:
        r = self.rng.random()
        if depth <= 0 or r < 0.15:
            return x.Const(t, wrap(self.rng.choice(EDGES), t))
        if r < 0.4:
            name = next((n for n, k in FIELDS.items() if k == t), "few")
            return x.Field(t, name) if FIELDS[name] == t else x.Cast(t, x.Field(U8, "few"))
        if r < 0.7:
            op = self.rng.choice(sorted(x.ARITHMETIC))
            other = self.rng.choice(INTS) if op in {"shl", "shr"} else t
            return x.Binary(t, op, self.int(t, depth - 1), self.int(other, depth - 1))
        if r < 0.75:
            return x.Unary(t, self.rng.choice(("neg", "inv")), self.int(t, depth - 1))
        if r < 0.8:
            return x.Select(t, self.bool(depth - 1), self.int(t, depth - 1), self.int(t, depth - 1))
        if r < 0.85:
            return x.Cast(t, x.Call(U64, "strlen", (self.text(depth - 1),)))
        if r < 0.9:
            index = self.int(self.rng.choice((U8, I64)), depth - 1) if r < 0.88 else x.Const(U8, self.rng.randrange(4))
            return x.Cast(t, x.Index(I16, x.Field(FIELDS["array"], "array"), index))
        of = self.rng.choice(INTS)
        return x.Cast(t, self.int(of, depth - 1))

    def text(self, depth: int) -> x.Expr:
        r = self.rng.random()
        if r < 0.2 or depth <= 0:
            return x.Const(String(16), self.rng.choice(TEXTS))
        if r < 0.35:
            return x.Context(String(16), "comm")
        if r < 0.45:
            return x.Select(String(16), self.bool(depth - 1), self.text(depth - 1), self.text(depth - 1))
        if r < 0.55:
            return x.Call(String(16), "strcap", (self.text(depth - 1), self.int(U64, depth - 1)))
        return x.Field(String(16), self.rng.choice(("text", "other")))

    def bool(self, depth: int) -> x.Expr:
        r = self.rng.random()
        if r < 0.35 and depth > 0:
            t = self.rng.choice(INTS)
            return x.Binary(BOOL, self.rng.choice(sorted(x.COMPARISON)), self.int(t, depth - 1), self.int(t, depth - 1))
        if r < 0.55:
            op = self.rng.choice(sorted(x.COMPARISON))
            return x.Binary(BOOL, op, self.text(depth - 1), self.text(depth - 1))
        if r < 0.75 and depth > 0:
            return x.Logic(BOOL, self.rng.choice(("and", "or")), self.bool(depth - 1), self.bool(depth - 1))
        if r < 0.85 and depth > 0:
            return x.Unary(BOOL, "not", self.bool(depth - 1))
        if r < 0.9 and depth > 0:
            return x.Cast(BOOL, self.int(self.rng.choice(INTS), depth - 1))
        return x.Binary(BOOL, "lt", x.Field(U8, "few"), x.Const(U8, 2))
