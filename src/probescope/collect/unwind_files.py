"""Unwind tables of files, each made once and put into the kernel, some at a time: a *bundle* is an array of blocks that
holds the tables of all files that were new to one process.

Why bundles: the kernel waits for a grace period of RCU (some 10 ms) at each change of a map of maps.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from probescope.debuginfo.elf import PT_LOAD, ElfFile
from probescope.debuginfo.elf_headers import Segment
from probescope.debuginfo.elf_source import FileSource
from probescope.debuginfo.locate import mapped_file
from probescope.debuginfo.symbolize import Mapping
from probescope.debuginfo.unwind_table import framed_share, table_of
from probescope.errors import ElfError, KernelError
from probescope.kernel.bpf_map import Map, map_create
from probescope.kernel.uapi import bpf as k
from probescope.model import unwind as u

MOST_BYTES = 128 << 20
"""Of all tables of a session. Beyond it files have none, and stacks are walked by frame pointers there."""
FEW = 32
"""Functions below which a file says nothing about how its process was compiled: the vDSO, small stubs."""


class File:
    """One file's table. ``bundle`` -1: it has none (yet). ``share``: of functions with frame pointers."""

    __slots__ = ("base", "blocks", "bundle", "content", "first", "functions", "segments", "share")

    def __init__(self, segments: tuple[Segment, ...]) -> None:
        self.segments = segments
        self.functions = 0
        self.share = 0.0
        self.base = 0
        self.blocks = 0
        self.bundle, self.first = -1, 0
        self.content = b""

    def bias(self, m: Mapping) -> int | None:
        """What to take off an address of the mapping for the pc of the table's rows."""
        for s in self.segments:
            if s.flags & 1 and s.offset < m.offset + (m.end - m.start) and m.offset < s.offset + s.filesz:
                return m.start - m.offset + s.offset - s.vaddr + self.base
        return None


class Files:
    """``find`` gives the file of a mapping; ``load`` makes its table; ``flush`` puts new tables into the kernel.
    ``left_out``: files whose tables did not fit."""

    def __init__(self, bundles: Map, vdso: Callable[[], bytes]) -> None:
        self.left_out: list[str] = []
        self._map = bundles
        self._vdso = vdso
        self._files: dict[object, File | None] = {}
        self._open: dict[int, ElfFile] = {}  # by identity of their File, until they were loaded
        self._pending: list[File] = []
        self._bundles = 0
        self._bytes = 0

    def find(self, m: Mapping, root: str) -> File | None:
        """None for what is no file that can be read, or has no unwind information."""
        if m.path == "[vdso]":
            return self._known("vdso", lambda: ElfFile(self._vdso()), m.path)
        if not m.path.startswith("/") or m.path.startswith(("/memfd:", "//anon", "/dev/zero")):
            return None
        try:
            source = FileSource(getattr(m, "file", "") or mapped_file(root, m.path, m.inode))
        except ElfError:
            return None
        if m.inode and not root and source.identity[1] != m.inode:
            source.close()  # replaced since it was mapped
            return None
        if source.identity in self._files:
            source.close()
        return self._known(source.identity, lambda: ElfFile(source), m.path)

    def _known(self, key: object, open_: Callable[[], ElfFile], path: str) -> File | None:
        if key not in self._files:
            try:
                elf = open_()
                found = File(tuple(s for s in elf.segments() if s.type == PT_LOAD))
                found.functions, found.share = framed_share(elf)
                self._open[id(found)] = elf
                self._files[key] = found
            except ElfError:
                self._files[key] = None
        return self._files[key]

    def load(self, file: File, path: str) -> None:
        """Makes the table, if that was not tried yet."""
        elf = self._open.pop(id(file), None)
        if elf is None:
            return
        with elf:
            try:
                table = table_of(elf)
            except ElfError:
                return
        size = table.blocks * u.BLOCK_BYTES
        if self._bytes + size > MOST_BYTES:
            self.left_out.append(path)
            return
        self._bytes += size
        file.base, file.blocks, file.content = table.base, table.blocks, table.content()
        self._pending.append(file)

    def flush(self) -> None:
        """Raises KernelError; the tables are as good as missing then."""
        pending, self._pending = self._pending, []
        if not pending or self._bundles >= u.MOST_BUNDLES:
            return
        at = 0
        content = b"".join(f.content for f in pending)
        for file in pending:
            file.first, file.content = at, b""
            at += file.blocks
        with inner(k.BPF_MAP_TYPE_ARRAY, u.BLOCK_BYTES, at, "unwind_rows") as rows:
            rows.update_all(content)
            self._map.update(struct.pack("=I", self._bundles), struct.pack("=I", rows.fileno()))
        for file in pending:
            file.bundle = self._bundles
        self._bundles += 1


def inner(type_: int, value_size: int, entries: int, name: str) -> Map:
    """A map that will be in a map of maps."""
    return map_create(type_, 4, value_size, entries, flags=k.BPF_F_INNER_MAP, name=name)


__all__ = ["FEW", "File", "Files", "KernelError", "inner"]
