"""Access to parts: ``a.b``, ``a[i]``, ``a.0``, ``*a``, ``&a``. Pointers are followed by ``.`` and ``->`` alike."""

from __future__ import annotations

from probescope.diagnostics import Span, nearest
from probescope.ir import expr as ir
from probescope.lang.bt import ast
from probescope.lang.bt.lower_convert import as_string
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import (
    NOTHING,
    V,
    add,
    cast,
    const,
    constant,
    part,
    scaled,
    value,
    wide,
)
from probescope.lang.bt.types import UNKNOWN, is_flex, is_int, settle, show, tag_of
from probescope.model.types import (
    I8,
    U64,
    Array,
    Int,
    Layout,
    Member,
    Opaque,
    Pointer,
    Record,
    Space,
    String,
    Struct,
    Tuple,
    Type,
    Void,
    signed,
    wrap,
)

_NUMBERS = frozenset("ksym usym username strerror syscall_name signal_name cgroup_path container".split())
"""What a variable holds as a number, and shows as a name."""
_HARMLESS_TAGS = frozenset({"user", "rcu", "kptr", "const"})


# --- members ----------------------------------------------------------------------------------------------------------


def field(u: Unit, node: ast.Field) -> V:
    """``base.name`` or ``base->name``."""
    base = node.base
    if isinstance(base, ast.Name | ast.Call):
        from probescope.lang.bt.builtins_site import argument_field, typed_result

        found = argument_field(u, base, node)
        if found is not None:
            return found
        v = _followed(u, typed_result(u, base) or u.expr(base), node.span)
    else:
        v = _followed(u, u.expr(base), node.span)
    if not v.known:
        return NOTHING
    if isinstance(v.type, Record):
        return _record_item(u, v, node)
    if not isinstance(v.type, Struct):
        return u.error(f"Can not access field '{node.name}' on expression of type '{show(v.type)}'", node.span)
    layout = u.program.types.layout(v.type.name)
    if layout is None:
        return u.error(f"Unknown struct/union: '{v.type.name}'", node.span, *u.program.types.near(v.type.name))
    m = layout.member(node.name)
    if m is None:
        return _no_member(u, layout, node)
    return _member(u, v, layout, m, node.span)


def _followed(u: Unit, v: V, span: Span) -> V:
    """The value that a pointer, or a pointer to a pointer..., leads to."""
    while v.known and isinstance(v.type, Pointer):
        e = u.read(v, span)
        if e is None:
            return NOTHING
        v = V(v.type.target, address=e, space=target_space(u, v.type))
    return v


def target_space(u: Unit, t: Pointer) -> Space:
    """Where a pointer leads."""
    return u.space if t.space == "none" else t.space


def member_of(u: Unit, v: V, struct: str, name: str, span: Span) -> V:
    """A member of the struct that a pointer leads to, whatever the pointer's own type says."""
    layout = u.program.types.layout(struct)
    m = layout.member(name) if layout is not None else None
    e = u.read(v, span)
    if layout is None or m is None:
        return u.error(f"{struct} is not known here", span)
    if e is None or not isinstance(e.type, Pointer | Int):
        return u.error(f"this is no pointer to a {struct}", span)
    place = V(Struct(struct), address=e if isinstance(e.type, Pointer) else cast(e, U64), space="kernel")
    return _member(u, place, layout, m, span)


def _no_member(u: Unit, layout: Layout, node: ast.Field) -> V:
    near = nearest(node.name, [m.name for m in layout.members])
    hints = [f"did you mean '{n}'?" for n in near[:1]]
    message = f"Struct/union of type '{layout.name}' does not contain a field named '{node.name}'"
    return u.error(message, node.span, *hints)


def _member(u: Unit, v: V, layout: Layout, m: Member, span: Span) -> V:
    space = v.space
    for name, tag in layout.tags:
        if name == m.name and tag not in _HARMLESS_TAGS:
            message = f"Attempting to access pointer field '{m.name}' with unsupported tag attribute: {tag}"
            return u.error(message, span)
        if name == m.name and tag == "user":
            space = "user"
    t = inherit(u, m.type, space)
    if v.address is None:
        e = u.read(v, span)
        return NOTHING if e is None else value(part(e, m, t, span))
    return V(spread(u, t), address=add(v.address, m.offset), space=v.space, field=m if m.bit_size else None)


def spread(u: Unit, t: Type) -> Type:
    """The type of what lies in memory: char arrays are strings, with room for a NUL; one without a length may be
    long."""
    if not isinstance(t, Array) or t.element != I8:
        return t
    return String(t.count + 1 if t.count else u.program.settings.max_strlen)


def inherit(u: Unit, t: Type, space: Space) -> Type:
    """Pointers found in memory lead to where that memory is, unless they say otherwise (in kernel memory only); those
    found in a context, to the clause's usual place."""
    if not isinstance(t, Pointer) or (t.space != "none" and space != "user"):
        return t
    return Pointer(t.target, u.space if space in ("context", "none") else space, t.size)


def _record_item(u: Unit, v: V, node: ast.Field) -> V:
    assert isinstance(v.type, Record)
    for i, (name, t) in enumerate(v.type.fields):
        if name == node.name:
            e = u.read(v, node.span)
            return NOTHING if e is None else _taken(t, item(e, i, settle(t), node.span))
    near = nearest(node.name, [n for n, _ in v.type.fields])
    hints = [f"did you mean '{n}'?" for n in near[:1]]
    return u.error(f"Record does not contain a field named '{node.name}'", node.span, *hints)


# --- items ------------------------------------------------------------------------------------------------------------


def item(e: ir.Expr, index: int, t: Type, span: Span) -> ir.Expr:
    """An item of a tuple or record; of one just made, if taking it alone changes nothing."""
    if isinstance(e, ir.Pack) and all(isinstance(i, ir.Const | ir.Local | ir.Context) for i in e.items):
        return e.items[index]
    return ir.Item(t, e, index, span=span)


def _taken(t: Type, e: ir.Expr) -> V:
    return V(t, e, literal=isinstance(e, ir.Const))


def tuple_item(u: Unit, node: ast.TupleItem) -> V:
    v = u.expr(node.base)
    return _tuple_item(u, v, node.index, node.span)


def _tuple_item(u: Unit, v: V, index: int, span: Span) -> V:
    if not v.known:
        return NOTHING
    if not isinstance(v.type, Tuple):
        return u.error(f"Can not access index '{index}' on expression of type '{show(v.type)}'", span)
    if index >= len(v.type.items):
        count = len(v.type.items)
        return u.error(f"Invalid tuple index: {index}. Found {count} elements in tuple.", span)
    e = u.read(v, span)
    t = v.type.items[index]
    return NOTHING if e is None else _taken(t, item(e, index, settle(t), span))


def index(u: Unit, node: ast.Index) -> V:
    """``base[i]`` of anything but a map."""
    v, i = u.expr(node.base), u.expr(node.index)
    if not v.known or not i.known:
        return NOTHING
    n = constant(i)
    if isinstance(v.type, Tuple):
        if n is None or n < 0:
            return u.error("a tuple needs an index that is known while compiling", node.index.span)
        return _tuple_item(u, v, n, node.span)
    if not isinstance(v.type, Array | Pointer | String):
        message = "The array index operator [] can only be used on arrays, pointers, and tuples, found"
        return u.error(f"{message} {show(v.type)}.", node.span)
    if not _index_allowed(u, v, i, n, node):
        return NOTHING
    at = u.read(i, node.index.span)
    return NOTHING if at is None else _element(u, v, wide(at), n, node)


def _index_allowed(u: Unit, v: V, i: V, n: int | None, node: ast.Index) -> bool:
    is_signed = signed(i.type) and not is_flex(i.type) and not (n is not None and n >= 0)
    if not isinstance(i.type, Int) or is_signed:
        message = "The array index operator [] only accepts non-negative integer indices. Got:"
        u.error(f"{message} {show(i.type)}", node.span)
        return False
    count = _room(v)
    if count and n is not None and n >= count:
        u.error(f"the index {n} is out of bounds for array of size {count}", node.span)
        return False
    return True


def _element(u: Unit, v: V, at: ir.Expr, n: int | None, node: ast.Index) -> V:
    if isinstance(v.type, Pointer):
        return _pointed(u, v, v.type, at, node.span)
    if isinstance(v.type, String):
        if v.address is not None:
            return V(I8, address=scaled(v.address, _within(v, at, n, node.span), 1), space=v.space)
        e = u.read(v, node.span)
        if isinstance(e, ir.Const) and isinstance(e.value, bytes) and n is not None and n < len(e.value):
            return const(wrap(e.value[n], I8), I8, node.span)
        return NOTHING if e is None else value(ir.Index(I8, e, at, span=node.span))
    assert isinstance(v.type, Array)
    element = v.type.element
    if v.address is None:
        e = u.read(v, node.span)
        return NOTHING if e is None else V(element, ir.Index(settle(element), e, at, span=node.span))
    size = u.program.types.size(element)
    if not size:
        return u.error(f"the size of {show(element)} is not known", node.span)
    inner = spread(u, inherit(u, element, v.space))
    return V(inner, address=scaled(v.address, _within(v, at, n, node.span), size), space=v.space)


def _room(v: V) -> int:
    """How many elements there are, 0 if nobody can tell. The text of a char array has one byte more."""
    if isinstance(v.type, String):
        return v.type.size if v.address is None else v.type.size - 1
    return v.type.count if isinstance(v.type, Array) else 0


def _within(v: V, at: ir.Expr, n: int | None, span: Span) -> ir.Expr:
    """An index of memory: what lies behind an array is read, as in C, but who reads it should know."""
    room = _room(v)
    return ir.Call(at.type, "within", (at, ir.Const(U64, room)), span=span) if n is None and room else at


def _pointed(u: Unit, v: V, t: Pointer, at: ir.Expr, span: Span) -> V:
    size = u.program.types.size(t.target)
    if not size:
        message = "The array index operator [] cannot be used on a pointer to an unsized type (void *)."
        return u.error(message, span)
    base = u.read(v, span)
    if base is None:
        return NOTHING
    space = target_space(u, t)
    return V(spread(u, inherit(u, t.target, space)), address=scaled(base, at, size), space=space)


# --- pointers ---------------------------------------------------------------------------------------------------------


def deref(u: Unit, v: V, node: ast.Unary) -> V:
    """``*v``. A number is taken as the address of a uint64."""
    e = u.read(v, node.span)
    if e is None:
        return NOTHING
    if isinstance(e, ir.Address):
        return _pointed_variable(u, e, node.span)
    if isinstance(v.type, Pointer):
        if isinstance(v.type.target, Opaque) and v.type.target.kind in _NUMBERS:
            number = ir.Load(U64, target_space(u, v.type), e, span=node.span)
            return value(ir.Cast(v.type.target, number, span=node.span))
        if isinstance(v.type.target, Tuple | Record | Opaque):
            message = f"what lies behind a pointer cannot be read as {show(v.type.target)}"
            return u.error(message, node.span, "use the variable itself")
        if isinstance(v.type.target, Void):
            return u.error("Can not dereference a pointer to void; cast it first", node.span)
        space = target_space(u, v.type)
        return V(spread(u, inherit(u, v.type.target, space)), address=e, space=space)
    if is_int(v.type):
        tag = tag_of(v.type)
        where: Space = tag if tag in ("kernel", "user", "context") else u.space
        return V(U64, address=cast(e, U64), space=where)
    if isinstance(v.type, Struct):
        return u.error(f"Can not dereference struct/union of type '{v.type.name}'. It is not a pointer.", node.span)
    message = f"The * operator can not be used on expressions of type '{show(v.type)}'"
    return u.error(message, node.span)


def _pointed_variable(u: Unit, e: ir.Address, span: Span) -> V:
    """``*&$x`` is ``$x``."""
    var = next(v for v in u.scopes.all if v.name == e.name)
    return u.variable(var, span)


def address(u: Unit, node: ast.Unary) -> V:
    """``&x`` of a variable, or of what lies in traced memory. Maps of the program have no address here."""
    if isinstance(node.operand, ast.Var):
        return _of_variable(u, node.operand, node.span)
    if isinstance(node.operand, ast.Map | ast.MapItem):
        return _of_map(u, node.operand, node.span)
    v = u.expr(node.operand)
    if not v.known:
        return NOTHING
    if v.address is None or v.field is not None:
        return u.error("only what lies in memory has an address", node.span)
    target = Array(I8, v.type.size - 1) if isinstance(v.type, String) else settle(v.type)
    t = Pointer(target, v.space)
    return V(t, _as_pointer(v.address, t))


def _of_variable(u: Unit, node: ast.Var, span: Span) -> V:
    """A pointer to what the variable holds: pointed at, a string is its characters."""
    var = u.scopes.find(node.name)
    v = u.expr(node)
    if var is None or not v.known or not isinstance(v.ir, ir.Local):
        return NOTHING
    t = Pointer(Array(I8, v.type.size - 1) if isinstance(v.type, String) else v.type, "kernel")
    return V(t, ir.Address(settle(t), v.ir.name, span=span))


def _of_map(u: Unit, node: ast.Map | ast.MapItem, span: Span) -> V:
    m = u.map(node.name if isinstance(node, ast.Map) else node.map.name)
    if m.value is UNKNOWN:
        m.read_by(u)
        return u.undefined(m, node.span)
    return u.error("a map has no address here", span, "only functions that are written in C could use it")


def _as_pointer(e: ir.Expr, t: Pointer) -> ir.Expr:
    return e if e.type == t else ir.Cast(t, e, span=e.span)


def bytes_of(u: Unit, v: V, span: Span, count: int) -> ir.Expr | None:
    """``count`` bytes as an array: of a place, or of an array value of that size."""
    t = Array(Int(1, False), count)
    if v.address is not None and not v.field:
        return ir.Load(t, v.space, v.address, span=span)
    if isinstance(v.type, String):
        text = as_string(u, v, span)
        return None if text is None else ir.Call(t, "array_of", (text,), span=span)
    e = u.read(v, span)
    return e if e is not None and isinstance(e.type, Array) and e.type.count == count else None


__all__ = ["address", "bytes_of", "deref", "field", "index", "item", "target_space", "tuple_item"]
