"""``sizeof``, ``offsetof``, ``typeinfo``: known while compiling, from types alone."""

from __future__ import annotations

from probescope.diagnostics import Span, nearest
from probescope.ir import expr as ir
from probescope.lang.bt import ast
from probescope.lang.bt.check_unstable import forbidden
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, const, text
from probescope.lang.bt.types import UNKNOWN, settle, show
from probescope.lang.bt.types_names import type_of
from probescope.lang.bt.types_text import family
from probescope.model.types import U64, Record, Struct, Type


def sizeof(u: Unit, node: ast.Sizeof) -> V:
    t = type_of(u, node.of)
    if t is UNKNOWN:
        return NOTHING
    size = u.program.types.size(settle(t))
    if size is None:
        return u.error(f"the size of {show(t)} is not known", node.span)
    return const(size, span=node.span)


def offsetof(u: Unit, node: ast.Offsetof) -> V:
    t = type_of(u, node.of)
    if t is UNKNOWN:
        return NOTHING
    offset = offset_in(u, t, node.path, node.span)
    return NOTHING if offset is None else const(offset, span=node.span)


def offset_in(u: Unit, t: Type, path: tuple[str, ...], span: Span) -> int | None:
    """Bytes from the start of a struct to the member that ``path`` leads to; reports what is wrong."""
    at = 0
    for name in path:
        if not isinstance(t, Struct):
            u.error(f"'{show(t)}' is not a C type.", span)
            return None
        layout = u.program.types.layout(t.name)
        if layout is None:
            u.error(f"'{t.name}' does not exist.", span, *u.program.types.near(t.name))
            return None
        m = layout.member(name)
        if m is None:
            hints = [f"did you mean '{n}'?" for n in nearest(name, [x.name for x in layout.members])[:1]]
            u.error(f"'{layout.name}' has no field named '{name}'", span, *hints)
            return None
        at, t = at + m.offset, m.type
    return at


def typeinfo(u: Unit, node: ast.Typeinfo) -> V:
    """A record of (btf_id, base_type, full_type); ids are not known here."""
    if forbidden(u, "typeinfo", node.span):
        return NOTHING
    t = type_of(u, node.of)
    if t is UNKNOWN:
        return NOTHING
    base, full = text(family(t).encode()), text(show(t).encode())
    assert base.ir is not None
    assert full.ir is not None
    out = Record((("btf_id", U64), ("base_type", base.type), ("full_type", full.type)))
    return V(out, ir.Pack(out, (ir.Const(U64, 0), base.ir, full.ir), span=node.span))
