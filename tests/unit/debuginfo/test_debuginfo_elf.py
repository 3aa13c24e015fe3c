"""ELF files written by hand: facts, symbols, notes, compression, and every way in which they can be broken."""

from __future__ import annotations

import lzma
import os
import struct
import sys
import zlib

import pytest
from debuginfo_elfmaker import IFUNC, LOCAL, NOTYPE, OBJECT, SHT_DYNSYM, SHT_NOBITS, WEAK, ElfMaker, Section

from probescope.debuginfo import elf_notes
from probescope.debuginfo.elf import ElfFile
from probescope.errors import ElfError

SHAPES = [(64, True), (64, False), (32, True), (32, False)]


def sample(bits: int = 64, little: bool = True) -> ElfMaker:
    m = ElfMaker(bits=bits, little=little, base=0x1000, interpreter="/lib/ld.so")
    m.dynamic = [(1, "libm.so.6"), (1, "libc.so.6"), (14, "me.so.1")]
    m.symbol("main", 0x1010, 16)
    m.symbol("helper", 0x1020, 8, bind=LOCAL)
    m.symbol("memcpy@@GLIBC_2.14", 0x1030, 8, table=SHT_DYNSYM)
    m.build_id(bytes.fromhex("00112233445566778899aabbccddeeff00112233"))
    return m


@pytest.mark.parametrize(("bits", "little"), SHAPES)
def test_facts_of_every_width_and_byte_order(bits: int, little: bool) -> None:
    """Readers of other machines' files must not assume this machine's layout."""
    elf = ElfFile(sample(bits, little).build())
    assert (elf.bits, elf.little, elf.machine) == (bits, little, "x86_64")
    assert elf.needed() == ("libm.so.6", "libc.so.6")
    assert elf.soname() == "me.so.1"
    assert elf.interpreter() == "/lib/ld.so"
    assert elf.build_id() == "00112233445566778899aabbccddeeff00112233"
    assert elf.is_pie
    assert elf.is_executable
    main = elf.symbols().find("main")
    assert main is not None
    assert (main.address, main.size, main.is_function, main.section) == (0x1010, 16, True, 1)
    assert elf.to_offset(0x1010) == 0x10
    assert elf.to_vaddr(0x10) == 0x1010


def test_addresses_outside_of_segments() -> None:
    """An address that no byte of the file stands for must not become some offset."""
    elf = ElfFile(sample().build())
    assert elf.to_offset(0xFFF) is None
    assert elf.to_offset(1 << 40) is None
    assert elf.to_vaddr(1 << 40) is None
    with pytest.raises(ElfError, match="not in the file"):
        elf.read_vaddr(0x10, 4)


def test_position_independence() -> None:
    """ET_EXEC is a program, a library is not, DF_1_PIE makes one without an interpreter."""
    assert ElfFile(ElfMaker(type=2).build()).is_executable
    assert not ElfFile(ElfMaker(type=2).build()).is_pie
    assert not ElfFile(ElfMaker().build()).is_executable
    assert ElfFile(ElfMaker(dynamic=[(0x6FFFFFFB, 0x08000000)]).build()).is_pie


# --- symbols ----------------------------------------------------------------


def test_versions_are_stripped() -> None:
    """A probe on memcpy must find memcpy@@GLIBC_2.14."""
    elf = ElfFile(sample().build())
    found = elf.symbols().find("memcpy")
    assert found is not None
    assert found.name == "memcpy"
    assert [s.name for s in elf.symbols().match("mem*")] == ["memcpy"]


def test_names_that_are_tails_of_others() -> None:
    """Linkers share tails: "cpy" may be stored only inside "memcpy"."""
    m = ElfMaker()
    m.symbol("memcpy", 0x10, 4)
    data = bytearray(m.build())
    elf = ElfFile(bytes(data))
    symtab = elf.section(".symtab")
    assert symtab is not None
    struct.pack_into("<I", data, symtab.offset + 24, 4)  # st_name: from "memcpy" to its tail
    tail = ElfFile(bytes(data)).symbols().find("cpy")
    assert tail is not None
    assert tail.address == 0x10
    assert ElfFile(bytes(data)).symbols().find("memcpy") is None


def test_find_prefers_defined_functions_and_global_ones() -> None:
    """Of symbols that share a name, the one that a probe means."""
    m = ElfMaker()
    m.symbol("f", 0, section=0)
    m.symbol("f", 0x30, 4, type=OBJECT)
    m.symbol("f", 0x20, 4, bind=LOCAL)
    m.symbol("f", 0x10, 4, bind=WEAK)
    symbols = ElfFile(m.build()).symbols()
    found = symbols.find("f")
    assert found is not None
    assert found.address == 0x10
    assert len(symbols.find_all("f")) == 4
    assert [s.address for s in symbols.match("f")] == [0x20, 0x10]
    assert [s.address for s in symbols.match("f", functions=False)] == [0x30, 0x20, 0x10]


def test_at_covers_sizes_gaps_nesting_and_aliases() -> None:
    """The symbol that an address gets is what users read in every stack."""
    m = ElfMaker()
    m.symbol("outer", 0x10, 0x40)
    m.symbol("inner", 0x20, 8, bind=LOCAL)
    m.symbol("__alias", 0x80, 16)
    m.symbol("alias", 0x80, 16, bind=WEAK)
    m.symbol("no_size", 0xA0, 0)
    m.symbol("next", 0xC0, 4, type=IFUNC)
    at = ElfFile(m.build()).symbols().at
    names = {
        a: (s.name if (s := at(a)) else None)
        for a in (0xF, 0x10, 0x1F, 0x20, 0x27, 0x28, 0x4F, 0x50, 0x80, 0xBF, 0xC3, 0xC4)
    }
    assert names == {
        0xF: None,
        0x10: "outer",
        0x1F: "outer",
        0x20: "inner",
        0x27: "inner",
        0x28: "outer",  # behind the inner one the outer one goes on
        0x4F: "outer",
        0x50: None,
        0x80: "__alias",  # global before weak
        0xBF: "no_size",  # reaches to the next
        0xC3: "next",
        0xC4: None,
    }


def test_at_takes_labels_in_code_but_no_mapping_symbols() -> None:
    """Assembly leaves names without a type; AArch64 marks with $x what is code."""
    m = ElfMaker(machine=183)
    m.sections.append(Section(".data", data=bytes(16)))
    m.symbol("$x", 0x10, type=NOTYPE, bind=LOCAL)
    m.symbol("_start", 0x10, type=NOTYPE)
    m.symbol(".Llocal", 0x18, type=NOTYPE, bind=LOCAL)
    m.symbol("datum", 0x20, type=NOTYPE, section=2)
    at = ElfFile(m.build()).symbols().at
    assert [s.name if (s := at(a)) else None for a in (0x10, 0x1C, 0x24)] == ["_start", "_start", "_start"]


def test_glob_sees_non_ascii_names() -> None:
    """Names may be any UTF-8."""
    m = ElfMaker()
    m.symbol("größe", 0x10, 4)
    symbols = ElfFile(m.build()).symbols()
    assert [s.name for s in symbols.match("gr*")] == ["größe"]
    assert symbols.find("größe") is not None


def test_mini_symbols_inside_gnu_debugdata() -> None:
    """Fedora's stripped programs keep their function names in an xz-compressed ELF."""
    inner = ElfMaker(base=0x1000)
    inner.symbol("static_function", 0x1040, 16)
    m = ElfMaker(base=0x1000)
    m.symbol("exported", 0x1010, 16, table=SHT_DYNSYM)
    m.sections.append(Section(".gnu_debugdata", data=lzma.compress(inner.build())))
    symbols = ElfFile(m.build()).symbols()
    assert [s.name for s in symbols.match("*")] == ["exported", "static_function"]
    found = symbols.at(0x1048)
    assert found is not None
    assert found.name == "static_function"


# --- sections and notes ----------------------------------------------------------------


@pytest.mark.parametrize(("bits", "little"), SHAPES)
def test_compressed_section(bits: int, little: bool) -> None:
    """SHF_COMPRESSED with zlib, as distributions ship debug files."""
    m = ElfMaker(bits=bits, little=little)
    text = b"debug " * 100
    header = m.pack("IIQQ", 1, 0, len(text), 1) if bits == 64 else m.pack("III", 1, len(text), 1)
    m.sections.append(Section(".debug_str", data=header + zlib.compress(text), flags=0x800))
    assert ElfFile(m.build()).section_data(".debug_str") == text


def compressed(kind: int, size: int, data: bytes) -> ElfFile:
    m = ElfMaker()
    m.sections.append(Section(".debug_x", data=m.pack("IIQQ", kind, 0, size, 1) + data, flags=0x800))
    return ElfFile(m.build())


@pytest.mark.parametrize(
    ("kind", "size", "data"),
    [
        (1, 1 << 40, zlib.compress(bytes(5_000_000))),
        (1, 1000, zlib.compress(b"short")),
        (7, 4, b"data"),
        (1, 4, b"not zlib"),
        (1, 4, b""),
    ],
)
def test_compression_that_lies(kind: int, size: int, data: bytes) -> None:
    """A size that is not true, a bomb, an unknown kind, bytes that are no zlib: typed errors that name the section."""
    with pytest.raises(ElfError) as e:
        compressed(kind, size, data).section_data(".debug_x")
    assert ".debug_x" in e.value.where


def test_a_bomb_unpacks_to_what_it_claims_at_most() -> None:
    """Ten bytes claimed, fifty megabytes packed."""
    assert compressed(1, 10, zlib.compress(bytes(50_000_000))).section_data(".debug_x") == bytes(10)


def test_zstd_without_a_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has zstd only since 3.14."""
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ElfError) as e:
        compressed(2, 4, b"\x28\xb5\x2f\xfd....").section_data(".debug_x")
    assert e.value.hints == ("pip install backports.zstd",)


def test_zstd() -> None:
    """A frame written by hand (RFC 8878): magic, one segment of 4 bytes, one last raw block of 4 bytes."""
    frame = bytes.fromhex("28b52ffd 20 04 210000") + b"four"
    assert compressed(2, 4, frame).section_data(".debug_x") == b"four"


def test_sections_without_bytes() -> None:
    """.bss claims a size that the file does not have."""
    m = ElfMaker()
    m.sections.append(Section(".bss", SHT_NOBITS, size=1 << 40))
    elf = ElfFile(m.build())
    assert elf.section_data(".bss") == b""
    assert elf.section_data(".absent") == b""


def test_a_cut_note_keeps_those_before_it() -> None:
    """Partial results: what was sound is not lost."""
    m = ElfMaker()
    data = m.note(b"GNU", 3, bytes(20)) + m.note(b"stapsdt", 3, bytes(40))[:-8]
    assert [n.name for n in elf_notes.parse(data)] == ["GNU"]


def test_a_note_of_four_gigabytes() -> None:
    """Sizes near 2^32 must not wrap, nor be believed."""
    for sizes in ((0xFFFFFFFF, 4), (4, 0xFFFFFFFF), (0xFFFFFFF8, 0xFFFFFFF8)):
        assert elf_notes.parse(struct.pack("<III", *sizes, 3) + bytes(64)) == []


def test_notes_of_size_zero_end() -> None:
    """Empty notes go forward by twelve bytes: no endless loop."""
    assert len(elf_notes.parse(bytes(1200))) == 100


def test_notes_aligned_to_eight_bytes() -> None:
    """.note.gnu.property pads to 8."""
    first = struct.pack("<III", 4, 12, 5) + b"GNU\0" + bytes(12) + bytes(4)
    second = struct.pack("<III", 4, 8, 6) + b"GNU\0" + b"12345678"
    assert [(n.type, len(n.desc)) for n in elf_notes.parse(first + second, align=8)] == [(5, 12), (6, 8)]


def test_debuglink() -> None:
    """Name, padding, CRC; a name with a slash would lead out of the search path."""
    crc = struct.pack("<I", 0xDEADBEEF)
    assert elf_notes.debuglink(b"x.debug\0" + crc) == ("x.debug", 0xDEADBEEF)
    assert elf_notes.debuglink(b"bash.debug\0\0" + crc) == ("bash.debug", 0xDEADBEEF)
    assert elf_notes.debuglink(b"../../etc/x\0" + crc) is None
    assert elf_notes.debuglink(b"x.debug\0\1\2") is None
    assert elf_notes.debuglink(b"") is None


# --- broken files ----------------------------------------------------------------


def everything(data: bytes) -> int:
    """Calls all that a reader of a file may; how many calls failed in the documented way."""
    failed = 0
    try:
        elf = ElfFile(data)
    except ElfError:
        return 100
    for call in (elf.sections, elf.segments, elf.needed, elf.soname, elf.interpreter, elf.notes, elf.build_id):
        failed += _fails(call)
    for name in ("main", "helper"):
        failed += _fails(lambda n=name: elf.symbols().find(n))
    return failed + _fails(lambda: elf.symbols().at(0x1010)) + _fails(lambda: elf.symbols().match("*"))


def _fails(call: object) -> int:
    try:
        call()  # type: ignore[operator]
    except ElfError:
        return 1
    return 0


def test_truncation_at_every_byte() -> None:
    """A file that is cut anywhere gives typed errors or what is left, and nothing else."""
    data = sample().build()
    assert everything(data) == 0
    assert all(everything(data[:n]) > 0 for n in range(0, len(data) - 1, 3))


def test_counts_beyond_the_file() -> None:
    """Millions of sections or segments that are not there cost nothing but an error."""
    data = bytearray(sample().build())
    for at, value in ((60, 0xFFFF), (56, 0xFFFE), (58, 7), (54, 9)):
        broken = bytearray(data)
        struct.pack_into("<H", broken, at, value)
        assert 0 < everything(bytes(broken)) < 100


def test_extended_numbering() -> None:
    """More than 65,279 sections: the count is in section 0, true or not."""
    data = bytearray(sample().build())
    (shoff,) = struct.unpack_from("<Q", data, 40)
    (count, names) = struct.unpack_from("<HH", data, 60)
    struct.pack_into("<HH", data, 60, 0, 0xFFFF)
    struct.pack_into("<Q", data, shoff + 32, count)
    struct.pack_into("<I", data, shoff + 40, names)
    elf = ElfFile(bytes(data))
    assert len(elf.sections()) == count
    assert elf.section(".symtab") is not None
    struct.pack_into("<Q", data, shoff + 32, 1 << 60)
    with pytest.raises(ElfError, match="more than"):
        ElfFile(bytes(data)).sections()


def test_string_table_links_that_go_in_circles() -> None:
    """A symbol table that names itself, or nothing, as its strings."""
    for link, outcome in ((3, None), (99, "not there"), (0, "not there")):
        m = sample()
        data = bytearray(m.build())
        sections = ElfFile(bytes(data)).sections()
        index = next(s.index for s in sections if s.name == ".symtab")
        (shoff,) = struct.unpack_from("<Q", data, 40)
        struct.pack_into("<I", data, shoff + 64 * index + 40, index if link == 3 else link)
        elf = ElfFile(bytes(data))
        if outcome is None:
            assert elf.symbols().find("main") is None
        else:
            with pytest.raises(ElfError, match=outcome):
                elf.symbols()


def test_names_outside_of_the_string_table() -> None:
    """st_name beyond the strings is an empty name."""
    data = bytearray(sample().build())
    symtab = ElfFile(bytes(data)).section(".symtab")
    assert symtab is not None
    struct.pack_into("<I", data, symtab.offset + 24, 0xFFFFFFF0)
    table = ElfFile(bytes(data)).symbols()
    assert table.find("main") is None
    assert {s.name for s in table.match("*")} == {"helper", "memcpy"}


def test_what_is_no_elf_file() -> None:
    """Scripts, empty files, other classes."""
    for data in (
        b"",
        b"#!/bin/sh\n",
        b"\x7fELF",
        b"\x7fELF\x07\x01\x01" + bytes(60),
        b"\x7fELF\x02\x09\x01" + bytes(60),
    ):
        with pytest.raises(ElfError):
            ElfFile(data)


def test_paths_that_are_no_files(tmp_path) -> None:
    """A FIFO must not block, a folder and a missing file are told apart from malformed ones."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path, text in (
        (fifo, "not a regular file"),
        (tmp_path, "regular file"),
        (tmp_path / "gone", "No such file"),
        ("a\0b", "null"),
    ):
        with pytest.raises(ElfError, match=text) as e:
            ElfFile.open(str(path))
        assert str(path) in e.value.where


def test_a_file_that_shrinks(tmp_path) -> None:
    """Replaced or cut while it is read: an error, not a SIGBUS."""
    path = tmp_path / "x"
    path.write_bytes(sample().build())
    with ElfFile.open(str(path)) as elf:
        os.truncate(path, 100)
        with pytest.raises(ElfError, match="shrank"):
            elf.sections()


def test_descriptors_are_closed(tmp_path) -> None:
    """Opening and failing leaves no descriptor behind."""
    path = tmp_path / "x"
    path.write_bytes(b"no elf")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        with pytest.raises(ElfError):
            ElfFile.open(str(path))
    assert len(os.listdir("/proc/self/fd")) == before


# --- without section headers ----------------------------------------------------------------


def test_programs_without_section_headers_keep_exported_names() -> None:
    """sstrip cuts the section headers off; the loader needs none, so neither do we."""
    for path in ("/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6"):
        if not os.path.exists(path):
            continue
        with open(path, "rb") as f:
            data = bytearray(f.read())
        whole = ElfFile(bytes(data)).dynsym()
        struct.pack_into("<Q", data, 40, 0)
        struct.pack_into("<HH", data, 60, 0, 0)
        bare = ElfFile(bytes(data))
        assert bare.sections() == ()
        assert whole is not None
        assert [s for s in bare.symbols() if s.is_function] == [s for s in whole if s.is_function]
        assert bare.build_id() != ""


def test_hash_tables_that_lie() -> None:
    """The number of symbols comes from a hash table, which may claim anything."""
    for tag, words in ((4, (1, 0xFFFFFFFF)), (0x6FFFFEF5, (0xFFFFFFFF, 0, 0, 0)), (0x6FFFFEF5, (1, 0, 0xFFFFFFFF, 0))):
        m = ElfMaker(sections=[Section(".text", data=struct.pack(f"<{len(words)}I", *words) + bytes(240))])
        m.dynamic = [(6, 0), (tag, 64 + 2 * 56 + 5 * 16)]
        data = bytearray(m.build())
        struct.pack_into("<Q", data, 40, 0)
        elf = ElfFile(bytes(data))
        try:
            symbols = elf.symbols()
        except ElfError:
            continue
        assert len(symbols) <= len(data) // 24
