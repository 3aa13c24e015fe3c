"""Parameters of the command line inside a script."""

from __future__ import annotations

import pytest
from lang_shape import program, shape

from probescope.errors import ScriptError, UsageError
from probescope.lang.bt.params import Option, Params, resolve


def resolved(text: str, *words: str) -> str:
    before, dash, after = list(words), "--", []
    if dash in words:
        cut = words.index(dash)
        before, after = list(words[:cut]), list(words[cut + 1 :])
    made, _, _ = resolve(program(f"begin {{ f({text}); }}"), Params.of(before, after))
    return shape(made.probes[0].body.statements[0]).removeprefix("(f() ").removesuffix(")")


@pytest.mark.parametrize(
    ("text", "words", "tree"),
    [
        ("$1", ["42"], "42"),
        ("$1", ["hello"], "'hello'"),
        ("$1", ["-5"], "-5"),
        ("$1, $2, $3", ["123", "0775", "0x123"], "123 509 291"),
        ("$1", ["0xffffffffffffffff"], "18446744073709551615"),
        ("$1", ["1_000"], "1000"),
        ("$1", ["5s"], "5000000000"),
        ("$1", ["-99999999999999999999"], "'-99999999999999999999'"),
        ("$2", ["1"], "0"),
        ("$#", ["a", "b"], "2"),
        ("str($1)", ["42"], "(str() '42')"),
        ("str($1)", [], "(str() '')"),
        ("str($1, 5)", ["hello"], "(str() 'hello' 5)"),
        ("str($1 + 1)", ["hello"], "(str() 'ello')"),
        ("str($1 + 5)", ["hello"], "(str() '')"),
        ("strncmp(str($1), str($2), $3)", ["a", "b", "3"], "(strncmp() (str() 'a') (str() 'b') 3)"),
        ("($1, $2)", ["p1", "--", "20"], "(tuple 'p1' 20)"),
        ('getopt("aa", 10), getopt("bb", -1)', ["--", "--aa=20", "--bb=5"], "20 5"),
        ('getopt("cc", "hello")', ["--", "--cc=bye"], "'bye'"),
        ('getopt("dd"), getopt("ee"), getopt("ff", true)', ["--", "--dd", "--ff=0"], "true false false"),
        ('getopt("aa", 10)', [], "10"),
        ('getopt("aa", 1, "what it is")', ["--", "--aa=0x10"], "16"),
        ("$1, $2", ["a", "--", "--x=1", "b", "--y"], ""),
    ],
)
def test_values(text: str, words: list[str], tree: str) -> None:
    """Numbers where they read as such, strings inside str(); named ones have the type of their default."""
    if not tree:
        with pytest.raises(UsageError, match="unexpected program command line options: --x, --y"):
            resolved(text, *words)
        return
    assert resolved(text, *words) == tree


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("getopt(10)", "First argument to 'getopt' must be a string literal"),
        ('getopt("a", $x)', "must be a literal"),
        ('getopt("a", banana)', "must be a literal"),
        ('getopt("a", 1), getopt("a", "x")', "has another default elsewhere: 1"),
        ('getopt("a", 1), getopt("a", true)', "has another default elsewhere: 1"),
        ('getopt("a", 1, "b"), getopt("a", 1, "c")', "has another description elsewhere"),
        ("str($1 + $x)", "only a constant that is not negative"),
        ("str($1 + -1)", "only a constant that is not negative"),
    ],
)
def test_wrong_uses(text: str, what: str) -> None:
    with pytest.raises(ScriptError) as e:
        resolved(text, "hello")
    assert what in e.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--aa"], "--aa needs a value"),
        (["--aa=False"], "--aa invalid integer .value: False"),
        (["--bb=2"], "--bb invalid boolean .value: 2"),
        (["--cc=1"], "unexpected program command line options: --cc"),
    ],
)
def test_wrong_words_on_the_command_line(words: list[str], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        resolved('getopt("aa", 1), getopt("bb")', "--", *words)


def test_options_are_known_for_help() -> None:
    made = program('begin { f(getopt("n", 5, "how many"), getopt("quiet")); }')
    _, options, warnings = resolve(made, Params())
    assert options == [Option("n", "int", 5, "how many"), Option("quiet", "bool", default=False)]
    assert warnings == []


def test_a_missing_parameter_is_told() -> None:
    _, _, warnings = resolve(program("begin { f($1); }"), Params())
    assert [w.message for w in warnings] == ["Positional parameter $1 is empty or not provided"]
