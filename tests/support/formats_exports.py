"""Random stacks for the writers, and what they come to, worked out one sample at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from probescope.formats.stacktable import CodeFrame, Measure, Owner, SampleBatch, StackTable


@dataclass(frozen=True)
class One:
    """A sample: frames outermost first."""

    time: int
    owner: Owner
    stack: tuple[CodeFrame, ...]
    weight: int
    event: int = 0
    cpu: int = 0


@dataclass
class Made:
    samples: list[One]
    measures: tuple[Measure, ...]
    table: StackTable = field(default_factory=StackTable)

    def batches(self, size: int = 3) -> Iterator[SampleBatch]:
        for start in range(0, len(self.samples), size):
            some = self.samples[start : start + size]
            yield SampleBatch(
                np.array([s.time for s in some], np.uint64),
                np.array([self.table.owner(s.owner) for s in some], np.int32),
                np.array([self.table.node(s.stack) for s in some], np.int32),
                np.array([s.weight for s in some], np.uint64),
                np.array([s.event for s in some], np.int32),
                np.array([s.cpu for s in some], np.int32),
            )

    def sums(self) -> Counter[tuple[Owner, tuple[CodeFrame, ...], int]]:
        out: Counter[tuple[Owner, tuple[CodeFrame, ...], int]] = Counter()
        for s in self.samples:
            out[s.owner, s.stack, s.event] += s.weight
        return out


#: Names as strangers choose them: separators, quotes, control characters, half characters, other scripts.
NAMES = st.one_of(
    st.sampled_from(
        ["main", "a;b", "q\"uo'te", "tab\tline\nend", "\x1b[31mred", "é\u202e", "\udc80half", "</script>", ""]
    ),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
)
FRAMES = st.builds(
    CodeFrame,
    NAMES,
    st.sampled_from(["", "/bin/a", "[kernel.kallsyms]"]),
    st.booleans(),
    st.integers(0, 3),
    st.sampled_from(["", "a.c"]),
    st.integers(0, 2),
    st.booleans(),
)
OWNERS = st.builds(Owner, NAMES, st.integers(-1, 5), st.integers(-1, 5))


@st.composite
def made(draw: st.DrawFn) -> Made:
    owners = draw(st.lists(OWNERS, min_size=1, max_size=4))
    stacks = draw(st.lists(st.lists(FRAMES, max_size=5).map(tuple), min_size=1, max_size=6))
    measures = (Measure("cycles"), Measure("cpu-clock", "ns", 99))[: draw(st.integers(1, 2))]
    one = st.tuples(
        st.integers(1, 1 << 40),
        st.sampled_from(owners),
        st.sampled_from(stacks),
        st.integers(0, 1 << 40),
        st.integers(0, len(measures) - 1),
        st.integers(-1, 3),
    )
    rows = sorted(draw(st.lists(one, min_size=1, max_size=30)), key=lambda row: row[0])
    return Made([One(*row) for row in rows], measures)
