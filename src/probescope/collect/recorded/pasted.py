"""Names of addresses that a recording brings itself: text of perf script, and the functions of ftrace.

Nothing of this machine's files is asked: ``Names`` stands where ``Symbols`` does otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.symbols import KERNEL, Frame, Symbols
from probescope.model.visible import visible

if TYPE_CHECKING:
    from probescope.debuginfo.eh_index import FrameIndex
    from probescope.debuginfo.elf import ElfFile
    from probescope.debuginfo.symbolize import AddressSpace, Mapping
    from probescope.model.recording import MappedFile, Recording

Lookup = Callable[[int, int], tuple[Frame, ...]]
"""From a process (-1: the kernel) and an address to its frames, inlined ones first; none where it has no name."""


class Names(Symbols):
    """Satisfies what ``Symbols`` is asked for."""

    def __init__(self, lookup: Lookup) -> None:
        from probescope.collect.recorded.search import Here

        super().__init__(Here(), {})
        self._lookup = lookup

    def kernel_maps(self, maps: Sequence[MappedFile]) -> None:
        pass

    def frame(self, space: AddressSpace | None, address: int, *, kernel: bool) -> Frame:
        return self.frames(space, address, kernel=kernel)[-1]

    def frames(self, space: AddressSpace | None, address: int, *, kernel: bool) -> tuple[Frame, ...]:
        found = self._lookup(-1 if kernel or space is None else space.pid, address)
        return found or (Frame(address, "", 0, KERNEL if kernel else "", kernel=kernel),)

    def line(self, space: AddressSpace | None, address: int, *, kernel: bool) -> tuple[str, int]:
        return "", 0

    def unwind_file(self, m: Mapping) -> tuple[ElfFile, FrameIndex] | None:
        return None


def own_names(recording: Recording) -> Names | None:
    """None for recordings whose addresses are looked up in files."""
    listed: dict[tuple[int, int], tuple[Any, ...]] | None = getattr(recording, "frame_names", None)
    if listed is not None:
        return Names(lambda pid, address: _listed(listed.get((pid, address), ()), pid < 0))
    symbols = getattr(recording, "symbols", None)
    if symbols is None or not hasattr(symbols, "name"):
        return None
    return Names(lambda pid, address: function(symbols, address) if pid < 0 else ())


def _listed(frames: tuple[Any, ...], kernel: bool) -> tuple[Frame, ...]:
    return tuple(
        Frame(f.address, visible(f.name), f.offset, visible(f.module), kernel=kernel, inlined=f.inlined) for f in frames
    )


def function(symbols: Any, address: int) -> tuple[Frame, ...]:
    """Of the kernel, by what a trace.dat has of its kallsyms."""
    found = symbols.name(address)
    if found is None:
        return ()
    name, _, module = found[0].partition(" ")
    return (Frame(address, visible(name), address - found[1], module or KERNEL, kernel=True),)
