"""Programs and libraries inside of zip archives, as Android maps them: ``/data/app/base.apk!/lib/arm64-v8a/libx.so``.

What is stored uncompressed is a stretch of the archive, so it can be mapped and probed where it lies:

    local header (30 bytes, name, extra field)   the ELF file ...   more members   central directory

Source: PKWARE's APPNOTE.TXT 4.3.7 (local header) and 4.3.12 (central directory).
"""

from __future__ import annotations

import io
import os

from probescope.debuginfo.elf_source import FileSource, check_range
from probescope.errors import ElfError

MARK = "!/"
MOST_DIRECTORY = 1 << 23
"""Bytes of a central directory that is read: it is kept as objects, which take twenty times as much."""
_LOCAL = 30


def split(path: str) -> tuple[str, str] | None:
    """(archive, member); ``None`` for a path of the ordinary kind, also if a file of that very name exists."""
    archive, mark, member = path.partition(MARK)
    return (archive, member) if mark and archive and member and not os.path.exists(path) else None


class MemberSource:
    """A ``ByteSource`` of one member. ``base``: where it begins in the archive ``file``, in bytes."""

    def __init__(self, archive: str, member: str) -> None:
        """Raises ElfError where there is no such archive or member, or it is not stored as it is."""
        self.name = f"{archive}{MARK}{member}"
        self.file = archive
        self._source = FileSource(archive)
        try:
            self.base, self.size = self._find(member)
        except ElfError:
            self.close()
            raise

    def _find(self, member: str) -> tuple[int, int]:
        import zipfile

        try:
            with _Archive(self.file) as file, zipfile.ZipFile(file) as z:
                info = z.getinfo(member)
        except KeyError:
            raise ElfError(f"the archive has no member {member}", file=self.file) from None
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as e:
            raise ElfError(f"not a zip archive: {e}", file=self.file) from None
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise ElfError("compressed in the archive: only what is stored as it is can be mapped", file=self.name)
        head = self._source.read(info.header_offset, _LOCAL)
        if not head.startswith(b"PK\x03\x04"):
            raise ElfError("no local header where the archive says", file=self.name, offset=info.header_offset)
        behind = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        base = info.header_offset + _LOCAL + behind
        check_range(self._source, base, 0)
        return base, min(info.file_size, self._source.size - base)

    def read(self, offset: int, size: int) -> bytes:
        check_range(self, offset, size)
        return self._source.read(self.base + offset, size)

    def close(self) -> None:
        self._source.close()


class _Archive(io.FileIO):
    """A file whose directory, which is read at once, has a bound."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            size = MOST_DIRECTORY
        if size > MOST_DIRECTORY:
            raise ElfError("the directory of the archive is too large", file=str(self.name))
        return super().read(size) or b""


def open_source(path: str) -> FileSource | MemberSource:
    """Of a file, or of a member of an archive. Raises ElfError."""
    found = split(path) if MARK in path else None
    return MemberSource(*found) if found is not None else FileSource(path)
