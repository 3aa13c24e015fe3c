"""Items of a script: probes with their predicates, config, macros, functions, maps; their order."""

from __future__ import annotations

import pytest
from lang_shape import program, shape

from probescope.diagnostics import Source
from probescope.errors import ScriptError
from probescope.lang.bt import ast
from probescope.lang.bt.parser import parse


def probe(text: str) -> tuple[list[str], str | None]:
    (found,) = program(text).probes
    return [p.written for p in found.points], None if found.predicate is None else shape(found.predicate)


@pytest.mark.parametrize(
    ("text", "points", "predicate"),
    [
        ("k:f {}", ["k:f"], None),
        ("k:f{}", ["k:f"], None),
        ("k:f,k:g,\n// more\nk:h {}", ["k:f", "k:g", "k:h"], None),
        ("k:f, {}", ["k:f"], None),
        ("k:f, /1/ {}", ["k:f"], "1"),
        ("k:f /pid == 1/ {}", ["k:f"], "(== pid 1)"),
        ("k:f/pid == 1/{}", ["k:f"], "(== pid 1)"),
        ("k:f\n/pid == 1/\n{}", ["k:f"], "(== pid 1)"),
        ("k:f /100/25/ {}", ["k:f"], "(/ 100 25)"),
        ("k:f / @x / {}", ["k:f"], "@x"),
        ("k:f /(a / b) > 1/ {}", ["k:f"], "(> (/ a b) 1)"),
        ("k:f /{ 1 } == 1/ {}", ["k:f"], "(== { => 1 } 1)"),
        ("u:/bin/a/b:f /$1/ {}", ["u:/bin/a/b:f"], "$1"),
        ("u:/usr/*/b:f {}", ["u:/usr/*/b:f"], None),
        ("u:/with#hash:f {}", ["u:/with#hash:f"], None),
        ('u:"/a {,b":"x y" {}', ['u:"/a {,b":"x y"'], None),
        ("t:a:b // comment {\n{}", ["t:a:b"], None),
        ("BEGIN{}", ["BEGIN"], None),
        ("n=k:f {}", ["n=k:f"], None),
    ],
)
def test_probes(text: str, points: list[str], predicate: str | None) -> None:
    """Where an attach point ends and a predicate begins, although both have slashes and stars."""
    assert probe(text) == (points, predicate)


def test_items_in_order() -> None:
    made = program(
        "#define A 1\nstruct S { int x; };\nconfig = { stack_mode = perf; max_probes = 5; print_maps_on_exit = false; "
        'str_trunc_trailer = "" }\nimport "x.bt";\nlet @m = lruhash(10 * 2);\nmacro m($a, @b, c) { c }\nmacro n { 1 }\n'
        "fn f($a: int64, $b : struct S*): void { return; }\nk:f { }\n"
    )
    kinds = [type(i).__name__ for i in made.items]
    assert kinds == ["Directive", "CItem", "Config", "Import", "MapDecl", "Macro", "Macro", "Subprog", "Probe"]
    (config,) = made.configs
    assert [(e.key, e.value) for e in config.entries] == [
        ("stack_mode", "perf"),
        ("max_probes", 5),
        ("print_maps_on_exit", False),
        ("str_trunc_trailer", ""),
    ]
    decl = made.map_decls[0]
    assert (decl.map.name, decl.kind, shape(decl.entries)) == ("m", "lruhash", "(* 10 2)")
    macro, bare = made.macros
    assert [p.kind + p.name for p in macro.params] == ["$a", "@b", "c"]
    assert (shape(macro.body), bare.params, shape(bare.body)) == ("{ => c }", (), "{ => 1 }")
    function = made.subprogs[0]
    assert [(p.var.name, shape(p.type)) for p in function.params] == [("a", "int64"), ("b", "struct S*")]
    assert function.result is not None
    assert shape(function.result) == "void"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("i:s:1 { } config = { a = 1 }", "config and imports must come before"),
        ('begin { } import "foo";', "config and imports must come before"),
        ("config = { a = 1 }\n#include <stdio.h>\nbegin {}", "C definitions must come before"),
        ("begin { } struct a { int x; }", "C definitions must come before"),
        ("config { a = 1 } begin {}", "unexpected '{', expected '='"),
        ("config = { exit(); } begin {}", "unexpected '(', expected '='"),
        ("config = { @start = nsecs; } begin {}", "unexpected '@start'"),
        ("config = { a = 1 b = 2 } begin {}", "unexpected 'b', expected ';' or '}'"),
        ("BPFTRACE_STACK_MODE=perf; i:s:1 { }", "unexpected ';', expected '{'"),
        ("@a = hash(); begin { }", "unexpected '=', expected '{'"),
        ("let @a = hash(); begin { }", "the greatest number of entries"),
        ("let $a = 1; begin { }", "unexpected '$a', expected a map"),
        ("import foo; begin { }", "unexpected 'foo', expected a path"),
        ("begin { }; end { }", "unexpected ';', expected a probe"),
        ("k:f /pid == 1 { }", "unexpected '{', expected '/' to close the predicate"),
        ("k:f\t\t$a", "unexpected '$a', expected '{'"),
        ("macro m(pid) { }", "can't be used as a macro's argument"),
        ("macro m(@) { }", "expected a parameter"),
        ("macro 1() { }", "expected the name of a macro"),
        ("fn f($a) { }", "the type of the parameter"),
        ("asdf { }", "Invalid probe type: asdf"),
        ("kporbe:f { }", "Invalid probe type: kporbe"),
    ],
)
def test_wrong_programs(text: str, what: str) -> None:
    with pytest.raises(ScriptError) as e:
        parse(Source("stdin", text))
    assert what in e.value.diagnostics[0].message


def test_names_that_are_nearly_sources_have_a_hint() -> None:
    with pytest.raises(ScriptError) as e:
        parse(Source("stdin", "kporbe:f { }"))
    assert "kprobe" in e.value.diagnostics[0].hints[0]


def test_a_glob_in_the_place_of_the_source_makes_several_points() -> None:
    (found,) = program("*ware:* { }").probes
    assert [(p.spec.source, p.spec.name) for p in found.points] == [("hardware", "*"), ("software", "*")]


def test_long_chains_of_conditions_stay_shallow() -> None:
    """A generated predicate of thousands of terms parses, in the order of the text."""
    text = " || ".join(f"pid == {i}" for i in range(5000))
    (found,) = program(f"k:f /{text}/ {{ }}").probes
    from probescope.lang.bt.node import depth, walk

    assert found.predicate is not None
    assert depth(found.predicate) < 40
    assert [n.value for n in walk(found.predicate) if isinstance(n, ast.Int)] == list(range(5000))


def test_a_chain_of_else_if_is_one_node() -> None:
    text = "if (a) { } " + "else if (b) { } " * 3000
    (found,) = program(f"begin {{ {text} }}").probes
    statement = found.body.statements[0]
    assert isinstance(statement, ast.ExprStatement)
    assert isinstance(statement.expr, ast.If)
    assert len(statement.expr.branches) == 3001
