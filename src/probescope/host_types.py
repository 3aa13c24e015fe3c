"""The kernel's C types as one table that loads itself when it is first asked: most programs never do."""

from __future__ import annotations

from probescope.kernel.host import host
from probescope.model.types import Enum, Layout, Type, TypeTable


class LazyTypes:
    """``TypeTable`` over the kernel's BTF; empty where the kernel has none."""

    def __init__(self) -> None:
        self._table: TypeTable | None = None
        self._asked = False

    def _real(self) -> TypeTable | None:
        if not self._asked:
            from probescope.sources.kernel_btf import types

            self._asked = True
            self._table = types()
        return self._table

    @property
    def present(self) -> bool:
        return self._real() is not None

    def layout(self, name: str) -> Layout | None:
        t = self._real()
        return t.layout(name) if t else None

    def named(self, name: str) -> Type | None:
        t = self._real()
        return t.named(name) if t else None

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        t = self._real()
        return t.enumerator(name) if t else None

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        t = self._real()
        return t.enum_values(name) if t else ()

    def names(self) -> list[str]:
        t = self._real()
        return t.names() if t else []


def kernel_types() -> LazyTypes:
    """The same table for everybody on this host."""
    found: LazyTypes = host().cache.setdefault("lazy_types", LazyTypes())
    return found
