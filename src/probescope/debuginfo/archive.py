"""Programs and libraries inside of zip archives, as Android maps them: ``/data/app/base.apk!/lib/arm64-v8a/libx.so``.

What is stored uncompressed is a stretch of the archive, so it can be mapped and probed where it lies:

    local header (30 bytes, name, extra field)   the ELF file ...   more members   central directory

Source: PKWARE's APPNOTE.TXT 4.3.7 (local header) and 4.3.12 (central directory).
"""

from __future__ import annotations

import os

from probescope.debuginfo.elf_source import FileSource, check_range
from probescope.errors import ElfError

MARK = "!/"
MOST_MEMBERS = 1 << 20
MOST_DIRECTORY = 1 << 28
"""Bytes of a central directory that is read: it is kept as objects."""
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
            with zipfile.ZipFile(self.file) as z:
                if (
                    z.start_dir < 0
                    or self._source.size - z.start_dir > MOST_DIRECTORY
                    or len(z.filelist) > MOST_MEMBERS
                ):
                    raise ElfError("the directory of the archive is too large", file=self.name)
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


def open_source(path: str) -> FileSource | MemberSource:
    """Of a file, or of a member of an archive. Raises ElfError."""
    found = split(path) if MARK in path else None
    return MemberSource(*found) if found is not None else FileSource(path)
