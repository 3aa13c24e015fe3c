"""What a file loses on the way to its reader: counted by kind, the first place of each kept."""

from __future__ import annotations

from collections.abc import Iterable

from probescope.model.recording import Damage


class Tally:
    """Grows while a recording is read; kinds are few, so it stays small. ``step``: how far reading has come, by which
    several tallies of one recording are put together."""

    __slots__ = ("_found", "_when", "step")

    def __init__(self) -> None:
        self._found: dict[str, Damage] = {}
        self._when: dict[str, int] = {}
        self.step = 0

    def add(self, kind: str, about: str, offset: int = -1, count: int = 1) -> None:
        old = self._found.get(kind)
        if old is None:
            self._found[kind] = Damage(kind, about, offset, count)
            self._when[kind] = self.step
        else:
            self._found[kind] = Damage(kind, old.about, old.offset, old.count + count)

    def extend(self, damage: tuple[Damage, ...]) -> None:
        for one in damage:
            self.add(one.kind, one.about, one.offset, one.count)

    def reset(self, damage: tuple[Damage, ...]) -> None:
        self._found, self._when, self.step = {}, {}, 0
        self.extend(damage)

    def listed(self) -> tuple[Damage, ...]:
        return tuple(self._found.values())

    def timed(self) -> list[tuple[int, Damage]]:
        """With the step at which each was first seen."""
        return [(self._when[kind], damage) for kind, damage in self._found.items()]

    def joined(self, others: Iterable[tuple[int, Damage]]) -> None:
        """Takes in what other tallies of the same recording have, as if all had been one."""
        every = sorted((*self.timed(), *others), key=lambda pair: pair[0])
        self._found, self._when = {}, {}
        for self.step, one in every:
            self.add(one.kind, one.about, one.offset, one.count)
