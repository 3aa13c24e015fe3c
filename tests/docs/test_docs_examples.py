"""Commands in the documentation are executed, so that they stay true.

A block that opens with ``console run`` holds commands (lines that start with ``$ ``) and what each prints. ``...``
stands for any text within a line, and on a line of its own for any number of lines. ``console run root`` needs root.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from probescope.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```console run( root)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Example:
    page: str
    line: int
    root: bool
    command: str
    expected: str


def examples_of(page: str, text: str) -> list[Example]:
    found = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        root = bool(block[1])
        for part in re.split(r"^(?=\$ )", block[2], flags=re.MULTILINE):
            if part.startswith("$ "):
                command, _, expected = part[2:].partition("\n")
                found.append(Example(page, line, root, command, expected))
            line += part.count("\n")
    return found


def pattern(expected: str) -> re.Pattern[str]:
    """Blanks in a line match any number of blanks: columns move with the width of what stands in them."""
    lines = []
    for line in expected.splitlines():
        words = [re.escape(word).replace(r"\.\.\.", ".*") for word in line.split()]
        lines.append("(?:.*\n)*" if line.strip() == "..." else r"[ \t]*" + r"[ \t]+".join(words) + r"[ \t]*\n")
    return re.compile("".join(lines))


EXAMPLES = [e for page in PAGES for e in examples_of(str(page.relative_to(ROOT)), page.read_text())]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.page}:{e.line}")
def test_example_prints_what_the_page_says(example):
    """Protects a reader from copying a command that no longer works."""
    if example.root and os.geteuid() != 0:
        pytest.skip("needs root")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", example.command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert pattern(example.expected).fullmatch(done.stdout), f"$ {example.command}\n{done.stdout}"


def test_the_reader_of_examples_finds_command_and_output():
    """Protects the test above from silently executing nothing."""
    text = "x\n```console run root\n$ echo a b\na ...\n$ true\n```\n```console\n$ not this\n```\n"
    found = examples_of("p", text)
    assert [(e.line, e.root, e.command, e.expected) for e in found] == [
        (3, True, "echo a b", "a ...\n"),
        (5, True, "true", ""),
    ]
    assert pattern("a ...\n...\nz\n").fullmatch("a b\nq\nq\nz\n")
    assert not pattern("a ...\n").fullmatch("b\n")


def test_every_command_is_in_the_readme():
    """A command that nobody is told of does not exist."""
    text = (ROOT / "README.md").read_text()
    missing = [name for name in COMMANDS if f"`probescope {name}" not in text]
    assert not missing


def test_every_decision_is_listed():
    folder = ROOT / "docs" / "decisions"
    listed = set(LINK.findall((folder / "README.md").read_text()))
    assert {page.name for page in folder.glob("[0-9]*.md")} == listed


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
