"""Compressed parts of ELF files: SHF_COMPRESSED sections (gABI chapter 4, Elf64_Chdr) and the xz of .gnu_debugdata.

Elf64_Chdr   0        4         8            16              24
             ch_type  reserved  ch_size      ch_addralign    compressed bytes...
Elf32_Chdr   0        4         8            12
             ch_type  ch_size   ch_addralign compressed bytes...
"""

from __future__ import annotations

import struct

from probescope.errors import ElfError, FormatError

MAX_MINI = 1 << 27
"""Bytes of a .gnu_debugdata."""
MAX_UNPACKED = 1 << 29
"""Bytes that one section may unpack to."""
ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD = 1, 2


def decompress(data: bytes, bits: int, little: bool, file: str = "", section: str = "") -> bytes:
    """The bytes of a SHF_COMPRESSED section. Raises ElfError, also where no library for zstd is there."""
    fmt = struct.Struct(("<" if little else ">") + ("IIQQ" if bits == 64 else "III"))
    if len(data) < fmt.size:
        raise ElfError("compression header is cut", file=file, section=section, offset=len(data))
    header = fmt.unpack_from(data)
    kind, size = header[0], header[2] if bits == 64 else header[1]
    if size > MAX_UNPACKED:
        raise ElfError(
            f"unpacks to {size} bytes, more than the {MAX_UNPACKED} that are read", file=file, section=section
        )
    try:
        out = _unpack(kind, data[fmt.size :], size)
    except FormatError as e:
        raise ElfError("compressed with zstd, which this Python cannot read", file=file, hints=e.hints) from e
    except Exception as e:  # zlib.error, ZstdError: whatever the library calls malformed
        raise ElfError(f"does not unpack: {e}", file=file, section=section) from e
    if len(out) != size:
        raise ElfError(f"unpacks to {len(out)} bytes instead of {size}", file=file, section=section)
    return out


def _unpack(kind: int, data: bytes, size: int) -> bytes:
    if kind == ELFCOMPRESS_ZLIB:
        import zlib

        return zlib.decompressobj().decompress(data, max(size, 1))
    if kind == ELFCOMPRESS_ZSTD:
        return _unzstd(data, size)
    raise ValueError(f"unknown compression {kind}")


def _unzstd(data: bytes, size: int) -> bytes:
    from probescope.formats.zstd import zstd

    return bytes(zstd().ZstdDecompressor().decompress(data, max_length=size))


def unxz(data: bytes, file: str = "") -> bytes:
    """The ELF inside .gnu_debugdata. Raises ElfError."""
    import lzma

    try:
        unpacker = lzma.LZMADecompressor(memlimit=1 << 28)
        out = unpacker.decompress(data, MAX_MINI)
    except lzma.LZMAError as e:
        raise ElfError(f"does not unpack: {e}", file=file) from e
    if not unpacker.eof:
        raise ElfError("the xz stream is cut or too long", file=file)
    return out
