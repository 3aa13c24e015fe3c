"""Why no event came of a program's file: an upgrade or a build has put another one into its place, or the process that
was asked for has no code of it.

A probe is at an inode, and a name may lead to another one a moment later; who runs the old one goes on with it, and
shows it as ``PATH (deleted)``.
"""

from __future__ import annotations

from probescope.errors import KernelError
from probescope.kernel import procfs
from probescope.kernel.host import host

MOST = 4
"""Processes that are named."""

Identity = tuple[int, int]


def identity(path: str) -> Identity | None:
    """Device and inode; ``None`` if there is no such file."""
    try:
        return host().inode(path)
    except OSError:
        return None


def reasons(path: str, before: Identity | None, pid: int) -> list[str]:
    """Sentences, none where nothing is odd. ``before``: what ``path`` was when it was probed. ``pid``: the process that
    events were asked of, 0: all."""
    now = identity(path)
    if now is None:
        return [f"{path} was deleted while it was probed"]
    if now != before:
        return [f"{path} was replaced while it was probed: who has begun since runs the new file; ask again"]
    if pid:
        return _of_process(path, now, pid)
    old = _runners(path)
    if not old:
        return []
    more = ", ..." if len(old) > MOST else ""
    who = f"{', '.join(map(str, old[:MOST]))}{more} still run{'s' if len(old) == 1 else ''}"
    what = f"process{'es' if len(old) > 1 else ''} {who} the file that was at {path} before this one"
    return [f"{what}: -p {old[0]} probes that"]


def _of_process(path: str, now: Identity, pid: int) -> list[str]:
    try:
        maps = [m for m in procfs.maps(pid) if m.executable and m.path.startswith("/")]
    except (KernelError, OSError):
        return [] if procfs.alive(pid) else [f"process {pid} has ended"]
    if not maps or any(m.inode == now[1] for m in maps):
        return []
    program = procfs.exe(pid)
    return [f"process {pid} has no code of {path}: it runs {program}"]


def _runners(path: str) -> list[int]:
    """Processes that have code of a file of that name which is not there any more."""
    out: list[int] = []
    for pid in procfs.pids():
        try:
            if any(m.deleted and m.executable and m.path == path for m in procfs.maps(pid)):
                out.append(pid)
        except (KernelError, OSError):  # gone, or another user's
            continue
    return out
