"""A program as a person reads it: instructions with the script's lines above them, names of maps and functions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from probescope.bpf.disasm import disassemble
from probescope.bpf.insn import CALL, GOTOL, JA, JMP, JMP32, PSEUDO_CALL, PSEUDO_FUNC, Insn, unpack
from probescope.bpf.unit import Object, ProgSpec
from probescope.diagnostics import Source


def listing(program: ProgSpec, source: Source | None = None) -> str:
    """``--emit bpf``: one instruction a line, `` -> 27`` after branches, functions and source lines as comments."""
    return "\n".join(_lines(program, source)) + "\n"


def list_object(obj: Object, source: Source | None = None) -> str:
    """Every map in a line, then every program."""
    maps = [
        f"; map {m.name}: {m.role}, type {m.type}, key {m.key_size}, value {m.value_size}, entries {m.max_entries}\n"
        for m in obj.maps
    ]
    notes = [f"; {note}\n" for note in obj.notes]
    return "".join(notes + maps) + "".join("\n" + listing(p, source) for p in obj.programs)


def _lines(program: ProgSpec, source: Source | None) -> Iterator[str]:
    units = unpack(program.insns)
    starts = dict(program.functions)
    spans = dict(program.lines)
    names = _names(program, units)
    yield f"; {program.kind} {program.name}: {len(units)} instructions, {program.stack_bytes} bytes of stack"
    shown = 0
    width = len(str(len(units)))
    for at, text in disassemble(program.insns, lambda n: names.get(n, "")):
        if at in starts:
            yield f"{starts[at]}:"
        if at in spans and spans[at].line != shown:
            shown = spans[at].line
            yield _source_line(shown, source)
        yield f"  {at:>{width}}: {text}{_target(at, units[at])}"


def _source_line(number: int, source: Source | None) -> str:
    text = source.line(number).strip() if source else ""
    return f"; {number}: {text}" if text else f"; line {number}"


def _names(program: ProgSpec, units: list[Insn]) -> dict[int, str]:
    """What the instruction at an index refers to, where the program says so."""
    names = {r.insn: r.name for r in program.relocs}
    starts = [start for start, _ in program.functions]
    for at, (opcode, _, src, _, imm) in enumerate(units):
        if (opcode == CALL and src == PSEUDO_CALL) or (opcode == 0x18 and src == PSEUDO_FUNC):
            n = bisect_right(starts, at + 1 + imm) - 1
            if n >= 0 and starts[n] == at + 1 + imm:
                names[at] = program.functions[n][1]
    return names


def _target(at: int, insn: Insn) -> str:
    opcode, _, _, off, imm = insn
    if opcode & 7 not in {JMP, JMP32} or opcode & 0xF0 in {0x80, 0x90}:
        return ""
    distance = imm if opcode == GOTOL else off
    return f" -> {at + 1 + distance}" if opcode in {JA, GOTOL} or opcode & 0xF0 else ""
