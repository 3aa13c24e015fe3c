"""Entries nested by the thousand, as no compiler nests them: one way through them; names of a real source."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_find import Finder
from probescope.debuginfo.dwarf_named import definitions
from probescope.debuginfo.dwarf_nesting import below
from probescope.debuginfo.dwarf_open import open_dwarf

DEEP = 20_000
ABBREVIATIONS = (
    ".uleb128 1; .uleb128 0x11; .byte 1; .uleb128 0x13; .uleb128 0xb; .uleb128 0x11; .uleb128 1",
    ".uleb128 0x12; .uleb128 6; .byte 0,0",  # compile unit: language, low_pc, high_pc
    ".uleb128 2; .uleb128 0x39; .byte 1; .uleb128 3; .uleb128 8; .byte 0,0",  # namespace: name
    ".uleb128 3; .uleb128 0x2e; .byte 1; .uleb128 3; .uleb128 8; .uleb128 0x11; .uleb128 1",
    ".uleb128 0x12; .uleb128 6; .byte 0,0",  # subprogram: name, low_pc, high_pc
    ".uleb128 4; .uleb128 0x0b; .byte 1; .byte 0,0",  # lexical block
    ".uleb128 5; .uleb128 0x0a; .byte 0; .uleb128 3; .uleb128 8; .byte 0,0",  # label: name
    ".byte 0",
)
FUNCTION = '.uleb128 3; .asciz "main"; .quad main; .long behind - main'
NAMESPACES = (f'.rept {DEEP}; .uleb128 2; .asciz "a"; .endr', FUNCTION, f".byte 0; .fill {DEEP},1,0")
BLOCKS = (FUNCTION, f".rept {DEEP}; .uleb128 4; .endr", '.uleb128 5; .asciz "here"', f".fill {DEEP} + 1,1,0")
CPP = r"""
namespace outer { struct S { struct Inner { int x; }; int get(Inner i) { return i.x; } };
namespace { struct Hidden { int y; }; } namespace second { struct T { Hidden h; }; } struct After { second::T t; }; }
struct Plain { outer::After a; };
int main() { outer::S s; Plain p = {}; return s.get({1}) + p.a.t.h.y; }
"""


def build(folder: Path, entries: tuple[str, ...]) -> Finder:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    lines = [
        '.section .debug_abbrev,"",@progbits',
        *ABBREVIATIONS,
        '.section .debug_info,"",@progbits',
        ".long end - start",
        "start: .short 4; .long 0; .byte 8",
        ".uleb128 1; .byte 4; .quad main; .long behind - main",
        *entries,
        ".byte 0",
        "end: .text",
        ".globl main; .type main,@function",
        "main: xor %eax,%eax; ret",
        "behind: .size main,.-main",
        '.section .note.GNU-stack,"",@progbits',
    ]
    (folder / "deep.s").write_text("\n".join(lines) + "\n")
    subprocess.run(["gcc", "deep.s", "-o", "deep"], cwd=folder, check=True)
    return finder_of(folder / "deep")


def finder_of(path: Path) -> Finder:
    found = open_dwarf(Binary(str(path)))
    assert found is not None
    return Finder(found)


def steps(finder: Finder, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Abbreviations that are looked up from now on: one for each entry that is passed."""
    taken: list[int] = []
    (unit,) = finder.dwarf.units()
    get = unit.abbrevs.get
    monkeypatch.setattr(unit.abbrevs, "get", lambda code: taken.append(code) or get(code))
    return taken


def test_namespaces_in_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finder = build(tmp_path, NAMESPACES)
    taken = steps(finder, monkeypatch)
    (die,) = definitions(finder, "main")
    assert die.unit.scope_of(die.at).startswith("a::a::")
    assert len(taken) < 4 * DEEP


def test_blocks_in_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finder = build(tmp_path, BLOCKS)
    (die,) = definitions(finder, "main")
    taken = steps(finder, monkeypatch)
    found = below(die, frozenset({c.TAG_LABEL}), frozenset({c.TAG_LEXICAL_BLOCK}))
    assert [d.name for d in found] == ["here"]
    assert len(taken) < 4 * DEEP


def test_names_of_what_is_around_types(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    (tmp_path / "n.cc").write_text(CPP)
    subprocess.run(["g++", "-g", "n.cc", "-o", "n"], cwd=tmp_path, check=True)
    finder = finder_of(tmp_path / "n")

    def full(name: str) -> set[str]:
        found: list[Die] = list(finder.types(name))
        return {d.unit.scope_of(d.at) + d.name for d in found}

    told = {n: full(n) for n in ("S", "Inner", "Hidden", "T", "After", "Plain")}
    assert told == {
        "S": {"outer::S"},
        "Inner": {"outer::S::Inner"},
        "Hidden": {"outer::Hidden"},
        "T": {"outer::second::T"},
        "After": {"outer::After"},
        "Plain": {"Plain"},
    }
