"""Calls in print formats: the kernel's helpers, compilers' built-ins, and functions whose meaning is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from probescope.formats.tracing import tree as t
from probescope.formats.tracing.ctype_sizes import size_of

if TYPE_CHECKING:
    from probescope.formats.tracing.parser import Parser

MAX_NAMES = 1 << 14
#: Constants that some kernels leave in their formats, as names: include/linux/interrupt.h, include/linux/hrtimer.h.
_SOFTIRQS = "HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU"
CONSTANTS = {f"{name}_SOFTIRQ": n for n, name in enumerate(_SOFTIRQS.split())} | {
    "BLOCK_IOPOLL_SOFTIRQ": 5,
    "HRTIMER_NORESTART": 0,
    "HRTIMER_RESTART": 1,
}


def call(p: Parser, name: str) -> t.Node:
    """After the opening parenthesis, up to the closing one. Raises FormatError for functions that are not known."""
    helper = _HELPERS.get(name)
    if helper is None:
        raise p.fail(f"the function {name} is not known here")
    return helper(p)


def constant(node: t.Node) -> int:
    """The value of an expression without fields, as C computes it in 64 bits; -1 for names that are not known."""
    match node:
        case t.Num():
            return node.value
        case t.Symbol():
            return CONSTANTS.get(node.name, -1)
        case t.Cast():
            value = constant(node.value)
            if not node.size:
                return value
            value &= (1 << node.size * 8) - 1
            return value - (1 << node.size * 8) if node.signed and value >> (node.size * 8 - 1) else value
        case t.Unary():
            value = constant(node.value)
            return {"-": -value, "~": ~value, "!": int(not value)}[node.op]
        case t.Binary():
            return _folded(node.op, constant(node.left), constant(node.right))
        case t.Cond():
            return constant(node.yes if constant(node.test) else node.no)
        case _:
            return -1


def _folded(op: str, a: int, b: int) -> int:
    return _FOLD[op](a, b) & ((1 << 64) - 1) if op in _FOLD else int(_COMPARE[op](a, b))


_FOLD: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "&&": lambda a, b: bool(a and b),
    "||": lambda a, b: bool(a or b),
}


def _names(p: Parser) -> tuple[tuple[int, str], ...]:
    """``{ number, "name" }``..., separated by commas; a comma before the end is fine. What has no name ends the table,
    as for the kernel."""
    out: list[tuple[int, str]] = []
    while p.takes(","):
        if p.look() == ("op", ")"):
            break
        p.want("{")
        if p.takes("}"):
            continue
        value = constant(p.expr()) & ((1 << 64) - 1)
        p.want(",")
        name = p.expr()
        p.takes(",")
        p.want("}")
        if not isinstance(name, t.Str):
            continue
        if len(out) >= MAX_NAMES:
            raise p.fail(f"more than {MAX_NAMES} names")
        out.append((value, name.text))
    return tuple(out)


def _flags(p: Parser) -> t.Node:
    value = p.expr()
    p.want(",")
    delimiter = p.expr()
    if not isinstance(delimiter, t.Str):
        raise p.fail("a delimiter in quotes expected")
    return t.Flags(value, delimiter.text, _names(p))


def _symbolic(p: Parser) -> t.Node:
    return t.Symbolic(p.expr(), _names(p))


def _dynamic_text(p: Parser) -> t.Node:
    return t.DynamicText(p.field(p.name()))


def _dynamic(p: Parser) -> t.Node:
    return t.Dynamic(p.field(p.name()))


def _length(p: Parser) -> t.Node:
    return t.DynamicLength(p.field(p.name()))


def _mask(cpus: bool) -> Callable[[Parser], t.Node]:
    return lambda p: t.Mask(p.field(p.name()), cpus)


def _hex(spaced: bool) -> Callable[[Parser], t.Node]:
    def read(p: Parser) -> t.Node:
        base = p.expr()
        p.want(",")
        return t.Hex(base, p.expr(), spaced)

    return read


def _array(p: Parser) -> t.Node:
    base = p.expr()
    p.want(",")
    count = p.expr()
    p.want(",")
    return t.Elements(base, count, p.expr())


def _dynamic_array(p: Parser) -> t.Node:
    field = p.field(p.name())
    p.want(",")
    return t.Elements(t.Dynamic(field), None, p.expr())


def _hex_dump(p: Parser) -> t.Node:
    prefix = p.expr()
    if not isinstance(prefix, t.Str):
        raise p.fail("a prefix in quotes expected")
    args: list[t.Node] = []
    while p.takes(",") and len(args) < 6:
        args.append(p.expr())
    if len(args) != 6:
        raise p.fail("__print_hex_dump takes 7 arguments")
    kind, row, group, base, length, text = args
    return t.HexDump(prefix.text, kind, row, group, base, length, text)


def _seconds(rest: bool) -> Callable[[Parser], t.Node]:
    return lambda p: t.Seconds(p.expr(), rest)


def _sizeof(p: Parser) -> t.Node:
    if p.look() == ("name", "REC"):
        node = p.expr()
        if isinstance(node, t.Field):
            return t.Num(node.field.size, p.long_size, False)
        raise p.fail("sizeof of an expression")
    names, stars = p.type()
    size = p.long_size if stars else size_of(names, p.long_size)[0]
    if not size:
        raise p.fail(f"the size of {' '.join(names)} is not known")
    return t.Num(size, p.long_size, False)


def _arguments(p: Parser, count: int) -> list[t.Node]:
    out = [p.expr()]
    while p.takes(","):
        out.append(p.expr())
    if len(out) != count:
        raise p.fail(f"{count} arguments expected, found {len(out)}")
    return out


def _first_of(count: int) -> Callable[[Parser], t.Node]:
    """Functions that give back their first argument, as far as a reader can tell."""
    return lambda p: _arguments(p, count)[0]


def _choose(p: Parser) -> t.Node:
    return t.Cond(*_arguments(p, 3))


def _divide(p: Parser) -> t.Node:
    return t.Binary("/", *_arguments(p, 2))


def _false(p: Parser) -> t.Node:
    _arguments(p, 1)
    return t.Num(0)


def _swapped(size: int) -> Callable[[Parser], t.Node]:
    return lambda p: t.Unary(f"swap{size}", p.expr())


_HELPERS: dict[str, Callable[[Parser], t.Node]] = {
    "__print_flags": _flags,
    "__print_flags_u64": _flags,
    "__print_flags64": _flags,
    "__print_symbolic": _symbolic,
    "__print_symbolic_u64": _symbolic,
    "__print_symbolic64": _symbolic,
    "__get_str": _dynamic_text,
    "__get_rel_str": _dynamic_text,
    "__get_dynamic_array": _dynamic,
    "__get_rel_dynamic_array": _dynamic,
    "__get_sockaddr": _dynamic,
    "__get_rel_sockaddr": _dynamic,
    "__get_dynamic_array_len": _length,
    "__get_rel_dynamic_array_len": _length,
    "__get_bitmask": _mask(False),
    "__get_rel_bitmask": _mask(False),
    "__get_cpumask": _mask(True),
    "__get_rel_cpumask": _mask(True),
    "__print_hex": _hex(True),
    "__print_hex_str": _hex(False),
    "__print_array": _array,
    "__print_dynamic_array": _dynamic_array,
    "__print_hex_dump": _hex_dump,
    "__print_ns_to_secs": _seconds(False),
    "__print_ns_without_secs": _seconds(True),
    "sizeof": _sizeof,
    "__builtin_expect": _first_of(2),
    "__builtin_constant_p": _false,
    "__builtin_choose_expr": _choose,
    "__builtin_bswap16": _swapped(2),
    "__builtin_bswap32": _swapped(4),
    "__builtin_bswap64": _swapped(8),
    "div_u64": _divide,
    "div64_u64": _divide,
    "div_s64": _divide,
    "jiffies_to_msecs": _first_of(1),
    "ktime_to_ns": _first_of(1),
}
