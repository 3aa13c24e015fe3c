"""bpftrace's own scripts and tests, from a checkout outside of this repository: PROBESCOPE_BPFTRACE_SRC names it.

Its tools, its standard library and its self tests must parse; of the programs in its parser test, those that its
authors expect to parse must parse here, and those they expect to fail must fail.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from probescope.diagnostics import Source, render_all
from probescope.errors import ScriptError
from probescope.lang.bt.parser import ParseOptions, parse
from probescope.lang.bt.printer import program_text

ROOT = os.environ.get("PROBESCOPE_BPFTRACE_SRC", "")

pytestmark = pytest.mark.skipif(not ROOT, reason="PROBESCOPE_BPFTRACE_SRC names no checkout of bpftrace")

#: Accepted here on purpose: blanks between the brackets of an attribute are C.
LENIENT = {"struct foo {} __attribute__ ( (packed)) begin {}"}


def scripts() -> list[str]:
    found = [
        n for part in ("tools", "src/stdlib", "tests") for n in glob.glob(f"{ROOT}/{part}/**/*.bt", recursive=True)
    ]
    return sorted(found)


class Anything:
    """Every header exists and is empty."""

    def read(self, path: str) -> str | None:
        return ""

    def entries(self, path: str) -> list[str] | None:
        return None

    def is_open_to_all(self, path: str) -> bool:
        return False


OPTIONS = ParseOptions(params=("foo", "bar", "baz"), files=Anything(), include_dirs=("/",))


@pytest.mark.parametrize("path", scripts() if ROOT else [])
def test_scripts_parse_and_survive_printing(path: str) -> None:
    """Every published tool is a script here, and prints as one that means the same."""
    text = Path(path).read_text()
    try:
        tree = parse(Source(path, text), OPTIONS)
    except ScriptError as e:
        pytest.fail(render_all(e.diagnostics))
    assert parse(Source(path, program_text(tree)), OPTIONS) == tree


def test_the_tools_are_there() -> None:
    assert len(scripts()) > 60


_LITERAL = re.compile(r'\s*(?:R"(\w*)\((.*?)\)\1"|"((?:[^"\\]|\\.)*)")', re.DOTALL)


def literal(text: str, at: int) -> tuple[str, int]:
    """The C++ string at ``at``, adjacent pieces joined, and the offset behind it."""
    out = ""
    while found := _LITERAL.match(text, at):
        plain = found.group(3)
        out += found.group(2) if plain is None else plain.encode("latin1", "backslashreplace").decode("unicode_escape")
        at = found.end()
    return out, at


def programs() -> Iterator[tuple[str, bool]]:
    text = Path(f"{ROOT}/tests/parser.cpp").read_text()
    for found in re.finditer(r"\b(test|test_parse_failure)\(\s*(?:bpftrace,\s*)?", text):
        program, behind = literal(text, found.end())
        if program and not re.match(r"\s*\+", text[behind:]):
            yield program, found.group(1) == "test"


def test_programs_of_the_parser_test() -> None:
    """Accepted and refused exactly as its authors expect."""
    wrong: list[str] = []
    count = 0
    for program, expected in programs():
        count += 1
        try:
            parse(Source("stdin", program), OPTIONS)
            found = True
        except ScriptError:
            found = False
        if found != expected and program not in LENIENT:
            wrong.append(f"{'refused' if expected else 'accepted'}: {program}")
    assert count > 400
    assert not wrong, "\n".join(wrong)
