"""The state of a program as the evaluator sees it: maps by name, with the meaning of each operation.

``MemoryStore`` keeps everything in dictionaries: the definition. collect/ has one over kernel maps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Protocol

from probescope.ir.program import Program
from probescope.model.aggregate import Monoid, monoid
from probescope.model.codec import zero
from probescope.model.types import Agg, Int, wrap

Value = Any


class Store(Protocol):
    """Keys are values of the map's key type, ``None`` for maps without one. Methods that write say whether the map
    had room."""

    def get(self, name: str, key: Value) -> Value | None:
        """The stored value, or an aggregation's number; ``None`` if the key is not there."""
        ...

    def parts(self, name: str, key: Value) -> tuple[int, int] | None:
        """Total and count of an average; ``None`` if the key is not there."""
        ...

    def set(self, name: str, key: Value, value: Value) -> bool: ...
    def delete(self, name: str, key: Value) -> bool:
        """Whether it was there."""
        ...

    def update(self, name: str, key: Value, value: int, weight: int) -> bool:
        """One more observation for an aggregation."""
        ...

    def add(self, name: str, key: Value, delta: int) -> tuple[int, bool]:
        """The value before (0 if absent), and whether there was room."""
        ...

    def length(self, name: str) -> int: ...
    def items(self, name: str) -> Iterator[tuple[Value, Value]]:
        """Pairs of key and value (number, for aggregations); a snapshot."""
        ...

    def clear(self, name: str) -> None:
        """Removes all keys."""
        ...

    def zero(self, name: str) -> None:
        """Keeps the keys, sets their values to zero."""
        ...


class MemoryStore:
    """Maps as dictionaries. ``state`` gives the raw states, aggregations unreduced."""

    def __init__(self, program: Program) -> None:
        self._decls = {m.name: m for m in program.maps}
        self._monoids = {m.name: monoid(m.value) for m in program.maps if isinstance(m.value, Agg)}
        self._maps: dict[str, dict[Value, Value]] = {m.name: {} for m in program.maps}

    def state(self, name: str) -> dict[Value, Value]:
        return self._maps[name]

    def _full(self, name: str, key: Value) -> bool:
        held = self._maps[name]
        if key in held:
            return False
        decl = self._decls[name]
        if decl.key is None or len(held) < decl.max_entries:
            return False
        if decl.kind in ("lruhash", "percpulruhash"):
            del held[next(iter(held))]
            return False
        return True

    def get(self, name: str, key: Value) -> Value | None:
        value = self._maps[name].get(key)
        m = self._monoids.get(name)
        return value if m is None or value is None else m.number(value)

    def parts(self, name: str, key: Value) -> tuple[int, int] | None:
        return self._maps[name].get(key)

    def set(self, name: str, key: Value, value: Value) -> bool:
        if self._full(name, key):
            return False
        self._maps[name][key] = value
        return True

    def delete(self, name: str, key: Value) -> bool:
        return self._maps[name].pop(key, None) is not None

    def update(self, name: str, key: Value, value: int, weight: int) -> bool:
        m, held = self._monoid(name), self._maps[name]
        if key in held:
            held[key] = m.update(held[key], value, weight)
            return True
        if self._full(name, key):
            return False
        held[key] = m.update(m.identity(), value, weight)
        return True

    def _monoid(self, name: str) -> Monoid:
        found = self._monoids.get(name)
        if found is None:
            raise TypeError(f"@{name} is not an aggregation")
        return found

    def merge(self, name: str, key: Value, state: Value) -> bool:
        """Many observations at once: the state that they make by themselves."""
        if self._full(name, key):
            return False
        held = self._maps[name]
        held[key] = self._monoid(name).merge(held[key], state) if key in held else state
        return True

    def fits(self, name: str, keys: Collection[Value]) -> bool:
        """Whether there is room for all these keys."""
        held, decl = self._maps[name], self._decls[name]
        if decl.key is None or len(held) + len(keys) <= decl.max_entries:
            return True
        return len(held) + sum(k not in held for k in keys) <= decl.max_entries

    def add(self, name: str, key: Value, delta: int) -> tuple[int, bool]:
        t = self._decls[name].value
        old = self._maps[name].get(key, 0)
        return old, self.set(name, key, wrap(old + delta, t if isinstance(t, Int) else Int(8, True)))

    def length(self, name: str) -> int:
        return len(self._maps[name])

    def items(self, name: str) -> Iterator[tuple[Value, Value]]:
        t = self._decls[name].value
        reduce = monoid(t).number if isinstance(t, Agg) else None
        for k, v in list(self._maps[name].items()):
            yield k, v if reduce is None else reduce(v)

    def clear(self, name: str) -> None:
        self._maps[name].clear()

    def zero(self, name: str) -> None:
        t = self._decls[name].value
        for k in self._maps[name]:
            self._maps[name][k] = monoid(t).identity() if isinstance(t, Agg) else zero(t)
