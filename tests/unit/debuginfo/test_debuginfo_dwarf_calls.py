"""Where parameters are passed, by hand from the two ABIs' rules; the types come from a compiled program."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import dwarf_programs as programs
import pytest

from probescope.debuginfo import dwarf_calls as calls
from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_find import Finder
from probescope.debuginfo.dwarf_open import open_dwarf
from probescope.debuginfo.dwarf_types import DwarfTypes, Names, look_of
from probescope.model.arch import AARCH64, X86_64, Arch
from probescope.model.types import I32, Layout, Member

SOURCE = r"""
#include <complex.h>
struct two { int x, y; };
struct three { int x, y, z; };
struct wide { long a, b; };
struct large { long a, b, c; };
struct floats { float x, y, z; };
struct doubles { double x, y; };
struct mixed { double d; long l; };
struct __attribute__((packed)) loose { char a; long b; };
struct nothing {};
typedef float four __attribute__((vector_size(16)));
union either { float f; double d; };
struct vectors { four a, b; };
struct vector { four a; };
void ints(char a, short b, int c, long d, void *e, unsigned f, int g, char h) {}
void structs(struct two a, struct three b, struct wide c, int d) {}
void spilled(int a, int b, int c, int d, int e, struct wide f, int g, int h) {}
void big(struct large a, int b) {}
void inf(float a, int b, double c, struct doubles d, struct floats e, int f) {}
void mix(struct mixed a, int b) {}
void packed(struct loose a, int b) {}
void extra(__int128 a, long double b, int c, struct nothing d, four e, float complex f, int g) {}
void aligned(int a, __int128 b, int c) {}
struct large hidden(int a) { struct large l = {a}; return l; }
struct wide small(int a) { struct wide l = {a}; return l; }
void stacked(double a, double b, double c, double d, double e, double f, double g, double h, double i, int j) {}
void complexes(double complex a, int b, long double complex c, int d) {}
void unions(union either a, int b) {}
void vectors(struct vectors a, struct vector b, int c) {}
void filled(double a, double b, double c, double d, double e, double f, double g, double complex h, double i, int j) {}
struct mixed mixing(int a) { struct mixed m = {a}; return m; }
struct floats floating(int a) { struct floats f = {a}; return f; }
struct vectors wider(int a) { struct vectors v = {{a}}; return v; }
union either either(int a) { union either e = {a}; return e; }
int main(void) { return 0; }
"""

F = calls.IN_VECTOR
EXPECTED: dict[str, tuple[list[object], list[object]]] = {
    # function: (x86-64, AArch64); registers, bytes from the stack pointer, "*REG" for an address, or a reason
    "ints": (["di", "si", "dx", "cx", "r8", "r9", 8, 16], ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"]),
    "structs": (["di", "si dx", "cx r8", "r9"], ["x0", "x1 x2", "x3 x4", "x5"]),
    # no part of a struct goes to the stack alone; on x86-64 a later integer still gets the register
    "spilled": (["di", "si", "dx", "cx", "r8", 8, "r9", 24], ["x0", "x1", "x2", "x3", "x4", "x5 x6", "x7", 0]),
    "big": ([8, "di"], ["*x0", "x1"]),
    "inf": ([F, "di", F, F, F, "si"], [F, "x0", F, F, F, "x1"]),
    "mix": ([F, "si"], ["x0 x1", "x2"]),
    "packed": ([8, "di"], ["x0 x1", "x2"]),
    "extra": (["di si", 8, "dx", calls.EMPTY, F, F, "cx"], ["x0 x1", F, "x2", calls.EMPTY, F, F, "x3"]),
    "aligned": (["di", "si dx", "cx"], ["x0", "x2 x3", "x4"]),
    "hidden": (["si"], ["x0"]),
    "small": (["di"], ["x0"]),
    # AArch64 passes up to four numbers, or vectors, of one kind in vector registers, or all of them on the stack
    "complexes": ([F, "di", 8, "si"], [F, "x0", F, "x1"]),
    "unions": ([F, "di"], ["x0", "x1"]),
    "vectors": ([8, F, "di"], [F, F, "x0"]),
    "filled": ([F, F, F, F, F, F, F, 8, F, "di"], [F, F, F, F, F, F, F, 0, 16, "x0"]),
    "mixing": (["di"], ["x0"]),
    "floating": (["di"], ["x0"]),
    "wider": (["si"], ["x0"]),
    "either": (["di"], ["x0"]),
    "stacked": ([F, F, F, F, F, F, F, F, 8, "di"], [F, F, F, F, F, F, F, F, 0, "x0"]),
}


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finder, DwarfTypes, dict[str, Die]]:
    path = programs.build(tmp_path_factory.mktemp("calls"), SOURCE, "-O0")
    found = open_dwarf(Binary(path))
    assert found is not None
    finder = Finder(found)
    dies = [u.die(at) for u in found.units() for at in finder.functions(u).values()]
    return finder, DwarfTypes(finder), {d.name: d for d in dies}


def brief(p: calls.Passed) -> object:
    if p.lost:
        return p.lost
    star = "*" if p.by_address else ""
    return star + " ".join(p.registers) if p.registers else p.stack


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("arch", [X86_64, AARCH64], ids=lambda a: a.name)
def test_arguments(functions: tuple[Finder, DwarfTypes, dict[str, Die]], arch: Arch, name: str) -> None:
    """System V AMD64 3.2.3 and AAPCS64 6.8.2: classes, spilling, alignment, hidden results, homogeneous floats. The
    second of two structs that hold both kinds of numbers is in general registers on AArch64 only."""
    _, types, dies = functions
    die = dies[name]
    params = [calls.Param(p.type()) for p in die.children(c.TAG_PARAM)]
    found = [brief(p) for p in calls.arguments(params, die.type(), types, arch)]
    assert found == EXPECTED[name][0 if arch is X86_64 else 1]


@pytest.mark.parametrize(
    ("name", "x86", "arm"),
    [
        ("mixing", F, "x0 x1"),
        ("floating", F, F),
        ("wider", "*ax", F),
        ("either", F, "x0"),
        ("small", "ax dx", "x0 x1"),
        ("hidden", "*ax", "is returned in memory whose address is gone"),
    ],
)
def test_results(functions: tuple[Finder, DwarfTypes, dict[str, Die]], name: str, x86: str, arm: str) -> None:
    """AAPCS64 6.9: as the first argument of that type would be passed."""
    _, types, dies = functions
    assert [brief(calls.result(dies[name].type(), types, a)) for a in (X86_64, AARCH64)] == [x86, arm]


def test_a_class_without_members_takes_a_register_of_aarch64(tmp_path: Path) -> None:
    """Itanium C++ ABI 2.4: it has a byte, which AAPCS64 6.8.2 passes as any; psABI x86-64 has no class for it."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    (tmp_path / "c.cc").write_text("struct E {};\nlong f(long a, E e, long b) { return a + b; }\nint main() {}\n")
    subprocess.run(["g++", "-g", "-O0", "c.cc", "-o", "c"], cwd=tmp_path, check=True)
    found = open_dwarf(Binary(str(tmp_path / "c")))
    assert found is not None
    finder = Finder(found)
    die = next(d for u in found.units() for at in finder.functions(u).values() if (d := u.die(at)).name == "f")
    params = [calls.Param(p.type()) for p in die.children(c.TAG_PARAM)]
    types = DwarfTypes(finder)
    told = [[brief(p) for p in calls.arguments(params, die.type(), types, a)] for a in (X86_64, AARCH64)]
    assert told == [["di", calls.EMPTY, "si"], ["x0", calls.EMPTY, "x2"]]


def test_names_that_mean_several_things() -> None:
    """The kernel's structs keep their names; others of the same name are numbered, equal ones shared."""
    layout = Layout("struct file", 8, (Member("f", I32, 4),))
    names = Names({"struct file": layout}.get)
    other, third = (8, (("f", 0, 0),)), (16, ())
    assert names.choose("struct file", lambda: look_of(layout)) == "struct file"
    assert names.choose("struct file", lambda: other) == "struct file#2"
    assert names.choose("struct file", lambda: third) == "struct file#3"
    assert names.choose("struct file", lambda: other) == "struct file#2"
    assert names.choose("struct mine", lambda: other) == "struct mine"
