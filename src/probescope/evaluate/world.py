"""What an evaluated program stands in: the event that fired, and where its effects go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from probescope.ir.program import Clause
from probescope.model.types import Opaque, Space, Type

Value = Any


class Event(Protocol):
    """One thing that happened, as far as it was recorded. Methods raise ``KeyError`` for what was not: the plan has
    made sure that nothing is asked in vain."""

    def context(self, name: str, arg: str) -> Value:
        """pid, comm, nsecs... as ``ir/context.py`` types them."""
        ...

    def field(self, name: str, type_: Type) -> Value: ...
    def argument(self, index: int) -> Value: ...
    def returned(self) -> Value: ...
    def register(self, name: str) -> int: ...

    def read(self, space: Space, address: int, size: int) -> bytes | None:
        """Up to ``size`` bytes of memory; ``None`` if none of it can be read, fewer if some cannot."""
        ...

    def stack(self, type_: Opaque) -> Value: ...
    def call(self, name: str, args: tuple[Value, ...]) -> Value:
        """An intrinsic that is not pure."""
        ...


class Blank:
    """An event that knows nothing: the base of others, and enough for pure programs."""

    def context(self, name: str, arg: str) -> Value:
        raise KeyError(name)

    def field(self, name: str, type_: Type) -> Value:
        raise KeyError(name)

    def argument(self, index: int) -> Value:
        raise KeyError(f"arg{index}")

    def returned(self) -> Value:
        raise KeyError("retval")

    def register(self, name: str) -> int:
        raise KeyError(name)

    def read(self, space: Space, address: int, size: int) -> bytes | None:
        return None

    def stack(self, type_: Opaque) -> Value:
        raise KeyError(type_.kind)

    def call(self, name: str, args: tuple[Value, ...]) -> Value:
        raise KeyError(name)


Emitter = Callable[[int, tuple[Value, ...]], None]
"""Takes the index of an action and its values."""

EffectHandler = Callable[[str, tuple[Value, ...], Clause], None]


class Frame:
    """One run of one clause: the event, scratch variables, and what is counted. Mutable; short-lived."""

    __slots__ = ("errors", "event", "variables")

    def __init__(self, event: Event, errors: dict[tuple[str, int], int], variables: dict[str, Value]) -> None:
        self.event = event
        self.errors = errors
        self.variables = variables
