"""A small load on the machine for demonstrations: file system walks and a little arithmetic, at low priority."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

_SCRIPT = "while :; do ls -lR /usr/share > /dev/null 2>&1; cksum /bin/* > /dev/null 2>&1; sleep 0.2; done"


@contextmanager
def background_load(*, active: bool = True) -> Generator[str, None, None]:
    """Runs while the block does; gives its description, or an empty text where nothing runs."""
    import os
    import signal
    import subprocess

    if not active:
        yield ""
        return
    load = subprocess.Popen(
        ["nice", "sh", "-c", _SCRIPT],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield "ls -lR /usr/share and cksum /bin/*, at low priority"
    finally:
        os.killpg(load.pid, signal.SIGKILL)
        load.wait()
