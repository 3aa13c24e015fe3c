"""Build-ids of the files that samples are in, and their symbols: only those that are needed to name the samples."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from probescope.collect.recorder.hits import HitFile, Hits
from probescope.collect.recorder.kernel_id import KERNEL, kernel_build_id
from probescope.debuginfo import elf_notes, perf_map
from probescope.debuginfo.elf import SHT_SYMTAB, ElfFile
from probescope.debuginfo.elf_names import FunctionNames
from probescope.debuginfo.elf_symbols import SymbolSet
from probescope.debuginfo.kallsyms import Kallsyms
from probescope.debuginfo.locate import debug_file, in_root
from probescope.debuginfo.unwind_parts import parts
from probescope.errors import ElfError
from probescope.formats.perfdata.meta import BuildId
from probescope.formats.symbolfile import SavedFrames, SavedSymbols
from probescope.kernel import machine, procfs
from probescope.kernel.host import host
from probescope.kernel.vdso import vdso

VDSO = "[vdso]"
_MOST_FRAMES = 1 << 26
"""Bytes of unwind information of all files; a third of that is written."""
_MOST_WHOLE = 1 << 18
"""Symbols of one file that are saved where all are wanted."""


class Saving:
    """``build_ids`` and ``symbols`` of what is in ``hits``. Files that are gone or have changed are left out."""

    def __init__(self, hits: Hits) -> None:
        self._hits = hits
        self._ids: dict[tuple[str, int], bytes] = {}

    def build_ids(self, *, every: bool = False) -> list[BuildId]:
        """``every``: of all that was mapped."""
        out: list[BuildId] = []
        kernel = kernel_build_id()
        if kernel and (self._hits.kernel or every):
            out.append(BuildId(-1, kernel, KERNEL))
        for path, build_id in self._modules(every):
            out.append(BuildId(-1, build_id, path))
        for f in [*self._hits.files, *(self._hits.unhit if every else ())]:
            found = f.build_id or self._build_id(f)
            if found:
                out.append(BuildId(-1, found, f.path))
        return list(dict.fromkeys(out))

    def _modules(self, every: bool) -> Iterator[tuple[str, bytes]]:
        for m in self._hits.modules:
            name = module_name(m.path)
            hit = any(m.start <= address < m.end for address in self._hits.kernel)
            if name and (hit or every):
                notes = _bytes(f"/sys/module/{name}/notes/.note.gnu.build-id")
                build_id = elf_notes.build_id(notes, little=True) if notes else ""
                if build_id:
                    yield m.path, bytes.fromhex(build_id)

    def _build_id(self, f: HitFile) -> bytes:
        key = (f.path, f.inode)
        if key not in self._ids:
            elf = opened(f)
            try:
                self._ids[key] = bytes.fromhex(elf.build_id()) if elf is not None else b""
            except ElfError:
                self._ids[key] = b""
            finally:
                if elf is not None:
                    elf.close()
        return self._ids[key]

    # --- symbols

    def symbols(self, *, whole: bool = False) -> list[SavedSymbols]:
        """``whole``: all symbols of the files, and of those that were mapped too, because frames of their stacks are
        not known yet."""
        out: list[SavedSymbols] = []
        if self._hits.kernel:
            out += _kernel_symbols(self._hits.kernel)
        for f in [*self._hits.files, *(self._hits.unhit if whole else ())]:
            out += self._of_file(f, whole)
        for pid, addresses in self._hits.jits.items():
            out += _jit_symbols(pid, addresses)
        return out

    def frames(self) -> Iterator[SavedFrames]:
        """What unwinding through the mapped files needs, of those with samples first, as long as it is not too much."""
        left = _MOST_FRAMES
        for f in [*self._hits.files, *self._hits.unhit]:
            elf = opened(f)
            if elf is None:
                continue
            try:
                pieces = parts(elf, left)
                build_id = f.build_id or self._build_id(f)
            except ElfError:
                continue
            finally:
                elf.close()
            if pieces:
                left -= sum(len(data) for _, data in pieces)
                yield SavedFrames(f.path, build_id, pieces)

    def _of_file(self, f: HitFile, whole: bool) -> Iterator[SavedSymbols]:
        elf = opened(f)
        if elf is None:
            return
        try:
            found = dict(_all_of(elf, f.path) if whole else _at(elf, f))
            build_id = f.build_id or self._build_id(f)
        except ElfError:
            return
        finally:
            elf.close()
        if found:
            starts = sorted(found)
            sizes, names = [found[s][0] for s in starts], [found[s][1] for s in starts]
            yield SavedSymbols("file", f.path, build_id, 0, starts, sizes, names)


def opened(f: HitFile) -> ElfFile | None:
    """The file that was mapped, through one of the processes that still live, or at its path; none if it has been
    replaced."""
    if f.path == VDSO:
        data = vdso()
        try:
            return ElfFile(data) if data else None
        except ElfError:
            return None
    if not f.path.startswith("/"):
        return None
    roots = dict.fromkeys([*(procfs.root(pid) for pid in f.pids if procfs.alive(pid)), ""])
    for root in roots:
        path = in_root(root, f.path) if root else f.path
        try:
            if f.inode and os.stat(path).st_ino != f.inode:
                continue
            return ElfFile.open(path)
        except (ElfError, OSError):
            continue
    return None


def module_name(path: str) -> str:
    """Of ``/lib/modules/.../nf-tables.ko.xz`` or ``[nf_tables]``; empty for the kernel itself."""
    if path.startswith("[kernel"):
        return ""
    return path.rpartition("/")[2].partition(".ko")[0].strip("[]").replace("-", "_")


def _bytes(path: str) -> bytes:
    try:
        return host().read_bytes(path, 1 << 20)
    except OSError:
        return b""


def _tables(elf: ElfFile, path: str) -> SymbolSet:
    """With those of its separate debug file, if it has none of its own. They are read at once: the file may be
    closed."""
    tables = list(elf.symbols().tables)
    if all(s.type != SHT_SYMTAB for s in elf.sections()) and path.startswith("/"):
        debug = debug_file(elf, path)
        if debug is not None:
            with debug:
                more = debug.symtab()
            tables = [*([more] if more is not None else []), *tables]
    return SymbolSet(tables)


def _at(elf: ElfFile, f: HitFile) -> Iterator[tuple[int, tuple[int, str]]]:
    """By file offset: size and name of the symbols that the offsets are in."""
    look = _Names(elf, f.path)
    done = -1
    for offset in f.offsets:
        if offset < done:
            continue
        vaddr = elf.to_vaddr(offset)
        found = look.at(vaddr) if vaddr is not None else None
        if vaddr is None or found is None:
            continue
        address, size, name = found
        start = offset - (vaddr - address)
        size = size or offset - start + 1
        done = start + size
        yield start, (size, name)


def _all_of(elf: ElfFile, path: str) -> Iterator[tuple[int, tuple[int, str]]]:
    look = _Names(elf, path)
    sizes: dict[int, int] = {}
    for start, size in chain.from_iterable(table.extents() for table in look.tables.tables):
        if not sizes.get(start):
            sizes[start] = size
        if len(sizes) >= _MOST_WHOLE:
            break
    sizes |= look.stubs
    for address, size in sizes.items():
        found = look.names.at(address)
        place = elf.to_offset(address)
        if place is not None and found is not None and found[1] == address:
            yield place, (size, found[0])


class _Names:
    """As reports choose them where the file is there."""

    def __init__(self, elf: ElfFile, path: str) -> None:
        self.tables = _tables(elf, path)
        self.names = FunctionNames(elf, self.tables.tables)
        self.stubs = {s.address: s.size for s in self.names.plt.stubs}

    def at(self, address: int) -> tuple[int, int, str] | None:
        """Start, size (0: not known) and name."""
        found = self.names.at(address)
        if found is None:
            return None
        name, start = found
        if start in self.stubs:
            return start, self.stubs[start], name
        symbol = self.tables.at(start)
        return start, symbol.size if symbol is not None and symbol.address == start else 0, name


def _kernel_symbols(addresses: Sequence[int]) -> Iterator[SavedSymbols]:
    known = Kallsyms(machine.kallsyms())
    if known.restricted:
        return

    def look(address: int) -> tuple[int, str] | None:
        found = known.symbol_at(address)
        return None if found is None else (found.address, found.name)

    table = _collected(addresses, look)
    if table.starts:
        yield SavedSymbols("kernel", KERNEL, kernel_build_id(), 0, table.starts, table.sizes, table.names)


def _jit_symbols(pid: int, addresses: Sequence[int]) -> Iterator[SavedSymbols]:
    inner = procfs.pid_in_namespace(pid)
    path = f"/tmp/perf-{inner}.map"
    loaded = perf_map.load(in_root(procfs.root(pid), path))
    if loaded is None:
        return

    def look(address: int) -> tuple[int, str] | None:
        found = loaded[0].at(address)
        return None if found is None else (address - found[1], found[0])

    table = _collected(addresses, look)
    if table.starts:
        yield SavedSymbols("jit", f"/tmp/perf-{pid}.map", b"", pid, table.starts, table.sizes, table.names)


def _collected(addresses: Iterable[int], look: Callable[[int], tuple[int, str] | None]) -> SavedSymbols:
    """Symbols whose ends are not told: each reaches as far as it was hit."""
    found: dict[int, tuple[int, str]] = {}
    for address in addresses:
        hit = look(address)
        if hit is not None:
            found[hit[0]] = (max(address - hit[0] + 1, found.get(hit[0], (0, ""))[0]), hit[1])
    starts = sorted(found)
    return SavedSymbols(
        "jit", "", starts=starts, sizes=[found[s][0] for s in starts], names=[found[s][1] for s in starts]
    )
