"""Parameters by name, on running programs: what the script prints is what the program passed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import dwarf_programs as programs
import pytest
from collect_run import run

C_BUILDS = {
    "plain": ("-O0",),
    "some": ("-O1",),
    "optimised": ("-O2",),
    "version-3": ("-O0", "-gdwarf-3"),
    "version-4": ("-O2", "-gdwarf-4"),
    "compressed": ("-O0", "-gdwarf-4", "-gz"),
    "old-compressed": ("-O2", "-gz=zlib-gnu"),
    "split": ("-O2", "-gsplit-dwarf"),
    "split-4": ("-O2", "-gsplit-dwarf", "-gdwarf-4"),
    "type-units": ("-O2", "-fdebug-types-section"),
    "split-type-units": ("-O0", "-gdwarf-4", "-fdebug-types-section", "-gsplit-dwarf"),
    "endbr64": ("-O0", "-fcf-protection=full"),
    "whole-program": ("-O2", "-flto"),
    "small": ("-Os", "-fomit-frame-pointer", "-fno-pie", "-no-pie"),
}
CPP_BUILDS = ("plain", "optimised", "version-4", "split", "type-units", "whole-program")


@pytest.mark.parametrize("build", C_BUILDS)
def test_parameters_of_c(tmp_path: Path, build: str) -> None:
    """Integers of all sizes, structs in registers and on the stack, bit fields, pointers to be followed, results: the
    same whatever the compiler's options and the form of the debug information."""
    prog = programs.build(tmp_path, programs.C_SOURCE, *C_BUILDS[build])
    done = run(programs.C_SCRIPT.replace("BIN", prog), "-c", prog)
    assert done.lines == programs.C_LINES, done.err


@pytest.mark.parametrize("build", CPP_BUILDS)
def test_parameters_of_cpp(tmp_path: Path, build: str) -> None:
    """Methods and ``this``, base classes, references, overloads, templates, namespaces, and classes that are passed by
    address because they cannot be copied as bytes."""
    prog = programs.build(tmp_path, programs.CPP_SOURCE, *C_BUILDS[build])
    done = run(programs.CPP_SCRIPT.replace("BIN", prog), "-c", prog)
    assert done.lines == programs.CPP_LINES, done.err


def test_debug_information_elsewhere(tmp_path: Path) -> None:
    """A stripped program: .gnu_debuglink beside it, a folder that --debuginfo names, and a package of split units."""
    script = "uprobe:BIN:negative { print(args.n); }"
    prog = programs.build(tmp_path, programs.C_SOURCE, "-O2")
    (tmp_path / ".debug").mkdir()
    linked = tmp_path / ".debug" / "prog.debug"
    for command in (
        ["objcopy", "--only-keep-debug", prog, str(linked)],
        ["objcopy", "--strip-all", f"--add-gnu-debuglink={linked}", prog],
    ):
        subprocess.run(command, check=True, capture_output=True)
    assert run(script.replace("BIN", prog), "-c", prog).lines == ["5"]
    (tmp_path / "elsewhere").mkdir()
    linked.rename(tmp_path / "elsewhere" / "prog.debug")
    assert run(script.replace("BIN", prog), "-c", prog).code == 1
    assert run(script.replace("BIN", prog), "--debuginfo", "./elsewhere", "-c", prog).lines == ["5"]


@pytest.mark.parametrize("tool", ["dwp", "llvm-dwp"])
def test_packages_of_split_units(tmp_path: Path, tool: str) -> None:
    """A .dwp beside the program, when the .dwo files are gone; of version 4 by GNU's dwp, of version 5 by LLVM's."""
    version = "-gdwarf-4" if tool == "dwp" else "-gdwarf-5"
    prog = programs.build(tmp_path, programs.C_SOURCE, "-O0", "-gsplit-dwarf", version)
    try:
        subprocess.run([tool, "-e", prog, "-o", f"{prog}.dwp"], check=True, capture_output=True, timeout=20)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        pytest.skip(f"needs a {tool} that ends")
    for path in tmp_path.glob("*.dwo"):
        path.unlink()
    done = run(programs.C_SCRIPT.replace("BIN", prog), "-c", prog)
    assert done.lines == programs.C_LINES, done.err


def test_source_lines(tmp_path: Path) -> None:
    """A probe at a line fires once where the line begins, in every function that the line became part of."""
    source = (
        "static inline __attribute__((always_inline)) int half(int n) {\n"
        "    return n / 2; }\n"  # line 2: in both functions
        "__attribute__((noipa)) int one(int n) { return half(n); }\n"
        "__attribute__((noipa)) int two(int n) { return half(n) + 1; }\n"
        "int main(void) {\n"
        "    return one(4) + two(8) == 0; }\n"
    )
    prog = programs.build(tmp_path, source, "-O0")
    lines = run(f'uprobe:{prog}@prog.c:2 {{ printf("%s %s\\n", func, probe); }}', "-c", prog).lines
    assert [x.split()[0] for x in lines] == ["one", "two"]
    assert run(f"uprobe:{prog}@{tmp_path}/prog.c:6 {{ print(1); }}", "-c", prog).lines == ["1"]
    missing = run(f"uprobe:{prog}@prog.c:1 {{ print(1); }} uprobe:{prog}@prog.c:600 {{ print(2); }}", "-c", prog)
    assert "there is no code at line 600 of prog.c" in missing.err
    assert f"line 6 has code: uprobe:{prog}@prog.c:6" in missing.err
    unknown = run(f"uprobe:{prog}@other.c:1 {{ print(1); }}", "-c", prog)
    assert "comes from a file other.c" in unknown.err


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    """Floating-point numbers, misspelt names, programs without debug information: each its own message."""
    prog = programs.build(tmp_path, programs.C_SOURCE, "-O0")
    bare = programs.build(tmp_path, programs.C_SOURCE, "-O0", name="bare", debug=False)
    for script, message in (
        ("uprobe:BIN:floats { print(args.d); }", "d cannot be read: it is passed in a floating-point register"),
        ("uprobe:BIN:floats { print(args.m); }", "m cannot be read: it is passed in a floating-point register"),
        ("uprobe:BIN:scalars { print(args.nin); }", "did you mean 'nine'?"),
        ("uprobe:BARE:negative { print(args.n); }", "the binary has no debug information"),
        ("uprobe:BARE:negative { print(args); }", "the binary has no debug information"),
        ("uprobe:BARE@prog.c:3 { print(1); }", "cannot be probed at source lines: the binary has no debug information"),
        ("uprobe:BIN:negative+1 { print(args.n); }", "arguments have names only where a function is entered"),
    ):
        done = run(script.replace("BIN", prog).replace("BARE", bare))
        assert done.code == 1
        assert message in done.err, script


def test_two_binaries_with_one_name(tmp_path: Path) -> None:
    """One clause on two programs, each with its own ``struct same``: each sees its own members."""
    texts = ("struct same { int a, b; };", "struct same { long pad; int b, a; };")
    probes = []
    for i, text in enumerate(texts):
        body = "__attribute__((noipa)) int see(struct same *s) { return s->b; }"
        source = f"{text} {body} int main(void) {{ struct same s = {{0}}; s.b = {i + 7}; return see(&s); }}"
        probes.append(programs.build(tmp_path, source, "-O0", name=f"prog{i}"))
    clause = ",".join(f"uprobe:{p}:see" for p in probes)
    script = f'{clause} {{ printf("%d %d\\n", args.s->b, ((struct same *)arg0)->b); }}'
    assert [run(script, "-c", p).lines for p in probes] == [["7 7"], ["8 8"]]
