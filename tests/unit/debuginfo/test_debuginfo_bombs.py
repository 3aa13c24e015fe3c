"""Files of strangers that are small and claim to be large: read in bounded time and memory, or refused."""

from __future__ import annotations

import lzma
import os
import struct
import time
import tracemalloc
from pathlib import Path

import pytest

from probescope.debuginfo import elf_unpack, jitdump
from probescope.debuginfo.dwarf_data import open_section
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_unpack import unxz
from probescope.errors import DwarfError, ElfError


def test_xz_of_zeros() -> None:
    """200 MB in 30 KB: symbols of a stripped program are never so many."""
    packed = lzma.compress(bytes(200 << 20), preset=0)
    assert len(packed) < 1 << 20
    with pytest.raises(ElfError, match="too long"):
        unxz(packed)


def test_xz_that_wants_much_memory() -> None:
    """A dictionary of 1 GB is what its header asks for."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30, "preset": 0}]
    packed = lzma.compress(b"ELF", format=lzma.FORMAT_XZ, filters=filters)
    with pytest.raises(ElfError):
        unxz(packed)


def record(kind: int, total: int, body: bytes) -> bytes:
    return struct.pack("<IIQ", kind, total, 0) + body


@pytest.mark.parametrize("kind", [jitdump.DEBUG_INFO, jitdump.LOAD, 9])
def test_a_jitdump_of_holes(tmp_path: Path, kind: int) -> None:
    """One of half a terabyte that takes some megabytes of the disk: 30,000 records of 16 MB each."""
    path = tmp_path / "jit-1.dump"
    body = (
        struct.pack("<QQ", 4096, 1 << 40) if kind == jitdump.DEBUG_INFO else struct.pack("<IIQQQQ", 1, 1, 0, 64, 64, 0)
    )
    size = 1 << 24
    with open(path, "wb") as f:
        f.write(struct.pack("<IIIIIIQQ", jitdump.MAGIC, 1, 40, 62, 0, 1, 0, 0))
        for i in range(30_000):
            f.seek(40 + i * size)
            f.write(record(kind, size, body))
        try:
            f.truncate(40 + 30_000 * size)
        except OSError:
            pytest.skip("this file system has no files of half a terabyte")
    os.chmod(path, 0o600)
    begun = time.process_time()
    tracemalloc.start()
    try:
        found = jitdump.load(str(path))
        assert tracemalloc.get_traced_memory()[1] < 1 << 27
    finally:
        tracemalloc.stop()
    assert time.process_time() - begun < 20
    assert found is not None


def test_thousands_of_sections_that_are_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """8 GB out of a file of 1.5 MB: debug information that was never linked is in sections of one name."""
    size, count, names = 1 << 20, 8000, b"\0.shstrtab\0.debug_info.dwo\0"
    monkeypatch.setattr(elf_unpack, "MAX_UNPACKED", 8 * size)

    def header(name: int, kind: int, offset: int, length: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, length, 0, 0, 1, 0)

    sections = [bytes(64), header(1, 3, 64, len(names)), *[header(11, 1, 128, size)] * count]
    head = struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, 128 + size, 0, 64, 0, 0, 64, len(sections), 1)
    path = tmp_path / "bomb.dwo"
    data = (b"\x7fELF\2\1\1", bytes(9), head, names.ljust(64, b"\0"), bytes(size), *sections)
    path.write_bytes(b"".join(data))
    tracemalloc.start()
    try:
        with pytest.raises(DwarfError, match="more than"):
            open_section(ElfFile.open(str(path)), ".debug_info.dwo")
        assert tracemalloc.get_traced_memory()[1] < 64 * size
    finally:
        tracemalloc.stop()


def test_lines_of_a_jitdump_end_at_a_hole(tmp_path: Path) -> None:
    """Those before it are kept, and so is what follows: a hole would be a line for each 17 bytes."""
    lines = struct.pack("<QQ", 4096, 1 << 40) + struct.pack("<QII", 4096, 7, 0) + b"a.js\0" + b"\0" * (17 << 10)
    code = struct.pack("<IIQQQQ", 1, 1, 4096, 4096, 64, 0) + b"f\0"
    path = tmp_path / "jit-1.dump"
    head = struct.pack("<IIIIIIQQ", jitdump.MAGIC, 1, 40, 62, 0, 1, 0, 0)
    records = [
        record(kind, 16 + len(body), b"") + body for kind, body in ((jitdump.DEBUG_INFO, lines), (jitdump.LOAD, code))
    ]
    path.write_bytes(head + b"".join(records))
    os.chmod(path, 0o600)
    found = jitdump.load(str(path))
    assert found is not None
    assert found.at(4100) == ("f", 4)
    assert found.line(4100) == ("a.js", 7)
    assert sum(map(len, found._lines.values())) == 1
