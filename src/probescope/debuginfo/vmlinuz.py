"""The kernel's own ELF file out of what a boot loader starts (bzImage), which every machine has under /boot.

    0x1f1        0x202   0x248           0x24c            (setup_sects + 1) * 512
    setup_sects  "HdrS"  payload_offset  payload_length   protected-mode code...  payload: compressed vmlinux

``payload_offset`` counts from the protected-mode code. The last four bytes of the payload are the size of what it
unpacks to; xz needs none of them. Symbols and debug information were taken off before: names come from kallsyms.
Source: Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header".
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from probescope.errors import ElfError, FormatError

MAX_IMAGE = 1 << 28
MAX_KERNEL = 1 << 29
"""Bytes that are read of a file, and that it may unpack to."""
_SETUP_SECTS, _MAGIC, _PAYLOAD = 0x1F1, 0x202, 0x248


def unpacked(path: str) -> bytes:
    """The bytes of vmlinux. Raises ElfError where the file is not an x86 kernel, or is packed in a way unknown here."""
    try:
        with open(path, "rb") as f:
            data = f.read(MAX_IMAGE + 1)
    except OSError as e:
        raise ElfError(f"cannot read it: {e.strerror}", file=path) from e
    if len(data) > MAX_IMAGE:
        raise ElfError(f"larger than {MAX_IMAGE} bytes", file=path)
    if data[:4] == b"\x7fELF":
        return data
    return _unpack(_payload(data, path), path)


def _payload(data: bytes, path: str) -> bytes:
    if data[_MAGIC : _MAGIC + 4] != b"HdrS" or len(data) < _PAYLOAD + 8:
        raise ElfError("not a kernel for x86 (bzImage)", file=path)
    offset, length = struct.unpack_from("<II", data, _PAYLOAD)
    start = (data[_SETUP_SECTS] + 1) * 512 + offset
    if not length or start + length > len(data):
        raise ElfError("the kernel's payload lies outside of the file", file=path, offset=start)
    return data[start : start + length]


def _unpack(payload: bytes, path: str) -> bytes:
    for magic, unpack in _KINDS:
        if payload.startswith(magic):
            try:
                out = unpack(payload)
            except FormatError as e:
                raise ElfError("packed with zstd, which this Python cannot read", file=path, hints=e.hints) from e
            except Exception as e:  # zlib.error, LZMAError, ZstdError, OSError: whatever the library calls malformed
                raise ElfError(f"the kernel does not unpack: {e}", file=path) from e
            if not out.startswith(b"\x7fELF"):
                raise ElfError("what it unpacks to is no ELF file", file=path)
            return out
    raise ElfError(f"packed in an unknown way, beginning with {payload[:4].hex(' ')}", file=path)


def _gzip(payload: bytes) -> bytes:
    import zlib

    return zlib.decompressobj(31).decompress(payload, MAX_KERNEL)


def _xz(payload: bytes) -> bytes:
    import lzma

    return lzma.LZMADecompressor(memlimit=1 << 28).decompress(payload, MAX_KERNEL)


def _zstd(payload: bytes) -> bytes:
    from probescope.formats.zstd import zstd

    return bytes(zstd().ZstdDecompressor().decompress(payload, max_length=MAX_KERNEL))


def _bzip2(payload: bytes) -> bytes:
    import bz2

    return bz2.BZ2Decompressor().decompress(payload, MAX_KERNEL)


_KINDS: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\xfd7zXZ\0", _xz),
    (b"\x28\xb5\x2f\xfd", _zstd),
    (b"\x1f\x8b", _gzip),
    (b"BZh", _bzip2),
)
