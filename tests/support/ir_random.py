"""Random programs that obey ``ir/rules.py``, for holding two ways of running them against each other.

``random_program(rng, size)`` is one clause over the 64-bit arguments of a raw tracepoint. Its first arguments are
numbers; the last ones are addresses of the bytes that ``memory`` gives, or of nothing. ``Runs`` are argument lists to
fire it with, in order. What depends on the moment (clocks, tasks, stacks) is left out; so is what is not defined (order
of iteration: loops over maps only add up).
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import Action, Clause, MapDecl, Program, Settings, Variable
from probescope.ir.rules import check
from probescope.model.site import RawTracepointAttach, Site
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
    Bool,
    Buffer,
    Int,
    Opaque,
    String,
    Tuple,
    Type,
    is_integer,
    wrap,
)

INTS = (I8, U8, I16, U16, I32, U32, I64, U64)
STRINGS = tuple(String(n) for n in (1, 5, 8, 16, 40, 64, 100, 200))
NUMBERS, ADDRESSES = 3, 3
"""Arguments 0 to 2 are numbers, 3 to 5 addresses."""

INTERESTING = [0, 1, 2, 3, 7, 8, 63, 64, 100, 127, 128, 255, 256, 32767, 32768, 65535, 65536, (1 << 31) - 1, 1 << 31]
INTERESTING += [(1 << 32) - 1, 1 << 32, 1 << 40, (1 << 63) - 1]
INTERESTING += [-n for n in INTERESTING] + [-(1 << 63)]

TEXTS = (b"hello world", b"hello", b"", b"lo w", b"a", b"worl", b"x" * 30, b"hello world, " * 9, b"\xff\x80~", b"zz")

AGGS = (
    Agg("count"),
    Agg("sum"),
    Agg("sum", U64),
    Agg("min"),
    Agg("max"),
    Agg("min", U64),
    Agg("max", U64),
    Agg("avg"),
    Agg("avg", U64),
    Agg("stats"),
    Agg("stddev", I32),
    Agg("hist", I64, (0,)),
    Agg("hist", U64, (0,)),
    Agg("hist", I64, (2,)),
    Agg("lhist", I64, (0, 100, 7)),
    Agg("lhist", I64, (-50, 1000, 10)),
    Agg("llquantize", I64, (10, 0, 6, 20)),
    Agg("llquantize", I64, (2, 3, 9, 4)),
)
SITE = Site("rawtracepoint:test", "rawtracepoint", RawTracepointAttach("test"))


def memory() -> bytes:
    """What addresses point to: the texts, each with its NUL and some rubbish behind it."""
    out = b""
    for text in TEXTS:
        out += (text + b"\0rubbish").ljust(160, b"\xee")
    return out + bytes(range(256)) + bytes(1024)


def random_runs(rng: random.Random, base: int, count: int) -> list[tuple[int, ...]]:
    """Argument lists; ``base`` is where ``memory()`` lies."""
    out = []
    for _ in range(count):
        numbers = [rng.choice(INTERESTING) if rng.random() < 0.6 else rng.randrange(-300, 300) for _ in range(NUMBERS)]
        where = [base + 160 * rng.randrange(len(TEXTS)) + rng.choice((0, 0, 0, 1, 5)) for _ in range(ADDRESSES)]
        if rng.random() < 0.15:
            where[rng.randrange(ADDRESSES)] = rng.choice((0, 8, 4096))
        out.append((*numbers, *where))
    return out


def random_program(rng: random.Random, size: int = 12) -> Program:
    """Raises InternalError if the generator itself broke a rule."""
    return check(_Maker(rng, size).program())


class _Maker:
    def __init__(self, rng: random.Random, size: int) -> None:
        self.rng = rng
        self.left = size * 8  # nodes that may still be made
        self.size = size
        self.variables: dict[str, Type] = {}
        self.maps: dict[str, MapDecl] = {}
        self.actions: list[Action] = []
        self.loops = 0
        self.in_callback = 0

    def program(self) -> Program:
        for n in range(self.rng.randrange(1, 5)):
            self.new_map(f"m{n}")
        for n in range(self.rng.randrange(0, 4)):
            self.variables[f"v{n}"] = self.type()
        body = self.statements(self.size, top=True)
        predicate = self.bool(2) if self.rng.random() < 0.3 else None
        clause = Clause(0, (SITE,), body, predicate, tuple(Variable(n, t) for n, t in self.variables.items()))
        return Program((clause,), tuple(self.maps.values()), tuple(self.actions), Settings(max_loop=1 << 16))

    # --- types --------------------------------------------------------------------------------------------------------

    def int_type(self) -> Int:
        return self.rng.choice((*INTS, I64, I64, U64))

    def type(self, depth: int = 2) -> Type:
        r = self.rng.random()
        if r < 0.45:
            return self.int_type()
        if r < 0.5:
            return BOOL
        if r < 0.7:
            return self.rng.choice(STRINGS)
        if r < 0.75:
            return Buffer(self.rng.choice((3, 16, 64, 100)))
        if r < 0.8 or depth == 0:
            return Array(self.int_type(), self.rng.randrange(1, 6))
        return Tuple(tuple(self.type(depth - 1) for _ in range(self.rng.randrange(1, 4))))

    def new_map(self, name: str) -> None:
        key = None if self.rng.random() < 0.35 else self.type(1)
        value: Type | Agg = self.rng.choice(AGGS) if self.rng.random() < 0.5 else self.type(1)
        entries = 3 if self.rng.random() < 0.15 else 1000
        self.maps[name] = MapDecl(name, key, value, max_entries=entries)

    # --- statements ---------------------------------------------------------------------------------------------------

    def statements(self, count: int, *, top: bool = False) -> tuple[s.Stmt, ...]:
        out = [self.statement(top) for _ in range(self.rng.randrange(1, max(2, count)))]
        return tuple(out)

    def statement(self, top: bool) -> s.Stmt:
        self.left -= 1
        choices = [self.assign, self.map_set, self.map_update, self.map_update, self.map_add, self.delete, self.emit]
        if self.left > 0:
            choices += [self.if_, self.if_, self.for_range, self.while_, self.counted, self.for_map]
        if self.loops and self.rng.random() < 0.3:
            return self.rng.choice((s.Break(), s.Continue()))
        if not top and self.rng.random() < 0.04:
            return s.Return()
        return self.rng.choice(choices)()

    def assign(self) -> s.Stmt:
        own = [n for n in self.variables if not n.startswith("i")]
        if not own:
            return s.Discard(self.expr(self.type()))
        name = self.rng.choice(own)
        return s.Assign(name, self.expr(self.variables[name]))

    def map_named(self, want) -> MapDecl | None:
        found = [m for m in self.maps.values() if want(m)]
        return self.rng.choice(found) if found else None

    def key(self, m: MapDecl) -> x.Expr | None:
        return None if m.key is None else self.expr(m.key, 2)

    def map_set(self) -> s.Stmt:
        m = self.map_named(lambda m: not isinstance(m.value, Agg))
        return s.MapSet(m.name, self.key(m), self.expr(m.value)) if m else self.assign()

    def map_update(self) -> s.Stmt:
        m = self.map_named(lambda m: isinstance(m.value, Agg))
        if m is None:
            return self.assign()
        value = None if m.value.kind == "count" else self.expr(m.value.value)
        weight = None
        if m.value.kind in {"hist", "lhist", "llquantize"} and self.rng.random() < 0.2:
            weight = x.Const(U64, self.rng.randrange(1, 5))
        return s.MapUpdate(m.name, self.key(m), value, weight)

    def map_add(self) -> s.Stmt:
        e = self.added(None)
        return s.Discard(e) if e else self.assign()

    def added(self, t: Type | None) -> x.Expr | None:
        m = self.map_named(
            lambda m: is_integer(m.value) and t in {None, m.value} if not isinstance(m.value, Agg) else 0
        )
        if m is None:
            return None
        delta = x.Const(m.value, 1) if self.rng.random() < 0.5 else self.expr(m.value)
        return x.MapAdd(m.value, m.name, self.key(m), delta, self.rng.choice(("old", "new")))

    def delete(self) -> s.Stmt:
        m = self.map_named(lambda m: m.key is not None or not isinstance(m.value, Agg))
        return s.Discard(x.MapDelete(BOOL, m.name, self.key(m))) if m else self.assign()

    def emit(self) -> s.Stmt:
        types = tuple(self.type() for _ in range(self.rng.randrange(1, 4)))
        self.actions.append(Action("print", types))
        return s.Emit(len(self.actions) - 1, tuple(self.expr(t) for t in types))

    def if_(self) -> s.Stmt:
        otherwise = self.statements(3) if self.rng.random() < 0.5 else ()
        return s.If(self.condition(), self.statements(3), otherwise)

    def condition(self) -> x.Expr:
        return self.bool() if self.rng.random() < 0.7 else self.expr(self.rng.choice((*INTS, *STRINGS)), 2)

    def inside(self, count: int) -> tuple[s.Stmt, ...]:
        self.loops += 1
        out = self.statements(count)
        self.loops -= 1
        return out

    def for_range(self) -> s.Stmt:
        if self.loops > 1:
            return self.assign()
        t = self.int_type()
        name = f"i{len(self.variables)}"
        start = self.rng.randrange(0, 5)
        end: x.Expr = x.Const(t, start + self.rng.choice((0, 1, 3, 9, 40)))
        if self.rng.random() < 0.5:
            end = x.Binary(t, "and", self.expr(t, 1), x.Const(t, 15))
        self.variables[name] = t
        body = self.inside(3)
        return s.ForRange(name, t, x.Const(t, start), end, body)

    def while_(self) -> s.Stmt:
        """Counts up to a number, whatever else it does; the counter is the first thing that changes."""
        if self.loops > 1:
            return self.assign()
        name = f"i{len(self.variables)}"
        self.variables[name] = I64
        counter = x.Local(I64, name)
        limit = x.Const(I64, self.rng.choice((1, 5, 33)))
        body = (s.Assign(name, x.Binary(I64, "add", counter, x.Const(I64, 1))), *self.inside(3))
        cond: x.Expr = x.Binary(BOOL, "lt", counter, limit)
        if self.rng.random() < 0.4:
            cond = x.Logic(BOOL, "and", cond, self.bool(2))
        return s.If(x.Const(BOOL, 1), (s.Assign(name, x.Const(I64, 0)), s.While(cond, body)))

    def counted(self) -> s.Stmt:
        """Many turns that only calculate with numbers."""
        t, name = self.int_type(), f"i{len(self.variables)}"
        self.variables[name] = t
        counter, total = x.Local(t, name), f"{name}t"
        self.variables[total] = U64
        by, first, end = self.rng.randrange(1, 4), self.rng.randrange(5), self.rng.choice((0, 7, 100, 125, 126, 127))
        add = s.Assign(total, x.Binary(U64, "add", x.Local(U64, total), x.Cast(U64, counter)))
        step = s.Assign(name, x.Binary(t, "add", counter, x.Const(t, by)))
        body = self.rng.choice(((add, step), (step, add), (step,)))
        cond = x.Binary(BOOL, self.rng.choice(("lt", "le")), counter, x.Const(t, end))
        loop: s.Stmt = s.While(cond, body)
        if self.rng.random() < 0.3:
            loop = s.ForRange(name, t, x.Const(t, first), x.Const(t, end), (add, *body))
        return s.If(x.Const(BOOL, 1), (s.Assign(name, x.Const(t, first)), s.Assign(total, x.Const(U64, first)), loop))

    def for_map(self) -> s.Stmt:
        """Adds up numbers that do not depend on the order: of a map that the body leaves alone."""
        m = self.map_named(lambda m: m.key is not None and (is_integer(m.value) if not isinstance(m.value, Agg) else 0))
        if m is None or self.loops:
            return self.assign()
        name, total = f"p{len(self.variables)}", f"i{len(self.variables)}t"
        pair = Tuple((m.key, m.value))
        self.variables[total] = U64
        value = x.Cast(U64, x.Item(m.value, x.Local(pair, name), 1))
        if is_integer(m.key) and self.rng.random() < 0.5:
            value = x.Binary(U64, "xor", value, x.Cast(U64, x.Item(m.key, x.Local(pair, name), 0)))
        body = (s.Assign(total, x.Binary(U64, "add", x.Local(U64, total), value)),)
        self.actions.append(Action("print", (U64,)))
        return s.If(
            x.Const(BOOL, 1),
            (
                s.Assign(total, x.Const(U64, 0)),
                s.ForMap(name, m.name, body),
                s.Emit(len(self.actions) - 1, (x.Local(U64, total),)),
            ),
        )

    # --- expressions --------------------------------------------------------------------------------------------------

    def expr(self, t: Type, depth: int = 3) -> x.Expr:
        self.left -= 1
        if self.left < 0:
            depth = 0
        if depth > 0 and self.rng.random() < 0.2:
            made = self.anything(t, depth - 1)
            if made is not None:
                return made
        match t:
            case Bool():
                return self.bool(depth)
            case Int():
                return self.int(t, depth)
            case String():
                return self.string(t, depth)
            case Buffer():
                return self.buffer(t, depth)
            case Tuple():
                return x.Pack(t, tuple(self.expr(i, depth - 1) for i in t.items))
            case Array():
                return self.array(t, depth)
            case _:
                raise TypeError(t)

    def anything(self, t: Type, depth: int) -> x.Expr | None:
        """Ways to make a value of any type."""
        names = [n for n, v in self.variables.items() if v == t]
        maps = [m for m in self.maps.values() if m.value == t]
        kind = self.rng.choice(("local", "map", "select", "item", "block"))
        if kind == "local" and names:
            return x.Local(t, self.rng.choice(names))
        if kind == "map" and maps:
            m = self.rng.choice(maps)
            return x.MapGet(t, m.name, self.key(m))
        if kind == "select":
            return x.Select(t, self.condition(), self.expr(t, depth), self.expr(t, depth))
        if kind == "item":
            other = self.type(0)
            pair = Tuple((other, t)) if self.rng.random() < 0.5 else Tuple((t, other))
            return x.Item(t, x.Pack(pair, tuple(self.expr(i, depth) for i in pair.items)), pair.items.index(t))
        own = [n for n in self.variables if not n.startswith("i")]
        if kind == "block" and own and self.rng.random() < 0.3:
            name = self.rng.choice(own)
            return x.Block(t, (s.Assign(name, self.expr(self.variables[name], depth)),), self.expr(t, depth))
        return None

    def bool(self, depth: int = 3) -> x.Expr:
        kind = self.rng.randrange(8) if depth > 0 else 7
        if kind < 2:
            t = self.int_type()
            op = self.rng.choice(("eq", "ne", "lt", "le", "gt", "ge"))
            return x.Binary(BOOL, op, self.expr(t, depth - 1), self.expr(t, depth - 1))
        if kind == 2:
            return x.Logic(BOOL, self.rng.choice(("and", "or")), self.bool(depth - 1), self.bool(depth - 1))
        if kind == 3:
            return x.Unary(BOOL, "not", self.condition_operand(depth - 1))
        if kind == 4:
            op = self.rng.choice(("eq", "ne", "lt", "le", "gt", "ge"))
            a, b = self.rng.choice(STRINGS), self.rng.choice(STRINGS)
            return x.Binary(BOOL, op, self.expr(a, depth - 1), self.expr(b, depth - 1))
        if kind == 5:
            t = self.type(1)
            return x.Binary(BOOL, self.rng.choice(("eq", "ne")), self.expr(t, depth - 1), self.expr(t, depth - 1))
        if kind == 6:
            return self.asked(depth)
        return x.Const(BOOL, self.rng.randrange(2)) if self.rng.random() < 0.3 else x.Cast(BOOL, self.leaf(I64))

    def condition_operand(self, depth: int) -> x.Expr:
        return self.expr(self.rng.choice((BOOL, *INTS, *STRINGS)), depth)

    def asked(self, depth: int) -> x.Expr:
        """Questions about maps and texts."""
        m = self.map_named(lambda m: m.key is not None or not isinstance(m.value, Agg))
        if m is None or self.rng.random() < 0.4:
            big, small = String(64), self.rng.choice((String(5), String(16)))
            return x.Call(BOOL, "strcontains", (self.expr(big, depth - 1), self.text_const(small)))
        if self.rng.random() < 0.3:
            return x.MapDelete(BOOL, m.name, self.key(m))
        return x.MapHas(BOOL, m.name, self.key(m))

    def leaf(self, t: Int) -> x.Expr:
        r = self.rng.random()
        if r < 0.5:
            return x.Arg(t, self.rng.randrange(NUMBERS))
        return x.Const(t, wrap(self.rng.choice(INTERESTING), t))

    def int(self, t: Int, depth: int) -> x.Expr:
        if depth <= 0:
            return self.leaf(t)
        kind = self.rng.randrange(13)
        if kind < 4:
            op = self.rng.choice(("add", "sub", "mul", "div", "mod", "and", "or", "xor"))
            return x.Binary(t, op, self.expr(t, depth - 1), self.expr(t, depth - 1))
        if kind == 4:
            count = self.expr(self.int_type(), depth - 1)
            return x.Binary(t, self.rng.choice(("shl", "shr")), self.expr(t, depth - 1), count)
        if kind == 5:
            return x.Unary(t, self.rng.choice(("neg", "inv")), self.expr(t, depth - 1))
        if kind == 6:
            return x.Cast(t, self.expr(self.rng.choice((*INTS, BOOL)), depth - 1))
        if kind == 7:
            return x.Load(t, "user", self.address(depth))
        if kind == 8:
            array = Array(t, self.rng.randrange(1, 6))
            index = self.rng.choice((x.Const(I64, self.rng.randrange(-1, 6)), self.expr(self.int_type(), 1)))
            return x.Index(t, self.expr(array, depth - 1), index)
        if kind == 9:
            return self.from_text(t, depth)
        if kind == 10:
            return self.added(t) or self.leaf(t)
        if kind == 11:
            return self.from_agg(t, depth)
        return x.Call(t, "bswap", (self.expr(t, depth - 1),))

    def from_agg(self, t: Int, depth: int) -> x.Expr:
        readable = ("count", "sum", "min", "max", "avg")
        m = self.map_named(lambda m: isinstance(m.value, Agg) and m.value.kind in readable)
        return x.MapGet(t, m.name, self.key(m)) if m else self.leaf(t)

    def from_text(self, t: Int, depth: int) -> x.Expr:
        text = self.rng.choice(STRINGS)
        kind = self.rng.randrange(5)
        if kind == 0:
            found: x.Expr = x.Call(U64, "strlen", (self.expr(text, depth - 1),))
        elif kind == 1:
            n = x.Const(U64, self.rng.choice((0, 1, 3, 8, 70)))
            found = x.Call(I64, "strncmp", (self.expr(text, depth - 1), self.expr(String(16), depth - 1), n))
        elif kind == 2:
            found = x.Call(I64, "strstr", (self.expr(text, depth - 1), self.text_const(String(8))))
        elif kind == 3:
            n = x.Const(U64, self.rng.choice((1, 3, 8)))
            found = x.Call(I64, "memcmp", (self.expr(text, depth - 1), self.expr(String(8), depth - 1), n))
        else:
            of = text if self.rng.random() < 0.7 else Buffer(20)
            found = x.Index(I8, self.expr(of, depth - 1), self.expr(self.int_type(), 1))
        return x.Cast(t, found)

    def address(self, depth: int) -> x.Expr:
        base = x.Arg(U64, NUMBERS + self.rng.randrange(ADDRESSES))
        if self.rng.random() < 0.3:
            return x.Binary(U64, "add", base, x.Const(U64, self.rng.randrange(12)))
        return base

    def text_const(self, t: String) -> x.Const:
        return x.Const(t, self.rng.choice(TEXTS)[: t.size])

    def string(self, t: String, depth: int) -> x.Expr:
        kind = self.rng.randrange(7)
        if kind == 0 or depth < 0:
            return self.text_const(t)
        if kind < 4 or depth == 0:
            limit = None
            if self.rng.random() < 0.3:
                limit = x.Const(U64, self.rng.randrange(8)) if depth <= 0 else self.expr(self.int_type(), 1)
            return x.ReadStr(t, "user", self.address(depth), limit)
        if kind == 4:
            a, b = self.rng.choice(STRINGS), self.rng.choice(STRINGS)
            return x.Call(t, "strcat", (self.expr(a, depth - 1), self.expr(b, depth - 1)))
        if kind == 5:
            return x.Call(t, "strcap", (self.expr(t, depth - 1), self.expr(U64, 1)))
        return x.Cast(t, self.expr(self.rng.choice(STRINGS), depth - 1))

    def buffer(self, t: Buffer, depth: int) -> x.Expr:
        if self.rng.random() < 0.3:
            return x.Const(t, self.rng.choice(TEXTS)[: t.size])
        length = x.Const(U64, self.rng.randrange(20)) if depth <= 0 else self.expr(self.int_type(), 1)
        return x.ReadBuf(t, "user", self.address(depth), length)

    def array(self, t: Array, depth: int) -> x.Expr:
        if self.rng.random() < 0.4:
            return x.Load(t, "user", self.address(depth))
        return x.Pack(t, tuple(self.expr(t.element, depth - 1) for _ in range(t.count)))


def uses(p: Program, kinds: Sequence[type]) -> bool:
    """Whether a program has a node of one of these kinds."""
    from probescope.ir.walk import clause_nodes

    return any(isinstance(n, tuple(kinds)) for c in p.clauses for n in clause_nodes(c))


__all__ = ["Opaque", "memory", "random_program", "random_runs", "uses"]
