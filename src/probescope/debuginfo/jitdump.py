"""jit-PID.dump: code that a just-in-time compiler made, as it writes it down for perf inject.

    0      4        8           12        16   20   24         32         all numbers in the writer's byte order
    magic  version  total_size  elf_mach  pad  pid  timestamp  flags      then records:
    id  total_size  timestamp
    0 LOAD       pid  tid  vma  code_addr  code_size  code_index  name NUL  code
    1 MOVE       pid  tid  vma  old_code_addr  new_code_addr  code_size  code_index
    2 DEBUG_INFO code_addr  count  (addr  line  discriminator  file NUL)...

Source: tools/perf/Documentation/jitdump-specification.txt. The files are anybody's: only regular files are read, so
much of them, and records that cannot be end the reading.
"""

from __future__ import annotations

import os
import struct
from array import array
from bisect import bisect_right
from itertools import pairwise

from probescope.debuginfo.perf_map import MAX_NAME, open_own

MAGIC = 0x4A695444
MOST_RECORDS = 1 << 21
MOST_NAMES = 1 << 26
"""Bytes of all names together."""
MOST_LINES = 1 << 21
LOAD, MOVE, DEBUG_INFO = 0, 1, 2
_HEAD = 16
_LOAD_HEAD, _MOST_DEBUG = 48 + MAX_NAME, 1 << 24
MOST_READ = 1 << 30
"""Bytes of all records: a file of holes costs its writer nothing."""


class JitDump:
    """Functions by address; of two at one address the later one. What lies there at which time is not told apart."""

    def __init__(self, functions: list[tuple[int, int, str]], lines: dict[int, list[tuple[int, int, str]]]) -> None:
        order = sorted(range(len(functions)), key=lambda i: functions[i][0])  # stable
        last = [i for i, j in pairwise([*order, -1]) if j < 0 or functions[i][0] != functions[j][0]]
        self._starts = array("Q", [functions[i][0] for i in last])
        self._sizes = array("Q", [functions[i][1] for i in last])
        self._names = [functions[i][2] for i in last]
        self._lines = lines

    def __len__(self) -> int:
        return len(self._starts)

    def at(self, address: int) -> tuple[str, int] | None:
        """(name, offset in bytes)."""
        k = bisect_right(self._starts, address) - 1
        if k < 0 or address >= self._starts[k] + self._sizes[k]:
            return None
        return self._names[k], address - self._starts[k]

    def line(self, address: int) -> tuple[str, int] | None:
        """(file, line) of an address, where the compiler told them."""
        k = bisect_right(self._starts, address) - 1
        rows = self._lines.get(self._starts[k], []) if k >= 0 and address < self._starts[k] + self._sizes[k] else []
        i = bisect_right(rows, (address, 1 << 40, "")) - 1
        return (rows[i][2], rows[i][1]) if i >= 0 else None


class _Reader:
    def __init__(self, fd: int, size: int, order: str) -> None:
        self._fd, self._size, self._order = fd, size, order
        self.functions: list[tuple[int, int, str]] = []
        self.lines: dict[int, list[tuple[int, int, str]]] = {}
        self._latest: dict[int, str] = {}  # what lies at an address now
        self._names = self._rows = self._read = 0

    def read(self, at: int) -> None:
        for _ in range(MOST_RECORDS):
            head = os.pread(self._fd, _HEAD, at)
            if len(head) < _HEAD:
                return
            kind, total, _ = struct.unpack(self._order + "IIQ", head)
            if total < _HEAD or at + total > self._size:
                return
            most = _MOST_DEBUG if kind == DEBUG_INFO else _LOAD_HEAD
            body = os.pread(self._fd, min(total - _HEAD, most), at + _HEAD)
            self._read += len(body)
            try:
                {LOAD: self._load, MOVE: self._move, DEBUG_INFO: self._debug}.get(kind, _nothing)(body)
            except (struct.error, ValueError):
                return
            if self._names > MOST_NAMES or self._rows > MOST_LINES or self._read > MOST_READ:
                return
            at += total

    def _load(self, body: bytes) -> None:
        _, _, _, start, size, _ = struct.unpack_from(self._order + "IIQQQQ", body)
        end = body.find(b"\0", 40, 40 + MAX_NAME)
        name = body[40 : end if end >= 0 else 40 + MAX_NAME]
        self._names += len(name) + 64
        self._add(start, size, name.decode("utf-8", "replace"))

    def _move(self, body: bytes) -> None:
        _, _, _, old, new, size, _ = struct.unpack_from(self._order + "IIQQQQQ", body)
        name = self._latest.get(old, "")
        self._names += 64
        if name:
            self._add(new, size, name)

    def _add(self, start: int, size: int, name: str) -> None:
        if start + size < 1 << 64:
            self.functions.append((start, size, name))
            self._latest[start] = name

    def _debug(self, body: bytes) -> None:
        start, count = struct.unpack_from(self._order + "QQ", body)
        rows: list[tuple[int, int, str]] = []
        at, file = 16, ""
        for _ in range(min(count, len(body) // 17, MOST_LINES - self._rows + 1)):
            address, line, _ = struct.unpack_from(self._order + "QII", body, at)
            if not address:  # no code is there: a hole of the file, which would be a million lines
                break
            end = body.index(b"\0", at + 16)
            raw = body[at + 16 : min(end, at + 16 + MAX_NAME)]
            if raw != b"\xff":  # the same as before
                file = raw.decode("utf-8", "replace")
            rows.append((address, line, file))
            at = end + 1
        self._rows += len(rows)
        self.lines[start] = sorted(rows)


def _nothing(_: bytes) -> None:
    return None


def load(path: str, *, force: bool = False) -> JitDump | None:
    """``None`` if there is none, it is no such file, or is another user's (unless forced)."""
    opened = open_own(path, force=force)
    if opened is None:
        return None
    fd, size = opened
    try:
        head = os.pread(fd, 40, 0)
        order = next((o for o in "<>" if len(head) == 40 and struct.unpack_from(o + "I", head)[0] == MAGIC), "")
        if not order:
            return None
        reader = _Reader(fd, size, order)
        reader.read(max(40, struct.unpack_from(order + "I", head, 8)[0]))
        return JitDump(reader.functions, reader.lines)
    except OSError:
        return None
    finally:
        os.close(fd)
