"""Triggers of an instance: what its events do besides being recorded, and their removal.

A hist trigger with variables keeps its instance: rmdir says EBUSY until the trigger is gone; and one whose variables
another reads cannot go before that one. Synthetic events likewise stay as long as a trigger makes them.
Source: Documentation/trace/events.rst and histogram.rst; hist_unregister_trigger of kernel/trace/trace_events_hist.c.
"""

from __future__ import annotations

from probescope.errors import KernelError
from probescope.kernel import tracefs
from probescope.kernel.host import host

_ROUNDS = 8
"""How deep chains of variables go."""
_LIMIT = 1 << 20


def triggers(base: str, event: str) -> list[str]:
    """Of ``system:event`` or ``system/event``, without their states. Raises KernelError."""
    text = tracefs.read(f"events/{event.replace(':', '/', 1)}/trigger", base, limit=_LIMIT)
    return [_bare(line) for line in text.splitlines() if line and not line.startswith("#")]


def _bare(line: str) -> str:
    for state in (" [active]", " [paused]"):
        line = line.removesuffix(state)
    return line.removesuffix(":unlimited")


def remove(base: str, events: list[str]) -> bool:
    """Every trigger of these events; whether all of them are gone."""
    for _ in range(_ROUNDS):
        left = [(event, text) for event in events for text in _read(base, event)]
        if not left:
            return True
        gone = [_removed(base, event, text) for event, text in left]
        if not any(gone):
            return False
    return False


def remove_all(base: str) -> bool:
    """Every trigger of every event: what a dead run has left in its instance. Reads thousands of files."""
    found: list[str] = []
    try:
        for system in host().listdir(f"{base}/events"):
            if host().exists(f"{base}/events/{system}/enable"):
                found += [f"{system}/{e}" for e in host().listdir(f"{base}/events/{system}")]
    except OSError:
        return False
    return remove(base, [e for e in found if _read(base, e)])


def _read(base: str, event: str) -> list[str]:
    try:
        return triggers(base, event)
    except KernelError:
        return []


def _removed(base: str, event: str, text: str) -> bool:
    try:
        tracefs.write(f"events/{event.replace(':', '/', 1)}/trigger", f"!{text}", base)
    except KernelError:
        return False
    return True
