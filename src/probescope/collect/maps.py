"""A program's maps where they are kernel maps: what evaluate/ works on, and what printing reads.

``bpf/storage.py`` says how keys and values lie; here are only the calls. Reading, changing and writing back is not
atomic against the kernel side: plan/user.py lets no clause do that while probes are attached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from probescope.bpf.storage import Codec, Storage
from probescope.errors import KernelError
from probescope.kernel.bpf_map import Map
from probescope.model.aggregate import Monoid, monoid
from probescope.model.codec import zero
from probescope.model.types import Agg, Int, wrap

E2BIG, ENOMEM = 7, 12


class KernelMap:
    """One map: its descriptor, codec and declaration."""

    def __init__(self, storage: Storage, held: Map) -> None:
        self.storage = storage
        self.decl = storage.decl
        self.codec: Codec = storage.codec()
        self.map = held
        agg = storage.decl.value
        self.monoid: Monoid | None = monoid(agg) if isinstance(agg, Agg) else None

    def read(self, key: Any) -> Any:
        """The value or state; ``None`` if it is not there."""
        row = self.map.lookup(self.codec.key_bytes(key))
        return None if row is None else self.codec.value(row)

    def write(self, key: Any, value: Any) -> bool:
        """Whether there was room."""
        try:
            self.map.update(self.codec.key_bytes(key), self.codec.row(value))
        except KernelError as e:
            if e.errno in (E2BIG, ENOMEM):
                return False
            raise
        return True

    def remove(self, key: Any) -> bool:
        if self.decl.key is not None:
            return self.map.delete(self.codec.key_bytes(key))
        was = self.read(None) is not None
        self.map.update(self.codec.key_bytes(None), self.codec.absent())
        return was

    def pairs(self) -> list[tuple[Any, Any]]:
        """Everything in it, as one batch where the kernel can."""
        if self.decl.key is None:
            value = self.read(None)
            return [] if value is None else [(None, value)]
        entries = self.map.dump()
        c, key_size, row = self.codec, entries.key_size, entries.value_bytes
        keys, values = entries.keys, entries.values
        return [
            (c.key(keys[i * key_size : (i + 1) * key_size]), c.value(values[i * row : (i + 1) * row]))
            for i in range(entries.count)
        ]


class KernelStore:
    """``evaluate.store.Store`` and ``actions.MapReader`` over kernel maps."""

    def __init__(self, storages: Mapping[str, Storage], maps: Mapping[str, Map]) -> None:
        self._maps = {name: KernelMap(s, maps[s.spec.name]) for name, s in storages.items()}

    def get(self, name: str, key: Any) -> Any | None:
        m = self._maps[name]
        value = m.read(key)
        return value if value is None or m.monoid is None else m.monoid.number(value)

    def parts(self, name: str, key: Any) -> tuple[int, int] | None:
        found: tuple[int, int] | None = self._maps[name].read(key)
        return found

    def set(self, name: str, key: Any, value: Any) -> bool:
        return self._maps[name].write(key, value)

    def delete(self, name: str, key: Any) -> bool:
        return self._maps[name].remove(key)

    def update(self, name: str, key: Any, value: int, weight: int) -> bool:
        m = self._maps[name]
        if m.monoid is None:
            raise TypeError(f"@{name} is not an aggregation")
        state = m.read(key)
        return m.write(key, m.monoid.update(m.monoid.identity() if state is None else state, value, weight))

    def add(self, name: str, key: Any, delta: int) -> tuple[int, bool]:
        m = self._maps[name]
        old = m.read(key) or 0
        t = m.decl.value if isinstance(m.decl.value, Int) else Int(8, True)
        return old, m.write(key, wrap(old + delta, t))

    def length(self, name: str) -> int:
        m = self._maps[name]
        return len(m.pairs()) if m.decl.key is None else sum(1 for _ in m.map.keys())  # noqa: SIM118 - a kernel map, not a dict

    def items(self, name: str) -> Iterator[tuple[Any, Any]]:
        m = self._maps[name]
        for k, v in m.pairs():
            yield k, v if m.monoid is None else m.monoid.number(v)

    def snapshot(self, name: str) -> list[tuple[Any, Any]]:
        return self._maps[name].pairs()

    def clear(self, name: str) -> None:
        m = self._maps[name]
        if m.decl.key is None:
            m.remove(None)
        else:
            m.map.clear()

    def zero(self, name: str) -> None:
        m = self._maps[name]
        blank = m.monoid.identity() if m.monoid is not None else zero(m.decl.value)
        for k, _ in m.pairs():
            m.write(k, blank)
