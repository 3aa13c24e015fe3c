"""Types as a script writes them, to types of values: ``uint8``, ``struct file *``, ``string[64]``, ``typeof($x)``."""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.lang.bt import ast
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import constant
from probescope.lang.bt.types import UNKNOWN, settle
from probescope.lang.bt.types_c import base_type
from probescope.model.types import U64, Agg, Array, Buffer, Opaque, Pointer, String, Type

_OPAQUE: dict[str, Type] = {
    "username_t": Opaque("username"),
    "ksym_t": Opaque("ksym"),
    "usym_t": Opaque("usym"),
    "macaddr_t": Opaque("mac"),
    "cgroup_path_t": Opaque("cgroup_path"),
    "container_t": Opaque("container"),
    "inet": Opaque("inet"),
    "timestamp": Opaque("timestamp"),
}
_AGGS = frozenset(f"{k}_t" for k in "count sum min max avg stats hist lhist tseries".split())
MOST_TEXT, MOST_BYTES = 1 << 20, 1 << 24
"""Greatest sizes of strings (that of max_strlen) and of arrays. The kernel keeps far less for a value; these are what
may be made without asking it."""

UNSIZED = String(0)
"""``string`` without a size: as large as what is assigned."""


def resolve_type(u: Unit, t: ast.TypeExpr) -> Type:
    """The type that is written there; ``UNKNOWN`` if it does not exist, which is reported, or is not known yet."""
    match t:
        case ast.NamedType():
            return _named(u, t)
        case ast.PointerType(target=target):
            inner = _inner(u, target)
            return UNKNOWN if inner is UNKNOWN else Pointer(settle(inner))
        case ast.ArrayType(element=element, count=count):
            return _array(u, element, count, t.span)
        case ast.TypeofType(of=of):
            return type_of(u, of)
        case _:
            return UNKNOWN


def _inner(u: Unit, t: ast.TypeExpr) -> Type:
    """What a pointer leads to or an array is made of, which has a size."""
    found = resolve_type(u, t)
    if found is not UNSIZED:
        return found
    u.error("a string needs its size here", t.span, "write string[64]")
    return UNKNOWN


def type_of(u: Unit, of: ast.TypeExpr | ast.Expr) -> Type:
    """The type of a type or of an expression, which is not evaluated. A map as a whole stands for its key."""
    if isinstance(of, ast.TypeExpr):
        return resolve_type(u, of)
    if isinstance(of, ast.TypeArg):
        return resolve_type(u, of.type)
    if isinstance(of, ast.Map):
        return _map_key(u, of)
    return unevaluated(u, of)


def unevaluated(u: Unit, of: ast.Expr) -> Type:
    """The type of an expression whose effects never happen."""
    u.unevaluated += 1
    emitted, maps = len(u.emits), u.loops
    _, v = u.collect(lambda: u.expr(of))
    del u.emits[emitted:]
    u.loops = maps
    u.unevaluated -= 1
    return v.type


def _map_key(u: Unit, of: ast.Map) -> Type:
    m = u.map(of.name)
    m.read_by(u)
    if m.keyed is False:
        return u.map_value(m, of.span)
    if m.key is UNKNOWN:
        u.undefined(m, of.span)
    return m.key


def _array(u: Unit, element: ast.TypeExpr, count: int | ast.Expr | None, span: Span) -> Type:
    inner = _inner(u, element)
    if inner is UNKNOWN:
        return UNKNOWN
    if isinstance(count, ast.Expr):
        n = constant(u.expr(count))
        if n is None or n < 0:
            u.error("the size of an array has to be known while compiling", count.span)
            return UNKNOWN
        count = n
    made = Array(settle(inner), count or 0)
    if (u.program.types.size(made) or made.count) <= MOST_BYTES:
        return made
    u.error(f"an array of more than {MOST_BYTES} bytes", span)
    return UNKNOWN


def _named(u: Unit, t: ast.NamedType) -> Type:
    if not t.tag:
        if t.name in ("string", "buffer", "inet"):
            return _sized(u, t)
        if t.name in _OPAQUE:
            return _OPAQUE[t.name]
        if t.name in _AGGS:
            return Agg(t.name[:-2])  # type: ignore[arg-type]
        base = base_type(t.name)
        if base is not None and not u.program.types.shadows(t.name):
            return base
    full = f"{t.tag} {t.name}" if t.tag else t.name
    found = u.named(full)
    if found is not None:
        return found
    if not t.tag and u.program.types.enumerator(t.name) is not None:  # sizeof(SOME_CONSTANT)
        return U64
    if t.tag == "enum":
        u.error(f"Unknown enum: {t.name}", t.span, *u.program.types.near(full))
        return UNKNOWN
    u.error(f'Cannot resolve unknown type "{full}"', t.span, *u.program.types.near(full, () if t.tag else _NAMES))
    return UNKNOWN


_NAMES = [*(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)), "string", "buffer", "bool", *_OPAQUE]


def _sized(u: Unit, t: ast.NamedType) -> Type:
    size = t.size
    if isinstance(size, ast.Expr):
        size = constant(u.expr(size))
        if size is None or size < 1:
            u.error(f"the size of a {t.name} has to be known while compiling", t.span)
            return UNKNOWN
    if size and size > MOST_TEXT:
        u.error(f"a {t.name} has at most {MOST_TEXT} bytes", t.span)
        return UNKNOWN
    if t.name == "string":
        return String(size) if size else UNSIZED
    if t.name == "buffer":
        return Buffer(size or u.program.settings.max_strlen)
    return Opaque("inet")
