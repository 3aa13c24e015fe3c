"""Lowered clauses put together: numbers for actions, declarations of maps, constants of the enums that may be
printed."""

from __future__ import annotations

from collections.abc import Iterable

from probescope.diagnostics import Span
from probescope.ir.program import Action, Clause, MapDecl, Program
from probescope.lang.bt.check_maps import MapInfo
from probescope.lang.bt.check_program import ProgramState
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.types import UNKNOWN, settle
from probescope.model.types import Agg, Array, Enum, Int, Record, Tuple, Type


def assemble(state: ProgramState, units: list[Unit]) -> Program:
    actions = _number_actions(units)
    clauses = tuple(
        Clause(
            i,
            u.sites,
            u.body,
            u.predicate,
            u.scopes.variables(),
            u.probe.span,
            _points(state, u),
            state.chosen.get(u.probe.span, ()),
        )
        for i, u in enumerate(units)
    )
    maps = tuple(_map(state, m) for m in state.maps if m.used and m.value is not UNKNOWN)
    return Program(
        clauses,
        maps,
        actions,
        state.settings,
        _enums(state, maps, actions),
        tuple(sorted(state.needs_unsafe)),
        state.source,
        state.types,
    )


def _points(state: ProgramState, u: Unit) -> tuple[Span, ...]:
    return tuple(state.places.get((u.probe.span, s.name), u.probe.span) for s in u.sites)


def _number_actions(units: Iterable[Unit]) -> tuple[Action, ...]:
    """Equal actions share a number. The statements were made before the numbers were known; they are put in here,
    before anybody else sees them."""
    numbers: dict[Action, int] = {}
    for u in units:
        for stmt, action in u.emits:
            object.__setattr__(stmt, "action", numbers.setdefault(action, len(numbers)))
    return tuple(numbers)


def _map(state: ProgramState, m: MapInfo) -> MapDecl:
    value = m.value
    plain: Type | Agg = settle(value)
    if isinstance(value, Agg):
        plain = Agg(value.kind, Int(8, value.value.signed), value.args)
    key = settle(m.key) if m.keyed else None
    kind = m.kind if m.kind != "auto" else "auto"
    entries = m.entries or state.settings.max_map_keys
    return MapDecl(m.name, key, plain, kind, entries, m.first, m.labels)  # type: ignore[arg-type]


def _enums(
    state: ProgramState, maps: tuple[MapDecl, ...], actions: tuple[Action, ...]
) -> tuple[tuple[Enum, tuple[tuple[str, int], ...]], ...]:
    found: dict[Enum, None] = {}
    for m in maps:
        _collect(m.key, found)
        _collect(m.value, found)
    for a in actions:
        for t in a.types:
            _collect(t, found)
    return tuple((e, state.types.enum_values(e.name)) for e in found)


def _collect(t: Type | None, found: dict[Enum, None]) -> None:
    match t:
        case Enum():
            found[t] = None
        case Tuple(items=items):
            for i in items:
                _collect(i, found)
        case Record(fields=fields):
            for _, f in fields:
                _collect(f, found)
        case Array(element=element):
            _collect(element, found)
        case _:
            pass
