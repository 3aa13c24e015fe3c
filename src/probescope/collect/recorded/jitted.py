"""Names of code that just-in-time compilers made: it lies in memory without a file, or with one that says nothing.

    jit-PID.dump       a file that the process has mapped: so it is known where it is          jitdump
    /tmp/perf-PID.map  text, also in the process's own mount namespace while it lives          perf_map
    saved              beside the recording

Only files of the very process are looked at, and none that belongs to another user than us or root.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from probescope.collect.recorded.search import Here, Search
from probescope.debuginfo import jitdump, perf_map
from probescope.debuginfo.locate import in_root
from probescope.errors import FormatError

if TYPE_CHECKING:
    from probescope.debuginfo.symbolize import AddressSpace

_DUMP = re.compile(r"jit-(\d{1,10})\.dump")
JIT_MAP = "/tmp/perf-"
"""What paths of tables begin with, as perf calls code without a file; then comes the number of the process."""
MOST_DUMPS = 16
"""Of one process."""


class _Table(Protocol):
    def at(self, address: int, /) -> tuple[str, int] | None: ...


class Jitted:
    """``refused``: files that belong to somebody else."""

    def __init__(self, here: Here, search: Search) -> None:
        self._here, self._search = here, search
        self._maps: dict[int, list[tuple[_Table, str]]] = {}
        self._dumps: dict[str, jitdump.JitDump | None] = {}
        self._named: dict[int, tuple[AddressSpace, list[str]]] = {}
        self.refused: set[str] = set()

    def at(self, space: AddressSpace, address: int) -> tuple[str, int, str] | None:
        """Name, distance from its start, and the file that told."""
        for table, path in self._tables(space):
            found = table.at(address)
            if found is not None:
                return *found, path
        return None

    def line(self, space: AddressSpace, address: int) -> tuple[str, int] | None:
        for table, _ in self._tables(space):
            found = table.line(address) if isinstance(table, jitdump.JitDump) else None
            if found is not None:
                return found
        return None

    def map_name(self, pid: int) -> str:
        return f"{JIT_MAP}{pid}.map"

    def _tables(self, space: AddressSpace) -> Iterator[tuple[_Table, str]]:
        if space.pid <= 0:
            return
        for path in self._dump_paths(space):
            if path not in self._dumps:
                self._dumps[path] = jitdump.load(path, force=self._search.force)
                self._note(path, self._dumps[path])
            table = self._dumps[path]
            if table is not None:
                yield table, path
        if space.pid not in self._maps:
            self._maps[space.pid] = list(self._read(space.pid))
        yield from self._maps[space.pid]

    def _dump_paths(self, space: AddressSpace) -> list[str]:
        known = self._named.get(id(space))
        if known is None:
            numbers = {space.pid, self._here.pid_inside(space.pid)}
            found = [m.path for m in space.mappings() if m.path.endswith(".dump")]
            names = ((p, _DUMP.fullmatch(os.path.basename(p))) for p in dict.fromkeys(found))
            paths = [p for p, name in names if name is not None and int(name[1]) in numbers]
            known = self._named[id(space)] = (space, [self._search.symfs + p for p in paths[:MOST_DUMPS]])
        return known[1]

    def _read(self, pid: int) -> Iterator[tuple[_Table, str]]:
        inside = self._here.pid_inside(pid)
        root = self._here.root(pid)
        shown = self.map_name(pid)
        places = [in_root(root, self.map_name(inside))] if root else []
        for place in [*places, self._search.symfs + shown]:
            loaded = perf_map.load(place, force=self._search.force)
            self._note(place, loaded)
            if loaded is not None:
                yield loaded[0], shown
                break
        saved = self._search.saved
        try:
            entry = saved.find("jit", pid=pid) if saved is not None else None
            if saved is not None and entry is not None:
                yield saved.table(entry), shown
        except (FormatError, OSError):
            return

    def _note(self, path: str, loaded: object) -> None:
        if loaded is None and not self._search.force and perf_map.size_of(path) > 0:
            self.refused.add(path)
