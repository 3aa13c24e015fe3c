"""The programs in bpftrace's own unit tests are accepted and refused here as there, and refused at the same line.

PROBESCOPE_BPFTRACE_SRC names a checkout, of which nothing is kept here. What is decided otherwise is listed with its
reason in ``unit_differences.toml``. What the numbers are: ``python tests/support/conformance_compare.py CHECKOUT``.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import conformance_types
import pytest
from conformance_compare import Result, judge, results, says
from conformance_cpp import Walker
from conformance_host import Mocks, compiler, environment
from conformance_layouts import facts, known
from conformance_programs import SUITES, folded_values, warned

from probescope.diagnostics import Source
from probescope.lang.bt.compiler import compile_script

ROOT = os.environ.get("PROBESCOPE_BPFTRACE_SRC", "")
HERE = Path(__file__).resolve().parent

needs_checkout = pytest.mark.skipif(not ROOT, reason="PROBESCOPE_BPFTRACE_SRC names no checkout of bpftrace")
needs_compiler = pytest.mark.skipif(compiler() is None, reason="needs gcc: BTF of the types in the checkout")

#: Programs that each suite has at least: what the reader lost would not be noticed otherwise.
LEAST = {"parser": 540, "type_checker": 1700, "pre_type_check": 200, "type_resolver": 200, "fold_literals": 370}


@dataclass
class Known:
    """One entry of the list; ``met`` by which suites."""

    suites: list[str]
    programs: str
    reason: str
    met: set[str] = field(default_factory=set)

    def covers(self, r: Result) -> bool:
        found = r.case.suite in self.suites and re.search(self.programs, r.case.program, re.DOTALL) is not None
        if found:
            self.met.add(r.case.suite)
        return found


def differences(kind: str) -> list[Known]:
    table = tomllib.loads((HERE / "unit_differences.toml").read_text())
    return [Known(**entry) for entry in table.get(kind, [])]


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Result]]:
    mocks = Mocks(ROOT, tmp_path_factory.mktemp("types"))
    return {suite: results(ROOT, suite, mocks) for suite in SUITES}


def told(r: Result) -> str:
    said = "; ".join(d.message for d in r.errors) or "was accepted"
    return (
        f"{r.case.suite}.cpp:{r.case.line}: {r.case.program}\n    expected {r.case.place}: {r.case.message}\n    {said}"
    )


def unlisted(wrong: Iterator[Result], known: list[Known]) -> list[str]:
    """What no entry covers, and entries that cover nothing."""
    out = [told(r) for r in wrong if not any(k.covers(r) for k in known)]
    out += [f"nothing differs any more: {k.programs} in {s}" for k in known for s in k.suites if s not in k.met]
    return out


@needs_checkout
@needs_compiler
def test_the_same_programs_are_accepted_and_refused(found: dict[str, list[Result]]) -> None:
    """Protects what "runs unchanged" means, in 3,400 details. (Anything but an error for users fails by itself.)"""
    for suite, count in LEAST.items():
        assert len(found[suite]) >= count
    wrong = (r for each in found.values() for r in each if not r.agrees)
    assert not (bad := unlisted(wrong, differences("decision"))), "\n".join(bad)


@needs_checkout
@needs_compiler
def test_refused_programs_are_refused_at_the_same_line(found: dict[str, list[Result]]) -> None:
    """Editors and people jump to the line."""
    wrong = (r for each in found.values() for r in each if r.both_refuse and not r.same_line)
    assert not (bad := unlisted(wrong, differences("line"))), "\n".join(bad)


@needs_checkout
@needs_compiler
@pytest.mark.parametrize(("what", "least"), [("same_column", 0.92), ("same_meaning", 0.92)])
def test_messages_point_at_the_same_words_and_say_the_same(
    found: dict[str, list[Result]], what: str, least: float
) -> None:
    """Columns are narrower here now and then, and words are our own; most agree all the same."""
    asked = [r for each in found.values() for r in each if r.both_refuse and (r.case.place or what != "same_column")]
    assert len(asked) > 200
    assert sum(getattr(r, what) for r in asked) >= least * len(asked)


@needs_checkout
@needs_compiler
def test_the_same_warnings_are_given(tmp_path: Path) -> None:
    """And none where there is none: a warning too many teaches people to read over them."""
    mocks = Mocks(ROOT, tmp_path)
    known_ones = differences("warning")
    cases = list(warned(ROOT))
    wrong = []
    for case in cases:
        r = judge(case, mocks)
        given = says([d for d in r.found if d.severity == "warning"], case.message)
        if given != case.refused and not any(re.search(k.programs, case.program) for k in known_ones):
            wrong.append(f"line {case.line}: {case.program}: {'none' if case.refused else 'a warning'}: {case.message}")
    assert len(cases) > 90
    assert wrong == []


@needs_checkout
@needs_compiler
def test_types_are_inferred_as_there(tmp_path: Path) -> None:
    """What a variable, a key or a value becomes decides what is printed: widths, signs, sizes of strings."""
    env = environment(Mocks(ROOT, tmp_path))
    expected = list(conformance_types.inferred(ROOT))
    wrong = []
    for fact in expected:
        found = conformance_types.known(fact, compile_script(Source("stdin", fact.program), env).program)
        if found != fact.type:
            wrong.append(f"line {fact.line}: {fact.program}: {fact.what} {fact.name} is {found}, not {fact.type}")
    assert len(expected) > 200
    assert wrong == []


@needs_checkout
@needs_compiler
def test_constant_expressions_have_the_same_values(tmp_path: Path) -> None:
    """Known while compiling, as `comptime` needs it; of variables nothing is known there."""
    env = environment(Mocks(ROOT, tmp_path))
    count = 0
    wrong = []
    for line, text, value in folded_values(ROOT):
        if "$x" in text:
            continue
        count += 1
        program = compile_script(Source("stdin", f"begin {{ print({text}); }}"), env).program
        found = program.clauses[0].body[-1].values[0]  # type: ignore[attr-defined]
        got = getattr(found, "value", found)
        if (got.decode() if isinstance(got, bytes) else got) != value:
            wrong.append(f"line {line}: {text} is {got}, not {value}")
    assert count > 300
    assert wrong == []


@needs_checkout
@needs_compiler
def test_c_declarations_are_laid_out_as_there(tmp_path: Path) -> None:
    """Sizes, offsets, bit fields, values of enums: a wrong one is a wrong number shown to somebody."""
    mocks = Mocks(ROOT, tmp_path)
    known_ones = differences("layout")
    count = 0
    wrong = []
    for fact in facts(ROOT):
        count += 1
        found = known(fact, mocks.btf.types)
        entry = next((k for k in known_ones if re.search(k.programs, fact.declarations, re.DOTALL)), None)
        if found != fact.value and entry is None:
            wrong.append(f"line {fact.line}: {fact.what} of {fact.owner} {fact.member}: {found}, not {fact.value}")
    assert count > 150
    assert wrong == []


def test_the_reader_knows_the_cpp_that_it_meets() -> None:
    """Strings of all kinds, joined, in variables and in loops; conditions of the preprocessor; settings."""
    text = r"""
#include <x.h>
void test(const std::string &input) { }
#ifdef SOME
TEST(parser, first) {
  test("a" "b\n\x41\101\"");  // test("no")
  /* test("no"); */
  test(R"(raw "text" \n)", Error{ R"(
stdin:1:2-3: ERROR: wrong
)" });
#else
  test("not this");
#endif
  const std::string head = "x = ";
  std::string ops[] = { "+", "-" };
  for (std::string op : ops) { test(head + "1 " + op + " 2", NoFeatures::Enable); }
  for (const auto &[a, b] : pairs) { test(a); }
  other.test("no");
}
TEST_F(fixture, second) {
  auto bpftrace = get();
  bpftrace->add_param("one");
  { test(*bpftrace, std::string("in") + "side"); }
}
"""
    calls = list(Walker(text, frozenset({"test"})).calls())
    assert [c.strings[0] for c in calls[:4]] == ['ab\nAA"', 'raw "text" \\n', "x = 1 + 2", "x = 1 - 2"]
    assert calls[1].strings[1] == ["\nstdin:1:2-3: ERROR: wrong\n"]
    assert [c.line for c in calls] == [6, 8, 16, 16, 23]
    last = calls[-1]
    assert (last.fixture, last.test, last.params, last.strings[1]) == ("fixture", "second", ("one",), "inside")
