"""Hostile and huge texts: an error or a tree, soon; never a traceback. And what start-up may cost."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable

import pytest
from work import growth, instructions

from probescope.diagnostics import Source
from probescope.errors import ScriptError
from probescope.lang.bt import fold
from probescope.lang.bt.frontend import read_script
from probescope.lang.bt.parser import parse_expression

MANY = 20_000

DEEP = {
    "brackets": "begin { @ = " + "(" * MANY + "1" + ")" * MANY + "; }",
    "open brackets": "begin { @ = " + "(" * MANY,
    "negations": "begin { @ = " + "!" * MANY + "1; }",
    "a sum": "begin { @ = " + "1 + " * MANY + "1; }",
    "ternaries": "begin { @ = " + "1 ? 2 : " * MANY + "3; }",
    "blocks": "begin " + "{" * MANY + "}" * MANY,
    "ifs": "begin { " + "if (1) { " * MANY,
    "fields": "begin { @ = $a" + ".b" * MANY + " }",
    "keys": "begin { " + "@a[" * MANY,
    "casts": "begin { @ = " + "(int32)" * MANY + "1 }",
    "pointers": "begin { @ = (int32" + "*" * MANY + ")1 }",
    "typeof": "begin { @ = sizeof(" + "typeof(" * MANY,
    "loops": "begin { " + "for ($i : 0..1) { " * MANY,
    "structs": "struct a { " + "struct { " * MANY,
    "declarators": "struct a { int " + "(" * MANY + "x; }",
    "conditions": "#ifdef A\n" * MANY,
}


@pytest.mark.parametrize("name", DEEP)
def test_depth_is_an_error(name: str) -> None:
    """However deep a text nests, the answer is one finding with a place."""
    with pytest.raises(ScriptError) as e:
        read_script(Source("stdin", DEEP[name]))
    (finding,) = e.value.diagnostics
    assert "more than" in finding.message or "deeper than" in finding.message
    assert finding.span.line > 0


def test_depth_that_people_write_is_none() -> None:
    read_script(Source("stdin", "begin { @ = " + "(" * 50 + "1" + ")" * 50 + "; }"))
    read_script(Source("stdin", "begin { @ = " + "1 + " * 100 + "1; }"))
    read_script(Source("stdin", "begin { " + "if (1) { " * 25 + "} " * 25 + "}"))


def reading(text: str) -> Callable[[], None]:
    def read() -> None:
        with contextlib.suppress(ScriptError):
            read_script(Source("stdin", text))

    return read


@pytest.mark.parametrize(
    "piece",
    [
        "(a[;",
        "(a*",
        "/*",
        '"',
        "$1",
        "1 2;",
        "f(",
        "@a[1]=1;",
        "}{",
        "k:f,",
        "#\n",
        "\\",
        "'",
        "a ? b : ",
        "-",
        "if(a){}else ",
    ],
)
def test_time_is_linear(piece: str) -> None:
    """Twice the text is about twice the work (a quadratic one would be four times): nothing scans ahead again and
    again."""
    for frame in ("begin { %s }", "%s", "struct a { %s }", "#define A %s\nbegin { A }"):
        assert growth(lambda n, frame=frame: reading(frame % (piece * n)), 400) < 2.5


def test_a_long_script_parses_soon() -> None:
    """Two hundred clauses of ten lines: what one costs does not grow with their number, and stays what it is."""
    one = (
        "kprobe:f%d\n/pid == %d/\n{\n  @a[tid, 1] = count();\n  $x = (struct a *)arg0;\n"
        '  if ($x.pid > 4) {\n    printf("%%d", $x.pid);\n  }\n  @b++;\n}\n'
    )
    assert instructions(reading("".join(one % (i, i) for i in range(200)))) < 200 * 30_000


def test_surrogates_and_other_odd_characters() -> None:
    read_script(Source("stdin", 'begin { printf("\ud800\udcff\u2028é\x00"); }'))
    with pytest.raises(ScriptError):
        read_script(Source("stdin", "begin { \ud800 }"))


def test_a_text_without_end_is_refused() -> None:
    with pytest.raises(ScriptError, match="longer than"):
        read_script(Source("stdin", " " * (5 << 20)))


def test_a_nearly_full_stack_is_an_error_too() -> None:
    """A caller deep in its own recursion gets a ScriptError, not a RecursionError."""

    def dive(n: int) -> None:
        if n:
            dive(n - 1)
        else:
            read_script(Source("stdin", "begin { @ = " + "(" * 50 + "1" + ")" * 50 + "; }"))

    depth = 0
    frame = sys._getframe()
    while frame is not None:
        depth += 1
        frame = frame.f_back  # type: ignore[assignment]
    with pytest.raises(ScriptError, match="nests too deep"):
        dive(sys.getrecursionlimit() - depth - 120)


def test_importing_the_parser_loads_little() -> None:
    """Start-up is a feature: no reading of C, no macros, no dataclasses, no numpy for a one-liner."""
    code = """
import sys
from probescope.diagnostics import Source
from probescope.lang.bt.frontend import read_script
read_script(Source("e", "BEGIN { exit() }"))
heavy = {"dataclasses", "inspect", "numpy", "ctypes", "asyncio", "argparse"}
rare = ("parser_c", "parser_declarator", "macros", "imports", "preprocess", "headers", "printer")
print(*sorted(m for m in sys.modules if m in heavy or m.rpartition(".")[2] in rare))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7 % -2", 1),
        ("1 << 63", 1 << 63),
        ("1 << 64", None),
        ("18446744073709551615 + 1", None),
        ("1 / 0", None),
        ("~0", -1),
        ("!5", False),
        ("1 < 2 && 3 == 3", True),
        ("0 && $x", False),
        ("1 || f()", True),
        ("1 && $x", None),
        ('"a" == "a"', True),
        ('"a" < "b"', None),
        ("0 ? 1 : 2", 2),
        ("5 ?: 2", 5),
        ("(uint8)-1", 255),
        ("(int8)255", -1),
        ("(uint64)-1", (1 << 64) - 1),
        ("sizeof(uint32) + sizeof(struct a*)", 12),
        ("sizeof(struct a)", None),
        ("comptime (2 > 1)", True),
        ("if (1) { 2 } else { 3 }", 2),
        ("{ 4 }", 4),
        ("A + 1", 11),
        ("pid", None),
    ],
)
def test_constants(text: str, value: object) -> None:
    """Constant folding is C on 64 bits, and says nothing where it cannot know."""
    found = fold.evaluate(parse_expression(Source("stdin", text)), {"A": 10})
    assert (found, type(found)) == (value, type(value))
