"""Layouts of declared structs against the compiler: random structs, every byte and bit of every member."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.debuginfo.ctype_table import ScriptTypes
from probescope.frozen import dataclass
from probescope.model.types import Bool, Enum, Int, Layout, Pointer, Struct, Type

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


@dataclass(frozen=True, slots=True)
class Base:
    name: str


@dataclass(frozen=True, slots=True)
class Tagged:
    keyword: str
    name: str


@dataclass(frozen=True, slots=True)
class Star:
    target: object


@dataclass(frozen=True, slots=True)
class Times:
    element: object
    count: int | None


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    type: object
    bits: int | None = None
    inline: object = None
    align: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    keyword: str
    name: str
    members: tuple[Member, ...] | None
    packed: bool = False
    align: int = 0


INTEGERS = (
    "char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long", "unsigned long",
    "unsigned long long", "_Bool",
)  # fmt: skip
BITS = {"char": 8, "unsigned char": 8, "short": 16, "unsigned short": 16, "int": 32, "unsigned int": 32, "_Bool": 1}


class Maker:
    """Random declarations, as our plain data and as C."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.done: list[Record] = []

    def struct(self, name: str, depth: int = 0) -> tuple[Record, str]:
        rng = self.rng
        keyword = "union" if rng.random() < 0.2 else "struct"
        packed, align = rng.random() < 0.2, rng.choice((0, 0, 0, 0, 2, 8, 16))
        members, body = [], ""
        for i in range(rng.randrange(1, 7)):
            member, text = self.member(f"m{depth}_{i}", f"{name}_{i}", depth)
            members.append(member)
            body += f"  {text};\n"
        attributes = " __attribute__((packed))" * packed + f" __attribute__((aligned({align})))" * bool(align)
        return Record(keyword, name, tuple(members), packed, align), f"{{\n{body}}}{attributes}"

    def member(self, name: str, path: str, depth: int) -> tuple[Member, str]:
        rng, what = self.rng, self.rng.randrange(10)
        kind = rng.choice(INTEGERS)
        if what < 3:
            return Member(name, Base(kind)), f"{kind} {name}"
        if what < 6:
            width = rng.randrange(1, BITS.get(kind, 64) + 1)
            if rng.random() < 0.15:
                width = 0 if rng.random() < 0.5 else width
                return Member("", Base(kind), bits=width), f"{kind} : {width}"
            return Member(name, Base(kind), bits=width), f"{kind} {name} : {width}"
        if what == 6:
            count = rng.randrange(1, 5)
            return Member(name, Times(Base(kind), count)), f"{kind} {name}[{count}]"
        if what == 7:
            return Member(name, Star(Base("void"))), f"void *{name}"
        if what == 8 and self.done:
            other = rng.choice(self.done)
            return Member(name, Tagged(other.keyword, other.name)), f"{other.keyword} {other.name} {name}"
        if depth < 2:
            inner, text = self.struct(f"{path}_anonymous", depth + 1)
            keyword = inner.keyword
            text = text.replace("m1_", f"{path}m_").replace("m2_", f"{path}n_")
            renamed = self._rename(inner, path)
            return Member("", Tagged(keyword, inner.name), inline=renamed), f"{keyword} {text}"
        align = rng.choice((0, 4, 16))
        return Member(name, Base(kind), align=align), f"{kind} {name}" + f" __attribute__((aligned({align})))" * bool(
            align
        )

    def _rename(self, r: Record, path: str) -> Record:
        """Members of nameless structs must differ from all others around."""
        members = tuple(
            Member(
                m.name.replace("m1_", f"{path}m_").replace("m2_", f"{path}n_"), m.type, m.bits,
                self._rename(m.inline, path) if isinstance(m.inline, Record) else None, m.align,
            )
            for m in r.members or ()
        )  # fmt: skip
        return Record(r.keyword, r.name, members, r.packed, r.align)


def mask(layout: Layout, types: ScriptTypes, name: str) -> str:
    """Hexadecimal image of a struct in which only one member is all ones."""
    m = layout.member(name)
    assert m is not None
    image = bytearray(layout.size)
    size = size_of(m.type, types)
    if m.bit_size:
        bits = ((1 << m.bit_size) - 1) << m.bit_offset
    else:
        bits = 1 if isinstance(m.type, Bool) else (1 << 8 * size) - 1
    image[m.offset : m.offset + size] = bits.to_bytes(size, "little")
    return image[: layout.size].hex()  # a packed field of 6 bytes is read as 8


def size_of(t: Type, types: ScriptTypes) -> int:
    return types.size_align(t)[0]


PRELUDE = """#include <stdio.h>
#include <string.h>
static void show(const char *s, const void *p, size_t n) {
    printf("%s ", s);
    for (size_t i = 0; i < n; i++) printf("%02x", ((const unsigned char *)p)[i]);
    printf("\\n");
}
int main(void) {
"""


@pytest.mark.parametrize("seed", range(6))
def test_random_structs_lie_as_gcc_lays_them(seed: int, tmp_path: Path) -> None:
    """A member at the wrong bit would read another member's value without anybody noticing."""
    maker = Maker(seed)
    definitions, code, records = "", "", []
    for n in range(80):
        record, text = maker.struct(f"s{n}")
        if seed % 2 == 0 or not record.packed:
            maker.done.append(record)
        records.append(record)
        definitions += f"{record.keyword} s{n} {text};\n"
    types = ScriptTypes(records)
    expected = []
    for r in records:
        full = f"{r.keyword} {r.name}"
        layout = types.layout(full)
        assert layout is not None
        expected.append(f"{full} {layout.size}")
        code += f'printf("{full} %zu\\n", sizeof({full}));\n'
        for m in layout.members:
            if m.bit_offset and m.bit_offset + m.bit_size == 64:
                continue  # a packed field may span nine bytes: no unit covers it, and its highest bits are given up
            if isinstance(m.type, Int | Bool | Enum | Pointer):
                expected.append(f"{r.name}.{m.name} {mask(layout, types, m.name)}")
                value = f"x.{m.name} = {'(void *)' if isinstance(m.type, Pointer) else ''}-1"
                code += f'{{ {full} x; memset(&x, 0, sizeof x); {value}; show("{r.name}.{m.name}", &x, sizeof x); }}\n'
            elif not isinstance(m.type, Struct):
                expected.append(f"{r.name}.{m.name} @{m.offset}")
                code += f'printf("{r.name}.{m.name} @%zu\\n", __builtin_offsetof({full}, {m.name}));\n'
    source = tmp_path / "t.c"
    source.write_text(definitions + PRELUDE + code + "return 0; }\n")
    subprocess.run(["gcc", "-w", "-O0", "-o", tmp_path / "t", source], check=True)
    output = subprocess.run([tmp_path / "t"], capture_output=True, text=True, check=True).stdout.splitlines()
    different = [(o, e) for o, e in zip(output, expected, strict=True) if o != e]
    assert different == []
    assert len(expected) > 200
