"""Symbols saved beside a recording (``perf.data.symbols``), so that another machine can name its addresses.

    0            8        12                                               all numbers little-endian
    PSSYMS01     u32 n    n entries, then the tables that they point to

    entry   u8 kind (1 file, 2 kernel, 3 jit, 4 frames)   u8 packing (0 none, 1 zlib, 2 zstd)   u8 size of the build-id
            u8 0
            u32 pid (jit; else 0)   u32 symbols   u32 length of the path   u64 offset   u64 stored   u64 unpacked
            build-id, path (UTF-8; bytes that are none as surrogates)
    table   u64 x n  starts, rising    u32 x n  sizes, 0: up to the next one    names, UTF-8, each ended by a zero byte

    table of frames     n x (u64 offset in the file, u64 bytes), then these bytes, one piece after the other

Frames are those parts of an ELF file that tell how stacks are unwound through its code, as many pieces as ``symbols``
says.

Starts are offsets in the file (so that neither the file nor its headers are needed again: address - mapping's start +
mapping's offset), or addresses as they were while recording for the kernel (modules among it) and for JITs. Names are
as in the symbol table: not demangled. Only files with samples are there. An entry without a build-id is found by path.
"""

from __future__ import annotations

import os
import struct
import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import BinaryIO, Literal, Self

from probescope.errors import FormatError
from probescope.formats.zstd import zstd
from probescope.frozen import dataclass

MAGIC = b"PSSYMS01"
SUFFIX = ".symbols"
"""Of the file's name, after the recording's."""
MOST_ENTRIES = 1 << 16
MOST_SYMBOLS = 1 << 23
MOST_BYTES = 1 << 28
Kind = Literal["file", "kernel", "jit", "frames"]
KINDS: tuple[Kind, ...] = ("file", "kernel", "jit", "frames")
_ENTRY = struct.Struct("<BBBBIIIQQQ")


@dataclass(frozen=True, slots=True)
class SavedSymbols:
    """One table, in memory. ``starts`` rise; of several symbols at one place only the best named is there."""

    kind: Kind
    path: str
    build_id: bytes = b""
    pid: int = 0
    starts: Sequence[int] = ()
    sizes: Sequence[int] = ()
    names: Sequence[str] = ()

    def at(self, place: int) -> tuple[str, int] | None:
        """The name, and how far behind its start ``place`` is."""
        i = bisect_right(self.starts, place) - 1
        if i < 0:
            return None
        offset = place - self.starts[i]
        return (self.names[i], offset) if not self.sizes[i] or offset < self.sizes[i] else None


@dataclass(frozen=True, slots=True)
class SavedFrames:
    """``pieces`` of a file: offset and bytes, rising, none within another."""

    path: str
    build_id: bytes
    pieces: Sequence[tuple[int, bytes]]


@dataclass(frozen=True, slots=True)
class Entry:
    """What the head of the file tells of a table."""

    kind: Kind
    path: str
    build_id: bytes
    pid: int
    symbols: int
    packing: int
    offset: int
    stored: int
    unpacked: int


class SymbolFile:
    """``entries`` at once, tables as they are asked for. Raises FormatError for what is no such file or is damaged."""

    def __init__(self, file: BinaryIO, name: str = "") -> None:
        self._file, self._name = file, name
        head = file.read(12)
        if len(head) < 12 or head[:8] != MAGIC:
            raise FormatError("these are no saved symbols", file=name, offset=0)
        count = struct.unpack_from("<I", head, 8)[0]
        if count > MOST_ENTRIES:
            raise FormatError(f"{count} tables", file=name, offset=8)
        self.entries = tuple(self._entry() for _ in range(count))

    @classmethod
    def beside(cls, recording: str) -> Self | None:
        """The tables that were saved beside a recording; ``None`` where there are none. Raises OSError too."""
        path = recording.rstrip("/") + SUFFIX
        if recording == "-" or not os.path.isfile(path):
            return None
        file = open(path, "rb")  # noqa: SIM115 - it stays open as long as tables are asked for
        try:
            return cls(file, path)
        except BaseException:
            file.close()
            raise

    def _entry(self) -> Entry:
        data = self._bytes(_ENTRY.size)
        kind, packing, id_size, _, pid, symbols, path_size, offset, stored, unpacked = _ENTRY.unpack(data)
        too_large = symbols > MOST_SYMBOLS or max(stored, unpacked) > MOST_BYTES or path_size > 1 << 16
        too_large |= offset >= 1 << 62  # of a file
        if not 1 <= kind <= len(KINDS) or too_large or unpacked < 13 * symbols:
            raise FormatError("an entry that cannot be", file=self._name, section="entries")
        build_id = self._bytes(id_size)
        path = self._bytes(path_size).decode("utf-8", "surrogateescape")
        return Entry(KINDS[kind - 1], path, build_id, pid, symbols, packing, offset, stored, unpacked)

    def _bytes(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            raise FormatError("the list of tables is cut", file=self._name, section="entries")
        return data

    def find(self, kind: Kind, *, build_id: bytes = b"", path: str = "", pid: int = 0) -> Entry | None:
        """By build-id where one is given and saved; else by path, among those that have no other build-id."""
        ours = [e for e in self.entries if e.kind == kind and (kind != "jit" or e.pid == pid)]
        if build_id:
            found = next((e for e in ours if e.build_id == build_id), None)
            if found is not None:
                return found
        fits = (e for e in ours if not (build_id and e.build_id))
        return next((e for e in fits if e.path == path or kind not in {"file", "frames"}), None)

    def _table(self, entry: Entry) -> bytes:
        self._file.seek(entry.offset)
        data = self._file.read(entry.stored)
        if len(data) < entry.stored:
            raise FormatError("a table is cut", file=self._name, offset=entry.offset)
        return _unpacked(data, entry.packing, entry.unpacked)

    def frames(self, entry: Entry) -> SavedFrames:
        """Of an entry of that kind. Raises FormatError."""
        data = self._table(entry)
        at, end = 16 * entry.symbols, 0
        pieces = []
        for offset, size in struct.iter_unpack("<QQ", data[:at]):
            if offset < end or size > len(data) - at:
                raise FormatError("a table is damaged", file=self._name, offset=entry.offset)
            pieces.append((offset, data[at : at + size]))
            at, end = at + size, offset + size
        return SavedFrames(entry.path, entry.build_id, pieces)

    def table(self, entry: Entry) -> SavedSymbols:
        """Reads and unpacks it. Raises FormatError."""
        data = self._table(entry)
        n = entry.symbols
        starts, sizes = array("Q", data[: 8 * n]), array("I", data[8 * n : 12 * n])
        if sys.byteorder == "big":
            starts.byteswap()
            sizes.byteswap()
        names = data[12 * n :].decode("utf-8", "replace").split("\0")
        if len(names) != n + 1 or any(a > b for a, b in pairwise(starts)):
            raise FormatError("a table is damaged", file=self._name, offset=entry.offset)
        return SavedSymbols(entry.kind, entry.path, entry.build_id, entry.pid, starts, sizes, names[:n])


def _unpacked(data: bytes, packing: int, size: int) -> bytes:
    if packing > 2:
        raise FormatError(f"packing {packing} is not known", section="symbols")
    try:
        out = data if packing == 0 else _inflated(data, size) if packing == 1 else _decompressed(data, size)
    except ValueError as e:
        raise FormatError(f"a table cannot be unpacked: {e}", section="symbols") from None
    if len(out) != size:
        raise FormatError("a table has not the size that it should", section="symbols")
    return out


def _inflated(data: bytes, size: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, size)
    except zlib.error as e:
        raise ValueError(str(e)) from None


def _decompressed(data: bytes, size: int) -> bytes:
    module = zstd()
    try:
        return bytes(module.ZstdDecompressor().decompress(data, size))
    except module.ZstdError as e:
        raise ValueError(str(e)) from None


def write_symbols(file: BinaryIO, tables: Iterable[SavedSymbols | SavedFrames]) -> int:
    """All of the file; how many bytes that is. zstd where it is there, else zlib."""
    tables = tuple(tables)
    packed = [_packed(t) for t in tables]
    heads = [(t.build_id[:255], t.path.encode("utf-8", "surrogateescape")) for t in tables]
    at = 12 + sum(_ENTRY.size + len(b) + len(p) for b, p in heads)
    file.write(MAGIC + struct.pack("<I", len(tables)))
    for t, (build_id, path), (how, data, size) in zip(tables, heads, packed, strict=True):
        kind, pid, count = (
            ("frames", 0, len(t.pieces)) if isinstance(t, SavedFrames) else (t.kind, t.pid, len(t.starts))
        )
        number = KINDS.index(kind) + 1
        file.write(_ENTRY.pack(number, how, len(build_id), 0, pid, count, len(path), at, len(data), size))
        file.write(build_id + path)
        at += len(data)
    for _, data, _ in packed:
        file.write(data)
    return at


def _packed(t: SavedSymbols | SavedFrames) -> tuple[int, bytes, int]:
    """How, the bytes, and the size before."""
    data = _frames(t) if isinstance(t, SavedFrames) else _symbols(t)
    try:
        return 2, bytes(zstd().compress(data, 3)), len(data)
    except FormatError:
        return 1, zlib.compress(data, 6), len(data)


def _frames(t: SavedFrames) -> bytes:
    head = b"".join(struct.pack("<QQ", offset, len(data)) for offset, data in t.pieces)
    return head + b"".join(data for _, data in t.pieces)


def _symbols(t: SavedSymbols) -> bytes:
    names = b"".join(n.encode("utf-8", "replace").replace(b"\0", b"?") + b"\0" for n in t.names)
    starts, sizes = array("Q", t.starts), array("I", [min(s, 0xFFFFFFFF) for s in t.sizes])
    if sys.byteorder == "big":
        starts.byteswap()
        sizes.byteswap()
    return starts.tobytes() + sizes.tobytes() + names
