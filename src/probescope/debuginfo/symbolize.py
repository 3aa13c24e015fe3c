"""Addresses to names: of the kernel, and of processes that may be gone when their addresses are looked up.

A process is known by an ``AddressSpace``: its mappings, taken while it was alive, and where its root folder is. Files
are opened then too (``capture``), so that what has been deleted or lies in another mount namespace can still be read.

    address -> mapping -> offset in the file -> virtual address (PT_LOAD) -> symbol
                       -> no file: perf-PID.map, vDSO
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple, Protocol

from probescope.debuginfo import perf_map
from probescope.debuginfo.elf import SHT_SYMTAB, ElfFile
from probescope.debuginfo.elf_source import FileSource
from probescope.debuginfo.elf_symbols import Symbol, SymbolSet
from probescope.debuginfo.kallsyms import Kallsyms
from probescope.debuginfo.locate import debug_file, in_root, mapped_file
from probescope.errors import ElfError

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_inlines import Inlines, SourceFrame

MAX_OBJECTS = 192
"""ELF files that are kept open; the least recently used one is let go first."""
MAX_LINED = 16
"""Those of them whose source lines are kept: each may take some ten megabytes."""
MAX_PERF_MAPS = 64
MAX_PERF_MAP_BYTES = 1 << 27
"""Of all that are kept: anybody may write such files."""
_MAX_NAMELESS = 1 << 16
_UPPER_HALF = 1 << 63
_X86_CODE = 0xFFFFFFFF80000000
"""From here on are the code of an x86-64 kernel, its modules and BPF programs: Documentation/arch/x86/x86_64/mm.rst."""
_NO_FILE = ("/memfd:", "//anon", "/dev/zero")
_VSYSCALL = {0: "gettimeofday", 0x400: "time", 0x800: "getcpu"}


class Mapping(Protocol):
    """What is needed of a line of /proc/PID/maps or of an mmap event. ``offset`` in bytes of the file. One that has a
    ``file`` as well is read through that path: /proc/PID/map_files leads to what ``path`` no longer does."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def inode(self) -> int: ...


class Place(NamedTuple):
    """Where an address is. ``symbol`` is as in the file, maybe mangled, and empty if unknown; ``offset`` in bytes from
    its start, or, without a symbol, from the start of the file. ``module`` is a path, a kernel module's name, or empty.
    """

    address: int
    symbol: str
    offset: int
    module: str


class KernelSymbols:
    """Addresses of the kernel. ``read`` gives the text of /proc/kallsyms; it is called on the first use, and again when
    addresses without a name appear that were not asked for before: modules and BPF programs come and go. Not for
    addresses where no code of a kernel is, such as those of programs: whoever counts by ``ksym(reg("ip"))`` has them by
    the thousand, and each reading takes a tenth of a second."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._table: Kallsyms | None = None
        self._known: dict[int, Place] = {}
        self._nameless: set[int] = set()
        self._lowest: int | None = None

    @property
    def table(self) -> Kallsyms:
        if self._table is None:
            self._table = Kallsyms(self._read())
        return self._table

    def symbolize(self, addresses: Sequence[int]) -> list[Place]:
        fresh = self._table is None
        out = [self._place(a) for a in addresses]
        nameless = {p.address for p in out if not p.symbol and p.address >= self._lowest_code()}
        if not fresh and nameless - self._nameless and not self.table.restricted:
            self._table = None
            self._known = {}
            out = [self._place(a) for a in addresses]
        if len(self._nameless) < _MAX_NAMELESS:
            self._nameless |= nameless
        return out

    def _lowest_code(self) -> int:
        """Below it no code of this kernel is, nor will be."""
        if self._lowest is None:
            text = self.table.address("_text") or 0
            self._lowest = _X86_CODE if text >= _X86_CODE else _UPPER_HALF if text >= _UPPER_HALF else 0
        return self._lowest

    def _place(self, address: int) -> Place:
        found = self._known.get(address)
        if found is None:
            hit = self.table.lookup(address)
            found = Place(address, "", 0, "") if hit is None else Place(address, *hit)
            if hit is not None:
                self._known[address] = found
        return found


class AddressSpace:
    """The mappings of one process. ``root`` is where its root folder is for us ("" for our own), ``pid`` its id there:
    JIT compilers write ``/tmp/perf-PID.map`` with the id that they know."""

    def __init__(self, mappings: Iterable[Mapping], root: str = "", pid: int = 0) -> None:
        """``mappings`` in the order of their making: where two overlap, the later one has replaced the earlier. What
        covers what is worked out when it is first asked for: many a recording tells of processes by the thousand, and
        of few of them anything is looked up."""
        self.root, self.pid = root, pid
        self._mappings = list(mappings)
        self._covered: tuple[list[int], list[Mapping | None]] | None = None

    def __len__(self) -> int:
        return len(self._mappings)

    def add(self, mapping: Mapping) -> None:
        """One more, the latest."""
        self._mappings.append(mapping)
        self._covered = None

    def mappings(self) -> Sequence[Mapping]:
        return self._mappings

    def visible(self) -> list[int]:
        """Which of them later ones do not hide altogether, by their place in the order of making."""
        seen = {id(m) for m in self._cover()[1]}
        return [i for i, m in enumerate(self._mappings) if id(m) in seen]

    def stretches(self) -> Iterator[tuple[int, int, Mapping]]:
        """Start, end and mapping of all that is visible, ascending."""
        starts, covering = self._cover()
        for i, m in enumerate(covering):
            if m is not None:
                yield starts[i], starts[i + 1] if i + 1 < len(starts) else m.end, m

    def find(self, address: int) -> Mapping | None:
        starts, covering = self._covered or self._cover()
        k = bisect_right(starts, address) - 1
        return covering[k] if k >= 0 else None

    def _cover(self) -> tuple[list[int], list[Mapping | None]]:
        if self._covered is None:
            self._covered = _cover(self._mappings)
        return self._covered


def _cover(mappings: Sequence[Mapping]) -> tuple[list[int], list[Mapping | None]]:
    """Where each stretch starts, and the last made mapping that covers it."""
    opening = sorted(range(len(mappings)), key=lambda i: mappings[i].start, reverse=True)
    starts: list[int] = []
    covering: list[Mapping | None] = []
    open_now: list[int] = []  # a heap: the latest one first
    for point in sorted({m.start for m in mappings} | {m.end for m in mappings}):
        while opening and mappings[opening[-1]].start <= point:
            heappush(open_now, -opening.pop())
        while open_now and mappings[-open_now[0]].end <= point:
            heappop(open_now)
        starts.append(point)
        covering.append(mappings[-open_now[0]] if open_now else None)
    return starts, covering


class _Object:
    """The symbols of one file: of its debug file if it has no .symtab of its own."""

    def __init__(self, elf: ElfFile, path: str, root: str) -> None:
        self.elf = elf
        self._path, self._root = path, root
        self._symbols: SymbolSet | None = None
        self._debug: ElfFile | None = None
        self._located = False
        self._inlines: Inlines | None = None
        self._asked_lines = False

    def locate(self) -> None:
        """Opens the debug file, if one is needed: in another mount namespace it can be found only while a process
        lives there."""
        if not self._located:
            self._located = True
            if all(s.type != SHT_SYMTAB for s in self.elf.sections()):
                self._debug = debug_file(self.elf, self._path, self._root)

    def symbols(self) -> SymbolSet:
        if self._symbols is None:
            self.locate()
            tables = list(self.elf.symbols().tables)
            if self._debug is not None:
                tables = self._of_debug(self._debug) + tables
                self._debug = None
            self._symbols = SymbolSet(tables)
        return self._symbols

    def close(self) -> None:
        self.elf.close()
        if self._debug is not None:
            self._debug.close()

    @staticmethod
    def _of_debug(debug: ElfFile) -> list:  # type: ignore[type-arg]
        with debug:
            try:
                found = debug.symtab()
            except ElfError:
                return []
        return [found] if found is not None else []

    def source_at(self, offset: int) -> tuple[SourceFrame, ...]:
        address = self.elf.to_vaddr(offset)
        if not self._asked_lines:
            from probescope.debuginfo.dwarf_inlines import open_inlines

            self._asked_lines = True
            self._inlines = open_inlines(self._path, self._root, self.elf)
        return self._inlines.frames(address) if self._inlines is not None and address is not None else ()

    def forget_lines(self) -> None:
        self._inlines, self._asked_lines = None, False

    def at_offset(self, offset: int) -> tuple[Symbol, int] | None:
        address = self.elf.to_vaddr(offset)
        found = self.symbols().at(address) if address is not None else None
        return (found, address - found.address) if found is not None and address is not None else None


class UserSymbols:
    """Addresses of processes. ``vdso`` gives the bytes of the vDSO, the same for all 64-bit processes of a boot."""

    def __init__(self, vdso: Callable[[], bytes] = bytes) -> None:
        self._vdso = vdso
        self._objects: dict[tuple[object, ...], _Object | None] = {}
        self._by_path: dict[tuple[str, str, int], tuple[object, ...]] = {}
        self._perf_maps: dict[str, tuple[perf_map.PerfMap, int]] = {}
        self._lined: dict[_Object, None] = {}

    def capture(self, space: AddressSpace) -> None:
        """Opens the files behind a process's mappings, so that they can be read when it is gone."""
        for m in space.mappings():
            found = self._object(m, space.root) if m.path.startswith("/") else None
            if found is not None and space.root:
                with suppress(ElfError):
                    found.locate()
        self._perf_map(space)

    def symbolize(self, space: AddressSpace, addresses: Sequence[int]) -> list[Place]:
        known: dict[int, Place] = {}
        for a in addresses:
            if a not in known:
                known[a] = self._place(space, a)
        return [known[a] for a in addresses]

    def _place(self, space: AddressSpace, address: int) -> Place:
        m = space.find(address)
        if m is None or not m.path.startswith("/") or m.path.startswith(_NO_FILE):
            return self._without_file(space, m, address)
        offset = address - m.start + m.offset
        found = self._object(m, space.root)
        try:
            hit = found.at_offset(offset) if found is not None else None
        except ElfError:
            hit = None
        return Place(address, "", offset, m.path) if hit is None else Place(address, hit[0].name, hit[1], m.path)

    def source(self, space: AddressSpace, address: int) -> tuple[SourceFrame, ...]:
        """The functions and source lines of an address, innermost first; empty where there is no debug information."""
        m = space.find(address)
        if m is None or not m.path.startswith("/") or m.path.startswith(_NO_FILE):
            return ()
        found = self._object(m, space.root)
        if found is None:
            return ()
        try:
            frames = found.source_at(address - m.start + m.offset)
        except ElfError:
            return ()
        self._lined.pop(found, None)
        self._lined[found] = None  # now the most recently used one
        if len(self._lined) > MAX_LINED:
            oldest = next(iter(self._lined))
            del self._lined[oldest]
            oldest.forget_lines()
        return frames

    def build_id(self, space: AddressSpace, address: int) -> tuple[str, int] | None:
        """In hex, of the file that an address is in, and the offset there; ``None`` where there is none."""
        m = space.find(address)
        if m is None or not m.path.startswith("/") or m.path.startswith(_NO_FILE):
            return None
        found = self._object(m, space.root)
        try:
            known = found.elf.build_id() if found is not None else ""
        except ElfError:
            return None
        return (known, address - m.start + m.offset) if known else None

    def _without_file(self, space: AddressSpace, m: Mapping | None, address: int) -> Place:
        if m is not None and m.path == "[vdso]":
            return self._in_vdso(m, address)
        if m is not None and m.path == "[vsyscall]":
            name = _VSYSCALL.get(address - m.start & ~0x3FF, "")
            return Place(address, name, (address - m.start) & 0x3FF, m.path)
        jitted = self._perf_map(space)
        hit = jitted.at(address) if jitted is not None else None
        if hit is not None:
            return Place(address, hit[0], hit[1], f"/tmp/perf-{space.pid}.map")
        return Place(address, "", 0, m.path if m is not None else "")

    def _in_vdso(self, m: Mapping, address: int) -> Place:
        key = ("vdso",)
        if key not in self._objects:
            data = self._vdso()
            try:
                self._objects[key] = _Object(ElfFile(data), "[vdso]", "") if data else None
            except ElfError:
                self._objects[key] = None
        found = self._objects[key]
        hit = found.at_offset(address - m.start) if found is not None else None
        return (
            Place(address, "", address - m.start, m.path)
            if hit is None
            else Place(address, hit[0].name, hit[1], m.path)
        )

    # --- files --------------------------------------------------------------------------------------------------------

    def _object(self, m: Mapping, root: str) -> _Object | None:
        where = (root, m.path, m.inode)
        key = self._by_path.get(where)
        if key is None:
            key = self._by_path[where] = self._open(m, root)
        found = self._objects.pop(key, None)
        self._objects[key] = found  # now the most recently used one
        return found

    def _open(self, m: Mapping, root: str) -> tuple[object, ...]:
        """Opens the file; the key is what it is, so that one file under two names is read once."""
        try:
            source = FileSource(getattr(m, "file", "") or mapped_file(root, m.path, m.inode))
        except ElfError:
            return ("none",)
        key = source.identity
        if m.inode and source.identity[1] != m.inode and not root:
            source.close()  # replaced since it was mapped: its symbols would be wrong ones
            return ("none",)
        if self._objects.get(key) is not None:
            source.close()
            return key
        try:
            self._objects[key] = _Object(ElfFile(source), m.path, root)
        except ElfError:
            return ("none",)
        self._let_go()
        return key

    def _let_go(self) -> None:
        while len(self._objects) > MAX_OBJECTS:
            oldest = next(iter(self._objects))
            gone = self._objects.pop(oldest)
            if gone is not None:
                self._lined.pop(gone, None)
                gone.close()
            self._by_path = {w: k for w, k in self._by_path.items() if k != oldest}

    def _perf_map(self, space: AddressSpace) -> perf_map.PerfMap | None:
        if space.pid <= 0:
            return None
        path = in_root(space.root, f"/tmp/perf-{space.pid}.map")
        known = self._perf_maps.get(path)
        size = perf_map.size_of(path)
        if known is not None and size in (-1, known[1]):  # unchanged, or gone with its process
            return known[0]
        loaded = perf_map.load(path) if size >= 0 else None
        if loaded is None:
            return known[0] if known else None
        self._perf_maps[path] = loaded
        while len(self._perf_maps) > MAX_PERF_MAPS or (
            len(self._perf_maps) > 1 and sum(m.bytes for m, _ in self._perf_maps.values()) > MAX_PERF_MAP_BYTES
        ):
            self._perf_maps.pop(next(iter(self._perf_maps)))
        return loaded[0]
