"""Results as a table, as a line to keep, and as the page docs/conformance.md."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from runtime_known import known

PASS, FAIL, SKIP = "pass", "fail", "skip"


@dataclass(frozen=True)
class Row:
    """What became of a test. ``known``: the reason why it is expected to fail; ``sometimes``: it may pass as well."""

    file: str
    name: str
    needs: str
    status: str
    why: str = ""
    known: str = ""
    sometimes: bool = False

    @property
    def id(self) -> str:
        return f"{self.file}.{self.name}"

    @property
    def surprising(self) -> bool:
        """Failed without being listed, or listed and passed."""
        if self.status == SKIP or (self.sometimes and self.status == PASS):
            return False
        return (self.status == FAIL) != bool(self.known)


@dataclass(frozen=True)
class Run:
    release: str
    rows: tuple[Row, ...]

    @classmethod
    def read(cls, path: str) -> Run:
        """From what ``text`` gave; in a log, from the line that begins with RESULTS."""
        text = Path(path).read_text()
        line = next((x for x in text.splitlines() if x.startswith("RESULTS ")), text).removeprefix("RESULTS ")
        found = json.loads(line)
        return cls(found["release"], tuple(Row(**row) for row in found["rows"]))

    def text(self) -> str:
        return json.dumps({"release": self.release, "rows": [asdict(r) for r in self.rows]})

    def table(self) -> str:
        lines = ["| file | passed | of | skipped |", "|---|---:|---:|---:|"]
        files = sorted({r.file for r in self.rows})
        lines += [_line(name, [r for r in self.rows if r.file == name]) for name in files]
        lines.append(_line("**all**", self.rows))
        return "\n".join(lines) + "\n"


def _line(name: str, rows: Iterable[Row]) -> str:
    rows = list(rows)
    ran = [r for r in rows if r.status != SKIP]
    return f"| {name} | {sum(r.status == PASS for r in ran)} | {len(ran)} | {len(rows) - len(ran)} |"


def share(rows: Iterable[Row]) -> str:
    ran = [r for r in rows if r.status != SKIP]
    passed = sum(r.status == PASS for r in ran)
    return f"{passed} of {len(ran)} ({100 * passed / max(len(ran), 1):.1f} %)"


HEAD = """# Conformance

bpftrace has a suite of runtime tests and self tests. `probescope run` is held to it, at commit e1b7c393 of bpftrace:

    python tests/conformance/runtime.py --suite BPFTRACE/tests --programs DIRECTORY

runs every test through the command line, with the suite's own helper programs (which have to be built first:
`DIRECTORY/testprogs`, `DIRECTORY/testlibs`). This page is written by it (`--report`). What differs is listed in
`tests/conformance/runtime_known.toml`, each with its reason: a test that fails and is not listed is an error, and so is
one that is listed and passes.
"""


def write(page: Path, runs: list[Run]) -> None:
    page.write_text("\n".join([HEAD, *map(_section, runs)]))


def _section(run: Run) -> str:
    own = [r for r in run.rows if not r.needs and r.file != "self"]
    other = [r for r in run.rows if r.needs]
    selves = [r for r in run.rows if r.file == "self"]
    lines = [f"## Linux {'.'.join(run.release.split('.')[:2])}", ""]
    if own:
        lines.append(f"- needs no kprobe, fentry, hardware counter or module: {share(own)}")
    if selves:
        lines.append(f"- self tests: {share(selves)}")
    if other and any(r.status == PASS for r in other):
        lines.append(f"- needs one of them: {share(other)}" + ("" if own else ", in the files of this table"))
    measured = [r for r in run.rows if not r.needs] if own else list(run.rows)
    lines += ["", Run(run.release, tuple(measured)).table(), *_differences(run, measured), *_skips(measured)]
    return "\n".join(lines)


def _differences(run: Run, rows: list[Row]) -> list[str]:
    failed = {r.id for r in rows if r.status == FAIL}
    lines = ["### What differs", ""]
    for row in known(run.release):
        here = [t for t in row.tests if t in failed]
        if here:
            lines.append(_item(row.reason))
            lines += [f"    - `{t}`" for t in here]
    return [*lines, ""]


def _item(text: str) -> str:
    return textwrap.fill(text, width=118, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)


def _skips(rows: list[Row]) -> list[str]:
    skipped: dict[str, list[str]] = {}
    for row in rows:
        if row.status == SKIP:
            skipped.setdefault(row.why, []).append(row.id)
    if not skipped:
        return []
    lines = ["### What is skipped", ""]
    for why, names in sorted(skipped.items()):
        lines.append(_item(f"`{why}`: " + ", ".join(f"`{n}`" for n in names)))
    return [*lines, ""]
