"""The kernel's own text of a buffer, as it comes; and which buffers there are."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from probescope.kernel import tracefs
from probescope.kernel.advice import kernel_error
from probescope.kernel.host import host


def pieces(file: str, base: str, size: int) -> Iterator[bytes]:
    """trace_pipe has no end: it waits. Raises KernelError."""
    path = f"{base}/{file}"
    try:
        fd = host().open(path)
    except OSError as e:
        raise kernel_error(f"open {path}", e.errno or 0, path=path) from None
    try:
        while piece := os.read(fd, size):
            yield piece
    except OSError as e:
        if e.errno != errno.ENODEV:  # the buffer was removed
            raise kernel_error(f"read {path}", e.errno or 0, path=path) from None
    finally:
        host().close(fd)


def instances() -> list[str]:
    """Names of buffers beside the top one, whosever they are."""
    try:
        return sorted(host().listdir(tracefs.find_root() + "/instances"))
    except OSError:
        return []
