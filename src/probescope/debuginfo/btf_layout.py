"""Structs and unions of BTF to ``model.types.Layout``.

struct outer { int a; struct { int b; union { char c; long d; }; }; }

BTF: a @0, "" @64 bits -> struct { b @0, "" @64 bits -> union { c @0, d @0 } }
out: a @0, b @8, c @16, d @16                                      members of nameless members are lifted
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.debuginfo.btf_blob import ENUM, ENUM64, INT, PTR, STRUCT, UNION
from probescope.debuginfo.cbits import place_bits
from probescope.model.types import Layout, Member

if TYPE_CHECKING:
    from probescope.debuginfo.btf import RawMember
    from probescope.debuginfo.btf_types import BtfTypes

MAX_MEMBERS = 1 << 16
MAX_NESTING = 32


class _Builder:
    """Collects the members of one struct."""

    def __init__(self, types: BtfTypes, size: int) -> None:
        self.types = types
        self.size = size
        self.members: list[Member] = []
        self.tags: list[tuple[str, str]] = []
        self.visited = 0

    def add_all(self, type_id: int, base_bits: int, depth: int) -> None:
        if depth > MAX_NESTING:
            raise self.types.btf.error("structs nested too deep", type_id)
        for m in self.types.btf.members(type_id):
            self.visited += 1
            if self.visited > MAX_MEMBERS:
                raise self.types.btf.error("too many members", type_id)
            resolved, raw, _ = self.types.resolve(m.type)
            if not m.name and raw.kind in (STRUCT, UNION):
                self.add_all(resolved, base_bits + m.bit_offset, depth + 1)
            elif m.name:
                self.add(m, base_bits + m.bit_offset, resolved, raw.kind)

    def add(self, m: RawMember, bits: int, resolved: int, kind: int) -> None:
        t = self.types.type_of(m.type)
        width, skip = m.bit_size, 0
        if not width and kind == INT:
            width, skip = self._old_bit_field(resolved)
        if width and kind in (INT, ENUM, ENUM64):
            unit = self.types.btf.raw(resolved).third
            self.members.append(place_bits(m.name, t, bits + skip, width, unit, self.size))
        else:
            self.members.append(Member(m.name, t, bits // 8))
        if kind == PTR:
            self.tags += [(m.name, tag) for tag in self.types.tags(self.types.btf.raw(resolved).third)]

    def _old_bit_field(self, int_id: int) -> tuple[int, int]:
        """Without kflag the width of a bit field is in its integer: (bits, offset in bits), zeros for a whole one."""
        _, offset, bits = self.types.btf.int_encoding(int_id)
        return (bits, offset) if bits != 8 * self.types.btf.raw(int_id).third or offset else (0, 0)


def layout(types: BtfTypes, type_id: int, name: str) -> Layout | None:
    """``None`` for what has no layout (an integer, a mere forward declaration)."""
    raw = types.btf.raw(type_id)
    if raw.kind not in (STRUCT, UNION):
        return None
    builder = _Builder(types, raw.third)
    builder.add_all(type_id, 0, 0)
    return Layout(name, raw.third, tuple(builder.members), tuple(builder.tags))
