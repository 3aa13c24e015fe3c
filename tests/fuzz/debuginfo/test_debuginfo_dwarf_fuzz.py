"""Every question about debug information, asked of damaged programs: nothing but typed errors, in bounded time."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import dwarf_programs as programs
import pytest

from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_find import Finder
from probescope.debuginfo.dwarf_inlines import Inlines
from probescope.debuginfo.dwarf_lines import Lines
from probescope.debuginfo.dwarf_params import signature
from probescope.debuginfo.dwarf_types import DwarfTypes
from probescope.debuginfo.elf import ElfFile
from probescope.errors import DwarfError, ElfError
from probescope.model.arch import AARCH64, X86_64
from probescope.model.types import Enum, Struct

SECONDS = float(os.environ.get("PROBESCOPE_FUZZ_SECONDS", "10")) / 4
WORDS = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\x01\0\0\0", b"\x80\x80\x80\x80")
SLOWEST = 60.0


class Asked:
    """How many questions had an answer, and how many a typed error."""

    def __init__(self) -> None:
        self.answers = self.errors = 0

    def __call__(self, question: Callable[[], object]) -> None:
        try:
            question()
            self.answers += 1
        except (DwarfError, ElfError):
            self.errors += 1


def ask_everything(data: bytes, asked: Asked) -> None:
    dwarf = DwarfFile(ElfFile(data), ".dwo" if b".debug_info.dwo" in data else "")
    finder = Finder(dwarf)
    types, lines = DwarfTypes(finder), Lines(dwarf)
    asked(lambda: list(lines.places("prog.c")))
    asked(lambda: list(lines.places("/prog.c")))
    asked(lambda: finder.function(0x1139))
    Inlines(dwarf).many(range(0x1000, 0x1800, 5))  # raises nothing
    asked(lambda: [types.named(n) for n in ("struct pair", "anon_t", "nothing", "ns::Point")])
    asked(lambda: _units(dwarf, finder, types, lines, asked))


def _units(dwarf: DwarfFile, finder: Finder, types: DwarfTypes, lines: Lines, asked: Asked) -> None:
    for unit in dwarf.units()[:50]:
        asked(lambda unit=unit: lines.line_of(unit, 0x1150))  # type: ignore[misc]
        entries: list[int] = []
        asked(lambda unit=unit, entries=entries: entries.extend(finder.functions(unit, inner=True).values()))  # type: ignore[misc]
        for at in entries[:60]:
            for arch in (X86_64, AARCH64):
                asked(lambda unit=unit, at=at, arch=arch: signature(unit.die(at), types, arch))  # type: ignore[misc]
        for places in list(finder.type_names(unit).values())[:60]:
            asked(lambda unit=unit, at=places[0]: _type(unit.die(at), types))  # type: ignore[misc]


def _type(die: object, types: DwarfTypes) -> None:
    found = types.type_of(die)  # type: ignore[arg-type]
    if isinstance(found, Struct):
        types.layout(found.name)
    elif isinstance(found, Enum):
        types.enum_values(found.name)


def damage(data: bytes, sections: list[tuple[int, int]], rnd: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rnd.choice((1, 1, 2, 5, 20))):
        offset, size = rnd.choice(sections)
        at = offset + rnd.randrange(size)
        kind = rnd.random()
        if kind < 0.6:
            out[at] = rnd.choice((0, 0x7F, 0x80, 0xFF, rnd.randrange(256)))
        elif kind < 0.9:
            out[at : at + 4] = rnd.choice(WORDS)
        else:
            out[at : at + 8] = rnd.randbytes(8)
    return bytes(out[: len(data)])


SEEDS = {
    "c": (programs.C_SOURCE, ("-O2",)),
    "c-4": (programs.C_SOURCE, ("-O2", "-gdwarf-4", "-fdebug-types-section")),
    "split": (programs.C_SOURCE, ("-O2", "-gsplit-dwarf")),
    "cpp": (programs.CPP_SOURCE, ("-O0",)),
}


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_debug_information(tmp_path: Path, seed: str) -> None:
    """Protects from crashes, hangs and unbounded work on files from outside. The seeds themselves answer everything."""
    source, flags = SEEDS[seed]
    path = Path(programs.build(tmp_path, source, *flags))
    if seed == "split":
        path = next(tmp_path.glob("*.dwo"))
    data = path.read_bytes()
    whole = Asked()
    ask_everything(data, whole)
    assert whole.errors == (1 if seed == "split" else 0)  # a half has no addresses
    assert whole.answers > 9
    sections = [(s.offset, s.size) for s in ElfFile(data).sections() if s.name.startswith(".debug") and s.size]
    rnd, asked, until = random.Random(7), Asked(), time.monotonic() + SECONDS
    rounds = 0
    while time.monotonic() < until or not rounds:
        before = time.monotonic()
        ask_everything(damage(data, sections, rnd), asked)
        rounds += 1
        assert time.monotonic() - before < SLOWEST, rounds
    assert asked.answers
    assert asked.errors
