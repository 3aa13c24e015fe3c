"""Buffers of all CPUs, read while they fill: batches of events in order of time.

In each look all CPUs are drained, one after the other. What happened before the look began is complete then, and given
out; later events wait for the next look.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from probescope.errors import Unsupported
from probescope.formats.perfdata.damage import Tally
from probescope.formats.tracedat.batching import Batching, page_fields, page_layout
from probescope.formats.tracedat.merge import in_order
from probescope.formats.tracedat.ring import Block, decode
from probescope.formats.tracing.event_format import parse_event_format
from probescope.kernel import tracefs
from probescope.kernel.host import host
from probescope.kernel.trace_pages import CpuPages
from probescope.model.recording import EventBatch, EventType

if TYPE_CHECKING:
    from probescope.model.recording import Column

MOST_READS = 64
"""Pipes full of pages that one look takes from a CPU: it comes back to a busy one after the others had their turn."""
LONG = 8
EVERYTHING = (1 << 64) - 1


class LiveTrace:
    """``base``: the buffer's folder. ``events``: of the enabled ones and ftrace's own; the last is for
    others. ``keep`` is given the pages of each CPU as they are. Raises KernelError, Unsupported (pages of a kind not
    known)."""

    def __init__(
        self, base: str, names: list[str], cpus: list[int], keep: Callable[[int, bytes], None] | None = None
    ) -> None:
        self._keep = keep
        self.events = (*_types(names), EventType("unknown"))
        self.cpus = cpus
        self._stack_id = next((e.id for e in self.events if e.name == "ftrace:kernel_stack"), 0)
        self.damage = Tally()
        size = host().page_size
        layout = page_layout(page_fields(tracefs.read("events/header_page")), False, LONG, size)
        if layout is None:
            about = "events/header_page describes pages of a kind that is not known"
            raise Unsupported("read trace_pipe_raw", errno.EINVAL, hints=[about])
        self._layout = layout
        self._batching = Batching(self.events, False, LONG, self.damage)
        self._cpu_of = np.array(cpus, np.int32)
        self._pages: list[CpuPages] = []
        self._held: list[list[Block]] = [[] for _ in cpus]
        self.busy = False
        try:
            for cpu in cpus:
                self._pages.append(CpuPages(base, cpu, size))
        except BaseException:
            self.close()
            raise

    def read(self, until: int = EVERYTHING, most: int = MOST_READS) -> EventBatch | None:
        """Takes what the kernel has. ``until``: time in ns before which everything is in the buffers already; events
        after it are kept for the next call. ``busy`` afterwards: there was more than a look takes, ``most`` pipes full
        of each CPU."""
        self.busy = False
        for number, pages in enumerate(self._pages):
            for data in self._drain(pages, most):
                if self._keep is not None:
                    self._keep(self.cpus[number], data)
                block = decode(data, self._layout, self.damage)
                if len(block.time) or block.lost:
                    self._held[number].append(block)
        return self._taken(until)

    def _drain(self, pages: CpuPages, most: int) -> Iterator[bytes]:
        for _ in range(most):
            data = pages.whole()
            if not data:
                rest = pages.rest()
                if not rest:
                    return
                data = rest
            yield data
        self.busy = True

    def _taken(self, until: int) -> EventBatch | None:
        pieces: list[tuple[int, tuple[Block, Column]]] = []
        for number, held in enumerate(self._held):
            kept: list[Block] = []
            for block in held:
                keys = np.maximum.accumulate(block.time) if len(block.time) else block.time
                cut = self._behind_stacks(block, int(np.searchsorted(keys, np.uint64(until), "right")))
                if cut or (not len(keys) and block.lost):
                    pieces.append((number, (_piece(block, 0, cut), keys[:cut])))
                if cut < len(keys):
                    kept.append(_piece(block, cut, len(keys)))
            self._held[number] = kept
        if not pieces:
            return None
        return self._batching.batch(in_order(pieces), self._cpu_of)

    def _behind_stacks(self, block: Block, cut: int) -> int:
        """A stack is recorded behind its event, a little later: they are not parted."""
        while 0 < cut < len(block.start) and self._stack_id:
            at = int(block.start[cut])
            if int.from_bytes(block.values[at : at + 2].tobytes(), sys.byteorder) != self._stack_id:
                break
            cut += 1
        return cut

    def close(self) -> None:
        for pages in self._pages:
            pages.close()
        self._pages = []


def _piece(block: Block, begin: int, end: int) -> Block:
    if not begin and end == len(block.time):
        return block
    lost = tuple((i - begin, n) for i, n in block.lost if begin <= i < end or (i == end == len(block.time)))
    return Block(block.values, block.start[begin:end], block.size[begin:end], block.time[begin:end], lost)


def _types(names: list[str]) -> Iterator[EventType]:
    for folder in host().listdir(f"{tracefs.find_root()}/events/ftrace"):
        if folder not in {"enable", "filter"}:
            yield parse_event_format(tracefs.event_format("ftrace", folder), "ftrace")
    for name in names:
        system, _, event = name.partition(":")
        yield parse_event_format(tracefs.event_format(system, event), system)
