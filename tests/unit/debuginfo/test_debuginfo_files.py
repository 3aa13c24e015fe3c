"""Where files are: debug files by build-id and link, roots of other mount namespaces, libraries, programs."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest
from debuginfo_elfmaker import SHT_DYNSYM, ElfMaker, Section

from probescope.debuginfo import libraries
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.insn import cost, is_slow
from probescope.debuginfo.libraries import Library
from probescope.debuginfo.locate import crc32, debug_file, in_root, mapped_file
from probescope.errors import ElfError, ProbeError

BUILD_ID = bytes(range(0xA0, 0xB4))


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def program(build_id: bytes = b"", link: bytes = b"", name: str = "exported") -> ElfMaker:
    m = ElfMaker(base=0x1000)
    m.symbol(name, 0x1100, 16, table=SHT_DYNSYM)
    if build_id:
        m.build_id(build_id)
    if link:
        m.sections.append(Section(".gnu_debuglink", data=link))
    return m


def debug(build_id: bytes = b"") -> bytes:
    m = ElfMaker(base=0x9000)  # a debug file's own segments say nothing about where bytes are
    m.symbol("static_function", 0x1120, 16)
    if build_id:
        m.build_id(build_id)
    return m.build()


# --- debug files ------------------------------------------------------------------------------------------------------


def test_debug_file_by_build_id(tmp_path: Path) -> None:
    """The usual place; a file there with another build-id is not taken."""
    path = write(tmp_path / "bin" / "x", program(BUILD_ID).build())
    place = tmp_path / "debug" / ".build-id" / "a0" / f"{BUILD_ID[1:].hex()}.debug"
    dirs = (str(tmp_path / "debug"),)
    with ElfFile.open(str(path)) as elf:
        assert debug_file(elf, str(path), dirs=dirs) is None
        write(place, debug(BUILD_ID[::-1]))
        assert debug_file(elf, str(path), dirs=dirs) is None
        write(place, b"no elf")
        assert debug_file(elf, str(path), dirs=dirs) is None
        write(place, debug(BUILD_ID))
        found = debug_file(elf, str(path), dirs=dirs)
        assert found is not None
        assert found.path == str(place)
        found.close()


@pytest.mark.parametrize("where", ["bin/x.debug", "bin/.debug/x.debug", "debug{bin}/x.debug"])
def test_debug_file_by_link(tmp_path: Path, where: str) -> None:
    """Beside the program, in .debug, under the debug folder; the checksum of the whole file must be right."""
    data = debug()
    link = b"x.debug\0" + struct.pack("<I", zlib.crc32(data))
    path = write(tmp_path / "bin" / "x", program(link=link).build())
    place = tmp_path / where.format(bin=tmp_path / "bin").lstrip("/")
    dirs = (str(tmp_path / "debug"),)
    with ElfFile.open(str(path)) as elf:
        write(place, data + b"\0")
        assert debug_file(elf, str(path), dirs=dirs) is None
        write(place, data)
        found = debug_file(elf, str(path), dirs=dirs)
        assert found is not None
        assert crc32(found) == zlib.crc32(data)
        found.close()


def test_debug_file_that_is_the_program_itself(tmp_path: Path) -> None:
    """A link to its own name must not be followed."""
    path = tmp_path / "x"
    write(path, program(link=b"x\0\0\0" + bytes(4)).build())
    with ElfFile.open(str(path)) as elf:
        assert debug_file(elf, str(path), dirs=()) is None


def test_binary_joins_own_and_debug_symbols(tmp_path: Path) -> None:
    """Names from the debug file, places from the file that runs."""
    data = debug()
    link = b"x.debug\0" + struct.pack("<I", zlib.crc32(data))
    write(tmp_path / "x.debug", data)
    binary = Binary(str(write(tmp_path / "x", program(link=link).build())))
    site = binary.function("static_function")
    assert site is not None
    assert (site.offset, site.address, site.size) == (0x120, 0x1120, 16)
    assert [f.name for f in binary.functions()] == ["exported", "static_function"]
    assert binary.function_at(0x124) == (site, 4)
    assert binary.function_at(0x90) is None
    assert binary.place("exported", 4) == 0x104
    binary.close()


def test_places_that_do_not_exist(tmp_path: Path) -> None:
    """An offset beyond the function would hit another one; a misspelt name gets a hint."""
    binary = Binary(str(write(tmp_path / "x", program().build())))
    with pytest.raises(ProbeError, match="16 bytes"):
        binary.place("exported", 16)
    with pytest.raises(ProbeError) as e:
        binary.place("exproted")
    assert e.value.hints == ("did you mean exported?",)
    with pytest.raises(ProbeError) as e:
        binary.place("zzzzzzzzz")
    assert "stripped" in e.value.hints[0]
    with pytest.raises(ElfError):
        Binary(str(tmp_path / "gone"))


def test_functions_by_demangled_name(tmp_path: Path) -> None:
    """With parameters one function, without them all overloads, also of templates and destructors."""
    m = ElfMaker(base=0x1000)
    names = ("_ZN2ns1fEi", "_ZN2ns1fEd", "_Z1gIiEvT_", "_ZN1AD1Ev", "_ZN4core3fmt5write17h0123456789abcdefE", "plain")
    for i, name in enumerate(names):
        m.symbol(name, 0x1100 + 16 * i, 16)
    binary = Binary(str(write(tmp_path / "x", m.build())))

    def find(name: str) -> list[str]:
        return [f.name for f in binary.demangled(name)]

    assert find("ns::f(int)") == ["_ZN2ns1fEi"]
    assert find("ns::f") == ["_ZN2ns1fEd", "_ZN2ns1fEi"]
    assert find("g<int>") == ["_Z1gIiEvT_"]
    assert find("A::~A") == ["_ZN1AD1Ev"]
    assert find("core::fmt::write") == ["_ZN4core3fmt5write17h0123456789abcdefE"]
    assert find("f") == []
    assert find("") == []
    assert find("plain") == []


# --- roots ------------------------------------------------------------------------------------------------------------


def test_links_are_followed_inside_the_root(tmp_path: Path) -> None:
    """/lib -> /usr/lib of a container means the container's /usr/lib, and .. never leaves it."""
    root = tmp_path / "root"
    write(root / "usr/lib/x", b"")
    (root / "lib").symlink_to("/usr/lib")
    (root / "usr/up").symlink_to("../../../../../usr")
    (root / "loop").symlink_to("/loop")
    r = str(root)
    assert in_root(r, "/lib/x") == f"{r}/usr/lib/x"
    assert in_root(r, "/usr/up/lib/x") == f"{r}/usr/lib/x"
    assert in_root(r, "/../../etc/passwd") == f"{r}/etc/passwd"
    assert in_root(r, "/gone/./x") == f"{r}/gone/x"
    assert in_root(r, "/loop/x") == f"{r}/loop/x"
    assert in_root("", "/lib/x") == "/lib/x"
    assert in_root("/", "/lib/x") == "/lib/x"


# --- libraries --------------------------------------------------------------------------------------------------------


def cache(entries: list[tuple[str, str, int, int]], before: bytes = b"", byte_order: int = 2) -> bytes:
    order = ">" if byte_order == 3 else "<"
    strings, rows = b"", b""
    start = 48 + 24 * len(entries)
    for name, path, flags, hwcap in entries:
        places = []
        for text in (name, path):
            places.append(start + len(strings))
            strings += text.encode() + b"\0"
        rows += struct.pack(order + "iIIIQ", flags, *places, 0, hwcap)
    head = libraries.MAGIC + struct.pack(
        order + "II4s16s", len(entries), len(strings), bytes([byte_order, 0, 0, 0]), b""
    )
    return before + head + rows + strings


ENTRIES = [
    ("libssl.so.3", "/lib/libssl.so.3", 0x303, 0),
    ("libssl.so.1.1", "/lib/libssl.so.1.1", 0x303, 0),
    ("libc.so.6", "/lib/hwcaps/libc.so.6", 0x303, 1 << 62),
    ("libc.so.6", "/lib/libc.so.6", 0x303, 0),
    ("libc.so.6", "/lib32/libc.so.6", 0x003, 0),
    ("libcap.so.2", "/lib/libcap.so.2", 0x303, 0),
]


def test_libraries_by_name() -> None:
    """Newest first, variants for some processors last, other libraries that begin alike not at all."""
    entries = libraries.parse_cache(cache(ENTRIES))
    wide = [e for e in entries if e.flags == 0x303]
    assert libraries.pick("libssl", wide) == ["/lib/libssl.so.3", "/lib/libssl.so.1.1"]
    assert libraries.pick("libssl.so.1.1", wide) == ["/lib/libssl.so.1.1"]
    assert libraries.pick("libc", wide) == ["/lib/libc.so.6", "/lib/hwcaps/libc.so.6"]
    assert libraries.pick("lib", wide) == []
    assert libraries.pick("libc.so", wide) == ["/lib/libc.so.6", "/lib/hwcaps/libc.so.6"]


def test_cache_in_a_root(tmp_path: Path) -> None:
    """The container's own cache, and only libraries of the wanted machine."""
    write(tmp_path / "etc/ld.so.cache", cache(ENTRIES, before=b"ld.so-1.7.0\0" + bytes(36)))
    assert libraries.find_library("libc", root=str(tmp_path)) == ["/lib/libc.so.6", "/lib/hwcaps/libc.so.6"]
    assert libraries.find_library("libc", machine="aarch64", root=str(tmp_path)) == []
    assert libraries.find_binary("libssl", root=str(tmp_path))[0] == "/lib/libssl.so.3"


def test_no_cache(tmp_path: Path) -> None:
    """Alpine has none: the folders that every loader trusts."""
    write(tmp_path / "usr/lib/libz.so.1", b"")
    assert libraries.find_library("libz", root=str(tmp_path)) == ["/usr/lib/libz.so.1"]
    assert libraries.find_library("libnope", root=str(tmp_path)) == []
    assert libraries.find_library("../libz", root=str(tmp_path)) == []


@pytest.mark.parametrize("data", [b"", b"x", libraries.MAGIC, cache(ENTRIES)[:60], cache(ENTRIES)[:-200], bytes(1000)])
def test_malformed_caches(data: bytes) -> None:
    """Cut or empty: what is sound of it, no error."""
    assert all(isinstance(e, Library) for e in libraries.parse_cache(data))


def test_counts_and_offsets_that_lie() -> None:
    """Four billion entries, strings outside of the file."""
    data = bytearray(cache(ENTRIES))
    struct.pack_into("<I", data, 20, 0xFFFFFFFF)
    struct.pack_into("<I", data, 48 + 4, 0xFFFFFFF0)
    found = libraries.parse_cache(bytes(data))
    assert "/lib/libssl.so.3" not in [e.path for e in found]
    assert "/lib/libssl.so.1.1" in [e.path for e in found]


def test_big_endian_cache() -> None:
    """s390x: the flags byte says so."""
    assert [e.name for e in libraries.parse_cache(cache(ENTRIES[:1], byte_order=3))] == ["libssl.so.3"]


def test_programs(tmp_path: Path) -> None:
    """Through PATH: executable files only, folders only where they are absolute."""
    write(tmp_path / "a/tool", b"")
    os.chmod(write(tmp_path / "b/tool", b""), 0o755)
    search = f"relative:{tmp_path}/a:{tmp_path}/b/"
    assert libraries.find_program("tool", search) == f"{tmp_path}/b/tool"
    assert libraries.find_program("nope", search) == ""
    assert libraries.find_binary(str(tmp_path / "a/tool")) == [str(tmp_path / "a/tool")]
    assert libraries.find_binary(str(tmp_path / "gone")) == []


# --- instructions -----------------------------------------------------------------------------------------------------

X86 = {
    "55": "emulated",  # push %rbp
    "4157": "emulated",  # push %r15
    "4057": "stepped",  # push with an empty REX
    "90": "emulated",
    "6690": "emulated",
    "0f1f440000": "nop5",
    "0f1f00": "emulated",
    "660f1f440000": "emulated",
    "e9fecaadde": "emulated",
    "eb05": "emulated",
    "7405": "emulated",
    "0f8400000000": "emulated",
    "e800000000": "emulated",
    "66e90000": "refused",
    "f30f1efa": "stepped",  # endbr64
    "488d3c25": "stepped",  # lea
    "4889e5": "stepped",  # mov
    "4883ec08": "stepped",  # sub
    "c3": "stepped",  # ret
    "31c0": "stepped",
    "": "unknown",
    "66": "unknown",
    "0f": "unknown",
}


@pytest.mark.parametrize("code", sorted(X86))
def test_cost_of_x86_instructions(code: str) -> None:
    """Those that machines here single-step cost 10 us a hit, the others 0.6."""
    assert cost(bytes.fromhex(code)) == X86[code]
    assert is_slow(bytes.fromhex(code)) == (X86[code] == "stepped")


def test_cost_of_aarch64_instructions() -> None:
    """Branches and address computations are simulated, the usual stp of a prologue is stepped."""
    words = {
        0xD503201F: "emulated",
        0x94000000: "emulated",
        0xD65F03C0: "emulated",
        0xA9BF7BFD: "stepped",
        0x54000041: "emulated",
    }
    assert {w: cost(w.to_bytes(4, "little"), "aarch64") for w in words} == words
    assert cost(b"\0\0", "aarch64") == "unknown"
    assert cost(b"\x55", "riscv") == "unknown"


def test_the_file_of_a_mapping_is_found_by_its_inode(tmp_path):
    """perf tells paths as the process sees them, /proc/PID/maps as we do; only the inode says which it was."""
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    file = root / "bin" / "x"
    file.write_text("")
    inode = file.stat().st_ino
    assert mapped_file(str(root), "/bin/x", inode) == str(file)
    assert mapped_file(str(root), str(file), inode) == str(file)
    assert mapped_file(str(root), str(file), inode + 1) == f"{root}{file}"  # another file has that name now
    assert mapped_file("", "/bin/x", 5) == "/bin/x"
