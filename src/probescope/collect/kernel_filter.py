"""A filter that somebody wrote, for an event of the kernel: refused, it is told with the event that it was for."""

from __future__ import annotations

import errno

from probescope.errors import KernelError, UsageError
from probescope.kernel.perf_event import PerfEvent


def take_filter(event: PerfEvent, name: str, text: str) -> None:
    """``name``: SYSTEM:EVENT. Raises UsageError, or KernelError for what is not the filter's fault."""
    try:
        event.set_filter(text)
    except KernelError as e:
        if e.errno != errno.EINVAL:
            raise
        fields = f"probescope list -v tracepoint:{name} shows its fields; common_pid is the process"
        grammar = 'FIELD == VALUE, or != < <= > >= &, for texts also ~ "GLOB"; joined by && and ||'
        raise UsageError(
            f"the kernel does not understand the filter '{text}' of {name}", hints=[fields, grammar]
        ) from e
