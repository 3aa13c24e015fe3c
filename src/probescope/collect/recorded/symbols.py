"""Addresses of a recording to names, by files of this machine that are the ones that were recorded.

address ─► kernel_names                           of the kernel
       `─► mapping ─► modules ─► name             of a file: also where it comes from, and what was inlined there
                  `─► jitted ─► name              of memory without a file
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.jitted import Jitted
from probescope.collect.recorded.kernel_names import KernelNames, bracketed
from probescope.collect.recorded.modules import KERNEL, VDSO, Files
from probescope.collect.recorded.search import Demangle, Here, Search
from probescope.debuginfo.demangle import demangle, without_parameters
from probescope.frozen import dataclass, replace
from probescope.model.recording import MappedFile
from probescope.model.visible import visible

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_inlines import SourceFrame
    from probescope.debuginfo.eh_index import FrameIndex
    from probescope.debuginfo.elf import ElfFile
    from probescope.debuginfo.symbolize import AddressSpace, Mapping

__all__ = ["KERNEL", "VDSO", "Frame", "Here", "Search", "Symbols", "bracketed"]

_NO_FILE = ("//anon", "[", "/memfd:", "/dev/zero", "/anon_hugepage", "/SYSV")
_MADE = ("//anon", "/dev/zero", "/anon_hugepage")
"""Memory of programs that make code: perf's is_anon_memory(). Code in it is told to be of the table of its names."""
_ANONYMOUS = (*_MADE, "/memfd:")
"""With what has only a name."""


@dataclass(frozen=True, slots=True)
class Frame:
    """An address with its name. ``name`` is demangled, empty if unknown; ``offset`` in bytes from the symbol's start.
    ``module``: path of the file, ``[kernel.kallsyms]``, ``[module]``, or empty. ``kernel``: of the kernel's space.
    ``inlined``: it was inlined into the next frame, which has the same address. ``file``, ``line``: where it is in the
    source, if that was asked for; empty, 0 where it is not known. ``start``: of the symbol, in its file, or in memory
    where it has none: tells functions of one name apart."""

    address: int
    name: str
    offset: int
    module: str
    kernel: bool = False
    inlined: bool = False
    file: str = ""
    line: int = 0
    start: int = 0


class Symbols:
    """``build_ids``: hex, by path as recorded (the kernel's is ``[kernel.kallsyms]``)."""

    def __init__(
        self,
        here: Here,
        build_ids: Dict[str, str],
        release: str = "",
        search: Search = Search(),  # noqa: B008
    ) -> None:
        self.search = search
        self.files = Files(here, search, build_ids)
        self.kernel = KernelNames(here, search, self.files, release)
        self.jitted = Jitted(here, search)
        self._nameless: dict[str, set[tuple[int, int]]] = {}
        self._names: dict[str, str] = {}

    def kernel_maps(self, maps: Sequence[MappedFile]) -> None:
        """Mappings of the kernel as they were recorded: may be called again when there are more."""
        self.kernel.maps(maps)

    def frame(self, space: AddressSpace | None, address: int, *, kernel: bool) -> Frame:
        """The function at an address; not what is inlined there."""
        found = self._in_kernel(address) if kernel else self._in_process(space, address)
        if not found.name:
            pid = space.pid if space is not None and not kernel else -1
            self._nameless.setdefault(found.module, set()).add((pid, address))
        return found

    @property
    def missing(self) -> Dict[str, int]:
        """Different places of processes without a symbol, by module."""
        return {module: len(places) for module, places in self._nameless.items()}

    def unnamed(self) -> Any:
        """All that ``missing`` tells of, for ``joined`` of another process that has looked up others."""
        stripped = {path for path in self._nameless if self.files.stripped(path)}
        return self._nameless, self.files.wrong, stripped, self.jitted.refused

    def joined(self, found: Any) -> None:
        nameless, wrong, stripped, refused = found
        for module, places in nameless.items():
            self._nameless.setdefault(module, set()).update(places)
        self.files.wrong.update(wrong)
        self.files.known_stripped.update(stripped)
        self.jitted.refused.update(refused)

    def frames(self, space: AddressSpace | None, address: int, *, kernel: bool) -> tuple[Frame, ...]:
        """The same, and before it what was inlined there, innermost first, as far as ``search`` asks for it."""
        frame = self.frame(space, address, kernel=kernel)
        if not (self.search.inline or self.search.lines) or not frame.name:
            return (frame,)
        source = self._source(space, address, kernel, lines=not self.search.bare)
        if not source:
            told = self.jitted.line(space, address) if space is not None and not kernel and self.search.lines else None
            return (frame if told is None else replace(frame, file=visible(told[0]), line=told[1]),)
        *inner, last = source if self.search.inline else source[:1]
        if self.search.bare:
            return (*(self._inlined(frame, s) for s in inner), frame) if inner else (frame,)
        whole = replace(frame, file=visible(last.file), line=last.line)
        return (*(self._inlined(frame, s) for s in inner), whole)

    def data(self, space: AddressSpace | None, address: int) -> Frame:
        """The variable at an address of a process, or whatever is there; what has no name there is not ``missing``."""
        m = space.find(address) if space is not None else None
        if m is None or space is None or (m.path.startswith(_NO_FILE) and m.path != VDSO):
            return self._in_kernel(address) if address >> 63 else Frame(address, "", 0, m.path if m is not None else "")
        offset = address - m.start + m.offset
        module = self.files.of(m, space.pid)
        hit = module.data_at_offset(offset) if module is not None else None
        return Frame(address, self._shown(hit[0]) if hit else "", hit[1] if hit else offset, m.path)

    def line(self, space: AddressSpace | None, address: int, *, kernel: bool) -> tuple[str, int]:
        """The source line of an instruction; empty, 0 where it is not known."""
        source = self._source(space, address, kernel)
        if source:
            return visible(source[0].file), source[0].line
        told = self.jitted.line(space, address) if space is not None and not kernel else None
        return (visible(told[0]), told[1]) if told is not None else ("", 0)

    def unwind_file(self, m: Mapping) -> tuple[ElfFile, FrameIndex] | None:
        """The file of a mapping, with its unwind information."""
        if m.path.startswith(_NO_FILE) and m.path != VDSO:
            return None
        module = self.files.of(m, getattr(m, "pid", 0))
        return module.unwinding() if module is not None else None

    # --- pieces

    def _in_kernel(self, address: int) -> Frame:
        hit = self.kernel.at(address)
        if hit is not None:
            return Frame(address, self._shown(hit[0]), hit[1], hit[2], kernel=True, start=address - hit[1])
        return Frame(address, "", self.kernel.place(address), self.kernel.module(address), kernel=True)

    def _in_process(self, space: AddressSpace | None, address: int) -> Frame:
        m = space.find(address) if space is not None else None
        if m is None or space is None:
            return Frame(address, "", 0, "")
        if m.path.startswith(_NO_FILE) and m.path != VDSO:
            jitted = self.jitted.at(space, address) if m.path.startswith(_ANONYMOUS) else None
            if jitted is not None:
                return Frame(address, self._shown(jitted[0]), jitted[1], jitted[2], start=address - jitted[1])
            if m.path.startswith(_MADE):
                return Frame(address, "", address, self.jitted.map_name(space.pid))
            return Frame(address, "", address - m.start, m.path)
        offset = address - m.start + m.offset
        module = self.files.of(m, space.pid)
        hit = module.at_offset(offset) if module is not None else None
        if hit is None:
            return Frame(address, "", offset, m.path)
        return Frame(address, self._shown(hit[0]), hit[1], m.path, start=offset - hit[1])

    def _source(
        self, space: AddressSpace | None, address: int, kernel: bool, *, lines: bool = True
    ) -> tuple[SourceFrame, ...]:
        if kernel:
            return self.kernel.source(address, lines=lines)
        m = space.find(address) if space is not None else None
        if m is None or space is None or (m.path.startswith(_NO_FILE) and m.path != VDSO):
            return ()
        module = self.files.of(m, space.pid)
        return module.source(address - m.start + m.offset, lines=lines) if module is not None else ()

    def _inlined(self, frame: Frame, source: SourceFrame) -> Frame:
        name = self._shown(source.function) or frame.name
        if self.search.bare:
            return replace(frame, name=name, inlined=True)
        return replace(frame, name=name, inlined=True, file=visible(source.file), line=source.line)

    def _shown(self, name: str) -> str:
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = visible(shown_name(name, self.search.demangle))
        return found


def shown_name(name: str, how: Demangle) -> str:
    """A symbol's name for people. ``short``, as perf: C++ without parameters and without what tells clones apart."""
    if how == "none":
        return name
    whole = demangle(name)
    if how == "full" or whole == name or not name.lstrip("_").startswith("Z"):
        return whole
    return without_parameters(whole.partition(" [clone ")[0])
