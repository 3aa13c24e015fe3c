"""Processes and threads that somebody asked for by number: they have to be there, or nothing would ever be seen of
them."""

from __future__ import annotations

from collections.abc import Iterable

from probescope.errors import UsageError
from probescope.kernel import procfs


def no_process(pid: int) -> UsageError:
    return UsageError(f"there is no process {pid}", hints=["pgrep -a NAME finds processes"])


def processes_asked_for(pids: Iterable[int]) -> None:
    """Threads too. Raises UsageError for one that is not there."""
    for pid in pids:
        if not procfs.alive(pid):
            raise no_process(pid)


def threads_asked_for(pids: Iterable[int], tids: Iterable[int]) -> list[int]:
    """All threads of the processes, and those that were named. Raises UsageError for one that is not there."""
    found: list[int] = []
    for pid in pids:
        own = procfs.threads(pid)
        if not own:
            raise no_process(pid)
        found += own
    for tid in tids:
        if not procfs.alive(tid):
            raise UsageError(f"there is no thread {tid}", hints=["ps -eLf lists threads"])
        found.append(tid)
    return found
