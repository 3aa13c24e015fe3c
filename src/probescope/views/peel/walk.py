"""The way that was walked: functions one after the other, what was asked of each, and all of it as a script."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.model.visible import printable

if TYPE_CHECKING:
    from probescope.views.peel.panes import Pane
    from probescope.views.peel.subject import Found, Subject


class Walk:
    """``back`` goes to the function before; the script has all steps that were taken, also those on ways back."""

    def __init__(self) -> None:
        self._taken: list[tuple[Subject, list[str]]] = []
        self.path: list[Subject] = []

    def enter(self, subject: Subject) -> None:
        """A function is come to."""
        if not self.path or self.path[-1] != subject:
            self.path.append(subject)

    def look(self, found: Found, panes: Sequence[Pane]) -> None:
        """What was measured of the function that is looked at."""
        subject = found.subject
        if not self._taken or self._taken[-1][0] != subject:
            self._taken.append((subject, []))
        commands = self._taken[-1][1]
        commands += [p.command for p in panes if p.command and p.command not in commands]

    def back(self) -> Subject | None:
        """The function before this one; ``None`` at the first."""
        if len(self.path) < 2:
            return None
        self.path.pop()
        return self.path[-1]

    def script(self) -> str:
        """For sh: the command of every step, in their order."""
        way = " -> ".join(s.function for s, _ in self._taken)
        out = ["#!/bin/sh", f"# {printable(way)}"]
        for subject, commands in self._taken:
            out += ["", f"# {printable(subject.title)}", *commands]
        return "\n".join(out) + "\n"

    def shown(self) -> str:
        return printable(" > ".join(shlex.quote(s.function) for s in self.path))
