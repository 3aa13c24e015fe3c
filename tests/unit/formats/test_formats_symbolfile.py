"""Saved symbols: what was written is read, the layout is the documented one, damage is told."""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.debuginfo.unwind_parts import PartsSource
from probescope.errors import FormatError
from probescope.formats.symbolfile import SavedFrames, SavedSymbols, SymbolFile, write_symbols
from probescope.frozen import replace

TABLES = (
    SavedSymbols("file", "/usr/bin/a", b"\x12" * 20, 0, (0x1000, 0x1010, 0x2000), (0x10, 4, 0), ("a", "_Z1bv", "c")),
    SavedSymbols("kernel", "[kernel.kallsyms]", b"\x34" * 20, 0, (1 << 63,), (8,), ("_text",)),
    SavedSymbols("jit", "/tmp/perf-7.map", b"", 7, (16,), (16,), ("jitted",)),
)


def written() -> bytes:
    file = io.BytesIO()
    size = write_symbols(file, TABLES)
    assert size == len(file.getvalue())
    return file.getvalue()


def test_what_is_written_is_read() -> None:
    """Every field of every kind comes back."""
    f = SymbolFile(io.BytesIO(written()))
    for entry, table in zip(f.entries, TABLES, strict=True):
        got = f.table(entry)
        assert (got.kind, got.path, got.build_id, got.pid) == (table.kind, table.path, table.build_id, table.pid)
        assert [tuple(x) for x in (got.starts, got.sizes, got.names)] == [table.starts, table.sizes, table.names]


@pytest.mark.parametrize(
    ("place", "expected"),
    [(0xFFF, None), (0x1000, ("a", 0)), (0x1011, ("_Z1bv", 1)), (0x1014, None), (0x2345, ("c", 0x345))],
)
def test_places(place: int, expected: tuple[str, int] | None) -> None:
    """A symbol with a size ends there; one without reaches on."""
    f = SymbolFile(io.BytesIO(written()))
    assert f.table(f.entries[0]).at(place) == expected


def test_finding() -> None:
    """Another file at the same path is not taken for the recorded one; without a build-id the path has to do."""
    f = SymbolFile(io.BytesIO(written()))
    assert f.find("file", build_id=b"\x12" * 20, path="/moved") is f.entries[0]
    assert f.find("file", build_id=b"\x13" * 20, path="/usr/bin/a") is None
    assert f.find("file", path="/usr/bin/a") is f.entries[0]
    assert f.find("jit", pid=8) is None
    assert f.find("jit", pid=7) is f.entries[2]
    assert f.find("kernel") is f.entries[1]


def test_layout() -> None:
    """Built by hand from the documented layout."""
    table = struct.pack("<QI", 0x40, 3) + b"name\0"
    stored = zlib.compress(table)
    path = b"/x"
    entry = struct.pack("<BBBBIIIQQQ", 1, 1, 2, 0, 0, 1, len(path), 12 + 40 + 4, len(stored), len(table))
    f = SymbolFile(io.BytesIO(b"PSSYMS01" + struct.pack("<I", 1) + entry + b"\xab\xcd" + path + stored))
    assert f.entries[0].build_id == b"\xab\xcd"
    assert f.table(f.entries[0]).at(0x42) == ("name", 2)


@given(st.integers(0, len(written()) - 1), st.integers(1, 255), st.booleans())
def test_damage(at: int, change: int, cut: bool) -> None:
    """Any byte changed, or the file cut anywhere: a typed error, or tables."""
    data = bytearray(written())
    data[at] ^= change
    try:
        f = SymbolFile(io.BytesIO(bytes(data[:at] if cut else data)))
        for entry in f.entries:
            f.table(entry)
    except FormatError:
        return


FRAMES = SavedFrames("/usr/bin/a", b"\x12" * 20, ((0, b"header"), (0x1000, bytes(range(200))), (0x2000, b"end")))


def with_frames() -> bytes:
    file = io.BytesIO()
    write_symbols(file, (*TABLES, FRAMES))
    return file.getvalue()


def test_frames() -> None:
    """Beside the names of the same file."""
    f = SymbolFile(io.BytesIO(with_frames()))
    entry = f.find("frames", build_id=b"\x12" * 20, path="/elsewhere")
    assert entry is not None
    assert f.frames(entry) == replace(FRAMES, pieces=list(FRAMES.pieces))
    assert f.find("frames", build_id=b"\x13" * 20, path="/usr/bin/a") is None
    assert f.find("file", build_id=b"\x12" * 20) is f.entries[0]


def test_every_byte_may_be_another() -> None:
    """Whatever it says: a typed error, or pieces that can be read as far as they go."""
    data = with_frames()
    for at in range(len(data)):
        for value in {0, 1, 0x7F, 0xFF, data[at] ^ 8}:
            try:
                f = SymbolFile(io.BytesIO(data[:at] + bytes([value]) + data[at + 1 :]))
            except FormatError:
                continue
            for entry in f.entries:
                try:
                    pieces = f.frames(entry).pieces if entry.kind == "frames" else f.table(entry).names and ()
                except FormatError:
                    continue
                source = PartsSource(pieces, "x")
                assert all(source.read(at, len(found)) == found for at, found in pieces if found)


def test_a_bomb_is_not_unpacked() -> None:
    """16 bytes are promised, 100 MB would come."""
    packed = zlib.compress(bytes(100 << 20))
    head = struct.pack("<BBBBIIIQQQ", 4, 1, 0, 0, 0, 1, 1, 12 + 41, len(packed), 16)
    f = SymbolFile(io.BytesIO(b"PSSYMS01" + struct.pack("<I", 1) + head + b"x" + packed))
    tracemalloc.start()
    try:
        assert f.frames(f.entries[0]).pieces == [(0, b"")]
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_beside_a_recording(tmp_path: Path) -> None:
    """Found by the recording's name; one that is no such file is not left open (warnings are errors here)."""
    recording = tmp_path / "perf.data"
    assert SymbolFile.beside(str(recording)) is None
    assert SymbolFile.beside("-") is None
    (tmp_path / "perf.data.symbols").write_bytes(written())
    found = SymbolFile.beside(str(recording))
    assert found is not None
    assert [e.kind for e in found.entries] == ["file", "kernel", "jit"]
    found._file.close()
    (tmp_path / "perf.data.symbols").write_bytes(b"something else")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FormatError, match="no saved symbols"):
        SymbolFile.beside(str(recording))
    assert len(os.listdir("/proc/self/fd")) == before
