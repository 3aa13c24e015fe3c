"""Writing perf.data (version 2), so that perf and everything that reads its files reads them.

    header 104 | ids of all events | attributes, each with the place of its ids | data ........ | table | features ...

The header is written twice: first without features, which is what readers take for "not finished" if we die, and at the
end with all of it. With ``level`` the records go through one zstd stream, cut into COMPRESSED records; rounds stay
outside, so that readers need not inflate to find them. perf inflates a record into a buffer of the size that the
COMPRESSED feature tells, so what is compressed at once is never more.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

from probescope.formats.perfdata import features as fe
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.attr import Attr
from probescope.formats.perfdata.container import FILE_HEADER, MAGIC2, MAGIC2_OTHER
from probescope.formats.perfdata.encode import encode_build_ids, encode_feature, record
from probescope.formats.perfdata.meta import BuildId
from probescope.formats.perfdata.zstd import Deflate
from probescope.frozen import dataclass, replace

AT_ONCE = 1 << 18
PAYLOAD = 65520
_DATA_SIZE_AT = 48
_AT_ONCE_PIECES = 512
"""Of writev(2), which takes 1,024."""


@dataclass(frozen=True, slots=True)
class WrittenEvent:
    """``ids``: one for each descriptor that was opened for the event, as the kernel gave them."""

    attr: Attr
    name: str
    ids: tuple[int, ...] = ()


class Records:
    """Records into ``file``, compressed with ``level`` > 0. ``data_size``: bytes that are in the file, ``rounded``
    before the end of the last round."""

    def __init__(self, file: BinaryIO, *, big: bool = False, level: int = 0) -> None:
        self.file, self.big, self.level = file, big, level
        self.order = ">" if big else "<"
        self.deflate = Deflate(level) if level else None
        self.pending = bytearray()
        self.written = self.compressed = self.data_size = self.rounded = 0
        self.finished_round = record(r.FINISHED_ROUND, 0, b"", big)
        self._fd = file.fileno() if isinstance(file, io.RawIOBase) else -1

    def write(self, records: bytes | memoryview) -> None:
        """Whole records, as a ring or ``encode`` has them."""
        self.written += len(records)
        if self.deflate is None:
            self._put(records)
            return
        self.pending += records
        if len(self.pending) >= AT_ONCE:
            self._deflate()

    def visit(self, pieces: Sequence[memoryview]) -> None:
        """What all rings had, and the end of that round. Without compression it goes into a raw file as it lies, in one
        system call."""
        if self.deflate is None:
            self.written += sum(map(len, pieces))
            self._put_all([*pieces, memoryview(self.finished_round)])
            self.rounded = self.data_size - len(self.finished_round)
            return
        for piece in pieces:
            self.write(piece)
        self.round()

    def plain(self, records: bytes) -> None:
        """Records that must be found without inflating anything: perf's own."""
        self._deflate()
        self._put(records)

    def round(self) -> None:
        """Nothing that is written later is older than what was written before the round before this one."""
        self.plain(self.finished_round)
        self.rounded = self.data_size - len(self.finished_round)

    def _put(self, data: bytes | memoryview) -> None:
        if self._fd >= 0:
            self._put_all([memoryview(data)])
            return
        self.file.write(data)
        self.data_size += len(data)

    def _put_all(self, pieces: list[memoryview]) -> None:
        """A raw file may take less than it is given."""
        if self._fd < 0:
            for piece in pieces:
                self._put(piece)
            return
        while pieces:
            done = os.writev(self._fd, pieces[:_AT_ONCE_PIECES])
            self.data_size += done
            while pieces and done >= len(pieces[0]):
                done -= len(pieces.pop(0))
            if done:
                pieces[0] = pieces[0][done:]

    def _deflate(self) -> None:
        if self.deflate is None or not self.pending:
            return
        view = memoryview(bytes(self.pending))
        self.pending.clear()
        for start in range(0, len(view), AT_ONCE):
            out = self.deflate.flush(view[start : start + AT_ONCE])
            self.compressed += len(out)
            for at in range(0, len(out), PAYLOAD):
                piece = out[at : at + PAYLOAD]
                # not padded: zstd would take the padding for data
                self._put(struct.pack(self.order + "IHH", r.COMPRESSED, 0, 8 + len(piece)) + piece)


class PerfDataWriter(Records):
    """Into ``file``, a seekable binary file at its start. ``write`` whole records, ``round`` after each visit to all
    rings (or ``visit`` for both), ``finish`` once. ``attr_size`` 0: 128 bytes, which perf since 5.13 reads, or as many
    as the events need."""

    def __init__(
        self, file: BinaryIO, events: Sequence[WrittenEvent], *, big: bool = False, level: int = 0, attr_size: int = 0
    ) -> None:
        super().__init__(file, big=big, level=level)
        size = attr_size or max((_needed(one.attr) for one in events), default=128)
        self.events = tuple(replace(one, attr=replace(one.attr, size=size)) for one in events)
        self.attrs_size = 0
        ids = b"".join(struct.pack(f"{self.order}{len(one.ids)}Q", *one.ids) for one in self.events)
        self.attrs_at = FILE_HEADER + len(ids)
        attrs = self._attrs()
        self.attrs_size = len(attrs)
        self.data_at = self.attrs_at + len(attrs)
        file.write(self._header(0, ()) + ids + attrs)

    def _attrs(self) -> bytes:
        data = bytearray()
        at = FILE_HEADER
        for one in self.events:
            data += one.attr.pack(self.big)
            data += struct.pack(self.order + "QQ", at, 8 * len(one.ids))
            at += 8 * len(one.ids)
        return bytes(data)

    def _header(self, data_size: int, features: Iterable[int]) -> bytes:
        bits = [0, 0, 0, 0]
        for number in features:
            bits[number // 64] |= 1 << number % 64
        entry = (self.events[0].attr.size if self.events else 128) + 16
        sections = (self.attrs_at, self.attrs_size, self.data_at, data_size, 0, 0)
        magic = MAGIC2_OTHER if self.big else MAGIC2
        return magic + struct.pack(self.order + "12Q", FILE_HEADER, entry, *sections, *bits)

    def settle(self) -> None:
        """Tells in the header how much there is before the last round's end: of a recorder that is killed, perf reads
        that much; and what lies behind it tells that it was killed."""
        if self.rounded:
            os.pwrite(self.file.fileno(), struct.pack(self.order + "Q", self.rounded), _DATA_SIZE_AT)

    # --- end

    def finish(
        self, features: Mapping[str, Any] | None = None, *, build_ids: Iterable[BuildId] = (), tracing: bytes = b""
    ) -> None:
        """``features``: values by name, as ``parse_feature`` gives them; EVENT_DESC and COMPRESSED are made here.
        ``tracing``: the TRACING_DATA section."""
        self._deflate()
        sections = self._sections(dict(features or {}), tuple(build_ids), tracing)
        at = self.data_at + self.data_size + 16 * len(sections)
        table = bytearray()
        for _, data in sections:
            table += struct.pack(self.order + "QQ", at, len(data))
            at += len(data)
        self.file.write(table)
        for _, data in sections:
            self.file.write(data)
        self.file.seek(0)
        self.file.write(self._header(self.data_size, [number for number, _ in sections]))
        self.file.flush()

    def _sections(
        self, features: dict[str, Any], build_ids: tuple[BuildId, ...], tracing: bytes
    ) -> list[tuple[int, bytes]]:
        features["EVENT_DESC"] = tuple(fe.EventDescription(one.attr, one.name, one.ids) for one in self.events)
        if self.deflate is not None:
            ratio = self.written // max(self.compressed, 1)
            features["COMPRESSED"] = (0, 1, self.level, ratio, 2 * AT_ONCE)
        found = {fe.NUMBERS[name]: encode_feature(name, value, self.big) for name, value in features.items()}
        if build_ids:
            found[fe.NUMBERS["BUILD_ID"]] = encode_build_ids(build_ids, self.big)
        if tracing:
            found[fe.NUMBERS["TRACING_DATA"]] = tracing
        return sorted(found.items())


def _needed(attr: Attr) -> int:
    return 144 if attr.config4 else 136 if attr.config3 else 128
