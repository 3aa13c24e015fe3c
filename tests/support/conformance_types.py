"""The types that bpftrace's test of its type inference expects of variables, keys and values.

auto result = test("begin { $a = 1; $a = (uint32)2; }");
EXPECT_EQ(var_type(result, "$a"), CreateUInt32());
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance_cpp import Token, Walker, end_of, split

from probescope.ir.program import Program
from probescope.lang.bt.types_text import show
from probescope.model.types import Agg, Array, Bool, Int, Pointer, Record, String, Tuple, Type


@dataclass(frozen=True)
class Inferred:
    """``what`` is ``var``, ``key`` or ``value``; ``type`` as messages show it."""

    line: int
    program: str
    what: str
    name: str
    type: str


_ASKED = {"var_type": "var", "map_val_type": "value", "map_key_type": "key"}


def inferred(root: str) -> Iterator[Inferred]:
    """Those whose types are made of numbers, strings, pointers, arrays, tuples and records."""
    text = Path(f"{root}/tests/type_resolver.cpp").read_text()
    program = ""
    for call in Walker(text, frozenset({"test", "EXPECT_EQ"})).calls():
        if call.helper == "test":
            first = call.strings[0]
            program = first.lstrip("\n") if isinstance(first, str) else ""
            continue
        asked = [t.text for t in call.args[0]]
        t = _type(list(call.args[1])) if len(call.args) > 1 else None
        if program and asked[0] in _ASKED and t is not None:
            name = next(w.text for w in call.args[0] if w.kind == "string")
            yield Inferred(call.line, program, _ASKED[asked[0]], name.lstrip("$@"), show(t))


def _type(tokens: list[Token]) -> Type | None:
    """``CreateTuple(Struct::CreateTuple({ CreateInt8(), CreateString(4) }))`` and its like."""
    opening = next((i for i, t in enumerate(tokens) if t.text == "("), -1)
    if opening < 1 or end_of(tokens, opening) != len(tokens) - 1:
        return None
    word = tokens[opening - 1].text.removeprefix("Create")
    args = split(tokens[opening + 1 : -1])
    if word.rstrip("0123456789") in ("Int", "UInt"):
        return Int(int(word.lstrip("UInt")) // 8, word[0] == "I")
    if word in ("Bool", "String"):
        return Bool() if word == "Bool" else String(int(args[0][0].text))
    if word == "Pointer":
        inner = _type(args[0])
        return None if inner is None else Pointer(inner)
    if word == "Array":
        inner = _type(args[1])
        return None if inner is None else Array(inner, int(args[0][0].text))
    if word in ("Tuple", "Record"):
        return _compound(word, tokens[opening + 1 : -1])
    return None


def _compound(word: str, tokens: list[Token]) -> Type | None:
    lists = [split(tokens[i + 1 : end_of(tokens, i)]) for i, t in enumerate(tokens) if _opens_list(tokens, i, t)]
    if not lists:
        return None
    items = [_type(item) for item in lists[0]]
    if None in items:
        return None
    types = tuple(t for t in items if t is not None)
    if word == "Tuple":
        return Tuple(types)
    names = [item[0].text for item in lists[-1]]
    return Record(tuple(zip(names, types, strict=True)))


def _opens_list(tokens: list[Token], i: int, t: Token) -> bool:
    """A brace at the level of the first one: those of inner types are inside its own."""
    return t.text == "{" and not any(j < i < end_of(tokens, j) for j, o in enumerate(tokens[:i]) if o.text == "{")


def known(fact: Inferred, program: Program) -> str:
    """What we say of the same thing; empty if there is none."""
    found: Type | Agg | None = None
    if fact.what == "var":
        found = next((v.type for c in program.clauses for v in c.variables if v.name == fact.name), None)
    else:
        m = next((m for m in program.maps if m.name == fact.name), None)
        found = None if m is None else m.key if fact.what == "key" else m.value
    return show(found) if found is not None else ""
