"""Source lines of functions, for keys. A line that is not known is told as function and distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.views.code import Code
from probescope.views.reporting.keys import module_of

if TYPE_CHECKING:
    from probescope.collect.recorded.symbols import Frame
    from probescope.collect.recorded.told import Told


class Lines:
    def __init__(self, told: Told) -> None:
        self._spaces = told.tasks.spaces
        self._code = Code()

    def of(self, frame: Frame, space: int) -> tuple[str, str]:
        """(``file:line``, ``file``); without: (``function+offset``, ``.``)."""
        if not frame.kernel and frame.name and space >= 0:
            found = self._code.line(self._spaces[space], frame.address)
            if found is not None:
                name = found[0].rpartition("/")[2]
                return f"{name}:{found[1]}", name
        place = f"{frame.name}+{frame.offset}" if frame.name else f"{module_of(frame)}[{frame.offset:x}]"
        return place, "."
