"""The events of tracefs, read: names, numbers, formats. Remembered per host, since the list is wanted for globs and for
hints."""

from __future__ import annotations

import errno

from probescope.errors import KernelError, PermissionDenied
from probescope.kernel.host import host

MAX_FORMAT = 1 << 20


def names() -> list[str]:
    """``category:event``, sorted, all that can be attached to. Raises ``KernelError``."""
    return sorted(_read("available_events").split())


def format_text(category: str, event: str) -> str:
    """The ``format`` file; an empty text if there is no such event. Raises ``KernelError``."""
    return _read_event(category, event, "format")


def event_id(category: str, event: str) -> int | None:
    text = _read_event(category, event, "id").strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _read_event(category: str, event: str, name: str) -> str:
    if "/" in category + event or "\0" in category + event or {category, event} & {"", ".", ".."}:
        return ""  # would leave the events directory
    try:
        return _read(f"events/{category}/{event}/{name}")
    except KernelError as e:
        if e.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            return ""
        raise


def _read(name: str) -> str:
    path = f"/sys/kernel/tracing/{name}"
    try:
        return host().read_text(path, MAX_FORMAT)
    except PermissionError as e:
        raise PermissionDenied(f"open({path})", e.errno or errno.EACCES, hints=["run as root"]) from e
    except OSError as e:
        raise KernelError(f"open({path})", e.errno or 0) from e
