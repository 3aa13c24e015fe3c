"""Commands that are started with a standard stream closed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

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


@pytest.mark.parametrize("encoding", ["utf-8:strict", "latin-1", "ascii:strict"])
def test_names_of_any_bytes_and_letters_that_the_locale_has_not(
    probescope_command: list[str], tmp_path: Path, encoding: str
) -> None:
    """Names go out as they lie on the disk; what the locale cannot say (here an arrow) by its number."""
    name = os.fsencode(tmp_path) + "/\u2192".encode() + b"\xe9"
    Path(os.fsdecode(name)).write_bytes(Path("/bin/bash").read_bytes())
    env = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C.UTF-8"}
    words = [*probescope_command, "list", b"uprobe:" + name + b":main"]
    done = subprocess.run(words, capture_output=True, env=env, check=False)
    shown = name if encoding.startswith("utf-8") else name.replace("\u2192".encode(), b"\\u2192")
    assert done.stdout.splitlines()[:1] == [b"uprobe:" + shown + b":main"], done.stderr
