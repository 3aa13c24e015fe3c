"""Expressions and types: what binds to what, and what is a type."""

from __future__ import annotations

import pytest
from lang_shape import body, expr

from probescope.diagnostics import Source
from probescope.errors import ScriptError
from probescope.lang.bt.parser import parse_expression


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("2 + 3 * 4", "(+ 2 (* 3 4))"),
        ("10 - 8 / 2", "(- 10 (/ 8 2))"),
        ("2 * 3 % 4", "(% (* 2 3) 4)"),
        ("1 + 2 << 3", "(<< (+ 1 2) 3)"),
        ("16 >> 2 + 1", "(>> 16 (+ 2 1))"),
        ("1 << 2 < 8", "(< (<< 1 2) 8)"),
        ("5 > 3 == 1", "(== (> 5 3) 1)"),
        ("5 == 5 & 1", "(& (== 5 5) 1)"),
        ("1 & 3 ^ 2", "(^ (& 1 3) 2)"),
        ("1 ^ 2 | 4", "(| (^ 1 2) 4)"),
        ("1 | 2 && 4", "(&& (| 1 2) 4)"),
        ("0 && 1 || 2", "(|| (&& 0 1) 2)"),
        ("10 - 5 - 2", "(- (- 10 5) 2)"),
        ("20 / 4 / 2", "(/ (/ 20 4) 2)"),
        ("1 || 0 ? 5 : 10", "(? (|| 1 0) 5 : 10)"),
        ("1 ? 2 ? 3 : 4 : 5", "(? 1 (? 2 3 : 4) : 5)"),
        ("a ? b : c ? d : e", "(? a b : (? c d : e))"),
        ("a ?: b", "(? a : b)"),
        ("1 + 2 * 3 > 5 && 4 | 8 ? 10 : 20", "(? (&& (> (+ 1 (* 2 3)) 5) (| 4 8)) 10 : 20)"),
        ("(1 + 2) * 3", "(* (+ 1 2) 3)"),
        ("*@x+1", "(+ (* @x) 1)"),
        ("*@x**@y", "(* (* @x) (* @y))"),
        ("*@x.f", "(* (. @x f))"),
        ("!a == b", "(== (! a) b)"),
        ("~-$a", "(~ (- $a))"),
        ("-1", "-1"),
        ("- 5 + 3", "(+ -5 3)"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-(-1)", "(- -1)"),
        ("- -$x", "(- (- $x))"),
        ("&$x", "(& $x)"),
        ("&@m[1]", "(& (at @m 1))"),
        ("++$x", "(++_ $x)"),
        ("@x[1]--", "(_-- (at @x 1))"),
    ],
)
def test_operators(text: str, tree: str) -> None:
    """Precedence and associativity are those of the language's own table."""
    assert expr(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("$a.b->c", "(. (. $a b) c)"),
        ("$kv.0.1", "(. (. $kv 0) 1)"),
        ("$a[1][2]", "([] ([] $a 1) 2)"),
        ("@m[1][2]", "([] (at @m 1) 2)"),
        ("@[pid, comm]", "(at @ (tuple pid comm))"),
        ("@[(pid, comm)]", "(at @ (tuple pid comm))"),
        ("(@m)[1]", "(at @m 1)"),
        ("$x.config.if.struct", "(. (. (. $x config) if) struct)"),
        ("f()", "(f())"),
        ('f(1, g(2), "x")', "(f() 1 (g() 2) 'x')"),
        ("greet!()", "(greet())"),
        ("!f(1)", "(! (f() 1))"),
        ("()", "(tuple)"),
        ("(1)", "1"),
        ("(1,)", "(tuple 1)"),
        ("(1, 2,)", "(tuple 1 2)"),
        ("(a=1, b=(c=2))", "(record a=1 b=(record c=2))"),
        ("(a == 1)", "(== a 1)"),
        ("true && false", "(&& true false)"),
        ("$1 + $#", "(+ $1 $#)"),
        ("comptime 1 + 2", "(+ (comptime 1) 2)"),
        ("comptime (1 + 2)", "(comptime (+ 1 2))"),
        ("{ let $b = 1; $b }", "{ (let $b 1) => $b }"),
        ("{ 1; }", "{ 1 }"),
        ("if $x { 1 } else { 2 }", "(if $x { => 1 } else { => 2 })"),
        ("if (a) { 1 } else if b { 2 } else { 3 }", "(if a { => 1 } b { => 2 } else { => 3 })"),
    ],
)
def test_primaries(text: str, tree: str) -> None:
    """Calls, keys, tuples, records and blocks; words that are keywords elsewhere are fields behind a dot."""
    assert expr(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("(int32)arg0", "(cast int32 arg0)"),
        ("(int32 *)arg0", "(cast int32* arg0)"),
        ("(struct a*)arg0->b", "(cast struct a* (. arg0 b))"),
        ("(struct a)arg0+123", "(+ (cast struct a arg0) 123)"),
        ("(enum e)1", "(cast enum e 1)"),
        ("(uint64 ****)arg0", "(cast uint64**** arg0)"),
        ("(int32*[4])$x", "(cast int32*[4] $x)"),
        ("(int32[4]*)$x", "(cast int32[4]* $x)"),
        ("(int8[])$x", "(cast int8[] $x)"),
        ("(string[64])$x", "(cast string<64> $x)"),
        ("(string[64]*)$x", "(cast string<64>* $x)"),
        ("(inet)$x", "(cast inet $x)"),
        ("(unsigned long long)$x", "(cast unsigned long long $x)"),
        ("(const char *)$x", "(cast char* $x)"),
        ("(uint8)(uint16)-1", "(cast uint8 (cast uint16 -1))"),
        ("(typeof($y))$x", "(cast typeof<$y> $x)"),
        ("(typeof(int32))$x", "(cast int32 $x)"),
        ("(mytype)*arg0", "(cast mytype (* arg0))"),
        ("(mytype)", "mytype"),
        ("(mytype) + 1", "(+ mytype 1)"),
        ("(pid)*tid", "(* pid tid)"),
        ("(arg1)*arg0", "(* arg1 arg0)"),
        ("(cpu) - 1", "(- cpu 1)"),
        ("(int8[$n])$x", "(cast int8[$n] $x)"),
    ],
)
def test_casts(text: str, tree: str) -> None:
    """A word in brackets is a type before something that begins an expression, unless it is a builtin."""
    assert expr(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("sizeof(int32)", "(sizeof int32)"),
        ("sizeof(typeof(int32))", "(sizeof int32)"),
        ("sizeof(typeof(arg0))", "(sizeof typeof<arg0>)"),
        ("sizeof(mytype)", "(sizeof mytype)"),
        ("sizeof(pid)", "(sizeof pid)"),
        ("sizeof(m())", "(sizeof (m()))"),
        ("sizeof(uint32*[10])", "(sizeof uint32*[10])"),
        ("sizeof(exp[0])", "(sizeof exp[0])"),
        ("sizeof((exp)[0])", "(sizeof ([] exp 0))"),
        ("sizeof((exp[0]))", "(sizeof ([] exp 0))"),
        ("sizeof({ $a = (int8)1; $a })", "(sizeof { (set $a (cast int8 1)) => $a })"),
        ("offsetof(struct Foo, bar.x)", "(offsetof struct Foo bar.x)"),
        ("offsetof(*$foo, while)", "(offsetof (* $foo) while)"),
        ("typeinfo((exp)[0])", "(typeinfo ([] exp 0))"),
        ("f(1, typeof(struct a*))", "(f() 1 (type struct a*))"),
    ],
)
def test_type_contexts(text: str, tree: str) -> None:
    """Inside sizeof and its like a bare word is a type; brackets around it make it an expression."""
    assert expr(text) == tree


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1 +", "unexpected end of file, expected an expression"),
        ("(1, 2", "expected ')'"),
        ("f(1 2)", "unexpected number '2', expected ')'"),
        ("f(,)", "unexpected ',', expected an expression"),
        ("(,)", "unexpected ',', expected an expression"),
        ("(a=1, 5)", "expected a field name"),
        ("(a=1, a=2)", "already contains the name 'a'"),
        ("5++", "need a variable or a map"),
        ("++5", "need a variable or a map"),
        ("&1", "only a variable or a map has an address"),
        ("@m[]", "unexpected ']', expected an expression"),
        ("$a[1, 2]", "only a map takes several keys"),
        ("'a'", "character literals are not supported"),
        ("typeof(int32)", "typeof(...) is a type"),
        ("$0", "parameter $0 is out of range"),
        ("$99999999999999999999", "is out of range"),
        ("offsetof(struct a, b->c)", "unexpected '->', expected ')'"),
        ("1_000_", "trailing underscore"),
        ('"a\\q"', "invalid escape character"),
    ],
)
def test_wrong_expressions(text: str, what: str) -> None:
    """One clear finding each, in the words 'unexpected ... expected ...' where that says it."""
    with pytest.raises(ScriptError) as e:
        parse_expression(Source("stdin", text))
    messages = [d.message + " ".join(d.hints) for d in e.value.diagnostics]
    assert any(what in m for m in messages), messages


def test_spans_cover_the_text() -> None:
    """A node's place is from its first to its last character: what a caret underlines."""
    text = 'f(1, $x.y) + (int32)@m[pid, "a"]'
    node = parse_expression(Source("stdin", text))
    assert (node.span.column, node.span.end_column) == (1, len(text) + 1)
    right = node.right  # type: ignore[attr-defined]
    assert text[right.span.column - 1 : right.span.end_column - 1] == '(int32)@m[pid, "a"]'
    assert text[right.operand.span.column - 1 : right.operand.span.end_column - 1] == '@m[pid, "a"]'
    assert text[right.operand.key.span.column - 1 : right.operand.key.span.end_column - 1] == 'pid, "a"'


def test_a_block_ends_its_statement() -> None:
    """Where a statement begins, what follows ``}`` is the next statement, not an operator on the block."""
    assert body("if (a) { f(); } *$p; { g() } -1;") == "(if a { (f()) }) (* $p) { (g()) } -1"
