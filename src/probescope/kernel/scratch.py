"""Temporary folders that say whose they are: those of a process that was killed go when another one makes its own.

``$TMPDIR/probescope_PID_NAMESPACE_WHAT_XXXXXXXX``: named as everything of ours that may outlive us (``leftovers``).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache

from probescope.kernel.host import host
from probescope.kernel.leftovers import OWNER, owner_prefix, pid_namespace


def scratch_prefix(what: str) -> str:
    """For ``tempfile``: what the name of a temporary folder begins with. The first call of a process removes what dead
    ones have left."""
    _reap_once()
    return f"{owner_prefix()}{what}_"


@cache
def _reap_once() -> None:
    reap_scratch()


def reap_scratch() -> list[str]:
    """Removes folders of this user whose processes are gone, and returns their paths. What cannot be removed stays."""
    gone: list[str] = []
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith("probescope_") and _dead(entry):
                shutil.rmtree(entry.path, ignore_errors=True)
                gone.append(entry.path)
    return gone


def _dead(entry: os.DirEntry[str]) -> bool:
    """Numbers of processes of another namespace say nothing here, and other users' folders are theirs."""
    owner = OWNER.match(entry.name)
    if owner is None or int(owner[2], 16) != pid_namespace() or host().exists(f"/proc/{owner[1]}"):
        return False
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except OSError:
        return False
