"""What bpftrace's test of its C parser says of structs and enums: sizes, offsets, bit fields, values.

parse("struct Foo { int a:3; }", bpftrace);          the declarations that count from here on
auto foo = ....Lookup("struct Foo").lock();          which struct a variable stands for
EXPECT_EQ(foo->GetField("a").offset, 0);             a fact
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance_cpp import Walker, tokens_of

from probescope.diagnostics import Source
from probescope.errors import ScriptError
from probescope.lang.bt.files import Disk
from probescope.lang.bt.parser import ParseOptions, parse
from probescope.lang.bt.types_c import CTypes
from probescope.model.types import Layout, TypeTable


@dataclass(frozen=True)
class Fact:
    """``what`` of ``owner`` (a struct or a constant) and its ``member``: ``size``, ``members``, ``offset``, ``bytes``
    (of the member's type), ``shift`` and ``mask`` of a bit field, ``value`` of a constant."""

    line: int
    declarations: str
    owner: str
    member: str
    what: str
    value: int


_NUMBER = r"(?P<value>(?:0x)?[0-9a-fA-F]+)U?L*"
_LOOKUP = re.compile(r'\bauto (\w+) =\s*bpftrace(?:\.|->)structs\.Lookup\("([^"]+)"\)')
_STRUCT = re.compile(rf"_EQ\((?P<var>\w+)->(?P<what>size|fields\.size\(\)), {_NUMBER}\)")
_MEMBER = re.compile(
    rf'_EQ\((?P<var>\w+)->GetField\("(?P<member>\w+)"\)\s*'
    rf"\.(?P<what>offset|type\.GetSize\(\)|bitfield->access_rshift|bitfield->mask),\s*{_NUMBER}\)"
)
_CONSTANT = re.compile(rf'_EQ\(std::get<0>\(c_defs\.enums\["(?P<var>\w+)"\]\), {_NUMBER}\)')
_WORDS = {
    "fields.size()": "members",
    "type.GetSize()": "bytes",
    "bitfield->access_rshift": "shift",
    "bitfield->mask": "mask",
}


def facts(root: str) -> Iterator[Fact]:
    text = Path(f"{root}/tests/clang_parser.cpp").read_text()
    given = {c.line: c for c in Walker(text, frozenset({"parse"})).calls()}
    declarations, names = "", dict[str, str]()
    built = {t.line for t in tokens_of(text)}  # the other sides of conditions are not
    found = [m for p in (_LOOKUP, _STRUCT, _MEMBER, _CONSTANT) for m in p.finditer(text)]
    found += re.finditer(r"^TEST", text, re.MULTILINE)
    lines = [(text.count("\n", 0, m.start()) + 1, 1, m) for m in found]
    places = sorted([*(p for p in lines if p[0] in built), *((n, 0, c) for n, c in given.items())], key=lambda p: p[:2])
    for line, kind, what in places:
        if kind == 1 and what[0] == "TEST":
            declarations = ""
        elif kind == 0:
            first = what.strings[0]
            declarations, names = first if isinstance(first, str) else "", {}
        elif what.re is _LOOKUP:
            names[what[1]] = what[2]
        elif declarations and what.re is _CONSTANT:
            yield Fact(line, declarations, what["var"], "", "value", int(what["value"], 0))
        elif declarations and what["var"] in names:
            member = what["member"] if what.re is _MEMBER else ""
            word = _WORDS.get(what["what"], what["what"])
            yield Fact(line, declarations, names[what["var"]], member, word, int(what["value"], 0))


def known(fact: Fact, kernel: TypeTable) -> int | None:
    """What our own table says of it; ``None`` for nothing."""
    options = ParseOptions(files=Disk(), system_dirs=("/usr/include/x86_64-linux-gnu", "/usr/include"))
    try:
        types = CTypes(parse(Source("stdin", fact.declarations), options).declarations, kernel)
    except ScriptError:
        return None
    if fact.what == "value":
        found = types.enumerator(fact.owner)
        return found[1] if found else None
    layout = types.layout(fact.owner)
    if layout is None:
        return None
    if fact.what in ("size", "members"):
        return layout.size if fact.what == "size" else len(layout.members)
    return _of_member(fact, layout, types)


def _of_member(fact: Fact, layout: Layout, types: CTypes) -> int | None:
    """There a bit field is described by the bytes around it: here by its type's unit and the bits in it."""
    m = layout.member(fact.member)
    if m is None:
        return None
    if fact.what == "bytes":
        return types.size(m.type)
    if fact.what == "mask":
        return (1 << m.bit_size) - 1
    bit = m.offset * 8 + (m.bit_offset if m.bit_size else 0)
    return bit // 8 if fact.what == "offset" else bit % 8
