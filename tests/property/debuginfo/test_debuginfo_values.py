"""Values out of memory that means nothing, and tables of Go's runtime that are damaged: each ends with a text or a part
of the table, never in an exception, a hang or much memory."""

from __future__ import annotations

import random
import struct

import pytest

from probescope.debuginfo import gopclntab
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_find import Finder
from probescope.debuginfo.dwarf_open import open_dwarf
from probescope.debuginfo.dwarf_types import DwarfTypes
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.values.captures import Captures
from probescope.model.capture import Hit, Segment
from probescope.model.fetch import Deref, Register
from tests.support import values_programs

HERE = 0x5000_0000
ROUNDS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("values")


def _captures(path, names, later):
    binary = Binary(path)
    dwarf = open_dwarf(binary)
    assert dwarf is not None
    types = DwarfTypes(Finder(dwarf))
    captures = Captures(types, binary, later)
    found = [types.named(n) for n in names]
    return binary, [(captures, t) for t in found]


def _words(rng, size):
    """Bytes of which many look like pointers to themselves, small counts, or nothing."""
    choices = (0, 1, 3, HERE, HERE + 8, HERE + 40, (1 << 64) - 1, 1 << 63, rng.getrandbits(64), rng.getrandbits(8))
    return b"".join(struct.pack("<Q", rng.choice(choices)) for _ in range(size // 8 + 1))[:size]


def _all_end(path, names):
    rng = random.Random(1)
    memory = {}

    def later(_task, address, size):
        at = address - HERE
        return memory["all"][at : at + size] if 0 <= at <= len(memory["all"]) - size else None

    binary, found = _captures(path, names, later)
    try:
        for captures, t in found:
            assert t is not None
            capture = captures.of(t, None, Deref(Register("di"), 0))
            assert capture is not None
            assert len(capture.steps) <= 24
            for _ in range(ROUNDS):
                memory["all"] = _words(rng, 4096)
                text = capture.show(Hit([Segment(HERE, memory["all"][: capture.size])], 1, 0))
                assert len(text) < 1 << 16
    finally:
        binary.close()


def test_memory_of_cpp_means_nothing(folder):
    """Circles among nodes, lengths of 2^64, vtables that are none."""
    names = [
        "struct shop::Circle",
        "map<int, shop::Point, std::less<int>, std::allocator<std::pair<int const, shop::Point> > >",
    ]
    names += ["set<int, std::less<int>, std::allocator<int> >", "vector<bool, std::allocator<bool> >"]
    names += ["vector<shop::Point, std::allocator<shop::Point> >", "optional<int>", "struct shop::Square"]
    _all_end(values_programs.cpp(folder, "0"), names)


def test_memory_of_rust_means_nothing(folder):
    """Variants that there are not, slices of any length."""
    names = ["Shape", "Option<alloc::string::String>", "Result<u8, alloc::string::String>", "&str"]
    _all_end(values_programs.rust(folder), names)


def test_a_table_of_go_that_is_damaged(folder):
    """Whatever a byte of it is turned into, or wherever it ends."""
    elf = ElfFile.open(values_programs.go(folder, stripped=True))
    section = elf.section(".gopclntab")
    assert section is not None
    data = elf.section_data(section)
    elf.close()
    whole = gopclntab.read(data, 0)
    assert whole is not None
    names = [f.name for f in whole.functions]
    assert "main.(*Point).Move" in names
    found = next(f for f in whole.functions if f.name == "main.many")
    assert [line for _, _, line in whole.lines(found)][:1] == [
        values_programs.GO.partition("func many")[0].count("\n") + 1
    ]
    rng = random.Random(2)
    for i in range(20):
        broken = bytearray(data if i % 2 else data[: rng.randrange(100, len(data))])
        for _ in range(8):
            broken[rng.randrange(8, 100 if i % 3 else len(broken))] = rng.randrange(256)
        table = gopclntab.read(bytes(broken), 0)
        if table is not None:
            for f in table.functions[:50]:
                assert len(list(table.lines(f))) <= 1 << 16
    assert gopclntab.read(b"\xf0\xff\xff\xff\0\0\x01\x08", 0) is None


def test_a_page_that_was_not_in_memory(folder):
    """A probe reads zeros there. What the process has now is shown, and marked; zeros that are some are not."""
    there = {"all": b"plums and pears"}
    binary, found = _captures(values_programs.rust(folder), ["&str"], lambda _t, at, n: there["all"][at - HERE :][:n])
    captures, t = found[0]
    capture = captures.of(t, None, Deref(Register("di"), 0))
    binary_segments = [Segment(HERE + 4096, struct.pack("<QQ", HERE, 5)), Segment(HERE, bytes(5))]
    assert capture.show(Hit(binary_segments, 1, 0)) == '~"plums"'
    there["all"] = bytes(5)
    assert capture.show(Hit(binary_segments, 1, 0)) == '"\\x00\\x00\\x00\\x00\\x00"'
    binary.close()
