"""Where the parts of samples and of records' trailers are: from the bits of ``sample_type``.

A sample is a row of 64-bit words after its header, each part there if its bit is set, in this order. The parts of fixed
size come first, so they have fixed places:

    IDENTIFIER IP TID TIME ADDR ID STREAM_ID CPU PERIOD | READ CALLCHAIN RAW BRANCH_STACK REGS_USER STACK_USER
    WEIGHT|WEIGHT_STRUCT DATA_SRC TRANSACTION REGS_INTR PHYS_ADDR CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE AUX

With sample_id_all other records of the kernel end with ``TID TIME ID STREAM_ID CPU IDENTIFIER``, likewise. All events
of a file have their id at the same place, or it could not be told which event a record belongs to.
Source: comments of enum perf_event_type in include/uapi/linux/perf_event.h; perf_output_sample in kernel/events/core.c.
"""

from __future__ import annotations

from collections.abc import Sequence

from probescope.formats.perfdata.attr import Attr
from probescope.frozen import dataclass
from probescope.kernel.uapi import perf as u

IP, TID, TIME, ADDR, READ_VALUES, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID = (1 << n for n in range(10))
RAW, BRANCH_STACK, REGS_USER, STACK_USER, WEIGHT, DATA_SRC, IDENTIFIER = (1 << n for n in range(10, 17))
TRANSACTION, REGS_INTR, PHYS_ADDR, AUX, CGROUP, DATA_PAGE_SIZE = (1 << n for n in range(17, 23))
CODE_PAGE_SIZE, WEIGHT_STRUCT = 1 << 23, 1 << 24
KNOWN = (1 << 25) - 1

#: Parts of one word each at the beginning, in order: bit and the name of the number.
HEAD: tuple[tuple[int, str], ...] = (
    (IDENTIFIER, "identifier"),
    (IP, "ip"),
    (TID, "tid"),
    (TIME, "time"),
    (ADDR, "addr"),
    (ID, "id"),
    (STREAM_ID, "stream_id"),
    (CPU, "cpu"),
    (PERIOD, "period"),
)
TRAILER: tuple[tuple[int, str], ...] = (
    (TID, "tid"),
    (TIME, "time"),
    (ID, "id"),
    (STREAM_ID, "stream_id"),
    (CPU, "cpu"),
    (IDENTIFIER, "identifier"),
)

# branch_sample_type
BRANCH_HW_INDEX = 1 << 17
BRANCH_COUNTERS = 1 << 19


@dataclass(frozen=True, slots=True)
class Layout:
    """``head``: word of each fixed part, from the record's header (word 0); ``trailer``: the same, counted from the
    record's end (1: the last word), empty without sample_id_all. ``user_registers``, ``machine_registers``:
    how many."""

    sample_type: int
    read_format: int
    branch_sample_type: int
    user_registers: int
    machine_registers: int
    head: tuple[tuple[str, int], ...]
    head_words: int
    trailer: tuple[tuple[str, int], ...]

    def where(self, name: str) -> int:
        """-1 if it was not recorded."""
        return next((at for part, at in self.head if part == name), -1)

    def behind(self, name: str) -> int:
        return next((at for part, at in self.trailer if part == name), 0)

    @property
    def id_at(self) -> int:
        return max(self.where("identifier"), self.where("id") if not self.sample_type & IDENTIFIER else -1)

    @property
    def id_behind(self) -> int:
        return self.behind("identifier") or self.behind("id")


def layout_of(attr: Attr) -> Layout:
    kinds = attr.sample_type
    head = tuple((name, at) for at, name in enumerate((name for bit, name in HEAD if kinds & bit), 1))
    tail = [name for bit, name in TRAILER if kinds & bit] if attr.sample_id_all else []
    return Layout(
        kinds,
        attr.read_format if kinds & READ_VALUES else 0,
        attr.branch_sample_type & (BRANCH_HW_INDEX | BRANCH_COUNTERS) if kinds & BRANCH_STACK else 0,
        attr.sample_regs_user.bit_count() if kinds & REGS_USER else 0,
        attr.sample_regs_intr.bit_count() if kinds & REGS_INTR else 0,
        head,
        len(head) + 1,
        tuple((name, len(tail) - i) for i, name in enumerate(tail)),
    )


def sampled(attr: Attr) -> frozenset[str]:
    """The parts' names as in ``EventType.sampled``."""
    return frozenset(name for n, name in enumerate(u.SAMPLE_TYPES) if attr.sample_type >> n & 1)


def time_at(attrs: Sequence[Attr]) -> int:
    """The word of samples that holds their time, if it is the same of all events; else 0."""
    found = {layout_of(attr).where("time") for attr in attrs}
    return max(found.pop(), 0) if len(found) == 1 else 0
