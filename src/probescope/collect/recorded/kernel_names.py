"""Names of the kernel's functions in a recording.

The running kernel's symbols are used if its build-id is the recorded one, or none is recorded and the release is the
same; a kernel that was loaded elsewhere (KASLR) is moved by the distance that its text has moved. Else, or when asked
for, a kallsyms or vmlinux file is: of perf's cache, of debug packages, or as named. What was saved beside the recording
comes last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from probescope.collect.recorded.modules import KERNEL, Files, Module
from probescope.collect.recorded.search import Here, Search
from probescope.collect.recorded.tasks import GENERATED
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_source import ReopenedSource
from probescope.debuginfo.kallsyms import Kallsyms
from probescope.debuginfo.vmlinux import places
from probescope.errors import ElfError, FormatError
from probescope.model.recording import MappedFile

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_inlines import SourceFrame
    from probescope.formats.symbolfile import SavedSymbols

_MOST_KALLSYMS = 1 << 28


class KernelNames:
    """``release``: of the recorded kernel."""

    def __init__(self, here: Here, search: Search, files: Files, release: str) -> None:
        self._here, self._search, self._files, self._release = here, search, files, release
        self._build_id = files.build_id_of(KERNEL)
        self._kallsyms: Kallsyms | None = None
        self._vmlinux: Module | None = None
        self._saved: SavedSymbols | None = None
        self._looked = False
        self._shift = 0
        self._starts: list[int] = []
        self._modules: list[MappedFile] = []
        self._generated: list[tuple[int, int, str]] = []
        self._core: list[MappedFile] = []

    def maps(self, maps: Sequence[MappedFile]) -> None:
        """Mappings of the kernel as they were recorded: may be called again when there are more."""
        named = (m for m in maps if m.path.startswith(GENERATED))
        self._generated = sorted(((m.start, m.end, m.path[len(GENERATED) :]) for m in named), key=lambda g: g[0])
        others = (m for m in maps if not _is_core(m.path) and not m.path.startswith(GENERATED))
        self._modules = sorted(others, key=lambda m: m.start)
        self._starts = [m.start for m in self._modules]
        core, self._core = self._core, [m for m in maps if _is_core(m.path)]
        if self._looked and not core and self._core:
            self._shift = self._moved(self._core[0])

    @property
    def ours(self) -> bool:
        """Whether the kernel that runs here was recorded."""
        if self._build_id:
            return self._build_id == self._here.kernel_build_id
        return bool(self._release) and self._release == self._here.release

    @property
    def found(self) -> bool:
        self._look()
        return self._kallsyms is not None or self._vmlinux is not None or self._saved is not None

    def at(self, address: int) -> tuple[str, int, str] | None:
        """Name, distance from its start, module. Code that the kernel made is its own module."""
        i = bisect_right(self._generated, (address, 1 << 64, "")) - 1
        if i >= 0 and address < self._generated[i][1]:
            start, _, name = self._generated[i]
            return name, address - start, name
        self._look()
        place = address - self._shift
        if self._kallsyms is not None:
            hit = self._kallsyms.lookup(place, last=True)
            if hit is not None:
                return hit[0], hit[1], f"[{hit[2]}]" if hit[2] else KERNEL
        named = self._vmlinux.at_address(place) if self._vmlinux is not None else None
        if named is None and self._saved is not None:
            named = self._saved.at(address)
        return (*named, self.module(address) or KERNEL) if named is not None else None

    def source(self, address: int, *, lines: bool = True) -> tuple[SourceFrame, ...]:
        self._look()
        return self._vmlinux.source_at(address - self._shift, lines=lines) if self._vmlinux is not None else ()

    def module(self, address: int) -> str:
        """A module's path where its build-id was recorded, else its name in brackets, as perf calls them; empty where
        nothing of the kernel was mapped."""
        m = self._module(address)
        if m is not None and m.path:
            return m.path if self._files.build_id_of(m.path) else bracketed(m.path)
        return KERNEL if any(m.start <= address < m.end for m in self._core) else ""

    def place(self, address: int) -> int:
        """How far into its module; 0 in none."""
        m = self._module(address)
        return address - m.start if m is not None else 0

    def _module(self, address: int) -> MappedFile | None:
        i = bisect_right(self._starts, address) - 1
        return self._modules[i] if i >= 0 and address < self._modules[i].end else None

    # --- where they come from

    def _look(self) -> None:
        if self._looked:
            return
        self._looked = True
        if self._search.vmlinux:
            self._vmlinux = self._opened(self._search.vmlinux, any_build=True)
        else:
            self._kallsyms = self._some_kallsyms()
            debug = (p for p in self._debug_files() if self._search.inline or self._kallsyms is None)
            self._vmlinux = next(filter(None, map(self._opened, debug)), None) if not self._search.kallsyms else None
        if self._kallsyms is None and self._vmlinux is None:
            self._saved = self._saved_table()
        if self._core:
            self._shift = self._moved(self._core[0])

    def _some_kallsyms(self) -> Kallsyms | None:
        if self._search.kallsyms:
            return _unrestricted(_read(self._search.kallsyms))
        if self.ours:
            return _unrestricted(self._here.kallsyms())
        texts = map(_read, self._files.cached(self._build_id, "kallsyms"))
        return next(filter(None, map(_unrestricted, texts)), None)

    def _debug_files(self) -> Iterator[str]:
        yield from self._files.cached(self._build_id, "vmlinux", "elf", "debug")
        yield from (self._search.symfs + place for place in places(self._release, self._build_id))
        if self._build_id:
            yield self._search.fetch(self._build_id, "debuginfo")

    def _opened(self, path: str, any_build: bool = False) -> Module | None:
        try:
            elf = ElfFile(ReopenedSource(path)) if path else None
            if elf is None or not (any_build or (self._build_id and elf.build_id() == self._build_id)):
                return None
        except (ElfError, ValueError):
            return None
        return Module(self._files, path, self._build_id, elf)

    def _saved_table(self) -> SavedSymbols | None:
        saved = self._search.saved
        try:
            entry = saved.find("kernel", build_id=bytes.fromhex(self._build_id)) if saved is not None else None
            return saved.table(entry) if saved is not None and entry is not None else None
        except (FormatError, OSError, ValueError):
            return None

    def _moved(self, core: MappedFile) -> int:
        """The recorded name ends in the symbol that ``offset`` is the address of: ``[kernel.kallsyms]_text``."""
        symbol = core.path.partition("]")[2]
        if not symbol or not core.offset:
            return 0
        now = self._kallsyms.address(symbol) if self._kallsyms is not None else None
        if now is None and self._vmlinux is not None:
            now = self._vmlinux.address_of(symbol)
        return core.offset - now if now else 0


def _unrestricted(text: bytes) -> Kallsyms | None:
    found = Kallsyms(text) if text else None
    return found if found is not None and not found.restricted else None


def _read(path: str) -> bytes:
    try:
        source = ReopenedSource(path)
        return source.read(0, min(source.size, _MOST_KALLSYMS)) if source.size else _read_proc(path)
    except (ElfError, ValueError):
        return b""


def _read_proc(path: str) -> bytes:
    """Files of /proc have no size."""
    try:
        with open(path, "rb") as f:
            return f.read(_MOST_KALLSYMS)
    except OSError:
        return b""


def bracketed(path: str) -> str:
    """``[name]`` of a module's file."""
    base = path.rpartition("/")[2]
    for end in (".ko", ".ko.xz", ".ko.gz", ".ko.zst"):
        if base.endswith(end):
            return f"[{base[: -len(end)].replace('-', '_')}]"
    return path


def _is_core(path: str) -> bool:
    return path.startswith((KERNEL, "[guest.kernel.kallsyms]", "[kernel]"))
