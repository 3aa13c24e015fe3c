"""Statements and blocks, and going on after what cannot be read."""

from __future__ import annotations

import pytest
from lang_shape import body, program

from probescope.diagnostics import Diagnostic, Source, place
from probescope.errors import ScriptError
from probescope.lang.bt.parser import parse


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("$x = 1", "(set $x 1)"),
        ("$x = 1;;", "(set $x 1)"),
        ("@ = count();", "(set @ (count()))"),
        ("@[pid, comm] = count();", "(set (at @ (tuple pid comm)) (count()))"),
        ("$a <<= 1; $a >>= 2;", "(set<< $a 1) (set>> $a 2)"),
        ("@a += 2 - 1; @a[1] |= 4", "(set+ @a (- 2 1)) (set| (at @a 1) 4)"),
        (
            "$a -= 1; $a *= 1; $a /= 1; $a %= 1; $a &= 1; $a ^= 1",
            "(set- $a 1) (set* $a 1) (set/ $a 1) (set% $a 1) (set& $a 1) (set^ $a 1)",
        ),
        ("let $x;", "(let $x)"),
        ("let $x: int8 = 1;", "(let $x:int8 1)"),
        ("let $x : struct a *;", "(let $x:struct a*)"),
        ("let $x : typeof($y) = $z;", "(let $x:typeof<$y> $z)"),
        ("_ = f(1);", "(discard (f() 1))"),
        ("if (pid > 1) { f(); }", "(if (> pid 1) { (f()) })"),
        ("if !pid { f() }", "(if (! pid) { (f()) })"),
        ("if (a) {} else if (b) {} else {}", "(if a { } b { } else { })"),
        ("if comptime (is_ptr($x)) { f() }", "(if (comptime (is_ptr() $x)) { (f()) })"),
        ("while ($a < 10) { $a++ }", "(while (< $a 10) { (_++ $a) })"),
        ("while !$a { break; }", "(while (! $a) { (break) })"),
        ("unroll(5) { $i = $i + 1; }", "(unroll 5 { (set $i (+ $i 1)) })"),
        ("unroll($1) { continue }", "(unroll $1 { (continue) })"),
        ("for ($kv : @map) { print($kv) }", "(for $kv @map { (print() $kv) })"),
        ("for ($i : 0..10) { print($i) }", "(for $i 0..10 { (print() $i) })"),
        ("for $i : $a..ncpus { return }", "(for $i $a..ncpus { (return) })"),
        ("for ($i : (1+1)..-$x) { }", "(for $i (+ 1 1)..(- $x) { })"),
        ("return; return 1 + 1;", "(return) (return (+ 1 1))"),
        ("{ $b = 2; { $c = 3 } }", "{ (set $b 2) { (set $c 3) } }"),
        ("$x = { $a = 1; $a }; exit();", "(set $x { (set $a 1) => $a }) (exit())"),
        ("$x = if (a) { 1 } else { 2 };", "(set $x (if a { => 1 } else { => 2 }))"),
        ('import "x.bt"; f()', "(import x.bt) (f())"),
        ("if (a) { if (b) { c } } d", "(if a { (if b { c }) }) d"),
    ],
)
def test_statements(text: str, tree: str) -> None:
    """Every statement of the language; values of branches that nobody takes are statements."""
    assert body(text) == tree


def findings(text: str) -> list[Diagnostic]:
    with pytest.raises(ScriptError) as e:
        parse(Source("stdin", text))
    return list(e.value.diagnostics)


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("begin { break print(1); }", "stdin:1:15-20", "unexpected 'print', expected ';'"),
        ("begin { print(1) print(2); }", "stdin:1:18-23", "unexpected 'print', expected ';'"),
        ("begin { $x = 1 print(2); }", "stdin:1:16-21", "unexpected 'print', expected ';'"),
        ("begin { $x: int8; }", "stdin:1:11-12", "unexpected ':', expected ';'"),
        ("i:s:1 { (1, 0) = 0 }", "stdin:1:16-17", "unexpected '=', expected ';'"),
        ("i:s:1 { $a = 1; $a.2 = 3; }", "stdin:1:17-21", "are immutable once created"),
        ("begin { for ($kv : @map) print($kv); }", "stdin:1:26-31", "unexpected 'print', expected '{'"),
        ("begin { for (@kv : @map) { } }", "stdin:1:14-17", "unexpected '@kv', expected a variable"),
        ("begin { for ($i : 1+1..10) { } }", "stdin:1:20-21", "expected '..' or ')'"),
        ("begin { for ($i : 0..1+1) { } }", "stdin:1:23-24", "expected ')'"),
        ("begin { for ($i : 0..) { } }", "stdin:1:22-23", "unexpected ')', expected an expression"),
        ("begin { for ($i : $x) { } }", "stdin:1:19-21", "goes over a map or a range"),
        ("begin { if(x=1) {} }", "stdin:1:13-14", "unexpected '=', expected ')'"),
        ('begin { while("hello", 2) {} }', "stdin:1:22-23", "unexpected ',', expected ')'"),
        ('begin { import "foo" print(1); }', "stdin:1:22-27", "expected ';' after import"),
        ("begin { let @x = 1; }", "stdin:1:13-15", "unexpected '@x', expected a variable"),
        ("begin { $ = 1; }", "stdin:1:9-10", "expected a variable name after '$'"),
        ("begin { print(1); ", "stdin:1:19-20", "end of file, expected '}' at the end of the block"),
        ('kprobe:f { "asdf }', "stdin:1:12-13", "unterminated string"),
    ],
)
def test_wrong_statements(text: str, where: str, what: str) -> None:
    """The finding stands where reading failed, and says what could have stood there."""
    first = findings(text)[0]
    assert (place(first), what in first.message) == (where, True), first.message


def test_each_statement_reports_for_itself() -> None:
    """One run shows the errors of several statements, blocks and probes."""
    found = findings("begin { f(1 2); g(); h(; if (1 { } x() }\nk:f { 1 + }\nk:g { ok() }\nbogus:x { }")
    assert [(d.span.line, d.span.column) for d in found] == [(1, 13), (1, 24), (1, 32), (2, 11), (4, 1)]


def test_misspelt_keywords_have_a_hint() -> None:
    found = findings("begin { retrun 1; }")
    assert found[0].hints == ("did you mean 'return' instead of 'retrun'?",)


def test_there_is_an_end_to_findings() -> None:
    """Garbage does not flood the terminal."""
    assert len(findings("begin { " + "1 2; " * 1000 + "}")) == 20


def test_an_empty_script_is_one() -> None:
    assert program("").items == ()
    assert program("#!/usr/bin/env probescope\n// nothing\n").header == "#!/usr/bin/env probescope\n"
