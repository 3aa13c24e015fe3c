"""Values of C++, Rust and Go, as ``probescope probe`` prints them: what the sources say, whatever compiler and level;
names, overloads and templates; what is thrown; goroutines, and returns of Go that no return probe could see."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from tests.support import values_programs

TEXTS = 'a="short" b="a string that is too long to be kept inside" c="a view"'
LISTS = (
    'v={1, -2, 3} names={"one", "two and a tail that is longer than sixteen"} points={{x=1, y=2}, {x=3, y=4}} '
    "bits={true, false, true}"
)
OWNERS = 'u={x=8, y=9} s={x=10, y=11} o=12 p="in an optional" none=nullptr'
PRINTERS = """
import probescope

@probescope.printer("shop::Point")
def point(v):
    return f"({int(v['x'])}|{int(v['y'])})"

@probescope.printer("shop::Shape")
def shape(v):
    return f"<{v['name_'].text()} {v['nothing']}>"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("values")


@pytest.fixture(scope="module")
def plain(folder):
    return values_programs.cpp(folder, "0")


@pytest.fixture(scope="module")
def fast(folder):
    return values_programs.cpp(folder, "2")


@pytest.fixture(scope="module")
def rust(folder):
    return values_programs.rust(folder)


@pytest.fixture(scope="module")
def go(folder):
    return values_programs.go(folder)


@pytest.fixture(scope="module")
def bare(folder):
    return values_programs.go(folder, stripped=True)


@pytest.fixture
def probe(folder):
    """Runs a program under probes: what follows the names of the events, and the whole run."""

    def run(path, *argv, code=0, library="", args=()):
        command = [sys.executable, "-m", "probescope", "probe", "-q", "-x", library or path, *argv, "--", path, *args]
        env = {**os.environ, "XDG_CACHE_HOME": str(folder)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=env)
        assert "bug in probescope" not in done.stderr
        assert done.returncode == code, done.stderr
        rows = [
            line.partition(") ")[2] for line in done.stdout.splitlines() if re.search(r": \((<- )?[0-9a-f]+\)", line)
        ]
        return rows, done

    return run


# --- C++ --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["plain", "fast"])
def test_cpp_values(request, probe, level):
    """Texts, vectors, owners and optionals, in memory and in registers, by reference and by value."""
    path = request.getfixturevalue(level)
    several = ["shop::texts a b c", "shop::lists v names points bits", "shop::owners u s o p none"]
    assert probe(path, *several)[0] == [TEXTS, LISTS, OWNERS]


def test_cpp_trees_and_hashes(probe, plain):
    """Small maps are read at the probe, whole and in order; of a large one what was read then is shown and marked."""
    rows, _ = probe(plain, "shop::trees m s big", "shop::hashes h c a")
    assert rows[0].startswith('m={"a": 1, "b": 2, "c": 3} s={5, 6} big=~{')
    pairs = re.findall(r"(\d+): {x=(-?\d+), y=(-?\d+)}", rows[0])
    assert len(pairs) >= 7
    assert all(x == key and y in (f"-{key}", "0") for key, x, y in pairs)
    assert rows[0].endswith("... 50 in all}")
    assert rows[1] == "h={1: 10} c=green a={7, 8, 9}"


def test_cpp_classes(probe, plain):
    """The class of an object is that of its vtable, with the members of that class; those of bases are found."""
    rows, done = probe(plain, "shop::total shape scale", "shop::Circle::area this->radius_ this->id_ scale")
    assert "class N4shop6CircleE" in done.stdout
    assert rows[0] == 'shape=shop::Circle{name_="circle", id_=7, radius_=2} scale=1'
    assert rows[1] == "radius_=2 id_=7 scale=1"
    assert rows[2] == 'shape=shop::Square{name_="square of a name that is long", id_=7, side_=3} scale=2'


def test_cpp_names(probe, plain):
    """One of several functions by its parameters; all instances of a template by its name; which there are is told."""
    assert probe(plain, "shop::take(int) v", "shop::twice<long> v")[0] == ["v=1", "v=5"]
    rows, _ = probe(plain, "shop::twice v")
    assert rows == ["v=4", "v=1.5", "v=5"]
    _, done = probe(plain, "shop::take k", code=1)
    assert "shop::take is 3 functions" in done.stderr
    assert "shop::take(double, int)" in done.stderr
    _, done = probe(plain, "shop::Shape::area", code=1)
    assert "HINT: there are shop::Circle::area, shop::Square::area" in done.stderr


def test_cpp_operators_and_lambdas(probe, plain):
    """Names with signs and blanks in them, by ``probe`` and ``span``: as they are declared, and as ``nm -C`` shows."""
    several = {
        "shop::Sum::operator+= by": "by=4",
        "shop::Sum::operator()(int, int) const a b this->total": "a=5 b=6 total=4",
        "shop::Sum::operator bool this->total": "total=4",
        "shop::Sum::operator<=(const shop::Sum&) o": "o={total=0}",
        "shop::nested(int)::{lambda(int)#1} a": "a=9",
        "shop::(anonymous namespace)::hidden q": "q=8",
    }
    assert probe(plain, *several)[0] == list(several.values())
    for name in ("shop::Sum::operator+=(int)", "shop::(anonymous namespace)::hidden"):
        command = [sys.executable, "-m", "probescope", "span", name, "-x", plain, "--", plain]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert "  1 spans  min " in done.stdout, done.stderr


@pytest.mark.parametrize("level", ["plain", "fast"])
def test_results(request, probe, level, rust):
    """What functions return, in memory that the caller gave, in registers, by reference; members of it."""
    path = request.getfixturevalue(level)
    rows, _ = probe(path, "shop::label%return $retval", "shop::corner%return $retval $retval.y")
    assert rows == ['arg1="label 7"', "arg1={x=3, y=-3} y=-3"]
    rows, _ = probe(path, "shop::same%return $retval.id_ name=$retval.name_ raw=$retval:x64")
    assert re.fullmatch(r'id_=7 name="circle" raw=0x[0-9a-f]+', rows[0])
    if level == "plain":
        assert probe(rust, "calls::Point::moved%return $retval")[0] == ["arg1=Point{x: 5, y: 1}"]


def test_cpp_exceptions(probe, plain):
    """What is thrown, with the text that the program's own handler prints."""
    linked = subprocess.run(["ldd", plain], capture_output=True, text=True, check=True).stdout
    library = re.search(r"libstdc\+\+\S* => (\S+)", linked)
    assert library is not None
    rows, done = probe(plain, "__cxa_throw", library=library[1])
    assert re.findall(r"threw (.*)", done.stdout) == ["disk is full", "index 9"]
    wanted = ['std::runtime_error("disk is full")', 'std::out_of_range("index 9")', "int"]
    assert rows == [f"exception={e}" for e in wanted]


def test_own_printers(probe, plain, tmp_path):
    """A user's own code prints its types, inside of others too; what it does wrong is told in the value's place."""
    file = tmp_path / "printers.py"
    file.write_text(PRINTERS)
    rows, _ = probe(plain, "--printers", str(file), "shop::lists points", "shop::total shape")
    missing = "<shape: KeyError: 'shop::Shape has no member nothing'>"
    assert rows == [f"shape={missing}", f"shape={missing}", "points={(1|2), (3|4)}"]
    file.write_text("import nothing_of_that_name\n")
    _, done = probe(plain, "--printers", str(file), "shop::lists points", code=2)
    assert f"{file}:1: ModuleNotFoundError" in done.stderr


@pytest.mark.parametrize(
    ("binary", "definition", "passes", "stops"),
    [
        ("fast", "shop::texts a c", 'c == "a view" && a ~ "sh*"', 'a == "shor"'),
        ("plain", "shop::hashes c", "c == green && c != red", "c == Color::red"),
        ("rust", "calls::texts a b", 'a == "a str" && b != "a str"', 'a == "a st" || a == ""'),
        ("rust", "calls::boxed flag ch", "flag == true && ch == 'ß'", "!flag"),
        ("go", "main.text:0 s", 's == "hello"', 's == "hell"'),
    ],
)
def test_filters_compare_values(request, probe, binary, definition, passes, stops):
    """Texts by their own length, wherever they end in memory; characters, truths and constants by their words."""
    path = request.getfixturevalue(binary)
    assert len(probe(path, definition, "--filter", passes)[0]) == 1
    assert probe(path, definition, "--filter", stops)[0] == []


def test_what_filters_cannot_compare(probe, plain):
    _, done = probe(plain, "shop::lists v", "--filter", "v == 1", code=1)
    assert "v is neither a number nor a text" in done.stderr


# --- Rust -------------------------------------------------------------------------------------------------------------


def test_rust_values(probe, rust):
    """Texts, vectors and slices, boxes, and enums by their variants, those without a tag of their own too."""
    rows, _ = probe(
        rust, "calls::texts a b c", "calls::lists v s names", "calls::options a b c d e", "calls::shapes s t",
        "calls::boxed p q flag ch", "calls::Point::moved self by",
    )  # fmt: skip
    assert rows == [
        'a="a str" b="a String" c="by reference"',
        'v=[1, -2, 3] s=[Point{x: 1, y: 2}, Point{x: 3, y: 4}] names=["one", "two"]',
        'a=Some(5) b=Some("inner") c=Some(Point{x: 6, y: 7}) d=Ok(8) e=Some("owned")',
        'a=None b=None c=None d=Err("bad") e=None',
        's=Circle(3) t=Named("box")',
        "s=Rect{w: 2, h: 5} t=Dot",
        "p=Point{x: 1, y: 2} q=Point{x: 3, y: 4} flag=true ch='ß'",
        "self=Point{x: 1, y: 1} by=4",
    ]


def test_rust_maps(probe, rust):
    """Hash tables, trees and queues in a circle, whole where they are small; of large ones each pair that is shown is
    right, those of a tree in order."""
    rows, _ = probe(rust, "calls::hashes m s big none", "calls::trees m s big none", "calls::queue d")
    hashes, trees, queue = rows
    assert hashes.startswith('m={"k": 5} s={"one"} big=~{')
    assert trees.startswith('m={"a": 1, "b": 2} s={1, 2, 3} big=~{')
    assert queue == "d=[3, 4, 5]"
    for text, times in ((hashes, 2), (trees, 3)):
        pairs = [(int(a), int(b)) for a, b in re.findall(r"(\d+): (\d+)", text.partition("big=")[2])]
        assert len(pairs) >= 2
        assert all(b == times * a for a, b in pairs)
        assert text.endswith(", ... 100 in all} none={}")
    assert pairs == sorted(pairs)


# --- Go ---------------------------------------------------------------------------------------------------------------


def test_go_values(probe, go):
    """Arguments by Go's own convention: in nine registers and on the stack; strings, slices, what is in interfaces."""
    rows, _ = probe(
        go, "main.text:0 s n $goid", "main.list v names p r=*q", "main.iface s e a", "main.many $params",
        "main.(*Point).Move *p by", "main.floats c d",
    )  # fmt: skip
    many = " ".join(f"{c}={i}" for i, c in enumerate("abcdefghijk", 1))
    assert rows[0] == 's="hello" n=3 goid=1'
    assert rows[1] == 'v=[1 2 3] names=["a" "bc"] p={X: 4, Y: 5} r={X: 6, Y: 7}'
    assert rows[2] == 's=main.Circle({R: 2.0}) e=*errors.errorString({s: "broken"}) a=int(42)'
    assert {many, "p={X: 1, Y: 1} by=2", "p={X: 3, Y: 1} by=5"} <= set(rows)


def test_go_returns(probe, go):
    """Several results, and the error of one call of two; every return of the function, by its own name."""
    rows, _ = probe(go, "main.text%return $retval", "main.(*Point).Move%return err=$retval", "main.many%return $retval")
    assert rows == ['retval0=8 retval1="hello!"', "arg1=66", "err=nil", 'err=*errors.errorString({s: "too far"})']
    _, done = probe(go, "main.floats a", code=1)
    assert "in a floating-point register" in done.stderr


def test_goroutines_whose_stacks_move(probe, go):
    """Calls are counted once each, though the stacks of four goroutines grow meanwhile; their numbers are the program's
    own. Returns while stacks move would kill the program, were they seen by return probes."""
    rows, done = probe(go, "-f", "json", "main.deep n $goid", "main.deep%return $goid")
    told = {int(i): 100 + int(g) for i, g in re.findall(r"^(\d+) (\d)$", done.stdout, re.MULTILINE)}
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(told) == 4
    for goid, first in told.items():
        mine = [e for e in events if e["args"]["goid"] == goid]
        assert [e["args"]["n"] for e in mine if not e["event"].endswith("__return")] == list(range(first, -1, -1))
        assert sum(e["event"].endswith("__return") for e in mine) == first + 1
    assert not rows


def test_go_without_symbols(probe, bare):
    """Functions of a stripped program by the runtime's own table, arguments by the convention, goroutines by the
    version that the program tells."""
    rows, _ = probe(bare, "main.text $arg2:u64 $arg3:u64 $goid", "main.text%return $retval:u64")
    assert rows == ["arg1=5 arg2=3 goid=1", "arg1=8"]
    line = values_programs.GO.partition("func text(")[0].count("\n") + 1
    assert probe(bare, f"bare.go:{line} $arg3:u64")[0] == ["arg1=3"]
    _, done = probe(bare, "bare.go:1", code=1)
    assert "there is no code at line 1 of bare.go" in done.stderr


def test_thousands_of_returns(probe, go, tmp_path):
    """A program survives, and each return is there or counted as lost."""
    turns = 10_000
    out = tmp_path / "events"
    _, done = probe(go, "main.step%return $retval:u64", "-o", str(out), args=[str(turns)])
    kept = out.read_text().splitlines()
    lost = sum(int(n.replace(",", "")) for n in re.findall(r"LOST: ([\d,]+) events", done.stderr))
    assert len(kept) + lost == turns
    if not lost:
        assert [int(k.rpartition("=")[2]) for k in kept] == [i + 1 if i % 2 == 0 else i + 2 for i in range(turns)]


def test_go_in_programs(go):
    """``args`` of uprobes, by the same convention: words of a string and a slice, the eleventh argument."""
    text = (
        f'uprobe:{go}:main.text {{ printf("%d %d\\n", args.s.len, args.n); }} '
        f'uprobe:{go}:main.many {{ printf("%d %d\\n", args.a, args.k); }} '
        f'uprobe:{go}:main.list {{ printf("%d %d %d\\n", args.v.len, args.p.Y, args.q.X); }}'
    )
    command = [sys.executable, "-m", "probescope", "run", "-q", "-c", go, "-e", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert {"5 3", "1 11", "3 5 6"} <= set(done.stdout.splitlines()), done.stderr
