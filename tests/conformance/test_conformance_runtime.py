"""The suite's runtime tests, one by one: needs PROBESCOPE_BPFTRACE_SRC (a checkout) and PROBESCOPE_BPFTRACE_PROGRAMS
(its built helper programs); what needs other kernels is run there by ``runtime.py``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from runtime_case import FILE, REGEX, TEXT, Case, Expectation, read, read_all
from runtime_expect import check
from runtime_known import known, reasons, sometimes
from runtime_run import SKIP, make_bench, run

CHECKOUT = os.environ.get("PROBESCOPE_BPFTRACE_SRC", "")
PROGRAMS = os.environ.get("PROBESCOPE_BPFTRACE_PROGRAMS", "")
HERE = bool(CHECKOUT and PROGRAMS)
CASES = [c for c in read_all(Path(CHECKOUT, "tests", "runtime")) if not c.needs] if HERE else []


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory):
    return make_bench(tmp_path_factory.mktemp("suite"), Path(CHECKOUT, "tests"), Path(PROGRAMS).resolve())


@pytest.mark.skipif(
    not HERE, reason="PROBESCOPE_BPFTRACE_SRC names no checkout, or PROBESCOPE_BPFTRACE_PROGRAMS nothing"
)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_runtime(case: Case, bench):
    """It passes, or is listed with a reason; not both."""
    result = run(case, bench)
    if result.status == SKIP:
        pytest.skip(result.why)
    if result.status == "pass" and case.id in sometimes(known()):
        return
    listed = reasons(known()).get(case.id)
    assert (result.status == "pass") != bool(listed), f"{result.why}\n{result.output}"


SAMPLE = """# a remark
NAME two lines
PROG begin { print(1);
       print(2); }
EXPECT 1
       2
TIMEOUT 3

NAME needs a kernel function
RUN {{BPFTRACE}} -e 'kprobe:f { }'
EXPECT_REGEX ^a+$
WILL_FAIL
"""


def test_files_are_read_by_paragraph(tmp_path: Path):
    """Lines that go on belong to the directive above, without its indentation."""
    (tmp_path / "sample").write_text(SAMPLE)
    first, second = read(tmp_path / "sample")
    assert first.one("PROG") == "begin { print(1);\n  print(2); }"
    assert first.expectations == (Expectation(TEXT, "1\n2"),)
    assert (first.needs, second.needs) == ("", "kprobe")
    assert "WILL_FAIL" in second.values


@pytest.mark.parametrize(
    ("kind", "text", "output", "met"),
    [
        (TEXT, "a.b", "x\n  a.b \n", True),
        (TEXT, "a.b", "x a.b\n", False),
        ("EXPECT_NONE", "a", "b\n", True),
        (REGEX, "^a+$", "b\naa\n", True),
        ("EXPECT_REGEX_NONE", "a", "ba", False),
        (FILE, "kept", "\n1\n2\n", True),
        (FILE, "kept", "1\n", False),
    ],
)
def test_what_is_met(kind, text, output, met, tmp_path: Path):
    """Words count as whole lines, patterns anywhere, files as a whole."""
    (tmp_path / "kept").write_text("1\n2\n")
    case = Case("f", "n", {}, (Expectation(kind, text),))
    assert (check(case, output, tmp_path) == "") == met


def test_no_difference_is_listed_twice():
    assert reasons(known("6.18.0"))
    assert reasons(known("6.12.0"))
