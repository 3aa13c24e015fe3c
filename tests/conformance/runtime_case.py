"""Tests as files of directives: one a paragraph, a directive a line, goes on where a line begins with blanks.

    NAME  what it is called
    PROG  begin { printf("a\n"); }        or RUN and a command of the shell
    EXPECT a                              a line of the output, word for word

``read(path)`` gives the cases of a file in order. Nothing is decided here: see ``runtime_run`` and ``runtime_expect``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

TEXT, REGEX, FILE, JSON = "EXPECT", "EXPECT_REGEX", "EXPECT_FILE", "EXPECT_JSON"
EXPECTATIONS = (TEXT, "EXPECT_NONE", REGEX, "EXPECT_REGEX_NONE", FILE, JSON)
MANY_LINES = ("PROG", TEXT, REGEX)

KINDS_FOR_OTHER_KERNELS = {
    "kprobe": "kprobe kretprobe k kr",
    "fentry": "fentry fexit f fr kfunc kretfunc",
    "hardware counter": "hardware h",
}
"""What a case needs, by the kinds of probes that its text names."""
_NEEDS = {
    need: re.compile(r"(?<![\w.$@/-])(?:" + "|".join(kinds.split()) + r")[*:](?!\d)")
    for need, kinds in KINDS_FOR_OTHER_KERNELS.items()
}
_NEEDS_BY_NAME = re.compile(r"(?<!\w)(kprobe|kretprobe|fentry|fexit|hardware)(?:s|_order|_multi|_session|\b)")
_SCRIPT = re.compile(r"runtime/scripts/\S+\.bt")
_LOADED_MODULE = re.compile(r"lsmod")


class BadSuite(Exception):
    """A file that does not follow the format."""


@dataclass(frozen=True)
class Expectation:
    """``kind`` is the directive; ``text`` what it says."""

    kind: str
    text: str


@dataclass(frozen=True)
class Case:
    """``values``: the directives of one test; each may stand there several times."""

    file: str
    name: str
    values: Mapping[str, tuple[str, ...]]
    expectations: tuple[Expectation, ...]
    needs: str = field(default="", compare=False)
    """What this machine's kernel may lack: ``kprobe``, ``fentry``, ``hardware counter``, ``module``, or nothing."""

    @property
    def id(self) -> str:
        return f"{self.file}.{self.name}"

    def one(self, directive: str, default: str = "") -> str:
        found = self.values.get(directive)
        return found[-1] if found else default

    def all(self, directive: str) -> tuple[str, ...]:
        return self.values.get(directive, ())

    @property
    def exact(self) -> bool:
        """The whole output counts, from where the probes are attached."""
        return any(e.kind in {FILE, JSON} for e in self.expectations)


def read_all(suite: Path) -> list[Case]:
    """Every case of a folder, files by name. Raises BadSuite, OSError."""
    files = sorted(p for p in suite.iterdir() if p.is_file() and not p.name.startswith("."))
    return [case for path in files for case in read(path)]


def read(path: Path) -> Iterator[Case]:
    paragraph: list[str] = []
    for line in [*path.read_text().split("\n"), ""]:
        if line.startswith("#"):
            continue
        if line:
            paragraph.append(line)
        elif paragraph:
            yield _case(path, paragraph)
            paragraph = []


def _case(path: Path, lines: list[str]) -> Case:
    directives: list[list[str]] = []
    for line in lines:
        goes_on = directives and line[: len(directives[-1][0]) + 1].isspace()
        if goes_on and directives[-1][0] in MANY_LINES:
            directives[-1][1] += "\n" + line[len(directives[-1][0]) + 1 :]
            continue
        words = line.strip().split(maxsplit=1)
        if words:
            directives.append([words[0], words[1] if len(words) > 1 else ""])
    values: dict[str, tuple[str, ...]] = {}
    for directive, text in directives:
        values[directive] = (*values.get(directive, ()), text)
    if not ("NAME" in values and ("RUN" in values) != ("PROG" in values)):
        raise BadSuite(f"{path}: a test needs NAME, and one of RUN and PROG: {lines[0]}")
    expected = tuple(Expectation(d, t) for d, t in directives if d in EXPECTATIONS)
    return Case(path.name, values["NAME"][0], values, expected, _needs(path, values))


def _needs(path: Path, values: Mapping[str, tuple[str, ...]]) -> str:
    """By the probes in the program, in the scripts that it runs, and in what it says that it requires."""
    if any(_LOADED_MODULE.search(r) for r in values.get("REQUIRES", ())):
        return "module"
    text = " ".join((*values.get("RUN", ()), *values.get("PROG", ())))
    scripts = [path.parent.parent / name for name in _SCRIPT.findall(text)]
    whole = " ".join([text, *(s.read_text() for s in scripts if s.exists())])
    for need, kinds in _NEEDS.items():
        if kinds.search(whole):
            return need
    for feature in values.get("REQUIRES_FEATURE", ()):
        wanted = feature.split()
        if "fentry" in wanted:
            return "fentry"
        if "kprobe_multi" in wanted or "kprobe_session" in wanted:
            return "kprobe"
    said = " ".join(t for e in EXPECTATIONS for t in values.get(e, ()) if re.match(r"\w+:", t))
    named = _NEEDS_BY_NAME.search(re.sub(r"\"[^\"]*\"", "", text) + " " + said)
    if named:
        return {"kretprobe": "kprobe", "fexit": "fentry", "hardware": "hardware counter"}.get(named[1], named[1])
    return ""
