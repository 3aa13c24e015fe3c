"""Files of strangers that are small and claim to be large: read in bounded time and memory, or refused."""

from __future__ import annotations

import lzma
import os
import struct
import time
import tracemalloc
from pathlib import Path

import pytest

from probescope.debuginfo import jitdump
from probescope.debuginfo.elf_unpack import unxz
from probescope.errors import ElfError


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
