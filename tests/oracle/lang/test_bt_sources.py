"""bpftrace's own scripts, from a checkout outside of this repository: PROBESCOPE_BPFTRACE_SRC names it.

Its tools, its standard library and its self tests must parse. (The programs in its unit tests: tests/conformance.)
"""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest

from probescope.diagnostics import Source, render_all
from probescope.errors import ScriptError
from probescope.lang.bt.format import formatted
from probescope.lang.bt.parser import ParseOptions, parse
from probescope.lang.bt.printer import program_text

ROOT = os.environ.get("PROBESCOPE_BPFTRACE_SRC", "")

pytestmark = pytest.mark.skipif(not ROOT, reason="PROBESCOPE_BPFTRACE_SRC names no checkout of bpftrace")


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


@pytest.mark.parametrize("path", scripts() if ROOT else [])
def test_scripts_survive_formatting(path: str) -> None:
    """Another layout, the same tree; all comments; a second run changes nothing."""
    text = Path(path).read_text()
    made = formatted(Source(path, text))
    assert parse(Source(path, made), OPTIONS) == parse(Source(path, text), OPTIONS)
    assert formatted(Source(path, made)) == made


def test_the_tools_are_there() -> None:
    assert len(scripts()) > 60
