"""The rule on skips: in CI a skip without an allowed reason is a failure."""

from __future__ import annotations

import shutil

import pytest

pytest_plugins = ["pytester"]

SKIPPING = """
import pytest

def test_lazy():
    pytest.skip("did not feel like it")

def test_honest():
    pytest.skip("this kernel has no kprobes")

@pytest.mark.xfail(reason="known", strict=True)
def test_known():
    assert False
"""


@pytest.fixture
def project(pytester, repo, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("PROBESCOPE_STRICT_SKIPS", raising=False)
    shutil.copy(repo / "tests/conftest.py", pytester.path / "conftest.py")
    shutil.copytree(repo / "tests/support", pytester.path / "support")
    pytester.makeini("[pytest]\nmarkers =\n    live: x\n    kernels: x\n    oracle: x\n    fuzz: x\n")
    pytester.makepyfile(SKIPPING)
    return pytester


def test_a_skip_is_a_skip_on_a_developers_machine(project):
    project.runpytest_subprocess().assert_outcomes(skipped=2, xfailed=1)


def test_a_skip_fails_in_ci_unless_its_reason_is_allowed(project, monkeypatch):
    """Protects CI from a whole room going silently untested."""
    monkeypatch.setenv("CI", "true")
    result = project.runpytest_subprocess()
    result.assert_outcomes(skipped=1, failed=1, xfailed=1)
    result.stdout.fnmatch_lines(["*here it must run: did not feel like it*"])
