"""Which events of this kernel a pattern of trace-cmd's ``-e`` means."""

from __future__ import annotations

from fnmatch import fnmatchcase

from probescope.diagnostics import nearest
from probescope.errors import ProbeError
from probescope.frozen import dataclass
from probescope.kernel import tracefs


@dataclass(frozen=True, slots=True)
class Chosen:
    """``folder``: below ``events/``; ``""`` is all of them, ``SYSTEM`` a whole system. ``events``: system and name."""

    folder: str
    events: tuple[tuple[str, str], ...]


class Events:
    """What this kernel has, read once."""

    def __init__(self) -> None:
        self.all = [e for e in tracefs.available_events() if e[0] != "ftrace"]
        self.systems = dict.fromkeys(system for system, _ in self.all)

    def chosen(self, pattern: str) -> list[Chosen]:
        """Empty if there is nothing like it."""
        if pattern in {"all", "*", "*:*"}:
            return [Chosen("", tuple(self.all))]
        system, colon, name = pattern.replace("/", ":", 1).partition(":")
        if not colon or name in {"*", "all", ""}:
            whole = [s for s in self.systems if fnmatchcase(s, system)]
            if whole:
                return [Chosen(s, tuple(e for e in self.all if e[0] == s)) for s in whole]
            system, name = ("*", pattern) if not colon else (system, "*")
        found = [e for e in self.all if fnmatchcase(e[0], system) and fnmatchcase(e[1], name)]
        return [Chosen(f"{s}/{n}", ((s, n),)) for s, n in found]

    def none_like(self, pattern: str) -> ProbeError:
        known = [*self.systems, *(f"{s}:{n}" for s, n in self.all), *(n for _, n in self.all)]
        near = nearest(pattern.replace("/", ":", 1), known)
        hints = [f"did you mean {' or '.join(near)}?"] if near else []
        listing = "probescope ftrace list -e"
        return ProbeError(f"this kernel has no event {pattern}", hints=[*hints, f"{listing} lists events"])
