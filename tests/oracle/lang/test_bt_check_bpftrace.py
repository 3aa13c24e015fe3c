"""The programs of bpftrace's test of its type checker are allowed and refused here as there.

PROBESCOPE_BPFTRACE_SRC names a checkout. Where probescope decides otherwise, the reason is written down.
"""

from __future__ import annotations

import os
import re

import pytest
from bt_typechecker import Case, cases, host

from probescope.diagnostics import Source
from probescope.errors import UsageError
from probescope.ir.rules import check
from probescope.lang.bt.compiler import compile_text

ROOT = os.environ.get("PROBESCOPE_BPFTRACE_SRC", "")

pytestmark = pytest.mark.skipif(not ROOT, reason="PROBESCOPE_BPFTRACE_SRC names no checkout of bpftrace")

#: What is decided otherwise: why, and the programs by a pattern.
OTHERWISE = {
    "a script without probes is an error": r"\A\s*(fn|import)\b[^:]*\(.*\}\s*\Z",
    "nobody reads what unwatch would stop": r"\bunwatch\(",
    "the address of a variable or map is not to be had": r"(?<!&)&[$@]",
    "functions of C have to be in a script that is imported": r"\b(foo|bar)\(\(u?int",
    "a struct's last member ends with a semicolon": r"\[4\] \}; kprobe|long ul \};|\{char c\}",
    "loops are not functions of their own: they see the probe's context": r"for \(.*\{ (arg0|ctx) \}",
    "a macro does not stand for itself": r"#define A A",
    "types of their host that are not rebuilt here": r"func_a(rrays|non_struct)|field_with_tag|skboutput|sched_one",
    "a string is no integer in memory": r'\(int32\*\)"abc"',
    "the sizes of symbols of /bin/sh": r"uaddr",
}


def refused(case: Case) -> str:
    """What was said of it; empty if it was accepted."""
    try:
        check(compile_text(Source("stdin", case.program), host(case.unsafe)))
    except UsageError as e:
        return str(e)
    return ""


def test_the_same_programs_are_allowed_and_refused():
    """Protects compatibility in 1,500 details. (Anything but an error for the user fails by itself.)"""
    wrong = []
    count = 0
    for case in cases(ROOT) if ROOT else []:
        if case.needs_its_mocks or any(re.search(p, case.program, re.DOTALL) for p in OTHERWISE.values()):
            continue
        count += 1
        said = refused(case)
        if bool(said) != case.refused:
            wrong.append(f"line {case.line}: {case.program}\n    {said or 'was accepted'}")
    assert count > 1400
    assert wrong == [], "\n".join(wrong)
