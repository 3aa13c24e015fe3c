"""Integers computed by lowered programs, against Python's: with variables, with literals that are folded, through maps.

Arithmetic has 64 bits, whatever the width of what it starts with. An expression whose parts are all signed divides,
shifts and compares signed; one whose parts are all unsigned, unsigned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bt_host import lower
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.evaluate.machine import Machine
from probescope.evaluate.store import MemoryStore
from probescope.evaluate.world import Blank

many = settings(max_examples=100)


def truncated(a: int, b: int) -> int:
    """Division as C has it."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "/": truncated,
    "%": lambda a, b: a - b * truncated(a, b),
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
}
ROOM_FOR_ALL = ("+", "*", "&", "|", "^", "-", "/", "%", "<<", ">>")


@dataclass(frozen=True)
class Leaf:
    width: int
    signed: bool
    value: int

    @property
    def type(self) -> str:
        return f"{'' if self.signed else 'u'}int{self.width}"

    def __str__(self) -> str:
        return f"({self.type})({self.value})"


@dataclass(frozen=True)
class Op:
    op: str
    left: Any
    right: Any


def wrapped(value: int, signed: bool) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if signed and value >> 63 else value


def expected(e: Any, signed: bool) -> int:
    if isinstance(e, Leaf):
        return e.value
    a, b = expected(e.left, signed), expected(e.right, signed)
    return wrapped(OPERATORS[e.op](a, b), signed)


def valid(e: Any, signed: bool) -> bool:
    """Nothing that C leaves open: no division by zero, no shift by more than 63, no overflow of a division."""
    if isinstance(e, Leaf):
        return True
    if not (valid(e.left, signed) and valid(e.right, signed)):
        return False
    a, b = expected(e.left, signed), expected(e.right, signed)
    if e.op in ("/", "%"):
        return b != 0 and not (a == -(1 << 63) and b == -1)
    if e.op in ("<<", ">>"):
        return 0 <= b < 64
    return True


def text(e: Any, leaf: Any) -> str:
    return leaf(e) if isinstance(e, Leaf) else f"({text(e.left, leaf)} {e.op} {text(e.right, leaf)})"


def leaves(e: Any) -> list[Leaf]:
    return [e] if isinstance(e, Leaf) else leaves(e.left) + leaves(e.right)


@st.composite
def leaf(draw: Any, signed: bool, width: int = 0) -> Leaf:
    width = width or draw(st.sampled_from((8, 16, 32, 64)))
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    return Leaf(width, signed, draw(st.one_of(st.integers(max(low, -3), min(high, 70)), st.integers(low, high))))


def tree(signed: bool) -> st.SearchStrategy[Any]:
    ops = ("+", "*", "&", "|", "^", "/", "%", "<<", ">>") if not signed else ROOM_FOR_ALL
    return st.recursive(
        leaf(signed), lambda inner: st.builds(Op, st.sampled_from(ops), inner, inner), max_leaves=6
    ).filter(lambda e: isinstance(e, Op) and valid(e, signed))


either = st.booleans().flatmap(lambda signed: st.tuples(st.just(signed), tree(signed)))


def result(script: str) -> int:
    """What ``@`` is after the script has run."""
    program = lower(script)
    store = MemoryStore(program)
    machine = Machine(program, store, lambda _, __: None, types=program.types)
    machine.run(program.clauses[0].id, Blank())
    assert machine.errors == {}
    return int(store.get("", None))


@given(either)
@many
def test_variables_of_every_width(case):
    """Protects promotion: no bit is lost between narrow operands and a wide result."""
    signed, e = case
    of = leaves(e)
    declared = " ".join(f"let $v{i}: {x.type} = ({x.type})({x.value});" for i, x in enumerate(of))
    names = iter(range(len(of)))
    body = text(e, lambda _: f"$v{next(names)}")
    assert wrapped(result(f"kprobe:f {{ {declared} @ = {body}; }}"), signed) == expected(e, signed)


@given(either)
@many
def test_folding_computes_the_same(case):
    """Protects constants: what is computed while compiling is what the kernel would have computed."""
    signed, e = case
    assert wrapped(result(f"kprobe:f {{ @ = {text(e, str)}; }}"), signed) == expected(e, signed)


@given(either, st.sampled_from(("<", "<=", "==", "!=", ">", ">=")), st.data())
@many
def test_comparisons(case, op, data):
    signed, e = case
    other = data.draw(leaf(signed))
    whole = Op(op, e, other)
    of = leaves(whole)
    declared = " ".join(f"let $v{i}: {x.type} = ({x.type})({x.value});" for i, x in enumerate(of))
    names = iter(range(len(of)))
    variable = f"{declared} @ = {text(whole, lambda _: f'$v{next(names)}')};"
    assert result(f"kprobe:f {{ {variable} }}") == expected(whole, signed)
    assert result(f"kprobe:f {{ @ = {text(whole, str)}; }}") == expected(whole, signed)


@given(st.lists(st.booleans().flatmap(leaf), min_size=1, max_size=5))
@many
def test_a_map_holds_every_value_that_is_put_into_it(values):
    """Protects maps: their type is as wide as the widest assignment, wherever that stands, or there is an error."""
    if len({x.signed for x in values}) > 1 and any(x.width == 64 for x in values):
        return  # nothing holds both int64 and uint64
    clauses = "".join(f"kprobe:f{i} {{ @ = {x}; }}" for i, x in enumerate(values))
    program = lower(clauses)
    for clause, x in zip(program.clauses, values, strict=True):
        store = MemoryStore(program)
        Machine(program, store, lambda _, __: None).run(clause.id, Blank())
        assert store.get("", None) == x.value


@given(leaf(True, 64), st.sampled_from((8, 16, 32, 64)), st.booleans())
@many
def test_casts_keep_the_low_bits(value, width, signed):
    """As C does; folded or not."""
    to = f"{'' if signed else 'u'}int{width}"
    low = value.value & ((1 << width) - 1)
    low -= (1 << width) if signed and low >> (width - 1) else 0
    assert result(f"kprobe:f {{ $x = (int64)({value.value}); @ = ({to})$x; }}") == low
    assert result(f"kprobe:f {{ @ = ({to})({value.value}); }}") == low
