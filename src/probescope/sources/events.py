"""The events of tracefs, read: names, numbers, formats. An event that is not there is an answer here, not an error."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TypeVar

from probescope.errors import KernelError
from probescope.kernel import tracefs

T = TypeVar("T")
_ABSENT = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ENODEV))


def names() -> list[str]:
    """``category:event``, sorted, all that can be attached to. Raises ``KernelError``."""
    return sorted(tracefs.read("available_events").split())


def format_text(category: str, event: str) -> str:
    """The ``format`` file; an empty text if there is no such event. Raises ``KernelError``."""
    return _or_nothing(lambda: tracefs.event_format(category, event)) or ""


def event_id(category: str, event: str) -> int | None:
    """The number for perf_event_attr.config; ``None`` if there is no such event. Raises ``KernelError``."""
    return _or_nothing(lambda: tracefs.event_id(category, event))


def _or_nothing(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except KernelError as e:
        if e.errno in _ABSENT:
            return None
        raise
