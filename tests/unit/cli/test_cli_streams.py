"""Commands that are started with a standard stream closed."""

from __future__ import annotations

import os
import subprocess

import pytest


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_closed_stream_is_no_trouble(probescope_command: list[str], closed: tuple[int, ...]) -> None:
    """Daemons and cron jobs close them: the command works all the same, and says what it can say."""

    def close() -> None:
        for number in closed:
            os.close(number)

    done = subprocess.run([*probescope_command, "--version"], stdout=subprocess.PIPE, preexec_fn=close, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(b"" if 1 in closed else b"probescope ")


def test_errors_reach_nobody_where_stderr_is_closed(probescope_command: list[str]) -> None:
    done = subprocess.run([*probescope_command, "nosuch"], preexec_fn=lambda: os.close(2), check=False)
    assert done.returncode == 2
