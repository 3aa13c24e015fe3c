"""Statements. Loops are bounded: each has a greatest number of turns, and reaching it counts a ``loop`` error."""

from __future__ import annotations

from typing import Literal

from probescope.diagnostics import NOWHERE, Span
from probescope.frozen import dataclass, field
from probescope.ir.expr import Expr
from probescope.model.types import Type


@dataclass(frozen=True, slots=True)
class Stmt:
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Assign(Stmt):
    """To a scratch variable; the value has the variable's type exactly."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Discard(Stmt):
    """Evaluate for the effect."""

    value: Expr


@dataclass(frozen=True, slots=True)
class MapSet(Stmt):
    """The value has the map's value type exactly; a full map drops it and counts a ``map_full`` loss."""

    map: str
    key: Expr | None
    value: Expr


@dataclass(frozen=True, slots=True)
class MapUpdate(Stmt):
    """One more observation for an aggregation: ``value`` has the aggregation's integer type, ``None`` for count.
    ``weight`` (hist, lhist, llquantize) counts it so many times; ``None`` is 1. tseries: ``value`` None for count
    inside."""

    map: str
    key: Expr | None
    value: Expr | None = None
    weight: Expr | None = None


@dataclass(frozen=True, slots=True)
class If(Stmt):
    cond: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class While(Stmt):
    cond: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class ForRange(Stmt):
    """``name`` (an integer local of type ``type``) runs over ``[start, end)``, both evaluated once."""

    name: str
    type: Type
    start: Expr
    end: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class ForMap(Stmt):
    """``name`` (a local of Tuple(key, value)) runs over the map's pairs, in no particular order; a pair deleted or
    added meanwhile may or may not be seen."""

    name: str
    map: str
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Break(Stmt):
    pass


@dataclass(frozen=True, slots=True)
class Continue(Stmt):
    pass


@dataclass(frozen=True, slots=True)
class Return(Stmt):
    """Ends the clause for this event. ``value`` matters only to test programs and iterators."""

    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class Emit(Stmt):
    """A record for user space: ``action`` is an index into ``Program.actions``, whose types the values have exactly."""

    action: int
    values: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect(Stmt):
    """Changes the traced system: ``signal`` (number), ``signal_thread``, ``override`` (value), ``write_user``
    (address, value)."""

    kind: Literal["signal", "signal_thread", "override", "write_user"]
    args: tuple[Expr, ...] = ()
