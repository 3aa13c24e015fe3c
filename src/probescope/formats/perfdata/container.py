"""The outside of perf.data: header, attributes with their ids, feature sections.

    0           8       16         24             40            56              72
    PERFILE2    size    attr size  attrs (16)     data (16)     types (16)      feature bits (32)        size 104
    PERFFILE    the same; version 1 (up to 2.6.3x), where feature sections hold what they hold, only fewer of them
    PERFILE2    16      records at once: a pipe; attributes and features are records among the others

A section is offset and size, u64 each. The magic in reverse (2ELIFREP) tells the other byte order; version 1 tells it
by the attribute size. An entry of ``attrs`` is an attribute and the section of its ids. After the data follow the
sections of the features, in order of their bits: at ``data.offset + data.size``.

A file whose recorder was killed has data size 0 (perf), or what there was a moment before (probescope, which perf can
read then) and no features: then the data reach to the end of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from probescope.errors import FormatError
from probescope.formats.perfdata.attr import LEAST_SIZE, Attr, parse_attr
from probescope.formats.perfdata.features import BITS
from probescope.frozen import dataclass
from probescope.model.recording import Damage

MAGIC2 = b"PERFILE2"
MAGIC2_OTHER = b"2ELIFREP"
MAGIC1 = b"PERFFILE"
PIPE_HEADER = 16
FILE_HEADER = 104
MOST_ATTRS = 1 << 16
MOST_IDS = 1 << 22
MOST_SECTION = 1 << 28


@dataclass(frozen=True, slots=True)
class FileAttr:
    attr: Attr
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Container:
    """Where things are. ``data``: offset and size in bytes, size -1: to the end. ``types``: names of tracepoints in
    files before 3.?, ``sections``: of the features, by number."""

    version: int
    big: bool
    pipe: bool
    attrs: tuple[FileAttr, ...]
    data: tuple[int, int]
    types: tuple[int, int] = (0, 0)
    sections: tuple[tuple[int, int, int], ...] = ()
    damage: tuple[Damage, ...] = ()


_TEXTS = "of texts, those are read that perf script, trace-cmd report or the kernel's trace print: no line here is so"


def _is_text(start: bytes) -> bool:
    return all(byte in b"\t\n\r" or 32 <= byte != 127 for byte in start)


def read_container(file: BinaryIO, name: str, file_size: int) -> Container:
    """``file_size`` -1: not known, a pipe. Reads from the start of ``file``; of a pipe, only the header. Raises
    FormatError."""
    start = file.read(PIPE_HEADER)
    magic = start[:8]
    if not start:
        raise FormatError("this is no perf.data: there is nothing in it", file=name, offset=0)
    if len(start) < PIPE_HEADER or magic not in {MAGIC1, MAGIC2, MAGIC2_OTHER}:
        what = "this is no perf.data: it begins with " + repr(magic.decode("latin-1"))
        raise FormatError(what, file=name, offset=0, hints=[_TEXTS] if _is_text(start) else [])
    big = magic == MAGIC2_OTHER
    size = struct.unpack(">Q" if big else "<Q", start[8:])[0]
    if magic == MAGIC1:
        big = size > 1 << 32
        size = struct.unpack(">Q" if big else "<Q", start[8:])[0]
    if size == PIPE_HEADER:
        return Container(2, big, True, (), (PIPE_HEADER, -1))
    if file_size < 0:
        raise FormatError("a pipe carries perf.data only as `perf record -o -` writes it", file=name, offset=8)
    if not 72 <= size <= 4096:
        raise FormatError(f"a header of {size} bytes", file=name, offset=8)
    rest = (start + file.read(size - PIPE_HEADER)).ljust(FILE_HEADER, b"\0")
    return _Reader(file, name, file_size, big).read(1 if magic == MAGIC1 else 2, rest)


class _Reader:
    def __init__(self, file: BinaryIO, name: str, file_size: int, big: bool) -> None:
        self.file, self.name, self.size, self.big = file, name, file_size, big
        self.order = ">" if big else "<"
        self.damage: list[Damage] = []
        self._ids_left = file_size // 8

    def read(self, version: int, header: bytes) -> Container:
        attr_size, attrs_at, attrs_size, data_at, data_size, types_at, types_size = struct.unpack_from(
            self.order + "7Q", header, 16
        )
        if self.big is False and version == 1 and attr_size > 1 << 32:
            raise FormatError(f"attributes of {attr_size} bytes", file=self.name, offset=16)
        attrs = tuple(self.attributes(attr_size, attrs_at, attrs_size))
        if data_at > self.size:
            raise FormatError(f"data at {data_at:#x}, the file ends at {self.size:#x}", file=self.name, offset=40)
        sections: tuple[tuple[int, int, int], ...] = ()
        bits = header[72:104]
        if data_size == 0 or (version == 2 and not any(bits) and data_at + data_size < self.size):
            if data_at < self.size:
                self.hurt("unfinished", "the recorder did not finish the file: features are missing", 48)
            data_size = self.size - data_at
        elif data_at + data_size > self.size:
            self.hurt("cut", f"{data_at + data_size - self.size} bytes are missing at the end of the data", self.size)
            data_size = self.size - data_at
        else:
            sections = tuple(self.features(bits, data_at + data_size))
        return Container(
            version,
            self.big,
            False,
            attrs,
            (data_at, data_size),
            (types_at, types_size),
            sections,
            tuple(self.damage),
        )

    def hurt(self, kind: str, about: str, offset: int) -> None:
        self.damage.append(Damage(kind, about, offset))

    def at(self, offset: int, size: int) -> bytes:
        """As many of ``size`` bytes as there are."""
        if size <= 0 or offset > self.size:
            return b""
        self.file.seek(offset)
        return self.file.read(min(size, self.size - offset))

    def attributes(self, entry: int, offset: int, size: int) -> Iterator[FileAttr]:
        if not LEAST_SIZE + 16 <= entry <= 4096 or size // entry > MOST_ATTRS:
            raise FormatError(f"{size} bytes of attributes, {entry} each", file=self.name, offset=16)
        data = self.at(offset, size)
        if len(data) < size or size % entry:
            self.hurt("attrs", "the table of event attributes is cut", offset)
        for at in range(0, len(data) - entry + 1, entry):
            ids_at, ids_size = struct.unpack_from(self.order + "QQ", data, at + entry - 16)
            yield FileAttr(self.attribute(data[at : at + entry - 16]), self.ids(ids_at, ids_size))

    def attribute(self, data: bytes) -> Attr:
        """Written by a perf that knows less than the file's: the structure's own size is what counts, if it fits."""
        own = struct.unpack_from(self.order + "I", data, 4)[0]
        return parse_attr(data[:own] if LEAST_SIZE <= own < len(data) else data, self.big)

    def ids(self, offset: int, size: int) -> tuple[int, ...]:
        """Those of all events together are not more than there is room for in the file."""
        data = self.at(offset, min(size, MOST_IDS * 8, self._ids_left * 8))
        if len(data) < size or size % 8:
            self.hurt("ids", "the ids of an event are cut", offset)
        count = len(data) // 8
        self._ids_left -= count
        return struct.unpack_from(f"{self.order}{count}Q", data)

    def features(self, bits: bytes, at: int) -> Iterator[tuple[int, int, int]]:
        """A bitmap of unsigned longs: on big-endian machines bit 0 is in the last byte of each long, whose size (4 or
        8) is not told; HOSTNAME is always there, and tells."""
        numbers = feature_numbers(bits, self.big)
        table = self.at(at, 16 * len(numbers))
        if len(table) < 16 * len(numbers):
            self.hurt("features", "the table of feature sections is cut", at)
        for number, entry in zip(numbers, range(0, len(table) - 15, 16), strict=False):
            offset, size = struct.unpack_from(self.order + "QQ", table, entry)
            yield number, offset, size


def feature_numbers(bits: bytes, big: bool) -> list[int]:
    words = struct.unpack(">4Q" if big else "<4Q", bits)
    numbers = [n for n in range(BITS) if words[n // 64] >> (n % 64) & 1]
    if big and not words[0] >> 3 & 1:  # 32-bit longs: the halves of each u64 change places
        halves = struct.unpack(">8I", bits)
        numbers = [n for n in range(BITS) if halves[n // 32] >> (n % 32) & 1]
    return numbers
