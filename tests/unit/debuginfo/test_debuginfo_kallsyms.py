"""Kernel symbols from text: by address and name, modules, aliases, hidden addresses, odd input."""

from __future__ import annotations

import pytest

from probescope.debuginfo.kallsyms import Kallsyms, KernelSymbol
from probescope.debuginfo.symbolize import KernelSymbols

TEXT = b"""\
0000000000000000 A __per_cpu_start
ffffffff81000000 T _stext
ffffffff81000000 t alias_of_stext
ffffffff81000100 t static_one
ffffffff81000180 T vfs_read
ffffffff81000200 t static_one
ffffffff81000300 D some_data
ffffffffc0002000 t mod_b\t[b]
ffffffffc0001000 T mod_a\t[a]
ffffffffc0001040 t mod_a.cold\t[a]
ffffffffc0009000 t bpf_prog_6deef7357e7b4530_hello\t[bpf]
"""


def test_lookup_by_address() -> None:
    """The name, the offset and the module that a stack shows."""
    k = Kallsyms(TEXT)
    expected = {
        0xFFFFFFFF81000000: ("_stext", 0, ""),  # of aliases the first
        0xFFFFFFFF810000FF: ("_stext", 0xFF, ""),
        0xFFFFFFFF81000100: ("static_one", 0, ""),
        0xFFFFFFFF81000181: ("vfs_read", 1, ""),
        0xFFFFFFFF81000310: ("some_data", 0x10, ""),
        0xFFFFFFFFC0001010: ("mod_a", 0x10, "a"),
        0xFFFFFFFFC0001041: ("mod_a.cold", 1, "a"),
        0xFFFFFFFFC0002003: ("mod_b", 3, "b"),
        0xFFFFFFFFC0009001: ("bpf_prog_6deef7357e7b4530_hello", 1, "bpf"),
        0xFFFFFFFF80FFFFFF: None,  # below everything but the per-CPU area at zero
        0xFFFFFFFF90000000: None,  # far behind the last symbol before a hole
        0: None,
        -1: None,
        1 << 64: None,
    }
    assert {a: k.lookup(a) for a in expected} == expected


def test_lookup_by_name() -> None:
    """Whole names only; static functions may share one; a module can be asked for."""
    k = Kallsyms(TEXT)
    assert k.address("vfs_read") == 0xFFFFFFFF81000180
    assert k.address("vfs_rea") is None
    assert k.address("read") is None
    assert k.address("") is None
    assert [s.address for s in k.find("static_one")] == [0xFFFFFFFF81000100, 0xFFFFFFFF81000200]
    assert k.address("mod_a", "a") == 0xFFFFFFFFC0001000
    assert k.address("mod_a", "b") is None
    assert k.find("mod_b") == [KernelSymbol(0xFFFFFFFFC0002000, "mod_b", "t", "b")]


def test_lists() -> None:
    """Functions are those of code; symbols are all."""
    k = Kallsyms(TEXT)
    assert len(list(k.symbols())) == 11
    assert "some_data" not in k.functions()
    assert k.functions()[:2] == ["_stext", "alias_of_stext"]
    assert [s.name for s in k.symbols(lambda s: s.module == "a")] == ["mod_a", "mod_a.cold"]


def test_order_is_not_trusted() -> None:
    """Text in any order gives the same answers, only slower."""
    lines = TEXT.splitlines(keepends=True)
    k = Kallsyms(b"".join(reversed(lines[:7])) + b"".join(lines[7:]))
    assert k.lookup(0xFFFFFFFF81000181) == ("vfs_read", 1, "")
    assert k.lookup(0xFFFFFFFF81000100) == ("static_one", 0, "")
    assert k.lookup(0xFFFFFFFFC0002003) == ("mod_b", 3, "b")


def test_hidden_addresses_are_noticed() -> None:
    """kptr_restrict: every address reads as zero, and no address may then get a name."""
    hidden = b"".join(b"0" * 16 + line[16:] for line in TEXT.splitlines(keepends=True))
    assert Kallsyms(hidden).restricted
    assert Kallsyms(b"").restricted
    assert not Kallsyms(TEXT).restricted
    assert Kallsyms(hidden).lookup(5) is None
    assert Kallsyms(hidden).lookup(0xFFFFFFFF81000181) is None
    assert len(Kallsyms(hidden).functions()) == 9


def test_eight_digits_of_32_bit_kernels() -> None:
    """arm and i386 have shorter addresses."""
    k = Kallsyms(b"c0008000 T stext\nc0008100 t f\n")
    assert k.lookup(0xC0008104) == ("f", 4, "")
    assert k.lookup(0xFFFFFFFF81000000) is None


@pytest.mark.parametrize(
    "text", [b"\n", b"garbage", b"zz t x\n", b" \n \n", b"\t[", b"0 t x\n1 t y", b"\0" * 100, TEXT[:-40]]
)
def test_odd_text_is_no_error(text: bytes) -> None:
    """Whatever the file holds, there is an answer."""
    k = Kallsyms(text)
    for address in (0, 1, 0xFFFFFFFF81000000):
        k.lookup(address)
    k.find("x")
    list(k.symbols())
    k.functions()


def test_new_symbols_are_read_once() -> None:
    """An address without a name makes the text be read again, as a module may have come, but not for each look."""
    texts = [TEXT, TEXT, TEXT + b"ffffffffd0000000 t late\t[late]\n"]
    reads = 0

    def read() -> bytes:
        nonlocal reads
        reads += 1
        return texts[min(reads, len(texts)) - 1]

    k = KernelSymbols(read)
    known, unknown, late = 0xFFFFFFFF81000181, 0xFFFFFFFFE0000000, 0xFFFFFFFFD0000004
    assert [p.symbol for p in k.symbolize([known, unknown])] == ["vfs_read", ""]
    assert reads == 1
    for _ in range(3):
        k.symbolize([known, unknown])
    assert reads == 1  # it was nameless in a fresh text already
    k.symbolize([unknown + 1])
    assert reads == 2
    assert [p[1:] for p in k.symbolize([late])] == [("late", 4, "late")]
    assert reads == 3


@pytest.mark.parametrize(
    ("text", "address", "reads"),
    [
        (0xFFFFFFFF81000000, 0x401136, 1),  # of a program
        (0xFFFFFFFF81000000, 0xFFFF888012345678, 1),  # x86-64: all of memory is mapped there, and no code
        (0xFFFFFFFF81000000, 0xFFFFFFFFC0201000, 3),  # a module may have come
        (0xFFFF800080000000, 0x401136, 1),  # AArch64
        (0xFFFF800080000000, 0xFFFF80007A000000, 3),
        (0xC0008000, 0x401136, 3),  # 32 bits: where the two meet is not known
    ],
)
def test_addresses_that_are_no_code_are_not_looked_for_again(text: int, address: int, reads: int) -> None:
    """Protects a map by ksym(reg("ip")), which read the whole text for each place in user space."""
    digits = 16 if text >> 32 else 8
    told = 0

    def read() -> bytes:
        nonlocal told
        told += 1
        return b"%0*x T _text\n" % (digits, text)

    k = KernelSymbols(read)
    k.symbolize([text])
    assert [k.symbolize([address + 16 * i])[0].symbol for i in range(2)] == ["", ""]
    assert told == reads


def test_trampolines_of_ftrace_are_of_a_page() -> None:
    """What lies further on is another's: a program's trampoline, which is gone when its program is. Modules are no
    such pages."""
    text = (
        b"ffffffff81000000 T _text\n"
        b"ffffffffc0201000 t foo_init\t[foo]\n"
        b"ffffffffc0400000 t ftrace_trampoline\t[__builtin__ftrace]\n"
    )
    table = Kallsyms(text)
    assert table.lookup(0xFFFFFFFFC0400FFF) == ("ftrace_trampoline", 0xFFF, "__builtin__ftrace")
    assert table.lookup(0xFFFFFFFFC0401000) is None
    assert table.lookup(0xFFFFFFFFC0203000) == ("foo_init", 0x2000, "foo")
