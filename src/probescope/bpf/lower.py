"""Lowering one unit: the state that every ``lower_*`` module works on, and the doors between them.

    scalar(e)        the register that holds a value (kinds.in_register)
    into(e, place)   writes a value's bytes to a place
    place(e)         where a value's bytes are already, or a temporary they were written to
    condition(...)   goes one way or the other
    statements(...)

Which function serves which node is in ``tables.py``.

Lowering may find that it needs what it did not prepare for (scratch memory, less stack): it raises ``Restart`` and is
run again, prepared. That keeps programs that need nothing free of everything.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NoReturn

from probescope.bpf.builder import Builder, Size
from probescope.bpf.kinds import SHORT, canonical, has_text, in_register, is_stack, reg_bytes, reg_signed
from probescope.bpf.lir import Block, Cond, Function, Reg, Slot
from probescope.bpf.pieces import COUNTERS, MOST_OFFSET, SCRATCH, SCRATCH_BUSY, Pieces, within_reach
from probescope.bpf.scan import Scan, scan, variable_types
from probescope.bpf.unit import CounterKind, Unit
from probescope.diagnostics import NOWHERE, Diagnostic, Span
from probescope.errors import ScriptError
from probescope.frozen import dataclass, replace
from probescope.ir import expr as x
from probescope.ir.program import Clause
from probescope.ir.stmt import Stmt
from probescope.model.abi import align_up, size_align
from probescope.model.types import Type

Where = Literal["stack", "value", "ctx"]

SCALAR: dict[type, Callable[[Lower, Any], Reg]] = {}
INTO: dict[type, Callable[[Lower, Any, Place, bool], None]] = {}
PLACE: dict[type, Callable[[Lower, Any], Place | None]] = {}
STATEMENT: dict[type, Callable[[Lower, Any], None]] = {}
TESTS: dict[type, Callable[[Lower, Any, Block, Block], None]] = {}


@dataclass(frozen=True, slots=True)
class Place:
    """Memory that instructions can reach: ``base`` + ``off``. Stack accesses must be aligned; ``ctx`` can only be read,
    at constant aligned offsets. ``room``: bytes from ``off`` on that may be written, past the value that lies there."""

    base: Reg
    off: int
    where: Where = "value"
    room: int = 0

    def at(self, n: int) -> Place:
        return Place(self.base, self.off + n, self.where, max(0, self.room - n))


@dataclass(frozen=True, slots=True)
class Held(x.Expr):
    """A value that was computed already: what map iteration and record building hand to the code for expressions."""

    reg: Reg | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """How a unit is lowered: see ``Restart``. ``one`` and ``total``: bytes of stack for a temporary, for all alive.
    ``goto``: loops may run under may_goto."""

    scratch: Literal["no", "late", "early"] = "no"
    one: int = 128
    total: int = 320
    fetch: bool = True
    goto: bool = True


class Restart(Exception):
    """Lowering must be done again with another configuration."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config


class Fn:
    """One function being built: the program, or the callback of a loop."""

    def __init__(self, builder: Builder, ctx: Reg, frame: Reg | None, scratch: Reg | None) -> None:
        self.b = builder
        self.ctx = ctx
        self.frame = frame  # address of the captured variables
        self.scratch = scratch
        self.memo: list[dict[object, Any]] = [{}]
        self.temps: list[tuple[list[Slot], int]] = []
        self.live = 0  # bytes of temporaries that are alive
        self.fixed = 0  # bytes of the stack that are taken for good
        self.loops: list[tuple[Callable[[], None], Callable[[], None]]] = []  # break, continue
        self.leave: Callable[[], None] = lambda: None
        self.comm: Slot | None = None
        self.homes: dict[str, Reg] = {}  # variables that live in registers


class Lower:
    """One unit: a clause of a program as one kernel program."""

    def __init__(self, pieces: Pieces, unit: Unit, clause: Clause, config: Config) -> None:
        self.pieces = pieces
        self.program = pieces.program
        self.options = pieces.options
        self.features = pieces.options.features
        self.types = pieces.options.types
        self.arch = pieces.options.arch
        self.unit = unit
        self.clause = clause
        self.config = config
        self.functions: list[Function] = []
        self.names = 0
        self.in_predicate = False
        self.scratch_at = SCRATCH_BUSY
        self._far: set[Reg] = set()  # bases inside of scratch memory
        self.scratch_most = SCRATCH_BUSY
        self.text_slack = 0  # the longest text that is measured out at run time: see scratch_bytes
        self.captured: dict[str, int] = {}  # variable -> offset in the frame
        self.spots: dict[str, Slot | int] = {}  # variable -> its place on the stack, or offset in scratch memory
        self.bound: dict[str, x.Expr] = {}  # names that stand for values held elsewhere
        self.variables = variable_types(clause, pieces.storages)
        self.scan: Scan = scan(clause, self.features, pieces.program.settings.max_loop, callback=not config.goto)
        self.site: Reg | None = None  # the number of the site that fired, where the program finds it out
        self.range_words: dict[int, int] = {}  # frame offsets of the first numbers of loops in callbacks
        self.counting: str | None = None  # the callback that counts a map's pairs
        self.unwinders: dict[str, str] = {}  # functions that unwind stacks, by their table
        self.result: Reg | None = None  # what the program returns, where that matters
        self.fn: Fn
        self.main: Fn

    @property
    def b(self) -> Builder:
        return self.fn.b

    # --- doors --------------------------------------------------------------------------------------------------------

    def scalar(self, e: x.Expr) -> Reg:
        before = self.enter(e.span)
        value = SCALAR[type(e)](self, e)
        self.fn.b.span = before
        return value

    def into(self, e: x.Expr, place: Place, *, exact: bool = False) -> None:
        """``exact``: equal values must be equal bytes, whatever ``kinds.SHORT`` says: for map keys."""
        if in_register(e.type):
            self.put(place, e.type, self.scalar(e))
            return
        before = self.enter(e.span)
        INTO[type(e)](self, e, place, exact)
        self.fn.b.span = before

    def place(self, e: x.Expr) -> Place:
        """Where the value's bytes lie; of a temporary: until the end of the statement."""
        find = PLACE.get(type(e))
        if find is not None:
            before = self.enter(e.span)
            found = find(self, e)
            self.fn.b.span = before
            if found is not None:
                return found
        out = self.temp_for(e.type)
        self.into(e, out)
        return out

    def condition(self, e: x.Expr, yes: Block, no: Block) -> None:
        """Ends the current block."""
        before = self.enter(e.span)
        TESTS.get(type(e), TESTS[x.Expr])(self, e, yes, no)
        self.fn.b.span = before

    def statements(self, body: Sequence[Stmt]) -> None:
        for s in body:
            if not self.b.open:
                return
            before = self.enter(s.span)
            with self.scope():
                STATEMENT[type(s)](self, s)
            self.fn.b.span = before

    # --- places in the source -----------------------------------------------------------------------------------------

    def enter(self, span: Span) -> Span:
        """What is emitted from here on comes from ``span``; gives what held before."""
        b = self.fn.b
        before = b.span
        if span.line:
            b.span = span
        return before

    def refuse(self, message: str, *hints: str, span: Span | None = None) -> NoReturn:
        """The clause cannot be compiled, and this is why."""
        where = span or self.b.span
        if not where.line:
            where = self.clause.span
        raise ScriptError([Diagnostic("error", message, where, tuple(hints), self.program.source)])

    def require(self, feature: str, what: str, *hints: str) -> None:
        """Raises the diagnostic that says what this kernel lacks. What it is not known to lack is tried."""
        if self.features.lacks(feature):
            name = feature.partition(":")[2]
            self.refuse(f"{what} needs {name}, which this kernel does not offer", *hints)

    # --- regions ------------------------------------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Generator[None, None, None]:
        """Temporaries made inside end with it."""
        fn = self.fn
        slots: list[Slot] = []
        live, mark = fn.live, self.scratch_at
        fn.temps.append((slots, mark))
        try:
            yield
        finally:
            fn.temps.pop()
        if fn.b.open:
            for slot in reversed(slots):
                fn.b.end(slot)
        fn.live, self.scratch_at = live, mark

    @contextmanager
    def arm(self, block: Block | None = None) -> Generator[None, None, None]:
        """Code that may not run: what it computes is not known afterwards. Begins in ``block``."""
        if block is not None:
            self.b.place(block)
        fn = self.fn
        fn.memo.append({})
        try:
            with self.scope():
                yield
        finally:
            fn.memo.pop()

    def once(self, key: object, make: Callable[[], Any]) -> Any:
        """``make()``, or what it gave before at a place that lies on the way here. Only for what cannot change
        while the program runs."""
        value = self.recall(key)
        if value is None:
            value = self.fn.memo[-1][key] = make()
        return value

    def recall(self, key: object) -> Any | None:
        """What ``once`` made of ``key`` on the way here."""
        return next((known[key] for known in self.fn.memo if key in known), None)

    def end_block(self) -> None:
        """Code after a jump is dead but must go somewhere."""
        if not self.b.open:
            self.b.place(self.b.block())

    def unless(self, cond: Cond, a: Reg, imm: int, then: Callable[[], None]) -> None:
        """The rare case: if the comparison holds, ``then`` runs off the straight path."""
        b = self.b
        rare, on = b.block(cold=True), b.block(cold=b.current.cold)
        b.branch_imm(cond, a, imm, rare, on)
        with self.arm(rare):
            then()
        if b.open:
            b.jump(on)
        b.place(on)

    def count(self, kind: CounterKind, map_: str = "", span: Span | None = None, helper: str = "") -> None:
        """One more loss or error of this kind, here. ``helper``: the one of the kernel's that failed."""
        where = self.b.span if span is None else span
        off = self.pieces.counter(kind, self.clause.id, where if where.line else NOWHERE, map_, helper)
        self.b.atomic("add", self.b.map_value(COUNTERS, off), 0, self.b.const(1), 8)

    # --- memory -------------------------------------------------------------------------------------------------------

    def size(self, t: Type) -> int:
        return size_align(t, self.types)[0]

    def temp_for(self, t: Type) -> Place:
        """A temporary for a value. What is not wholly written every time stays off the stack: kernels before 6.3 refuse
        to pass on bytes of it that were never written."""
        size, slack = self.size(t), 1 if has_text(t) else 0
        return self.temp(size, slack=slack) if canonical(t) else self.scratch(size + slack)

    def temp_text(self, size: int) -> Place:
        """A temporary for a text, and the NUL after a full one."""
        return self.temp(size, slack=1) if size <= SHORT else self.scratch(size + 1)

    def temp(self, size: int, *, slack: int = 0, name: str = "") -> Place:
        """Memory until the end of the scope; its content is undefined."""
        fn, total = self.fn, align_up(max(1, size + slack), 8)
        one, most = self.stack_limits()
        if total > one or fn.live + fn.fixed + total > most:
            return self.scratch(total)
        slot = fn.b.slot(total, name=name)
        fn.b.begin(slot)
        fn.temps[-1][0].append(slot)
        fn.live += total
        return Place(fn.b.slot_address(slot), 0, "stack", total)

    def stack_limits(self) -> tuple[int, int]:
        """Bytes of stack for one temporary and for all of a function: a program and its callbacks share 512."""
        one, most = self.config.one, self.config.total
        if "callback" not in self.scan.ways.values():
            return one, most
        return (one, most * 2 // 3) if self.fn is self.main else (one // 2, most // 3)

    def kept_slot(self, size: int, name: str = "") -> Slot:
        """Stack memory for the rest of the function."""
        slot = self.b.slot(align_up(size, 8), name=name)
        self.fn.fixed += slot.size
        return slot

    def slot_place(self, slot: Slot) -> Place:
        return Place(self.b.slot_address(slot), 0, "stack", slot.size)

    def scratch(self, total: int) -> Place:
        """Scratch memory until the end of the scope."""
        total = align_up(total, 8)
        return self.scratch_place(self.scratch_section(total), total)

    def scratch_section(self, total: int) -> int:
        if self.config.scratch == "no" or (self.in_predicate and self.config.scratch == "late"):
            raise Restart(replace(self.config, scratch="early" if self.in_predicate else "late"))
        at = self.scratch_at
        self.scratch_at += align_up(total, 8)
        self.scratch_most = max(self.scratch_most, self.scratch_at)
        return at

    def scratch_place(self, at: int, total: int) -> Place:
        assert self.fn.scratch is not None
        if at + within_reach(total) < MOST_OFFSET:
            return Place(self.fn.scratch, at, "value", total)
        self._far.add(base := self.b.alu_imm("add", self.fn.scratch, at))
        return Place(base, 0, "value", total)

    def measured(self, limit: int) -> None:
        """Some text of up to ``limit`` bytes is written at an offset, or with a length, known only at run time. The
        verifier adds the greatest of both: scratch memory has so much to spare at its end."""
        self.text_slack = max(self.text_slack, limit + 8)

    def spacious(self, place: Place) -> bool:
        """Whether a place has what ``measured`` promises."""
        return place.base == self.fn.scratch or place.base in self._far

    def scratch_bytes(self) -> int:
        return self.scratch_most + self.text_slack

    def address(self, p: Place) -> Reg:
        return p.base if p.off == 0 else self.b.alu_imm("add", p.base, p.off)

    def put(self, p: Place, t: Type, value: Reg) -> None:
        """Stores a register value."""
        size = reg_bytes(t)
        if is_stack(t) and p.where == "stack" and p.off % 8:
            self.b.store(p.base, p.off, value, 4)
            self.b.store(p.base, p.off + 4, self.b.alu_imm("shr", value, 32), 4)
            return
        self.b.store(p.base, p.off, value, _size(size))

    def get(self, p: Place, t: Type) -> Reg:
        """Loads a register value."""
        if is_stack(t) and p.where != "value" and p.off % 8:
            low = self.b.load(p.base, p.off, 4)
            high = self.b.load(p.base, p.off + 4, 4)
            return self.b.alu("or", low, self.b.alu_imm("shl", high, 32))
        return self.b.load(p.base, p.off, _size(reg_bytes(t)), signed=reg_signed(t))

    @property
    def preemptible(self) -> bool:
        """Whether another task may run the same program on this CPU before this run ends. Tracepoints, kprobes and perf
        events run with preemption off; uprobes do not since "uprobes: allow BPF programs to be sleepable" (6.0)."""
        unit = self.unit
        return unit.in_user or unit.sleepable or unit.kind in {"syscall", "iter", "fentry", "fexit"}

    def races_on(self, map_: str) -> bool:
        """Whether a word of this CPU may be changed by another run while this one changes it. The kernel lets no fentry
        program run into itself; two of them can."""
        if self.unit.kind in {"fentry", "fexit"} and self.pieces.updaters.get(map_, 0) < 2:
            return False
        return self.preemptible

    def plain(self, value: Reg) -> Reg:
        """The number behind what the verifier knows as a pointer, and would not let us calculate with."""
        return self.b.neg(self.b.neg(value))

    def new_name(self, kind: str) -> str:
        self.names += 1
        return f"{self.unit.name}.{kind}{self.names}"


def _size(n: int) -> Size:
    assert n in {1, 2, 4, 8}
    return n  # type: ignore[return-value]


__all__ = ["COUNTERS", "SCRATCH", "Config", "Fn", "Held", "Lower", "Place", "Restart"]
