"""Threads that somebody asked for by number: they have to be there."""

from __future__ import annotations

from collections.abc import Iterable

from probescope.errors import UsageError
from probescope.kernel import procfs


def threads_asked_for(pids: Iterable[int], tids: Iterable[int]) -> list[int]:
    """All threads of the processes, and those that were named. Raises UsageError for one that is not there."""
    found: list[int] = []
    for pid in pids:
        own = procfs.threads(pid)
        if not own:
            raise UsageError(f"there is no process {pid}", hints=["pgrep -a NAME finds processes"])
        found += own
    for tid in tids:
        if not procfs.alive(tid):
            raise UsageError(f"there is no thread {tid}", hints=["ps -eLf lists threads"])
        found.append(tid)
    return found
