"""Events of probe definitions to an ``ir.Program``: at each place its arguments are read and handed on.

Of each hit the record is

    number of the event   comm   tid   cpu   nanoseconds   address   [address behind the call]   value ...

and ``Row`` says which of its values make up which argument: a text is one, an array has one for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probescope.errors import ProbeError
from probescope.frozen import dataclass
from probescope.ir.expr import Binary, Cast, Const, Context, Expr, Load, Local, ReadStr, Reg, Ret
from probescope.ir.program import Action, Clause, Program, Settings, Variable
from probescope.ir.stmt import Assign, Emit, If, Stmt
from probescope.lang.probe.lower_capture import CaptureReads, Send, compared
from probescope.model.arch import Arch
from probescope.model.capture import Capture
from probescope.model.fetch import (
    Absolute,
    Deref,
    Fetch,
    FetchType,
    Immediate,
    Known,
    Register,
    Sum,
    Symbol,
    shown_name,
)
from probescope.model.format import parse_format
from probescope.model.probe_found import FoundArg, FoundProbe, ProbeEvent
from probescope.model.site import Attach, KprobeAttach, Site, UprobeAttach
from probescope.model.types import U32, U64, Buffer, Int, Space, String, Type

TEXT = 256
"""Bytes of a text."""
FIRST = 6
"""Values of a record before those of the arguments."""
SEGMENT = 0xFFFF_FFFF
"""In the place of the event's number, of a record that has a part of a value: tid, argument, step, address, bytes."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An argument: ``name``, how it is shown, and which values of the record it has. ``capture``: what makes a text of
    them."""

    name: str
    type: FetchType | None
    first: int
    count: int
    capture: Capture | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """An event and its arguments. ``address``: of the place, as the kernel runs; 0: the record has it."""

    event: ProbeEvent
    args: tuple[Shown, ...]
    address: int = 0


Condition = Callable[[ProbeEvent, dict[str, Expr]], Expr | None]
"""What lets an event pass, over its arguments by name; ``None``: everything passes."""
KernelAddress = Callable[[str], int | None]


def lower(
    events: Sequence[ProbeEvent],
    arch: Arch,
    pid: int,
    address_of: KernelAddress,
    condition: Condition | None = None,
) -> tuple[Program, tuple[Row, ...]]:
    """Raises ``ProbeError`` for what no program can read."""
    clauses: list[Clause] = []
    actions: list[Action] = []
    rows: list[Row] = []
    for i, event in enumerate(events):
        made = _Lowered(event, arch, address_of, lambda values: _segment(values, actions))
        values = (*made.context(i), *made.values)
        types = tuple(v.type for v in values)
        sent = (*made.parts, Emit(len(actions), values))
        actions.append(Action("printf", types, parse_format(" ".join(_conversion(t) for t in types))))
        allowed = condition(event, made.named) if condition is not None else None
        body: tuple[Stmt, ...] = (*made.body, *((If(allowed, sent),) if allowed is not None else sent))
        attach = _attach(event.found, pid, address_of)
        site = Site(_site_name(event.found), "uprobe" if event.found.path else "kprobe", attach, pid=pid)
        variables = tuple(Variable(n, t) for n, t in made.locals)
        clauses.append(Clause(i, (site,), body, variables=variables))
        rows.append(Row(event, made.shown(), made.address))
    return Program(tuple(clauses), actions=tuple(actions), settings=Settings(max_strlen=TEXT)), tuple(rows)


def _segment(values: tuple[Expr, ...], actions: list[Action]) -> Stmt:
    """A record of its own for a part of what would make that of the event too long: argument, step, address, bytes. It
    comes before it, of the same thread."""
    values = (Const(U32, SEGMENT), Context(U32, "tid"), *values)
    types = tuple(v.type for v in values)
    action = Action("printf", types, parse_format(" ".join(_conversion(t) for t in types)))
    if action not in actions:
        actions.append(action)
    return Emit(actions.index(action), values)


def _site_name(f: FoundProbe) -> str:
    """As programs write the place, for messages about it."""
    kind = ("uretprobe" if f.ret else "uprobe") if f.path else "kretprobe" if f.ret else "kprobe"
    inside = f"+{f.inside}" if f.inside and not f.inlined else ""
    name = f"{f.function}{inside}" if f.function else f"{f.address:#x}"
    return f"{kind}:{f.path}:{name}" if f.path else f"{kind}:{name}"


def _attach(f: FoundProbe, pid: int, address_of: KernelAddress) -> Attach:
    if f.path:
        return UprobeAttach(f.path, f.offset, f.ret, f.ref_ctr, pid)
    if f.symbol and f.symbol not in ("_text", "_stext"):
        return KprobeAttach(f.symbol, f.offset, ret=f.ret, module=f.module)
    base = address_of(f.symbol) if f.symbol else 0
    if f.symbol and not base:
        raise ProbeError(f"the address of {f.symbol} is hidden from this user")
    return KprobeAttach("", address=(base or f.address) + f.offset, ret=f.ret)


class _Lowered:
    """``parts``: what takes whole values, once it is known that the event passes."""

    def __init__(self, event: ProbeEvent, arch: Arch, address_of: KernelAddress, send: Send) -> None:
        self._send = send
        self._f, self._arch, self._address_of = event.found, arch, address_of
        self._space: Space = "user" if self._f.path else "kernel"
        self.body: list[Stmt] = []
        self.locals: list[tuple[str, Type]] = []
        self.values: list[Expr] = []
        self.parts: list[Stmt] = []
        self.named: dict[str, Expr] = {}
        self._shown: list[Shown] = []
        self.address = self._place()
        for i, a in enumerate(self._f.args):
            self._argument(a, i)

    def _place(self) -> int:
        f = self._f
        if f.path:
            return 0
        if not f.symbol:
            return f.address
        base = self._address_of(f.symbol)
        return base + f.offset if base else 0

    def shown(self) -> tuple[Shown, ...]:
        return tuple(self._shown)

    def context(self, number: int) -> tuple[Expr, ...]:
        ip: Expr = Reg(U64, self._arch.ip) if self._f.path else Const(U64, self.address)
        return (
            Const(U32, number),
            Context(String(16), "comm"),
            Context(U32, "tid"),
            Context(U32, "cpu"),
            Context(U64, "nsecs", "monotonic"),
            ip,
        )

    def _argument(self, found: FoundArg, index: int) -> None:
        a = found.fetch
        if found.capture is not None:
            self._whole(shown_name(a, index), index, found.capture)
            return
        kind = a.type
        count = kind.count if kind is not None and kind.count else 1
        name = shown_name(a, index)
        self._shown.append(Shown(name, kind, FIRST + len(self.values), count))
        for i in range(count):
            value = self._taken(a.x, kind, i)
            local = f"{name}_{index}_{i}"
            self.locals.append((local, value.type))
            self.values.append(Local(value.type, local))
            self.body.append(Assign(local, value))
            if not i:
                self.named[name] = Local(value.type, local)
                self.named.setdefault(found.variable or name, self.named[name])

    def _whole(self, name: str, index: int, capture: Capture) -> None:
        reads = CaptureReads(capture, index, self._space, lambda x: self._address(x, 0), self._word, self._send)
        self._shown.append(Shown(name, None, FIRST + len(self.values), len(reads.values), capture))
        key = compared(capture, self._space, lambda x: self._address(x, 0), self._word)
        if key is not None:
            self.named[name] = key
        self.locals += [(n, U64) for n in reads.locals]
        self.parts += reads.body
        self.values += reads.values

    # --- values -------------------------------------------------------------------------------------------------------

    def _taken(self, x: Fetch, kind: FetchType | None, element: int) -> Expr:
        if isinstance(x, Known) and x.kind == "comm":
            return Context(String(16), "comm")
        if isinstance(x, Immediate) and isinstance(x.value, str):
            return Const(String(max(len(x.value), 1)), x.value.encode())
        if kind is not None and kind.is_text:
            return self._text(x, kind, element)
        t = _type(kind)
        if kind is not None and kind.kind == "b":
            return self._bits(x, kind)
        if isinstance(x, Deref | Symbol | Absolute):
            address = self._address(x, element * t.size)
            return Load(t, self._of(x), address)
        value = self._word(x)
        return value if t == U64 else Cast(t, value)

    def _text(self, x: Fetch, kind: FetchType, element: int) -> Expr:
        space: Space = "user" if kind.kind == "ustring" else self._of(x)
        address = self._address(x, 0) if isinstance(x, Deref | Symbol | Absolute) else self._word(x)
        if kind.count:  # of an array of pointers
            address = Load(U64, self._of(x), _plus(address, 8 * element))
        return ReadStr(String(TEXT), space, address)

    def _bits(self, x: Fetch, kind: FetchType) -> Expr:
        t = Int(kind.container // 8, False)
        if isinstance(x, Deref | Symbol | Absolute):
            value: Expr = Load(t, self._of(x), self._address(x, 0))
        else:
            value = Cast(t, self._word(x)) if t != U64 else self._word(x)
        shifted = Binary(t, "shr", value, Const(t, kind.shift)) if kind.shift else value
        field = Binary(t, "and", shifted, Const(t, (1 << kind.bits) - 1))
        return Cast(Int(kind.bits // 8, True), field) if kind.signed else field

    def _of(self, x: Fetch) -> Space:
        return "user" if isinstance(x, Deref) and x.user else self._space

    def _word(self, x: Fetch) -> Expr:
        """As a number of 64 bits."""
        match x:
            case Register(name=name):
                return Reg(U64, name)
            case Known(kind="retval"):
                return Ret(U64)
            case Known(kind="stack"):
                return Reg(U64, self._arch.sp)
            case Known(kind="stackN", number=n):
                return Load(U64, self._space, _plus(Reg(U64, self._arch.sp), 8 * n))
            case Sum(x=inner, offset=offset):
                return _plus(self._word(inner), offset)
            case Immediate(value=int(value)):
                return Const(U64, value & (1 << 64) - 1)
            case Deref() | Symbol() | Absolute():
                return Load(U64, self._of(x), self._address(x, 0))
            case _:
                raise ProbeError(f"{x} can be had from tracefs only: --via ftrace")

    def _address(self, x: Fetch, more: int) -> Expr:
        """Where it is in memory."""
        match x:
            case Deref(x=inner, offset=offset):
                return _plus(self._word(inner), offset + more)
            case Symbol(name=name, offset=offset):
                found = self._address_of(name)
                if not found:
                    raise ProbeError(f"the kernel has no symbol {name}, or hides its address")
                return Const(U64, found + offset + more)
            case Absolute(address=address, in_file=True):
                if self._f.ret:
                    raise ProbeError("static memory of a program is found from the place of a probe: not at returns")
                return _plus(Reg(U64, self._arch.ip), address + more - self._f.offset)
            case Absolute(address=address):
                return Const(U64, address + more)
            case _:
                return self._word(x)


def _conversion(t: Type) -> str:
    return "%s" if isinstance(t, String) else "%r" if isinstance(t, Buffer) else "%d"


def _type(kind: FetchType | None) -> Int:
    if kind is None or not kind.bits:
        return Int(1, True) if kind is not None and kind.kind == "char" else U64
    return Int(kind.bits // 8, kind.kind == "s")


def _plus(x: Expr, offset: int) -> Expr:
    return Binary(U64, "add", x, Const(U64, offset & (1 << 64) - 1)) if offset else x
