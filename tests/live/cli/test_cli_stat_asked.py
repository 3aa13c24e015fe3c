"""``stat`` of what is not there: told, and not counted as nothing."""

from __future__ import annotations

import subprocess

import pytest

from probescope.cli.main import main


@pytest.mark.parametrize(("option", "what"), [("-p", "process"), ("-t", "thread")])
@pytest.mark.parametrize("command", ["stat", "record"])
def test_nobody_has_that_number(command: str, option: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects from a table of zeros; the number is that of a process that has ended."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    more = ["-o", "/dev/null"] if command == "record" else []
    assert main([command, option, str(ended.pid), *more]) == 2
    assert f"there is no {what} {ended.pid}" in capsys.readouterr().err
