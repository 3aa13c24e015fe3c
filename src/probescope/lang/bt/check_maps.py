"""Maps, which belong to the whole program: their keys and values are unified over all clauses.

A map may be read before the clause that first sets it: who reads a type is remembered, and is lowered again when it
changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from probescope.diagnostics import NOWHERE, Span
from probescope.lang.bt.types import UNKNOWN, lint, promote, settle, show
from probescope.model.types import Agg, Int, Type


class Reader(Protocol):
    """A clause that is being lowered."""

    reads: set[MapInfo]

    def wake(self) -> None:
        """Something that it read has changed: it has to be lowered again."""
        ...


class MapInfo:
    """``keyed`` is ``None`` until the map is used with or without a key. ``value`` is an ``Agg`` for what
    aggregations update."""

    __slots__ = (
        "entries",
        "first",
        "key",
        "keyed",
        "kind",
        "labels",
        "locked",
        "name",
        "readers",
        "used",
        "value",
        "wanted",
        "written",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.keyed: bool | None = None
        self.key: Type = UNKNOWN
        self.value: Type | Agg = UNKNOWN
        self.readers: set[Reader] = set()
        self.first: Span = NOWHERE
        self.kind = "auto"
        self.entries = 0
        self.labels: tuple[str, ...] = ()
        self.used = False
        self.wanted = False  # its value was read before anything was known of it
        self.written = False
        self.locked = False  # its types must not change now

    def read_by(self, reader: Reader) -> None:
        self.readers.add(reader)
        reader.reads.add(self)

    def changed(self) -> None:
        for reader in self.readers:
            reader.wake()

    def set_keyed(self, keyed: bool, span: Span) -> str:
        """Notes a use with or without a key; says what is wrong with it, or nothing."""
        if self.keyed is None:
            self.keyed, self.first = keyed, span
        if self.keyed == keyed:
            return ""
        now, before = ("with", "without") if keyed else ("without", "with")
        kinds = ("non-scalar", "scalar") if keyed else ("scalar", "non-scalar")
        return (
            f"@{self.name} used as a map {now} an explicit key ({kinds[0]} map), "
            f"previously used {before} an explicit key ({kinds[1]} map)"
        )

    def set_key(self, t: Type) -> str:
        """Makes room for a key; says what is wrong, or nothing."""
        found = promote(self.key, t)
        if found is None:
            return self.key_mismatch(t)
        if found != self.key:
            if self.locked and self.key is not UNKNOWN:
                return locked_mismatch(f"@{self.name}", t, self.key)
            self.key = found
            self.changed()
        return ""

    def key_mismatch(self, t: Type) -> str:
        wanted = f"when map expects arguments: '{show(self.key)}'"
        return f"Argument mismatch for @{self.name}: trying to access with arguments: '{show(t)}' {wanted}"

    def set_value(self, t: Type) -> str:
        """Makes room for a value; says what is wrong, or nothing."""
        self.written = True
        found = None if isinstance(self.value, Agg) else promote(self.value, t)
        if found is None:
            return self._mismatch(t)
        if found != self.value:
            if self.locked and self.value is not UNKNOWN:
                return locked_mismatch(f"@{self.name}", t, self.value)
            self.value = found
            self.changed()
        return ""

    def set_agg(self, agg: Agg) -> str:
        """Notes an aggregation; the sign is that which holds all observed values."""
        self.written = True
        old = self.value
        if old is UNKNOWN:
            self.value = agg
        elif not isinstance(old, Agg) or old.kind != agg.kind:
            return self._mismatch(agg)
        elif old.args != agg.args:
            return (
                f"{agg.kind}() on @{self.name} was called with other parameters before: {_args(old)}, now {_args(agg)}"
            )
        elif old.value != agg.value:
            wide = promote(old.value, agg.value)
            assert isinstance(wide, Int)
            self.value = Agg(agg.kind, wide, agg.args)
        if self.value != old:
            self.changed()
        return ""

    def _mismatch(self, t: Type) -> str:
        return (
            f"Type mismatch for @{self.name}: trying to assign value of type '{show(t)}' "
            f"when map already has a type '{show(self.value)}'"
        )

    @property
    def agg(self) -> Agg | None:
        return self.value if isinstance(self.value, Agg) else None

    @property
    def settled_key(self) -> Type | None:
        return settle(self.key) if self.keyed else None


def locked_mismatch(name: str, new: Type, old: Type | Agg) -> str:
    return (
        f"Type mismatch for {name}: this type has been locked, since a comptime condition around this asked for it. "
        f"The new type '{show(new)}' doesn't fit into the locked type '{show(old)}'"
    )


def _args(agg: Agg) -> str:
    return "(" + ", ".join(map(str, agg.args)) + ")"


class Maps:
    """All maps of a program, by name, in order of their first appearance."""

    def __init__(self) -> None:
        self._by_name: dict[str, MapInfo] = {}

    def get(self, name: str) -> MapInfo:
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = MapInfo(name)
        return found

    def __iter__(self) -> Iterator[MapInfo]:
        return iter(self._by_name.values())

    def defaults(self) -> bool:
        """Gives maps that only change their own value (``@n++``) the type of a zero; whether there were any."""
        found = False
        for m in self._by_name.values():
            if m.value is UNKNOWN and m.wanted and m.keyed is not None and (m.key is not UNKNOWN or not m.keyed):
                m.value = lint(1, True, flex=True)
                m.changed()
                found = True
        return found
