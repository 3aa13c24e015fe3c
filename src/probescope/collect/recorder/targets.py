"""Whose events: threads of what was asked for, and whose names and mappings have to be told at the start."""

from __future__ import annotations

from collections.abc import Sequence

from probescope.collect.asked import threads_asked_for
from probescope.collect.recorder.request import RecordRequest
from probescope.kernel import procfs


def threads(request: RecordRequest) -> tuple[int, ...]:
    """Of the processes, and those that were named. Raises UsageError if a process is not there."""
    found = threads_asked_for(request.pids, request.tids)
    for pid in of_user(request.uid) if request.uid >= 0 else ():
        found += procfs.threads(pid)  # none of one that has ended since
    return tuple(dict.fromkeys(found))


def leaders(request: RecordRequest) -> tuple[int, ...]:
    """Processes of all of whose threads it is."""
    return (*request.pids, *(of_user(request.uid) if request.uid >= 0 else ()))


def processes(request: RecordRequest, child: int) -> Sequence[int]:
    """All, if CPUs are recorded; else those that were asked for and what came of them, and the command."""
    if request.whole_cpus:
        return procfs.pids()
    own = [*(of_user(request.uid) if request.uid >= 0 else ()), *([child] if child else [])]
    asked = list(dict.fromkeys([*request.pids, *(procfs.leader(tid) for tid in request.tids), *own]))
    return _with_children(asked) if request.inherit else asked


def _with_children(pids: list[int]) -> list[int]:
    """Files of a recording that goes on begin with what has been started since."""
    children: dict[int, list[int]] = {}
    for pid in procfs.pids():
        children.setdefault(procfs.parent(pid), []).append(pid)
    out: dict[int, None] = {}
    todo = pids
    while todo:
        pid = todo.pop(0)
        if pid not in out:
            out[pid] = None
            todo += children.get(pid, [])
    return list(out)


def of_user(uid: int) -> list[int]:
    """Processes whose real user it is."""
    return [p for p in procfs.pids() if procfs.status(p).get("Uid", "").split()[:1] == [str(uid)]]
