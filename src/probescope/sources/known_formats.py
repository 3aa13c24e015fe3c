"""How this kernel describes events, for recordings that hold only their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.errors import FormatError, KernelError

if TYPE_CHECKING:
    from probescope.model.recording import EventType


class KnownFormats:
    """``system:event``, or ``event`` alone, to its description; None where this kernel, or whoever asks, has none."""

    def __init__(self) -> None:
        self._systems: dict[str, str] | None = None

    def __call__(self, name: str) -> EventType | None:
        from probescope.formats.tracing.event_format import parse_event_format
        from probescope.kernel import tracefs

        system, _, event = name.rpartition(":")
        try:
            system = system or self._system(event)
            return parse_event_format(tracefs.event_format(system, event), system) if system else None
        except (KernelError, FormatError):
            return None

    def _system(self, event: str) -> str:
        from probescope.kernel import tracefs

        if self._systems is None:
            self._systems = {}
            for system, one in tracefs.available_events():
                self._systems.setdefault(one, system)
        return self._systems.get(event, "")


def known_formats() -> KnownFormats | None:
    """None where tracefs cannot be read: then what is no event cannot be told from what is one."""
    from probescope.kernel import tracefs

    known = KnownFormats()
    try:
        return known if tracefs.available_events() else None
    except KernelError:
        return None
