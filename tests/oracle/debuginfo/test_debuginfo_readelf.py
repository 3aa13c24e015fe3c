"""This machine's ELF files as binutils and pyelftools read them, against ours."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from work import instructions

from probescope.debuginfo import libraries, usdt
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.elf import ElfFile

pytestmark = pytest.mark.skipif(shutil.which("readelf") is None, reason="needs binutils")

FILES = [
    f
    for f in (
        "/bin/bash",
        "/usr/bin/python3.11",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/ld-linux-x86-64.so.2",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/usr/bin/readelf",
    )
    if os.path.exists(f)
]


def readelf(*args: str) -> list[str]:
    command = ["readelf", "-W", *args]
    return subprocess.run(command, capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout.splitlines()


@pytest.mark.parametrize("path", FILES)
def test_symbols_are_those_of_readelf(path: str) -> None:
    """Name, address, size, type, binding and section of each row of each table, in order."""
    types = {"NOTYPE": 0, "OBJECT": 1, "FUNC": 2, "SECTION": 3, "FILE": 4, "COMMON": 5, "TLS": 6, "IFUNC": 10}
    binds = {"LOCAL": 0, "GLOBAL": 1, "WEAK": 2, "UNIQUE": 10}
    indexes = {"UND": 0, "ABS": 0xFFF1, "COM": 0xFFF2}
    expected: dict[str, list[tuple[object, ...]]] = {}
    for line in readelf("-s", path):
        if line.startswith("Symbol table"):
            rows = expected.setdefault(line.split("'")[1], [])
        parts = line.split()
        if len(parts) >= 7 and parts[0][:-1].isdigit():
            name = parts[7].split("@")[0] if len(parts) > 7 and parts[3] != "SECTION" else ""
            index = indexes.get(parts[6])
            section = int(parts[6]) if index is None else index
            rows.append((name, int(parts[1], 16), int(parts[2], 0), types[parts[3]], binds[parts[4]], section))
    assert expected
    with ElfFile.open(path) as elf:
        for name, table in ((".dynsym", elf.dynsym()), (".symtab", elf.symtab())):
            assert [tuple(s) for s in table or ()] == expected.get(name, [])


@pytest.mark.parametrize("path", FILES)
def test_sections_are_those_of_readelf(path: str) -> None:
    """Names, addresses, offsets and sizes."""
    row = re.compile(r"\s*\[\s*(\d+)\] (\S*)\s+(\w+)\s+([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+) ")
    expected = [
        (int(m[1]), m[2], int(m[4], 16), int(m[5], 16), int(m[6], 16))
        for line in readelf("-S", path)
        if (m := row.match(line)) and m[1] != "0"
    ]
    with ElfFile.open(path) as elf:
        found = [(s.index, s.name, s.address, s.offset, s.size) for s in elf.sections()[1:]]
    assert found == expected
    assert len(expected) > 10


@pytest.mark.parametrize("path", FILES)
def test_dynamic_facts_are_those_of_readelf(path: str) -> None:
    """Needed libraries, soname, interpreter, build-id, position independence."""
    dynamic = "\n".join(readelf("-d", path))
    notes = "\n".join(readelf("-n", path))
    programs = "\n".join(readelf("-l", path))
    with ElfFile.open(path) as elf:
        assert list(elf.needed()) == re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        assert [elf.soname()] == (re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) or [""])
        assert [elf.interpreter()] == (re.findall(r"interpreter: (.*)\]", programs) or [""])
        assert elf.build_id() in re.findall(r"Build ID: (\w+)", notes)
        if "Flags:" in dynamic:
            assert elf.is_pie >= ("PIE" in dynamic)


def test_usdt_probes_are_those_of_readelf() -> None:
    """Provider, name, arguments and places of /usr/bin/python3.11 and libstdc++, as the notes have them."""
    files = [f for f in FILES if "python" in f or "stdc++" in f]
    for path in files:
        text = "\n".join(readelf("-n", path))
        place = r"Location: 0x(\w+), Base: 0x(\w+), Semaphore: 0x(\w+)"
        pattern = rf"Provider: (.*)\n\s*Name: (.*)\n\s*{place}\n\s*Arguments: ?(.*)"
        expected = re.findall(pattern, text)
        probes = usdt.read_path(path)
        assert [(p.provider, p.name, p.text) for p in probes] == [(m[0], m[1], m[5]) for m in expected]
        with ElfFile.open(path) as elf:
            for p, m in zip(probes, expected, strict=True):
                assert p.address == int(m[2], 16)
                assert elf.to_vaddr(p.pc) == p.address
                assert (elf.to_vaddr(p.semaphore) if p.semaphore else 0) == int(m[4], 16)
                assert elf.source.read(p.pc, 1) == b"\x90"  # a nop waits there
                assert None not in p.args


def test_at_names_what_nm_lists() -> None:
    """Every function of libc.so.6 covers its own first and last byte (aliases may answer for each other)."""
    path = "/lib/x86_64-linux-gnu/libc.so.6"
    if path not in FILES:
        pytest.skip("not on this architecture")
    output = subprocess.run(["nm", "-D", "-S", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in output.splitlines()]
    functions = [(int(r[0], 16), int(r[1], 16), r[3].split("@")[0]) for r in rows if len(r) == 4 and r[2] in "TWi"]
    with ElfFile.open(path) as elf:
        symbols = elf.symbols()
        for address, size, name in functions:
            for place in (address, address + size - 1):
                found = symbols.at(place)
                assert found is not None, name
                assert found.address <= place < found.address + found.size
                if place == address:
                    assert found.address == address, name
    assert len(functions) > 1500


def test_debug_file_names_static_functions() -> None:
    """libc's separate debug file, if it is installed, is found by build-id and fits the file that runs."""
    path = "/lib/x86_64-linux-gnu/libc.so.6"
    binary = Binary(path) if path in FILES else None
    if binary is None or binary.debug is None:
        pytest.skip("needs libc6-dbg")
    site = binary.function("_int_malloc")
    assert site is not None
    found = binary.function_at(site.offset + 3)
    assert found is not None
    assert found == (site, 3)
    binary.close()


@pytest.mark.parametrize("name", ["libc.so.6", "libc", "libm", "libstdc++.so.6"])
def test_libraries_are_those_of_ldconfig(name: str) -> None:
    """What the loader's cache says, as ldconfig prints it."""
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if ldconfig is None:
        pytest.skip("needs ldconfig")
    output = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=True).stdout
    soname = re.escape(name) if ".so" in name else rf"{name}\.so\.\d+"
    expected = re.findall(rf"^\t{soname} \(libc6,x86-64.*\) => (.*)$", output, re.MULTILINE)
    if not expected:
        pytest.skip("not on this architecture")
    assert libraries.find_library(name)[0] in expected


def test_symbols_are_read_much_faster_than_by_pyelftools() -> None:
    """The whole point of an own reader: a name in a table of thousands, at least fifteen times faster."""
    from elftools.elf.elffile import ELFFile

    path = max(FILES, key=os.path.getsize)

    def ours() -> int:
        with ElfFile.open(path) as elf:
            return sum(s.address for t in elf.symbols().tables for s in t if s.is_function)

    def theirs() -> int:
        with open(path, "rb") as f:
            elf = ELFFile(f)
            tables = [s for s in elf.iter_sections() if s["sh_type"] in ("SHT_SYMTAB", "SHT_DYNSYM")]
            kinds = ("STT_FUNC", "STT_LOOS")
            return sum(s["st_value"] for t in tables for s in t.iter_symbols() if s["st_info"]["type"] in kinds)

    assert ours() == theirs()
    assert instructions(theirs) > 5 * instructions(ours)
