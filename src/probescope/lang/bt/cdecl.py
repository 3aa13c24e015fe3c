"""What a C declaration says, as plain data: no sizes, no offsets, no lookups.

What comes out of ``parser_c.py``. Layouts (natural C alignment, bit fields) are computed by whoever knows the types.

    struct a { int x:3; struct { char c[2]; }; struct b *next; } __attribute__((packed));

    CStruct(keyword="struct", name="a", packed=True, members=(
        CMember("x", CBase("int"), bits=3),
        CMember("",  CTagged("struct", "(anonymous 1 in stdin)"), inline=CStruct(...)),
        CMember("next", CPointer(CTagged("struct", "b")))))

A definition inside another declaration is its ``inline``; it has a name even if C gives it none.
"""

from __future__ import annotations

from typing import TypeAlias

from probescope.lang.bt.node import Node


class CBase(Node):
    """A builtin or typedef name in canonical spelling: ``int``, ``unsigned long``, ``char``, ``u32``, ``void``."""

    name: str


class CTagged(Node):
    """``struct name``, ``union name``, ``enum name``; anonymous ones are named in parentheses."""

    keyword: str
    name: str


class CPointer(Node):
    """``tags`` are attributes of the target such as ``user``, ``percpu``, ``rcu`` (``btf_type_tag``)."""

    target: CType
    tags: tuple[str, ...] = ()


class CArray(Node):
    """``count`` is ``None`` for a flexible array member (``int x[]``)."""

    element: CType
    count: int | None


class CFunction(Node):
    """A function's type; only pointers to it have a size."""

    result: CType
    params: tuple[CType, ...]
    variadic: bool = False


CType: TypeAlias = "CBase | CTagged | CPointer | CArray | CFunction"


class CMember(Node):
    """``bits`` is the width of a bit field, ``None`` for none (0 closes the unit). ``inline`` is the definition that
    stands in the member's own declaration. ``align`` is the value of ``aligned(N)``, or 0. An anonymous struct or
    union has no name.
    """

    name: str
    type: CType
    bits: int | None = None
    inline: CStruct | CEnum | None = None
    align: int = 0


class CStruct(Node):
    """``keyword`` is ``struct`` or ``union``; ``members`` is ``None`` for a forward declaration. ``nested`` are
    definitions that stand inside but belong to no member (``struct a { enum { X }; };``).
    """

    keyword: str
    name: str
    members: tuple[CMember, ...] | None
    packed: bool = False
    align: int = 0
    nested: tuple[CStruct | CEnum, ...] = ()

    @property
    def full_name(self) -> str:
        """``struct name``, as the rest of the product calls it."""
        return f"{self.keyword} {self.name}"


class CEnumerator(Node):
    name: str
    value: int


class CEnum(Node):
    """``base`` is the underlying type if one is given (``enum x : u8``)."""

    name: str
    values: tuple[CEnumerator, ...] | None
    base: str = ""
    packed: bool = False


class CTypedef(Node):
    """``typedef type name``; ``inline`` is the definition inside it."""

    name: str
    type: CType
    inline: CStruct | CEnum | None = None


CDeclaration: TypeAlias = "CStruct | CEnum | CTypedef"
