"""Constants of fixed forms, against the source that they were compiled from: GCC writes 200 and 255 in one byte."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import dwarf_programs as programs
import pytest

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_constants import of_variable
from probescope.debuginfo.dwarf_find import Finder
from probescope.debuginfo.dwarf_open import open_dwarf
from probescope.debuginfo.dwarf_text import declaration
from probescope.debuginfo.dwarf_types import DwarfTypes
from probescope.debuginfo.values.vtypes import VTypes
from probescope.model.types import Array

SOURCE = r"""
enum level { LOW = 200, BELOW = -5, MANY = 70000 };
enum bits { BIT = 200, HIGH = 0x80000000u, ALL = 0xffffffffu };
enum __attribute__((packed)) small { ONE = 1, LAST = 255 };
struct sizes { char name[256]; char path[129]; int rows[70000]; short grid[200][300]; enum level l; };
struct sizes s; enum bits b = BIT; enum small m = LAST;
int main(int argc, char **argv) {
    const unsigned char octet = 200;
    const int more = 200;
    const signed char less = -3;
    const unsigned most = 0xfffffff0u;
    return argc * octet + more + less + most + s.name[0] + b + m;
}
"""
RUST = r"""
#[repr(i32)] pub enum Signed { A(u8) = -1, B(u16) = 200, C(u64) = 70000 }
#[repr(u32)] pub enum Plain { A(u8) = 200, B(u16) = 0xffff_ffff }
#[inline(never)] pub fn f(s: &Signed, p: &Plain) -> i32 {
    match s { Signed::A(x) => *x as i32, Signed::B(_) => match p { Plain::A(x) => *x as i32, _ => 7 }, _ => 2 }
}
fn main() { println!("{}", f(&Signed::B(3), &Plain::A(1))); }
"""


def finder_of(path: str) -> Finder:
    found = open_dwarf(Binary(path))
    assert found is not None
    return Finder(found)


@pytest.fixture(scope="module", params=["gcc -gdwarf-2", "gcc -gdwarf-4", "gcc -gdwarf-5", "clang -gdwarf-5"])
def finder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Finder:
    compiler, flag = request.param.split()
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    folder = tmp_path_factory.mktemp("constants")
    (folder / "c.c").write_text(SOURCE)
    subprocess.run([compiler, "-g", flag, "-O1", "c.c", "-o", "c"], cwd=folder, check=True)
    return finder_of(str(folder / "c"))


def test_arrays_have_the_elements_that_the_source_gives_them(finder: Finder) -> None:
    types = DwarfTypes(finder)
    types.named("struct sizes")
    layout = types.layout("struct sizes")
    assert layout is not None
    counts = {m.name: m.type.count for m in layout.members if isinstance(m.type, Array)}
    assert counts == {"name": 256, "path": 129, "rows": 70000, "grid": 200}
    home = types.home("struct sizes")
    assert home is not None
    texts = [declaration(m.type(), m.name).replace("short int", "short") for m in home.children(c.TAG_MEMBER)]
    assert texts[:4] == ["char name[256]", "char path[129]", "int rows[70000]", "short grid[200][300]"]


def test_names_of_enumerations_have_the_values_of_the_source(finder: Finder) -> None:
    types = DwarfTypes(finder)
    for name in ("level", "bits", "small"):
        types.named(f"enum {name}")
    assert types.enum_values("level") == (("LOW", 200), ("BELOW", -5), ("MANY", 70000))
    assert types.enum_values("bits") == (("BIT", 200), ("HIGH", 0x80000000), ("ALL", 0xFFFFFFFF))
    assert types.enum_values("small") == (("ONE", 1), ("LAST", 255))
    assert (types.enumerator("LAST") or ("", 0))[1] == 255
    values = VTypes(types)
    level = next(finder.types("level"))
    assert values.of(level).enumerators() == {200: "LOW", 0xFFFFFFFB: "BELOW", 70000: "MANY"}


def test_variables_that_are_constants_have_the_values_of_the_source(tmp_path: Path) -> None:
    unit = finder_of(programs.build(tmp_path, SOURCE, "-O1")).dwarf.units()[0]
    fixed = [unit.die(at) for at, _ in unit.select(frozenset({c.TAG_VARIABLE}))]
    told = {d.full_name(): of_variable(d) for d in fixed if d.has(c.AT_CONST_VALUE)}
    assert told == {"octet": 200, "more": 200, "less": -3, "most": 0xFFFFFFF0}


@pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")
def test_forms_of_enums_of_rust_have_the_tags_of_the_source(tmp_path: Path) -> None:
    (tmp_path / "v.rs").write_text(RUST)
    subprocess.run(["rustc", "-g", "v.rs", "-o", "v"], cwd=tmp_path, check=True, capture_output=True)
    finder = finder_of(str(tmp_path / "v"))
    values = VTypes(DwarfTypes(finder))
    told = {}
    for name in ("Signed", "Plain"):
        variants = next(v for d in finder.types(f"v::{name}") if (v := values.of(d).variants()) is not None)
        told[name] = {v.name: v.values for v in variants.all}
    assert told["Signed"] == {"A": (0xFFFFFFFF,), "B": (200,), "C": (70000,)}
    assert told["Plain"] == {"A": (200,), "B": (0xFFFFFFFF,)}
