"""Commands of programs that were started with ``--unsafe``."""

from __future__ import annotations


def run_shell(command: str) -> str:
    """What a shell command writes to its standard output; it reads nothing and its errors go where ours go."""
    import subprocess

    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)  # noqa: S602
    return done.stdout.decode("utf-8", "surrogateescape")
