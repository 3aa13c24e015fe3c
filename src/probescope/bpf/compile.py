"""The compiler: a program and what is wanted of it in, an object to load out. Deterministic: equal input, equal
bytes."""

from __future__ import annotations

from collections.abc import Sequence

from probescope.bpf import tables as _tables  # noqa: F401  # pyright: ignore[reportUnusedImport] - fills lower.py
from probescope.bpf.assemble import TooManyTurns, assemble_functions, linked
from probescope.bpf.btf_writer import BtfWriter, func_info
from probescope.bpf.code import Code, Piece
from probescope.bpf.lower import Config, Lower, Restart
from probescope.bpf.lower_entry import program as lower_program
from probescope.bpf.pieces import Pieces, TooWide
from probescope.bpf.unit import Object, Options, ProgSpec, Unit
from probescope.errors import LimitError
from probescope.frozen import replace
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import Program
from probescope.ir.walk import clause_nodes


def compile_program(program: Program, units: Sequence[Unit], options: Options) -> Object:
    """Every unit as a kernel program, and the maps they share.

    Raises ScriptError where a clause asks for what this kernel does not offer, or what cannot be done in it; LimitError
    where it is too large."""
    try:
        return _compiled(program, units, options, wide=False)
    except TooWide:
        return _compiled(program, units, options, wide=True)


def _compiled(program: Program, units: Sequence[Unit], options: Options, *, wide: bool) -> Object:
    pieces = Pieces(program, options, wide=wide)
    pieces.deleted = frozenset(
        n.map for c in program.clauses for n in clause_nodes(c) if isinstance(n, x.MapDelete) and n.key is not None
    )
    pieces.updaters = _updaters(program, units)
    writer = BtfWriter()
    programs = []
    for unit in units:
        try:
            code = _code(pieces, unit)
        except RecursionError:
            raise LimitError("an expression is nested too deeply", hints=["split it with variables"]) from None
        info = func_info(writer, code, unit.title) if unit.title or len(code.functions) > 1 else ()
        programs.append(_spec(unit, code, info))
    return Object(
        maps=pieces.maps(),
        programs=tuple(programs),
        counters=tuple(pieces.counters),
        btf=writer.data() if any(p.func_info for p in programs) else b"",
        late=tuple(pieces.late),
        notes=tuple(pieces.notes),
    )


def _updaters(program: Program, units: Sequence[Unit]) -> dict[str, int]:
    maps = {c.id: {n.map for n in clause_nodes(c) if isinstance(n, s.MapUpdate | x.MapAdd)} for c in program.clauses}
    out: dict[str, int] = {}
    for unit in (one for u in units for one in (u, u.exit) if one is not None):
        for name in maps.get(unit.clause, ()):
            out[name] = out.get(name, 0) + 1
    return out


def _spec(unit: Unit, code: Code, info: tuple[tuple[int, int], ...]) -> ProgSpec:
    return ProgSpec(
        unit.name, unit.kind, unit, code.insns, code.relocs, info, code.lines, code.functions, code.stack_bytes
    )


def _code(pieces: Pieces, unit: Unit) -> Code:
    """The whole program; that of a session has two halves."""
    code, entry = _unit(pieces, unit)
    if unit.exit is None:
        return code
    from probescope.bpf.session import joined

    return linked(joined(entry, _unit(pieces, unit.exit)[1]), pieces.options.features)


def _unit(pieces: Pieces, unit: Unit) -> tuple[Code, list[Piece]]:
    """Lowers until nothing more turns out to be needed; then with less stack, or with loops that are callbacks, if it
    did not do. Gives the program and the functions that it was linked from."""
    clause = next(c for c in pieces.program.clauses if c.id == unit.clause)
    config = Config()
    while True:
        l = Lower(pieces, unit, clause, config)
        try:
            lower_program(l)
            functions = assemble_functions(l.functions, pieces.options.features)
            code = linked(functions, pieces.options.features)
        except Restart as r:
            config = r.config
            continue
        except TooManyTurns:
            if not config.goto:
                raise
            config = replace(config, goto=False)
            continue
        except LimitError:
            if not config.one or not _stack_did_not_suffice(l):
                raise
            config = replace(config, one=0 if config.one <= 16 else 16, total=config.total // 2)
            continue
        if l.scan.fallback:
            pieces.note("this kernel has neither bpf_loop nor may_goto: a loop ends after 64 turns")
        if config.scratch != "no":
            pieces.scratch(l.scratch_bytes())
        return code, functions


def _stack_did_not_suffice(l: Lower) -> bool:
    """Whether it can be tried with less: the limit was met while registers were given out, not before."""
    return bool(l.functions)
