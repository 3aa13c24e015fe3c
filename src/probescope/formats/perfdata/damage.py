"""What a file loses on the way to its reader: counted by kind, the first place of each kept."""

from __future__ import annotations

from probescope.model.recording import Damage


class Tally:
    """Grows while a recording is read; kinds are few, so it stays small."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[str, Damage] = {}

    def add(self, kind: str, about: str, offset: int = -1, count: int = 1) -> None:
        old = self._found.get(kind)
        if old is None:
            self._found[kind] = Damage(kind, about, offset, count)
        else:
            self._found[kind] = Damage(kind, old.about, old.offset, old.count + count)

    def extend(self, damage: tuple[Damage, ...]) -> None:
        for one in damage:
            self.add(one.kind, one.about, one.offset, one.count)

    def reset(self, damage: tuple[Damage, ...]) -> None:
        self._found = {}
        self.extend(damage)

    def listed(self) -> tuple[Damage, ...]:
        return tuple(self._found.values())
