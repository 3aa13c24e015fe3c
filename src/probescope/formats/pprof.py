"""pprof's profiles: gzipped ``Profile`` messages, which ``go tool pprof`` and many services read.

    Profile   1 sample_type  2 sample  3 mapping  4 location  5 function  6 string_table  10 duration_nanos
              13 comment  14 default_sample_type
    Sample    1 location ids, innermost first  2 values  3 labels {1 key 2 str 3 num}
    Location  1 id  2 mapping  3 address  4 line {1 function 2 line}, the innermost inlined one first
    Mapping   1 id  5 filename  6 build id  7 has_functions
    Function  1 id  2 name  3 system_name  4 filename

Each sample has the number of recorded samples, then one value for each measure; labels ``comm``, ``pid`` and ``tid``
tell whose it is. Source: https://github.com/google/pprof/blob/main/proto/profile.proto
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO

from probescope.formats.protobuf import data, number, packed, text, varint
from probescope.formats.stacktable import CodeFrame, Counts, Measure, Owner, StackTable

UNITS = {"ns": "nanoseconds"}
LUMP = 1 << 16


class PprofWriter:
    """``build_ids``: hex, by module. Weights with a fraction are rounded."""

    def __init__(self, file: BinaryIO, build_ids: Mapping[str, str] | None = None) -> None:
        self._file, self._build_ids = file, build_ids or {}
        self._strings: dict[str, int] = {"": 0}
        self._functions: dict[tuple[str, str], int] = {}
        self._modules: dict[str, int] = {}
        self._locations: dict[tuple[int, ...], bytes] = {}
        self._out = bytearray()
        self._bare = False

    def write(
        self,
        table: StackTable,
        counts: Counts,
        measures: Sequence[Measure],
        notes: Iterable[str] = (),
        duration: int = 0,
    ) -> None:
        """``duration`` in ns. ``notes`` become comments."""
        with gzip.GzipFile(fileobj=self._file, mode="wb", compresslevel=6, mtime=0) as packer:
            own = [(m.name, UNITS.get(m.unit, m.unit)) for m in measures]
            self._bare = own == [("samples", "count")]  # what is counted is samples already: one value says it
            types = own if self._bare else [("samples", "count"), *own]
            for name, unit in types:
                self._put(data(1, self._named(1, name) + self._named(2, unit)), packer)
            self._samples(table, counts, packer)
            for (name, file), i in self._functions.items():
                function = number(1, i) + self._named(2, name) + self._named(3, name) + self._named(4, file)
                self._put(data(5, function), packer)
            for module, i in self._modules.items():
                build_id = self._named(6, self._build_ids.get(module, ""))
                self._put(data(3, number(1, i) + self._named(5, module) + build_id + number(7, 1)), packer)
            self._put(number(10, duration), packer)
            self._put(packed(13, [self._string(n) for n in notes]), packer)
            self._put(number(14, self._string(types[min(1, len(types) - 1)][0])), packer)
            for string in self._strings:
                self._put(text(6, string), packer)
            packer.write(self._out)

    def _put(self, message: bytes, packer: gzip.GzipFile) -> None:
        self._out += message
        if len(self._out) >= LUMP:
            packer.write(self._out)
            self._out.clear()

    def _string(self, value: str) -> int:
        return self._strings.setdefault(value, len(self._strings))

    def _named(self, field: int, value: str) -> bytes:
        return number(field, self._string(value)) if value else b""

    def _location(self, key: tuple[int, ...], table: StackTable, packer: gzip.GzipFile) -> bytes:
        """The number of a place as a varint: a function, and before it what is inlined there."""
        found = self._locations.get(key)
        if found is None:
            frames = [table.frames[f] for f in key]
            found = self._locations[key] = varint(len(self._locations) + 1)
            module, address = frames[-1].module, frames[-1].address
            mapping = self._modules.setdefault(module, len(self._modules) + 1) if module else 0
            place = (number(2, mapping) if mapping else b"") + (number(3, address) if address else b"")
            lines = b"".join(data(4, self._line(f)) for f in frames)
            self._put(data(4, number(1, len(self._locations)) + place + lines), packer)
        return found

    def _line(self, frame: CodeFrame) -> bytes:
        function = self._functions.setdefault((frame.name, frame.file), len(self._functions) + 1)
        return number(1, function) + (number(2, frame.line) if frame.line else b"")

    def _samples(self, table: StackTable, counts: Counts, packer: gzip.GzipFile) -> None:
        labels = [self._labels(owner) for owner in table.owners]
        parent, frame = table.parent, table.frame
        for (owner, node), row in counts.sums.items():
            path, at = bytearray(), node
            held: list[int] = []
            while at > 0:
                held.append(frame[at])
                at = parent[at]
                if not at or not table.frames[held[-1]].inlined:
                    path += self._location(tuple(held), table, packer)
                    held.clear()
            self._put(data(2, data(1, bytes(path)) + packed(2, map(round, row[self._bare :])) + labels[owner]), packer)

    def _labels(self, owner: Owner) -> bytes:
        out = b""
        if owner.comm:
            out += data(3, self._named(1, "comm") + self._named(2, owner.comm))
        for key, n in (("pid", owner.pid), ("tid", owner.tid)):
            if n >= 0:
                out += data(3, self._named(1, key) + number(3, n))
        return out
