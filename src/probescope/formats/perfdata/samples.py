"""Samples of one layout -> columns: each part of all samples at once, a running place for each sample.

Parts of one word, at the beginning of all samples, are gathered together, a row for each sample; their columns are
views of these rows. Parts whose size is in their first word move each sample's place on by as much; what
they hold stays where it is: a column of such pieces is a start and a size for each, into the words of the block.
A sample whose parts end behind its own end is damaged: it is told, and dropped by the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.perfdata import layout as lay
from probescope.formats.perfdata.buffers import Buffer
from probescope.frozen import dataclass, field
from probescope.kernel.uapi import perf as u
from probescope.model.recording import Ragged

if TYPE_CHECKING:
    from collections.abc import Callable

    from probescope.formats.perfdata.layout import Layout
    from probescope.formats.perfdata.walk import Places, Words

    Column = np.ndarray[Any, Any]


_HEAD = sum(bit for bit, _ in lay.HEAD)


@dataclass(slots=True)
class Parts:
    """What samples of a layout hold. ``bad``: which samples cannot be used."""

    numbers: dict[str, Column] = field(default_factory=dict)
    ragged: dict[str, Ragged] = field(default_factory=dict)
    bad: Column | None = None


@dataclass(slots=True)
class _Walk:
    """``at``: the word each sample's next part begins at; ``end``: the word each sample ends before. ``next``: the
    words at ``at`` if they are at hand."""

    buffer: Buffer
    words: Words
    layout: Layout
    at: Places
    end: Places
    parts: Parts
    bad: Column
    next: Words | None = None


def gather(buffer: Buffer, layout: Layout, at: Places, size: Places, rows: Words) -> Parts:
    """``at``, ``size``: of the records, in words. ``rows``: their first words, one more than all parts of fixed size
    (what is behind a record is another's). ``time`` is left out."""
    parts = Parts()
    end = at + size
    least = int(size.min(initial=1 << 13))
    if least < layout.head_words:
        parts.bad = size < layout.head_words  # there may be no words to look at
        return parts
    numbers = parts.numbers
    for name, where in layout.head:
        if name == "tid":
            numbers["pid"], numbers["tid"] = buffer.split(rows, where)
        elif name != "time":
            numbers[name] = buffer.first_halves(rows, where) if name == "cpu" else rows[:, where]
    ahead = rows[:, layout.head_words] if least > layout.head_words else None
    if ahead is not None and _alike(buffer, layout, at, size, rows, parts):
        return parts
    bad = np.zeros(len(at), np.bool_)
    walk = _Walk(buffer, buffer.words, layout, at + layout.head_words, end, parts, bad, ahead)
    for bit, step in _STEPS:
        if layout.sample_type & bit:
            step(walk)
    if layout.sample_type & ~lay.KNOWN == 0:
        walk.bad |= walk.at > walk.end
    parts.bad = walk.bad if walk.bad.any() else None
    return parts


def _alike(buffer: Buffer, layout: Layout, at: Places, size: Places, rows: Words, parts: Parts) -> bool:
    """Samples of one size, with a raw record of one size and nothing else: the most frequent ones. Whether these are
    such."""
    if layout.sample_type & ~_HEAD != lay.RAW or not len(at) or (size != size[0]).any():
        return False
    raws = buffer.first_halves(rows, layout.head_words)  # behind the size the record itself begins
    raw = int(raws[0])
    if (raws != raw).any() or raw < 0 or layout.head_words + ((raw + 11) >> 3) > int(size[0]):
        return False
    parts.ragged["raw"] = Ragged(buffer.data, at * 8 + (layout.head_words * 8 + 4), np.full(len(at), raw, np.int64))
    return True


def _word(w: _Walk) -> Words:
    """The next word of every sample; 0 where it has none left, and then it is bad."""
    fits = w.at < w.end
    if w.next is not None:
        value, w.next = w.next, None
    elif fits.all():
        value = w.words[w.at]
    else:
        w.bad |= ~fits
        value = np.where(fits, w.words[np.where(fits, w.at, 0)], np.uint64(0))
    w.at = w.at + 1
    return value


def _bounded(w: _Walk, counts: Words, unit: int = 1) -> Places:
    """Numbers of things of ``unit`` words that lie from each sample's place on; 0 where they would not fit."""
    room = np.maximum(w.end - w.at, 0) // unit
    over = counts > room.astype(np.uint64)
    if over.any():
        w.bad |= over
        counts = np.where(over, np.uint64(0), counts)
    return counts.astype(np.int64)


def _number(name: str) -> Callable[[_Walk], None]:
    def step(w: _Walk) -> None:
        w.parts.numbers[name] = _word(w)

    return step


def _read(w: _Walk) -> None:
    """Not grouped: value, enabled, running, id, lost. Grouped: n, enabled, running, then value, id, lost for each."""
    form = w.layout.read_format
    if not form & u.PERF_FORMAT_GROUP:
        w.next = None
    once = bool(form & u.PERF_FORMAT_TOTAL_TIME_ENABLED) + bool(form & u.PERF_FORMAT_TOTAL_TIME_RUNNING)
    each = 1 + bool(form & u.PERF_FORMAT_ID) + bool(form & u.PERF_FORMAT_LOST)
    start = w.at
    if form & u.PERF_FORMAT_GROUP:
        count = _word(w)
        w.at = w.at - 1  # the count is part of it
        size = _bounded(w, np.minimum(count, np.uint64(1 << 16)) * np.uint64(each) + np.uint64(1 + once))
    else:
        size = _bounded(w, np.full(len(w.at), once + each, np.uint64))
    w.parts.ragged["reads"] = Ragged(w.words, start, size)
    w.at = start + size


def _callchain(w: _Walk) -> None:
    count = _bounded(w, _word(w))
    w.parts.ragged["stacks"] = Ragged(w.words, w.at, count)
    w.at = w.at + count


def _raw(w: _Walk) -> None:
    """u32 size, then the bytes; both together fill words."""
    start = w.at
    size = w.buffer.low(_word(w))  # 0 where there is none
    w.at = start + ((size + 11) >> 3)
    over = w.at > w.end
    if over.any():
        w.bad |= over
        size = np.where(over, 0, size)
        w.at = np.where(over, start, w.at)
    w.parts.ragged["raw"] = Ragged(w.buffer.data, start * 8 + 4, size)


def _branches(w: _Walk) -> None:
    count = _word(w)
    if w.layout.branch_sample_type & lay.BRANCH_HW_INDEX:
        w.parts.numbers["branch_hw_index"] = _word(w)
    counted = bool(w.layout.branch_sample_type & lay.BRANCH_COUNTERS)
    size = _bounded(w, count, 3 + counted)
    total = int(size.sum())
    start = np.cumsum(size) - size
    rows = np.repeat(w.at - start * 3, size) + np.arange(total) * 3
    values = w.words[rows[:, None] + np.arange(3)] if total else np.zeros((0, 3), np.uint64)
    if w.buffer.big and total:
        values[:, 2] = little_branch_flags(values[:, 2])
    w.parts.ragged["branches"] = Ragged(values, start, size)
    w.at = w.at + size * (3 + counted)


#: Bit fields of struct perf_branch_entry, from the first on: their sizes.
BRANCH_FLAGS = (1, 1, 1, 1, 16, 4, 2, 4, 3, 31)


def little_branch_flags(flags: Words) -> Words:
    """Bit fields of a big-endian machine, whose first is the highest, as little-endian ones lay them."""
    result = np.zeros(len(flags), np.uint64)
    low, high = 0, 64
    for bits in BRANCH_FLAGS:
        high -= bits
        result |= (flags >> np.uint64(high) & np.uint64((1 << bits) - 1)) << np.uint64(low)
        low += bits
    return result


def _registers(name: str, user: bool) -> Callable[[_Walk], None]:
    def step(w: _Walk) -> None:
        """The abi (0: none, 1: 32 bits, 2: 64 bits), then the registers of the mask if abi is not 0."""
        abi = _word(w)
        many = w.layout.user_registers if user else w.layout.machine_registers
        size = _bounded(w, np.where(abi != 0, np.uint64(many), np.uint64(0)))
        if user:
            w.parts.numbers["regs_abi"] = abi
        w.parts.ragged[name] = Ragged(w.words, w.at, size)
        w.at = w.at + size

    return step


def _stack(w: _Walk) -> None:
    """Bytes reserved, then, if any, so many bytes and how many of them are of the stack."""
    size = _word(w)
    words = _bounded(w, size >> np.uint64(3))
    start = w.at
    w.at = start + words
    there = words > 0
    dynamic = np.zeros(len(words), np.int64)
    if there.any():
        at = np.where(there & (w.at < w.end), w.at, 0)
        w.bad |= there & (w.at >= w.end)
        dynamic = np.where(there, np.minimum(w.words[at], (words * 8).astype(np.uint64)).astype(np.int64), 0)
    w.at = w.at + there
    w.parts.ragged["stack_dumps"] = Ragged(w.buffer.data, start * 8, dynamic, w.buffer.source)


def _weight(w: _Walk) -> None:
    """One number, or three in one: union perf_sample_weight of include/uapi/linux/perf_event.h."""
    numbers, word = w.parts.numbers, _word(w)
    if not w.layout.sample_type & lay.WEIGHT_STRUCT:
        numbers["weight"] = word
        return
    numbers["weight"] = word & np.uint64(0xFFFF_FFFF)
    numbers["ins_lat"] = word >> np.uint64(32) & np.uint64(0xFFFF)
    numbers["retire_lat"] = word >> np.uint64(48)


def _aux(w: _Walk) -> None:
    size = _bounded(w, (_word(w) + np.uint64(7)) >> np.uint64(3))
    w.parts.numbers["aux_size"] = size.astype(np.uint64) * np.uint64(8)
    w.at = w.at + size


_STEPS: tuple[tuple[int, Callable[[_Walk], None]], ...] = (
    (lay.READ_VALUES, _read),
    (lay.CALLCHAIN, _callchain),
    (lay.RAW, _raw),
    (lay.BRANCH_STACK, _branches),
    (lay.REGS_USER, _registers("registers", user=True)),
    (lay.STACK_USER, _stack),
    (lay.WEIGHT | lay.WEIGHT_STRUCT, _weight),
    (lay.DATA_SRC, _number("data_src")),
    (lay.TRANSACTION, _number("transaction")),
    (lay.REGS_INTR, _registers("registers_intr", user=False)),
    (lay.PHYS_ADDR, _number("phys_addr")),
    (lay.CGROUP, _number("cgroup")),
    (lay.DATA_PAGE_SIZE, _number("data_page_size")),
    (lay.CODE_PAGE_SIZE, _number("code_page_size")),
    (lay.AUX, _aux),
)
