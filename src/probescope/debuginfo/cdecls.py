"""What is needed of a C declaration to lay it out: the shapes that any front end's plain data may have.

These are structural: ``lang/bt/cdecl.py`` meets them without knowing. A type is told by the attributes it has:

    name                    a builtin or typedef         keyword, name       struct, union or enum
    target (, tags)         a pointer                    element, count      an array; count None: flexible
    result, params          a function
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

CType: TypeAlias = Any
"""One of the above."""


class CMember(Protocol):
    """``bits``: width of a bit field, ``None`` for none, 0 closes the unit. ``inline``: the definition in the member's
    own declaration. ``align``: of ``aligned(N)``, or 0. A nameless struct or union has an empty name."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> CType: ...
    @property
    def bits(self) -> int | None: ...
    @property
    def inline(self) -> Any: ...
    @property
    def align(self) -> int: ...


class CStruct(Protocol):
    """``members`` is ``None`` for a forward declaration."""

    @property
    def keyword(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def members(self) -> Sequence[CMember] | None: ...
    @property
    def packed(self) -> bool: ...
    @property
    def align(self) -> int: ...


class CEnumerator(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...


class CEnum(Protocol):
    """``base``: the underlying type, if one is given."""

    @property
    def name(self) -> str: ...
    @property
    def values(self) -> Sequence[CEnumerator] | None: ...
    @property
    def base(self) -> str: ...
    @property
    def packed(self) -> bool: ...


class CTypedef(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> CType: ...
    @property
    def inline(self) -> Any: ...


Declaration: TypeAlias = "CStruct | CEnum | CTypedef"
