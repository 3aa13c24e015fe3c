"""Who makes which pieces of a recording, where several processes read the same one, all in step.

pieces     0  1  2  3  4  5 ...         in the order of the recording, the same for all
number 0   x  .  .  x  .  .             x: made;  .: only what happened between events is told of it
"""

from __future__ import annotations


class Share:
    """Of the process ``number`` of ``of``. ``at``: the piece that is being read, -1 before the first."""

    __slots__ = ("at", "number", "of")

    def __init__(self, number: int, of: int) -> None:
        self.number, self.of = number, of
        self.at = -1

    def next(self) -> bool:
        """Goes on to the next piece; whether it is to be made."""
        self.at += 1
        return self.mine

    @property
    def mine(self) -> bool:
        return self.at % self.of == self.number
