"""Programs whose parts were compiled in different ways, or whose debug information dwz shares with others: every place
that has a function of a name is found, as the source has them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_find import Finder
from probescope.debuginfo.dwarf_named import definitions, instances
from probescope.debuginfo.dwarf_open import open_dwarf
from probescope.debuginfo.dwarf_params import signature
from probescope.debuginfo.dwarf_places import SourceLines, names
from probescope.debuginfo.dwarf_types import DwarfTypes
from probescope.model.arch import X86_64

FIRST = r"""
volatile int sink;
#define IN static inline __attribute__((always_inline))
IN int helper(int x) { return x * 3; }
int second(int);
int main(int argc, char **argv) { sink = helper(argc); return second(argc); }
"""
SECOND = r"""
extern volatile int sink;
#define IN static inline __attribute__((always_inline))
struct only_here { char name[200]; };
IN int helper(int x) { return x * 5; }
IN int alone(int x) { return x * 7; }
static __attribute__((noinline)) int local(struct only_here *o) { return o->name[1]; }
int second(int y) { struct only_here o = {{y, y}}; sink = helper(y); sink = alone(y); return local(&o); }
"""
SHARED = r"""
struct shared_thing { int a; char name_of_it[200]; struct shared_thing *next_of_it; long more1, more2; };
struct shared_thing *first_global;
static inline __attribute__((always_inline)) int shared_inline_function(struct shared_thing *it) {
    return it->a * 3 + it->name_of_it[3];
}
static inline __attribute__((always_inline)) int differs_between_them(int NAME) { return NAME * 11; }
__attribute__((noinline)) int shared_function(struct shared_thing *thing, int number) { return thing->a + number; }
volatile int sink;
int main(int NAME, char **argv) {
    sink = shared_inline_function(first_global) + differs_between_them(NAME);
    return shared_function(first_global, NAME);
}
"""


def run(folder: Path, *command: str) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def finder_of(path: Path) -> Finder:
    found = open_dwarf(Binary(str(path)))
    assert found is not None
    return Finder(found)


def copies(finder: Finder, name: str) -> int:
    """Inlined copies of all functions of a name."""
    return sum(i.inlined for d in definitions(finder, name) for i in instances(finder, d))


@pytest.mark.parametrize(
    "how",
    ["clang -gdwarf-5", "clang -gdwarf-4", "clang -gdwarf-5 -gsplit-dwarf", "gcc -gdwarf-5 -gsplit-dwarf", "gcc -g"],
)
@pytest.mark.parametrize("order", [("a.o", "b.o"), ("b.o", "a.o")])
def test_units_that_were_compiled_in_different_ways(tmp_path: Path, how: str, order: tuple[str, str]) -> None:
    (tmp_path / "a.c").write_text(FIRST)
    (tmp_path / "b.c").write_text(SECOND)
    run(tmp_path, "gcc", "-gdwarf-5", "-O1", "-c", "a.c")
    run(tmp_path, *how.split(), "-O1", "-c", "b.c")
    run(tmp_path, "gcc", "-o", "p", *order)
    finder = finder_of(tmp_path / "p")
    assert (copies(finder, "helper"), copies(finder, "alone")) == (2, 1)
    assert len(list(definitions(finder, "local"))) == 1
    types = DwarfTypes(finder)
    assert types.named("struct only_here") is not None
    layout = types.layout("struct only_here")
    assert layout is not None
    assert layout.size == 200


@pytest.mark.parametrize("how", ["-gdwarf-4", "-gdwarf-5", "-gdwarf-5 --dwarf-5"])
def test_what_dwz_moved_to_a_shared_file_is_found(tmp_path: Path, how: str) -> None:
    version, *option = how.split()
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(SHARED.replace("NAME", f"argument_{name}"))
        run(tmp_path, "gcc", version, "-O1", f"{name}.c", "-o", name)
    run(tmp_path, "dwz", *option, "-m", "common.debug", "-M", "common.debug", "one", "two")
    finder = finder_of(tmp_path / "one")
    assert finder.dwarf.companions.shared() is not None
    assert copies(finder, "shared_inline_function") == 1
    assert copies(finder, "differs_between_them") == 1
    (function,) = definitions(finder, "shared_function")
    told = signature(function, DwarfTypes(finder), X86_64)
    assert [p.text for p in told.parameters] == ["struct shared_thing* thing", "int number"]


def test_a_shared_file_of_another_build_is_not_taken(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(SHARED.replace("NAME", f"argument_{name}"))
        run(tmp_path, "gcc", "-gdwarf-5", "-O1", f"{name}.c", "-o", name)
    run(tmp_path, "dwz", "--dwarf-5", "-m", "common.debug", "-M", "common.debug", "one", "two")
    data = bytearray((tmp_path / "common.debug").read_bytes())
    at = data.index(b"\5\0\1\0") + 6
    data[at] ^= 1
    (tmp_path / "common.debug").write_bytes(data)
    assert finder_of(tmp_path / "one").dwarf.companions.shared() is None


def test_a_damaged_unit_does_not_hide_the_functions_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(FIRST)
    (tmp_path / "b.c").write_text(SECOND)
    run(tmp_path, "gcc", "-gdwarf-4", "-O1", "a.c", "b.c", "-o", "p")
    info = finder_of(tmp_path / "p").dwarf
    section = info.elf.section(".debug_info")
    assert section is not None
    data = bytearray((tmp_path / "p").read_bytes())
    data[section.offset + info.starts()[0] + 4] = 9  # the version of the first unit
    (tmp_path / "p").write_bytes(data)
    finder = finder_of(tmp_path / "p")
    assert (copies(finder, "helper"), copies(finder, "alone")) == (1, 1)
    assert [u.root.name for u in SourceLines(finder.dwarf, finder).units_of("b.c")] == ["b.c"]
    assert set(names(finder.dwarf, finder)) == {"second", "local"}
    assert finder.dwarf.by_signature(5) is None
    assert finder.dwarf.lost() == ["of its debug information 1 of 2 units are damaged"]
