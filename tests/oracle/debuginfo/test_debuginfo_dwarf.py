"""Debug information against pyelftools: functions, parameters, layouts, lines and location lists of whole programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dwarf_programs as programs
import pytest

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo import dwarf_ranges
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_find import Finder
from probescope.debuginfo.dwarf_lines import Lines
from probescope.debuginfo.dwarf_open import open_dwarf
from probescope.debuginfo.dwarf_types import DwarfTypes
from probescope.model.types import Struct

elffile = pytest.importorskip("elftools.elf.elffile", reason="needs pyelftools")

BUILDS = {
    "c": (programs.C_SOURCE, ("-O0",)),
    "c-optimised": (programs.C_SOURCE, ("-O2",)),
    "c-3": (programs.C_SOURCE, ("-O2", "-gdwarf-3")),
    "c-4": (programs.C_SOURCE, ("-O2", "-gdwarf-4")),
    "cpp": (programs.CPP_SOURCE, ("-O0",)),
    "cpp-4": (programs.CPP_SOURCE, ("-O2", "-gdwarf-4")),
}


@pytest.fixture(params=BUILDS)
def built(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[DwarfFile, Any]]:
    source, flags = BUILDS[request.param]
    path = programs.build(tmp_path, source, *flags)
    ours = open_dwarf(Binary(path))
    assert ours is not None
    with open(path, "rb") as f:
        yield ours, elffile.ELFFile(f).get_dwarf_info()


def value(die: Any, name: str) -> Any:
    found = die.attributes.get(f"DW_AT_{name}")
    return found.value if found is not None else None


def text(die: Any) -> str:
    return (value(die, "name") or b"").decode()


def theirs(info: Any, tag: str) -> Iterator[Any]:
    for unit in info.iter_CUs():
        for die in unit.iter_DIEs():
            if die.tag == f"DW_TAG_{tag}":
                yield die


def test_every_entry_has_the_same_attributes(built: tuple[DwarfFile, Any]) -> None:
    """Decoding of all forms that the compiler uses, and walking over entries with and without siblings told."""
    ours, info = built
    count = 0
    for unit, other in zip(ours.units(), info.iter_CUs(), strict=True):
        mine = [unit.root.at, *(at for at, _ in unit.select(frozenset(range(1, 0x4110))))]
        entries = [d for d in other.iter_DIEs() if not d.is_null()]
        assert [unit.offset + at for at in mine] == [d.offset for d in entries]
        for at, entry in zip(mine, entries, strict=True):
            die = unit.die(at)
            assert die.name == text(entry)
            for key in ("byte_size", "const_value", "upper_bound", "data_member_location", "low_pc", "declaration"):
                wanted = value(entry, key)
                if isinstance(wanted, int):
                    assert _number(die, key) == wanted, (key, hex(entry.offset))
                    count += 1
    assert count > 50


def _number(die: Die, key: str) -> int | None:
    attribute = {
        "byte_size": c.AT_BYTE_SIZE,
        "const_value": c.AT_CONST_VALUE,
        "upper_bound": c.AT_UPPER_BOUND,
        "data_member_location": c.AT_MEMBER_LOCATION,
        "declaration": c.AT_DECLARATION,
    }.get(key)
    if attribute is None:
        return die.address(c.AT_LOW_PC)
    found = die.attributes[attribute][1]
    return found if isinstance(found, int) else None


def test_functions_by_address(built: tuple[DwarfFile, Any]) -> None:
    """Each function is found at the address where it begins."""
    ours, info = built
    finder, found = Finder(ours), 0
    for entry in theirs(info, "subprogram"):
        low = value(entry, "low_pc")
        if low is None:
            continue
        die = finder.function(low)
        assert die is not None
        assert die.unit.offset + die.at == entry.offset
        found += 1
    assert found >= 11


def test_layouts(built: tuple[DwarfFile, Any]) -> None:
    """Sizes, members and their places; of bit fields the first bit."""
    ours, info = built
    types = DwarfTypes(Finder(ours))
    checked = 0
    for entry in theirs(info, "structure_type"):
        members = [m for m in entry.iter_children() if m.tag == "DW_TAG_member"]
        named = [m for m in members if text(m) and not value(m, "external")]
        if not text(entry) or value(entry, "declaration") or len(named) != len(members):
            continue
        die = ours.at(entry.offset)
        found = types.type_of(die)
        assert isinstance(found, Struct)
        layout = types.layout(found.name)
        assert layout is not None
        assert layout.size == value(entry, "byte_size")
        own = {m.name: 8 * m.offset + m.bit_offset for m in layout.members}
        for m in named:
            assert own[text(m)] == _bits(m), (text(entry), text(m))
            checked += 1
    assert checked > 10


def _bits(m: Any) -> int:
    if value(m, "data_bit_offset") is not None:
        return int(value(m, "data_bit_offset"))
    place = value(m, "data_member_location") or 0
    if isinstance(place, list):  # an expression that adds: DW_OP_plus_uconst
        place = int.from_bytes(bytes(b & 0x7F for b in place[1:2]), "little") + (place[2] << 7 if len(place) > 2 else 0)
    if value(m, "bit_offset") is None:
        return int(8 * place)
    return int(8 * place + 8 * value(m, "byte_size") - value(m, "bit_offset") - value(m, "bit_size"))


def test_lines(built: tuple[DwarfFile, Any]) -> None:
    """Every row of every line program."""
    ours, info = built
    lines = Lines(ours)
    programs_ = [p for unit in info.iter_CUs() if (p := info.line_program_for_CU(unit)) is not None]
    wanted = [
        (s.address, s.file, s.line, s.column, bool(s.is_stmt), bool(s.end_sequence))
        for p in programs_
        for s in (e.state for e in p.get_entries())
        if s is not None
    ]
    rows = [tuple(r) for start in lines.starts() for r in lines.program(start).rows()]
    # at the end of a sequence nobody asks for statements, and theirs differs
    assert [r[:4] + r[5:] for r in rows] == [w[:4] + w[5:] for w in wanted]
    assert [r[4] for r in rows if not r[5]] == [w[4] for w in wanted if not w[5]]
    assert len(wanted) > 30


def test_location_lists(built: tuple[DwarfFile, Any]) -> None:
    """The expressions that tell where parameters are, with their ranges."""
    ours, info = built
    from elftools.dwarf.locationlists import BaseAddressEntry, LocationEntry, LocationParser

    parser = LocationParser(info.location_lists())
    compared = 0
    for entry in theirs(info, "formal_parameter"):
        found = entry.attributes.get("DW_AT_location")
        if found is None or found.form == "DW_FORM_exprloc" or isinstance(found.value, list):
            continue
        die = ours.at(entry.offset)
        base = value(entry.cu.get_top_DIE(), "low_pc") or 0
        listed = parser.parse_from_attribute(found, entry.cu["version"], entry)
        wanted = []
        for e in listed:
            if isinstance(e, LocationEntry):
                shift = 0 if e.is_absolute else base
                wanted.append((e.begin_offset + shift, e.end_offset + shift))
            elif isinstance(e, BaseAddressEntry):
                base = e.base_address
        own = dwarf_ranges.locations(die, c.AT_LOCATION)
        assert [(low, high) for low, high, _ in own] == wanted
        assert [list(x) for *_, x in own] == [e.loc_expr for e in listed if isinstance(e, LocationEntry)]
        compared += 1
    assert compared or ours.section(".debug_loclists") is None
