"""Expansion of macros: hygiene, overloads, types as arguments, and an end to everything that would have none."""

from __future__ import annotations

import pytest
from lang_shape import program, shape

from probescope.diagnostics import Source
from probescope.errors import ScriptError
from probescope.lang.bt import ast
from probescope.lang.bt.macros import expand
from probescope.lang.bt.node import walk


def expanded(macros: str, text: str) -> str:
    made = expand(program(f"{macros} begin {{ {text} }}"))
    assert not made.macros
    return " ".join(map(shape, made.probes[0].body.statements))


@pytest.mark.parametrize(
    ("macros", "text", "tree"),
    [
        ("macro one() { 1 }", "$x = one() + one;", "(set $x (+ 1 1))"),
        ('macro m { f("me"); }', "m(); m!();", "{ (f() 'me') } { (f() 'me') }"),
        ("macro inc(x) { x + 1 }", "$y = inc(inc(2 * 3));", "(set $y (+ (+ (* 2 3) 1) 1))"),
        ("macro a(x) { x + 1 } macro b(x) { a(x) + 1 }", "$y = b(1);", "(set $y (+ (+ 1 1) 1))"),
        ("macro set($v) { $v += 1; $v }", "$y = set($z);", "(set $y { (set+ $z 1) => $z })"),
        ("macro m(@a, k) { @a[k]++; @a[k] }", "$y = m(@b, pid);", "(set $y { (_++ (at @b pid)) => (at @b pid) })"),
        ("macro local($v) { $t = $v; $t }", "$y = local($t);", "(set $y { (set $t#1 $t) => $t#1 })"),
        (
            "macro local(e) { let $t = e; $t }",
            "$y = local($t) + local(1);",
            "(set $y (+ { (let $t#1 $t) => $t#1 } { (let $t#2 1) => $t#2 }))",
        ),
        ("macro twice(x) { x; x }", "twice({ f() });", "{ { (f()) } { (f()) } }"),
        (
            "macro loop(@m) { for ($kv : @m) { print($kv.0) } }",
            "loop(@a);",
            "{ (for $kv#1 @a { (print() (. $kv#1 0)) }) }",
        ),
        ("macro bump(v) { v++ }", "bump(@a[1]);", "(_++ (at @a 1))"),
        ("macro m(f) { $x.f }", "$y = m(1);", "(set $y (. $x#1 f))"),
        ("macro m(x) { str_concat(x, x) }", "m(g(1));", "(str_concat() (g() 1) (g() 1))"),
        (
            "macro if_v(c) { if (c) { 1 } else { 2 } }",
            "$y = if_v(a); if_v(b);",
            "(set $y (if a { => 1 } else { => 2 })) (if b { 1 } else { 2 })",
        ),
    ],
)
def test_expansion(macros: str, text: str, tree: str) -> None:
    """Parameters are put in; other variables of a body are new in each expansion; a statement has no value."""
    assert expanded(macros, text) == tree


@pytest.mark.parametrize(
    ("macros", "text", "tree"),
    [
        ("macro m($x) { 1 } macro m(@x) { 2 } macro m(x) { 3 }", "f(m($a), m(@b), m(1));", "(f() 1 2 3)"),
        ("macro m() { 0 } macro m(a) { 1 } macro m(a, b) { 2 }", "f(m, m(), m(1), m(1, 2));", "(f() 0 0 1 2)"),
        ("macro m($x, y) { 1 } macro m(x, $y) { 2 }", "f(m($a, 1), m(1, $a));", "(f() 1 2)"),
        ("macro cpu(x) { x }", "f(cpu(1), cpu(), cpu);", "(f() 1 (cpu()) (cpu()))"),
        ("macro cpu() { 42 }", "f(cpu());", "(f() 42)"),
        ("macro other() { 1 }", "unknown(1); pid;", "(unknown() 1) pid"),
    ],
)
def test_overloads(macros: str, text: str, tree: str) -> None:
    """The form with the most exact parameters wins; builtins of the same name keep their other forms."""
    assert expanded(macros, text) == tree


@pytest.mark.parametrize(
    ("macros", "text", "tree"),
    [
        ("macro m(t) { sizeof(t) }", "f(m(typeof(struct a)));", "(f() (sizeof struct a))"),
        ("macro m(t) { sizeof(t) }", "f(m(1 + 2));", "(f() (sizeof (+ 1 2)))"),
        ("macro m(t) { sizeof(struct t) }", "f(m(typeof(a)));", "(f() (sizeof struct a))"),
        ("macro m(t) { sizeof(t*) }", "f(m(typeof(uint64)));", "(f() (sizeof uint64*))"),
        (
            "macro m(a, b) { sizeof(a) + sizeof(b[2]) }",
            "f(m(typeof(int8), typeof(u64*)));",
            "(f() (+ (sizeof int8) (sizeof u64*[2])))",
        ),
        ("macro m(t, p) { offsetof(t, p) }", "f(m(typeof(struct a), b.c.d));", "(f() (offsetof struct a b.c.d))"),
        ("macro m(t) { (t)0 }", "f(m(typeof(uint32*)));", "(f() (cast uint32* 0))"),
        ("macro m(a, b) { (a*)b }", "f(m(typeof(uint8), -1));", "(f() (cast uint8* -1))"),
        ("macro m(t) { let $x: t = 0; }", "m(typeof(uint32));", "{ (let $x#1:uint32 0) }"),
        (
            "macro i(t) { sizeof(t) } macro o(z) { i(z) + i(typeof(z)) }",
            "f(o(typeof(u8*)));",
            "(f() (+ (sizeof u8*) (sizeof u8*)))",
        ),
        ("macro o(x) { sizeof(x*) } macro i(b) { o(typeof(b[2])) }", "f(i(typeof(u64)));", "(f() (sizeof u64[2]*))"),
        ("macro m(x) { let $k: typeof(x) = x; }", "m(@a);", "{ (let $k#1:typeof<@a> @a) }"),
    ],
)
def test_types_as_arguments(macros: str, text: str, tree: str) -> None:
    """A type goes wherever the parameter stands for a type, and is handed on to other macros."""
    assert expanded(macros, text) == tree


@pytest.mark.parametrize(
    ("macros", "text", "what"),
    [
        ("macro m($x) { $x }", "m(1, 2);", "do not match any definition"),
        ("macro m($x) { $x }", "m(1);", "do not match any definition"),
        ("macro m($x) { $x }", "$y = m;", "do not match any definition"),
        ("macro m($x) { 1 } macro m($y) { 2 }", "", "Redefinition of macro: m"),
        ("macro m(x, x) { x }", "", "has already been used"),
        ("macro a(x) { b(x) } macro b(x) { a(x) }", "a(1);", "Recursive macro call detected. Call chain: a > b > a"),
        ("macro m() { @x = 1; }", "m();", "Unhygienic access to map: @x"),
        ("macro m($x) { let $x; }", "m($y);", "shadows macro arg $x"),
        ("macro m(x) { x++ }", "m(1);", "increment and decrement need"),
        ("macro m(x) { x + 1 }", "m(typeof(u8));", "stands for a type here"),
        ("macro m(t) { sizeof(t*) }", "m(1);", "stands for an expression here"),
        ("macro m(t) { sizeof(struct t) }", "m(typeof(u8*));", "needs the bare name of a type"),
        ("macro m(x) { (x) - 1 }", "m(2);", "before a value is a cast"),
        ("macro m(p) { offsetof(struct a, p) }", "m(f().b);", "must be a field"),
    ],
)
def test_wrong_macros(macros: str, text: str, what: str) -> None:
    with pytest.raises(ScriptError) as e:
        expanded(macros, text)
    assert what in e.value.diagnostics[0].message


def test_a_mismatch_names_the_argument_and_the_definitions() -> None:
    with pytest.raises(ScriptError) as e:
        expanded("macro m(@x, y) { y } macro m() { 1 }", "m(1, 1);")
    assert e.value.diagnostics[0].hints == (
        "Mismatched arg. m() expects a map for arg @x but got an expression.",
        "definitions: m(@x, y), m()",
    )


@pytest.mark.parametrize(
    "macros",
    [
        "".join(f"macro a{i}(x) {{ a{i + 1}(x + x) }} " for i in range(40)),
        "".join(f"macro a{i}(x) {{ a{i + 1}(1) + a{i + 1}(2) }} " for i in range(40)),
        "".join(f"macro a{i}(x) {{ a{i + 1}(x) }} " for i in range(500)),
        "".join(f"macro a{i}(x) {{ a{i + 1}(x + 1) }} " for i in range(150)) + "macro a150(x) { x }",
    ],
)
def test_macros_that_explode_are_stopped(macros: str) -> None:
    """Doubling at each level, or hundreds of levels: an error within a moment, not the end of memory or of the
    stack."""
    with pytest.raises(ScriptError) as e:
        expanded(macros, "$x = a0(1);")
    assert "more than" in e.value.diagnostics[0].message or "deeper than" in e.value.diagnostics[0].message


def test_expanded_nodes_know_where_they_came_from() -> None:
    """A body keeps its own places, so that an error inside of it can be shown."""
    made = expand(program("macro m() { bad(1); 2 }\nbegin { $x = m(); }"))
    calls = [n for n in walk(made) if isinstance(n, ast.Call)]
    blocks = [n for n in walk(made.probes[0].body.statements[0]) if isinstance(n, ast.Block)]
    assert (calls[0].span.line, blocks[0].span.line) == (1, 2)


def test_a_script_without_macros_is_not_touched() -> None:
    made = program("begin { f(1); }")
    assert expand(made, Source("stdin", "")) is made
