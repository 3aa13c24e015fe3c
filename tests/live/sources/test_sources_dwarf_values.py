"""Parameters by name, on running programs: what the script prints is what the program passed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import dwarf_programs as programs
import pytest
from collect_run import run

from probescope.debuginfo.elf import ElfFile

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


@pytest.mark.parametrize("several", [False, True])
def test_what_dwz_moved(tmp_path: Path, several: bool) -> None:
    """Entries in partial units of the program, and in a file that two programs share."""
    names = ("prog", "other") if several else ("prog",)
    paths = [programs.build(tmp_path, programs.CPP_SOURCE, "-O2", name=n) for n in names]
    shared = ["-m", str(tmp_path / "shared.debug")] if several else []
    try:
        subprocess.run(["dwz", *shared, *paths], check=True, capture_output=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("needs dwz")
    done = run(programs.CPP_SCRIPT.replace("BIN", paths[0]), "-c", paths[0])
    assert done.lines == programs.CPP_LINES, done.err


SMALL = """
struct pair { int x, y; };
__attribute__((noipa)) int add(struct pair *p, int b) { return p->y + b; }
int main(void) { struct pair p = {3, 4}; return add(&p, 5) == 0; }
"""


@pytest.mark.parametrize("tool", ["dwp", "llvm-dwp"])
def test_packages_of_split_units(tmp_path: Path, tool: str) -> None:
    """A .dwp beside the program, when the .dwo files are gone; of version 4 by GNU's dwp, of version 5 by LLVM's, of
    which some versions never end on larger programs."""
    version = "-gdwarf-4" if tool == "dwp" else "-gdwarf-5"
    prog = programs.build(tmp_path, SMALL, "-O0", "-gsplit-dwarf", version)
    try:
        subprocess.run([tool, "-e", prog, "-o", f"{prog}.dwp"], check=True, capture_output=True, timeout=20)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        pytest.skip(f"needs a {tool} that ends")
    for path in tmp_path.glob("*.dwo"):
        path.unlink()
    done = run(f'uprobe:{prog}:add {{ printf("%d %d %d\\n", args.p->x, args.p->y, args.b); }}', "-c", prog)
    assert done.lines == ["3 4 5"], done.err
    Path(f"{prog}.dwp").unlink()
    missing = run(f"uprobe:{prog}:add {{ print(args.b); }}", "-c", prog)
    assert re.search(r"the split debug file \S*prog\S*\.dwo is not found", missing.err)


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


RUST = r"""
use std::mem::ManuallyDrop;
fn black_box<T>(x: T) -> T { let x = ManuallyDrop::new(x); unsafe { std::ptr::read_volatile(&*x as *const T) } }
pub struct P { pub x: i32, pub y: i32 }
pub struct Big { pub v: [u64; 4], pub tag: u8 }
#[inline(never)] pub fn scalars(a: i64, b: u8, c: bool, d: char, e: &u32) -> i64 {
    black_box(a + b as i64 + c as i64 + d as i64 + *e as i64)
}
#[inline(never)] pub fn text(s: &str, n: usize) -> usize { black_box(s.len() + n) }
#[inline(never)] pub fn point(p: P, q: &P) -> i32 { black_box(p.x + q.y) }
#[inline(never)] pub fn big(b: Big, after: i32) -> u64 { black_box(b.v[1] + after as u64) }
#[inline(never)] pub fn slice(v: &[i32], o: Option<u32>, n: i32) -> i32 { black_box(v[1] + n + o.unwrap_or(0) as i32) }
fn main() {
    let mut r = scalars(-5, 200, true, 'x', &77) + text("hello", 9) as i64;
    r += point(P { x: 3, y: 4 }, &P { x: 5, y: 6 }) as i64 + big(Big { v: [1, 2, 3, 4], tag: 9 }, 55) as i64;
    r += slice(&[10, 20, 30], Some(5), 1) as i64;
    std::process::exit((r == 0) as i32);
}
"""


def test_parameters_of_rust(tmp_path: Path) -> None:
    """Structs of two scalars in a register each, slices, references; after an enum by value nothing is guessed."""
    source, prog = tmp_path / "r.rs", str(tmp_path / "r")
    source.write_text(RUST)
    try:
        subprocess.run(["rustc", "-g", "-o", prog, str(source)], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs rustc")
    script = r"""
        uprobe:BIN:cpp:"r::scalars" { printf("%d %d %d %c %d\n", args.a, args.b, args.c, args.d, *args.e); }
        uprobe:BIN:cpp:"r::text" { printf("%r %d\n", buf(args.s.data_ptr, args.s.length), args.n); }
        uprobe:BIN:cpp:"r::point" { printf("%d %d %d\n", args.p.x, args.p.y, args.q.y); }
        uprobe:BIN:cpp:"r::big" { printf("%d %d %d\n", args.b.v[1], args.b.tag, args.after); }
        uprobe:BIN:cpp:"r::slice" { printf("%d %d\n", args.v.data_ptr[1], args.v.length); }
    """
    done = run(script.replace("BIN", prog), "-c", prog)
    assert done.lines == ["-5 200 1 x 77", "hello 9", "3 4 6", "2 9 55", "20 3"], done.err
    refused = run(f'uprobe:{prog}:cpp:"r::slice" {{ print(args.n); }}')
    assert "n cannot be read: it follows a parameter whose place is not known" in refused.err


def test_damaged_debug_information_is_told(tmp_path: Path) -> None:
    """Cut abbreviations: the probe is there without names, the reason names file, section and offset."""
    prog = programs.build(tmp_path, programs.C_SOURCE, "-O0")
    data = Path(prog).read_bytes()
    with ElfFile.open(prog) as elf:
        section = elf.section(".debug_abbrev")
    assert section is not None
    Path(prog).write_bytes(data[: section.offset] + b"\xff" * section.size + data[section.offset + section.size :])
    named = run(f"uprobe:{prog}:negative {{ print(args.n); }}", "-c", prog)
    assert f"its debug information is damaged: {prog}:.debug_abbrev+0x0" in named.err
    assert run(f"uprobe:{prog}:negative {{ print(arg0); }}", "-c", prog).lines == ["5"]
    assert run(f"uretprobe:{prog}:negative {{ print((int32)retval); }}", "-c", prog).lines == ["-5"]


def test_constants_of_the_program(tmp_path: Path) -> None:
    """Names of enumerations in expressions, and of their values when printed."""
    prog = programs.build(tmp_path, programs.C_SOURCE, "-O0")
    script = f"uprobe:{prog}:scalars /args.e == BLUE/ {{ @e = args.e; print(GREEN + 1); }}"
    assert run(script, "-c", prog).out.split() == ["6", "@e:", "BLUE"]
