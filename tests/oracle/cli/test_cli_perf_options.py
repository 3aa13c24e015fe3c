"""Every option of perf's commands is an option of ours, or refused with a reason of its own."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess

import pytest

from probescope.cli.main import main
from probescope.cli.perf_options import REFUSED

pytestmark = pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def perfs(command: str) -> set[str]:
    """Of ``perf COMMAND -h``, whose option column is cut by what follows it, not within."""
    done = subprocess.run(["perf", command, "-h"], capture_output=True, text=True, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if re.match(r" +-", line)]
    return {
        o for line in lines for o in OPTION.findall(re.split(r" {2,}|[\[<]| \w", line.strip().replace(",  ", ", "))[0])
    }


@pytest.mark.parametrize("command", sorted(REFUSED))
def test_perfs_options_are_known(command: str) -> None:
    ours = set(importlib.import_module(f"probescope.cli.{command}").parser()._option_string_actions)
    found = perfs(command)
    assert len(found) > 30
    assert found - ours == set()


CASES = [(command, option) for command, table in REFUSED.items() for words in table for option in words.split()]


@pytest.mark.parametrize(("command", "option"), CASES)
def test_refused_with_the_reason(command: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, before anything else is done; none of the table's rows is out of date."""
    assert main([command, option, "x"]) == 2
    said = capsys.readouterr().err
    assert f"{option}: " in said
    assert "unrecognized" not in said
