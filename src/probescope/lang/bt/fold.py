"""The values of constant expressions, as far as they can be known without types.

``evaluate`` is what array sizes, ``#if``, loop counts and ``comptime`` have in common. Integers are those of C on 64
bits: what does not fit -2**63 .. 2**64-1 is not constant. Everything that depends on types (``sizeof`` of a struct,
``is_integer``) or on the host is left to the checker and the lowering: the result is then ``None``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from probescope.lang.bt.ast import (
    Binary,
    Block,
    Bool,
    Cast,
    Comptime,
    Expr,
    If,
    Int,
    Name,
    NamedType,
    PointerType,
    Sizeof,
    Str,
    Ternary,
    TypeExpr,
    Unary,
)

Value = int | bool | str

MOST, LEAST = (1 << 64) - 1, -(1 << 63)

SIZES: dict[str, tuple[int, bool]] = {
    **{f"int{bits}": (bits // 8, True) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (bits // 8, False) for bits in (8, 16, 32, 64)},
    **{f"{n}{bits}": (bits // 8, n in ("s", "__s")) for bits in (8, 16, 32, 64) for n in ("u", "s", "__u", "__s")},
    **{f"{n}{bits}_t": (bits // 8, n == "int") for bits in (8, 16, 32, 64) for n in ("int", "uint")},
    "bool": (1, False),
    "char": (1, True),
    "signed char": (1, True),
    "unsigned char": (1, False),
    "short": (2, True),
    "unsigned short": (2, False),
    "int": (4, True),
    "signed": (4, True),
    "unsigned": (4, False),
    "unsigned int": (4, False),
    "long": (8, True),
    "unsigned long": (8, False),
    "long long": (8, True),
    "unsigned long long": (8, False),
    "size_t": (8, False),
    "ssize_t": (8, True),
    "uintptr_t": (8, False),
    "intptr_t": (8, True),
}
"""Bytes and sign of the integer types that are the same on every 64-bit Linux."""


def evaluate(expr: Expr, names: Mapping[str, int] | None = None) -> Value | None:
    """The value of ``expr``, or ``None`` if it is not constant. ``names`` are constants such as enumerators."""
    match expr:
        case Int(value=value):
            return value
        case Bool(value=truth):
            return truth
        case Str(value=text):
            return text
        case Name(name=name):
            return names.get(name) if names is not None else None
        case Comptime(operand=operand):
            return evaluate(operand, names)
        case Unary(op=op, operand=operand):
            return unary(op, evaluate(operand, names))
        case Binary():
            return _binary(expr, names)
        case Ternary():
            return _ternary(expr, names)
        case Cast(type=kind, operand=operand):
            return _cast(kind, evaluate(operand, names))
        case Sizeof(of=of):
            return _sizeof(of)
        case Block(statements=(), value=value) if value is not None:
            return evaluate(value, names)
        case If(branches=(branch,), otherwise=otherwise) if otherwise is not None:
            condition = evaluate(branch.condition, names)
            return None if condition is None else evaluate(branch.body if condition else otherwise, names)
        case _:
            return None


def integer(expr: Expr, names: Mapping[str, int] | None = None) -> int | None:
    """The value of ``expr`` if it is a constant integer (or truth value)."""
    value = evaluate(expr, names)
    return int(value) if isinstance(value, int) else None


def literal(value: Value, like: Expr) -> Expr:
    """``value`` as a node at the place of ``like``."""
    if isinstance(value, bool):
        return Bool(like.span, value)
    return Int(like.span, value) if isinstance(value, int) else Str(like.span, value)


def _in_range(value: int) -> int | None:
    return value if LEAST <= value <= MOST else None


def unary(op: str, value: Value | None) -> Value | None:
    if op == "!" and value is not None:
        return not value
    if not isinstance(value, int):
        return None
    value = int(value)
    if op == "-":
        return _in_range(-value)
    return _in_range(~value if value <= MOST >> 1 else MOST ^ value) if op == "~" else None


def inverted(value: int) -> int:
    """``~value`` in a script: of what is not negative, all 64 bits turned over; C's constants are signed there."""
    return MOST ^ value if value >= 0 else ~value


def _divide(a: int, b: int) -> int:
    """C's division: towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": lambda a, b: a - b * _divide(a, b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: _wrapped(a << b, signed=a < 0),
    ">>": lambda a, b: a >> b,
}


def _wrapped(value: int, *, signed: bool) -> int:
    value &= MOST
    return value - (1 << 64) if signed and value >> 63 else value


def arithmetic(op: str, a: int, b: int) -> int | None:
    """``a op b`` on 64 bits; ``None`` where that is too large, or makes no sense. If one side is negative, both are
    signed: then the other one has to fit, and so does the result (a product of two negatives is unsigned again)."""
    if (op in ("/", "%") and not b) or (op in ("<<", ">>") and not 0 <= b < 64):
        return None
    negative = a < 0 or b < 0
    most = MOST >> 1
    if negative and max(a, b) > most:
        return None
    found = _ARITHMETIC[op](a, b)
    if negative and not (op == "*" and a < 0 and b < 0):
        return found if LEAST <= found <= most else None
    return _in_range(found)


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}


def _binary(expr: Binary, names: Mapping[str, int] | None) -> Value | None:
    left = evaluate(expr.left, names)
    if expr.op in ("&&", "||") and left is not None and bool(left) == (expr.op == "||"):
        return bool(left)  # the right side is not looked at, as at run time
    right = evaluate(expr.right, names)
    if left is None or right is None:
        return None
    if expr.op in ("&&", "||"):
        return bool(right)
    if isinstance(left, str) and isinstance(right, str):
        if expr.op == "+":
            return None
        return {"==": left == right, "!=": left != right}.get(expr.op)
    if isinstance(left, str) or isinstance(right, str):
        return None
    if expr.op in COMPARISONS:
        return COMPARISONS[expr.op](left, right)
    return arithmetic(expr.op, int(left), int(right))


def _ternary(expr: Ternary, names: Mapping[str, int] | None) -> Value | None:
    condition = evaluate(expr.condition, names)
    if condition is None:
        return None
    if not condition:
        return evaluate(expr.otherwise, names)
    return condition if expr.then is None else evaluate(expr.then, names)


def _cast(kind: TypeExpr, value: Value | None) -> Value | None:
    if not isinstance(kind, NamedType) or kind.tag or not isinstance(value, int):
        return None
    if kind.name == "bool":
        return bool(value)
    size = SIZES.get(kind.name)
    if size is None:
        return None
    bits, signed = size[0] * 8, size[1]
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _sizeof(of: TypeExpr | Expr) -> int | None:
    if isinstance(of, PointerType):
        return 8
    if isinstance(of, NamedType) and not of.tag and of.name in SIZES:
        return SIZES[of.name][0]
    return None
