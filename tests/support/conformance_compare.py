"""What probescope says of a program, beside what is expected of it.

Run by itself it prints a table: ``python tests/support/conformance_compare.py CHECKOUT [SUITE...]``; with ``-v`` every
difference as well, with ``--page`` the page docs/conformance-programs.md.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from conformance_host import Mocks, environment
from conformance_programs import SUITES, Case, cases

from probescope.diagnostics import Diagnostic, Source
from probescope.errors import ScriptError, UsageError
from probescope.ir.rules import check
from probescope.lang.bt.compiler import compile_script
from probescope.lang.bt.parser import ParseOptions, parse

_SMALL = frozenset(
    "a an the is are of for to in at on by be and or not it its this that with from can used use".split()
)


@dataclass(frozen=True)
class Result:
    """``found``: everything said of the program; ``refused``: whether it was."""

    case: Case
    refused: bool
    found: tuple[Diagnostic, ...] = ()

    @property
    def errors(self) -> list[Diagnostic]:
        return [d for d in self.found if d.severity == "error"]

    @property
    def agrees(self) -> bool:
        return self.case.refused in (None, self.refused)

    @property
    def both_refuse(self) -> bool:
        return bool(self.case.refused) and self.refused

    def _nearest(self) -> Diagnostic | None:
        """The error at the expected line, else the first."""
        place = self.case.place
        at_line = [d for d in self.errors if place and d.span.line == place[0]]
        at_column = [d for d in at_line if place and d.span.column == place[1]]
        return next(iter(at_column or at_line or self.errors), None)

    @property
    def same_line(self) -> bool:
        d, place = self._nearest(), self.case.place
        return place is None or (d is not None and d.span.line == place[0])

    @property
    def same_column(self) -> bool:
        d, place = self._nearest(), self.case.place
        if place is None or not place[1] or d is None:
            return self.same_line
        return (d.span.line, d.span.column) == place[:2]

    @property
    def same_meaning(self) -> bool:
        """Half of the words that matter, of the shorter message, are in the other one."""
        if not self.case.message:
            return True
        theirs = _words(self.case.message)
        return any(_alike(theirs, _words(" ".join((d.message, *d.hints)))) for d in self.errors)


def says(found: Iterable[Diagnostic], message: str) -> bool:
    """Whether one of the findings says the same."""
    return any(_alike(_words(message), _words(d.message)) for d in found)


def _words(message: str) -> set[str]:
    return {w for w in re.findall(r"[a-z_0-9]+|[^\sa-z_0-9'\".,:;()]+", message.lower()) if w not in _SMALL}


def _alike(a: set[str], b: set[str]) -> bool:
    return len(a & b) * 2 >= min(len(a), len(b))


def judge(case: Case, mocks: Mocks) -> Result:
    """Anything but an error meant for users comes through."""
    source = Source("stdin", case.program)
    try:
        if case.stage == "parse":
            parse(source, _parse_options(case))
            return Result(case, False)
        mode = "bench" if "bench:" in case.program.lower() else "test"
        env = environment(mocks, params=case.params, unsafe=case.unsafe, mode=mode)
        done = compile_script(source, env)
        check(done.program)
        return Result(case, False, done.warnings)
    except ScriptError as e:
        return _refused(case, e)
    except UsageError as e:
        return Result(case, True, (Diagnostic("error", str(e)),))


def _refused(case: Case, e: ScriptError) -> Result:
    """That a script has no probes is found there by a later step, which no test of these runs."""
    found = tuple(d for d in e.diagnostics if d.message != "the script has no probes")
    return Result(case, any(d.severity == "error" for d in found), found)


class _EmptyHeaders:
    """Every header exists and is empty."""

    def read(self, path: str) -> str | None:
        return ""

    def entries(self, path: str) -> list[str] | None:
        return None

    def is_open_to_all(self, path: str) -> bool:
        return False


def _parse_options(case: Case) -> ParseOptions:
    return ParseOptions(params=case.params, files=_EmptyHeaders(), include_dirs=("/",))


def results(root: str, suite: str, mocks: Mocks) -> list[Result]:
    return [judge(c, mocks) for c in cases(root, suite)]


# --- the table --------------------------------------------------------------------------------------------------------


def table(found: dict[str, list[Result]]) -> str:
    lines = ["| suite | programs | same decision | refused by both | same line | same column | same meaning |"]
    lines.append("|---|---|---|---|---|---|---|")
    for suite, results in found.items():
        both = [r for r in results if r.both_refuse]
        placed = [r for r in both if r.case.place]
        told = [r for r in both if r.case.message]
        lines.append(
            f"| {suite} | {len(results)} | {_share(results, 'agrees')} | {len(both)} | {_share(placed, 'same_line')}"
            f" | {_share(placed, 'same_column')} | {_share(told, 'same_meaning')} |"
        )
    return "\n".join(lines)


def _share(results: Sequence[Result], what: str) -> str:
    good = sum(getattr(r, what) for r in results)
    return f"{good} of {len(results)} ({100 * good / len(results):.1f}%)" if results else "-"


def _differences(results: Iterable[Result]) -> Iterable[str]:
    for r in results:
        kinds = [k for k in ("same_line", "same_column", "same_meaning") if r.both_refuse and not getattr(r, k)]
        if not r.agrees:
            kinds = ["accepted" if r.case.refused else "refused"]
        if kinds:
            yield f"{r.case.suite}:{r.case.line}: {','.join(kinds)}: {r.case.program}"
            yield f"   expected {r.case.place} {r.case.message}"
            yield from (f"   found {d.span.line}:{d.span.column}-{d.span.end_column} {d.message}" for d in r.errors[:3])


PAGE = """# The programs of bpftrace's unit tests

bpftrace's own tests of its parser, its types and its other passes hold some 3,400 programs, each with what is
expected of it. `tests/conformance/test_conformance_programs.py` reads them out of a checkout
(`PROBESCOPE_BPFTRACE_SRC`; nothing of it is kept here) and compares: is the program accepted or refused as there, is
the error at the same line, at the same column, does it say the same (half of the words that matter). The kernel that
they imitate is imitated here from the same files.

{table}

Held to the same tests: the values of 320 constant expressions, the types that are inferred for 204 variables, keys and
values, the warnings of 104 programs (given or not), and 160 sizes, offsets and bit fields of C structs. All agree but
for what `unit_differences.toml` lists.

A test that stops before the step that would refuse its program expects it to be accepted: such a program counts as
decided otherwise. What is decided otherwise, with the reason for each:

{reasons}
"""


def page(found: dict[str, list[Result]], differences: str) -> str:
    """The text of docs/conformance-programs.md; ``differences``: of the list of those that are known."""
    import tomllib

    reasons: dict[str, set[str]] = {}
    for entry in tomllib.loads(differences)["decision"]:
        reasons.setdefault(entry["reason"], set()).update(entry["suites"])
    lines = ["| reason | suites |", "|---|---|"]
    lines += [f"| {reason} | {', '.join(sorted(suites))} |" for reason, suites in reasons.items()]
    return PAGE.format(table=table(found), reasons="\n".join(lines))


def main(args: list[str]) -> None:
    verbose = "-v" in args
    root, *suites = [a for a in args if not a.startswith("-")]
    with tempfile.TemporaryDirectory() as folder:
        mocks = Mocks(root, Path(folder))
        found = {suite: results(root, suite, mocks) for suite in suites or SUITES}
    if "--page" in args:
        known = Path(__file__).parents[1] / "conformance" / "unit_differences.toml"
        print(page(found, known.read_text()), end="")
        return
    print(table(found))
    if verbose:
        for each in found.values():
            print("\n".join(_differences(each)))


if __name__ == "__main__":
    main(sys.argv[1:])
