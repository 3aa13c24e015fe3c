"""Commands of programs that were started with ``--unsafe``, and of users' own command lines."""

from __future__ import annotations


def run_shell(command: str) -> str:
    """What a shell command writes to its standard output; it reads nothing and its errors go where ours go."""
    import subprocess

    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)  # noqa: S602
    return done.stdout.decode("utf-8", "surrogateescape")


def call_shell(command: str) -> int:
    """Runs it with our own standard streams; its exit code, negative where a signal ended it."""
    import subprocess

    return subprocess.run(command, shell=True, check=False).returncode  # noqa: S602 - the user's own words
