"""Tokens and literals: what each literal is worth, and where each token stands."""

from __future__ import annotations

import pytest

from probescope.diagnostics import Source
from probescope.errors import ScriptError
from probescope.lang.bt import literals
from probescope.lang.bt.lexer import Lexer, Token
from probescope.lang.bt.parser import parse


def tokens(text: str) -> list[Token]:
    lexer = Lexer(Source("stdin", text))
    out: list[Token] = []
    while (token := lexer.token(len(out))).kind != "end":
        out.append(token)
    return out


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ('$x @m @ $1 $# pid 0x1f "a"', "var map map param count id int str"),
        ("a<<=b>>=c->d++ --e&&f||g", "id <<= id >>= id -> id ++ -- id && id || id"),
        ("0..10 .0 ...", "int .. int . int ..."),
        ("a/**/b//c\nd", "id id id"),
        ("/* a * b ** / */x", "id"),
        ("'a'", "char"),
        ('"a\\"b" "', "str bad"),
        ("a /* b", "id bad"),
        ("`", "bad"),
        ("$ x", "bad id"),
    ],
)
def test_kinds(text: str, kinds: str) -> None:
    """Longest match wins, comments vanish, broken text becomes tokens that only the parser complains about."""
    assert " ".join(t.kind for t in tokens(text)) == kinds


def test_places_count_lines_and_columns_from_one() -> None:
    """Diagnostics point at the right place after comments, tabs and blank lines; a tab is one column."""
    found = [(t.text, t.line, t.column, t.end) for t in tokens("a\n\n  bb /* x\n y */ c\t$dd")]
    assert found == [("a", 1, 1, 2), ("bb", 3, 3, 5), ("c", 4, 7, 8), ("$dd", 4, 9, 12)]


def test_resume_reads_on_behind_a_token() -> None:
    """Raw text (attach points) begins exactly behind the last token that was used, on the right line."""
    lexer = Lexer(Source("stdin", "{ a\n } k:f+1 { b }"))
    assert lexer.token(2).text == "}"
    lexer.resume(3)
    assert lexer.text[lexer.skip_layout() :] == "k:f+1 { b }"
    raw = lexer.raw(lexer.pos + 5)
    assert (raw.text, raw.line, raw.column, raw.end) == ("k:f+1", 2, 4, 9)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("123", 123),
        ("1_000_000", 1_000_000),
        ("0x10", 16),
        ("0XfF", 255),
        ("0x5e5", 0x5E5),
        ("0b101", 5),
        ("0777", 0o777),
        ("1e6", 1_000_000),
        ("5E9", 5_000_000_000),
        ("1e1_0", 10**10),
        ("18446744073709551615", 2**64 - 1),
        ("4294967295u", 2**32 - 1),
        ("7UL", 7),
        ("7llu", 7),
        ("9223372036854775807LL", 2**63 - 1),
        ("1ns", 1),
        ("1us", 1_000),
        ("3ms", 3_000_000),
        ("1s", 10**9),
        ("1m", 60 * 10**9),
        ("1h", 3600 * 10**9),
        ("1d", 86_400 * 10**9),
    ],
)
def test_integers(text: str, value: int) -> None:
    """Every notation of the manual has the value that it says; durations are nanoseconds."""
    literals.check_underscores(text)
    assert literals.integer(text) == value


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("12e4", "coefficient part"),
        ("1e21", "overflow"),
        ("18446744073709551616", "overflow"),
        ("4294967296u", "overflow"),
        ("9223372036854775808l", "overflow"),
        ("10000000000m", "overflow"),
        ("5e", "invalid trailing bytes"),
        ("12abc", "invalid trailing bytes"),
        ("1M", "invalid trailing bytes"),
        ("1ulll", "invalid integer suffix"),
        ("0x", "invalid integer"),
        ("9" * 5000, "overflow"),
    ],
)
def test_wrong_integers(text: str, what: str) -> None:
    """A number that does not fit, or trails nonsense, is an error and never another number."""
    with pytest.raises(literals.LiteralError, match=what):
        literals.integer(text)


@pytest.mark.parametrize("text", ["1_", "1__0", "1e1_1_", "1_1_e5"])
def test_trailing_underscores(text: str) -> None:
    with pytest.raises(literals.LiteralError, match="underscore"):
        literals.check_underscores(text)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("plain", "plain"),
        (r"a\nb\tc\rd\\e\"f", 'a\nb\tc\rd\\e"f'),
        (r"oct\1009hex\x309", "oct@9hex09"),
        (r"\0", "\0"),
        (r"\x41\x4", "A\x04"),
        (r"\xc3\xa9", "é"),
        (r"\xff", "\udcff"),
        ("é\\n", "é\n"),
    ],
)
def test_escapes(body: str, value: str) -> None:
    """Escapes give bytes; what is UTF-8 then is text, any other byte a lone surrogate that encodes back to it."""
    assert literals.unescape(body) == value
    assert literals.unescape(literals.quote(value)[1:-1]) == value


@pytest.mark.parametrize(
    ("body", "what", "place"),
    [(r"\777", "octal", (0, 4)), (r"a\xg", "hex", (1, 3)), (r"ab\q", "escape character", (2, 4))],
)
def test_wrong_escapes(body: str, what: str, place: tuple[int, int]) -> None:
    """The error names the escape and its place inside the literal."""
    with pytest.raises(literals.LiteralError, match=what) as e:
        literals.unescape(body)
    assert (e.value.start, e.value.end) == place


def test_a_line_end_may_stand_in_a_string():
    """Messages of several lines are written so; what follows has its right place, and a directive in it is text."""
    text = 'begin { printf("a\n#define b\n"); $x = ; }'
    with pytest.raises(ScriptError) as e:
        parse(Source("stdin", text))
    (finding,) = e.value.diagnostics
    assert (finding.span.line, finding.span.column) == (3, 10)
    call = parse(Source("stdin", text.replace("$x = ;", ""))).probes[0].body.statements[0]
    assert call.expr.args[0].value == "a\n#define b\n"
