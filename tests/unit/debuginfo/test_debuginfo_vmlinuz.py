"""The kernel's file out of a boot image: every packing, and images that are cut, damaged, or something else."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from pathlib import Path

import pytest

from probescope.debuginfo.vmlinuz import unpacked
from probescope.errors import ElfError
from probescope.formats.zstd import zstd

KERNEL = b"\x7fELF" + bytes(range(256)) * 16


def image(payload: bytes, setup: int = 3, offset: int = 716) -> bytes:
    """A bzImage by the layout of Documentation/arch/x86/boot.rst: setup sectors, then code, then the payload."""
    head = bytearray((setup + 1) * 512)
    head[0x1F1] = setup
    head[0x1FE:0x200] = b"\x55\xaa"
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", head, 0x248, offset, len(payload))
    return bytes(head) + b"\x90" * offset + payload + b"tail"


PACKED = {
    "xz": lzma.compress(KERNEL),
    "gzip": gzip.compress(KERNEL),
    "bzip2": bz2.compress(KERNEL),
    "zstd": zstd().compress(KERNEL),
}


@pytest.mark.parametrize("kind", PACKED)
def test_every_packing_unpacks(kind: str, tmp_path: Path) -> None:
    """Protects the offsets of the boot header, and each way that distributions pack; the size is behind the payload."""
    file = tmp_path / "vmlinuz"
    file.write_bytes(image(PACKED[kind] + struct.pack("<I", len(KERNEL))))
    assert unpacked(str(file)) == KERNEL


def test_an_elf_file_is_taken_as_it_is(tmp_path: Path) -> None:
    """Protects --vmlinux FILE with a vmlinux."""
    file = tmp_path / "vmlinux"
    file.write_bytes(KERNEL)
    assert unpacked(str(file)) == KERNEL


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a kernel"),
        (b"MZ" + bytes(2000), "not a kernel"),
        (image(PACKED["xz"])[:-200], "outside"),
        (image(b""), "outside"),
        (image(b"LZOP" + bytes(50)), "unknown way"),
        (image(PACKED["xz"][:20] + bytes(60)), "does not unpack"),
        (image(gzip.compress(b"no ELF at all")), "no ELF"),
    ],
)
def test_what_is_no_kernel_is_said_to_be_none(data: bytes, why: str, tmp_path: Path) -> None:
    """Protects the messages for other files, cut ones, and unknown packings."""
    file = tmp_path / "vmlinuz"
    file.write_bytes(data)
    with pytest.raises(ElfError, match=why):
        unpacked(str(file))


def test_a_missing_file_is_named() -> None:
    """Protects against a traceback for a path that is not there."""
    with pytest.raises(ElfError, match="No such file"):
        unpacked("/nonexistent/vmlinuz")
