"""Stacks walked by the compiled loop and by columns."""

from __future__ import annotations

import random

import numpy as np
import pytest
from collect_lanes import BASE, STACK, grounds, prepared, random_stack, split
from debuginfo_frames import cie, elf_with, section
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.collect.recorded import quick
from probescope.collect.recorded.lanes import Walk
from probescope.debuginfo.elf import ElfFile

steps = pytest.importorskip("probescope.collect.recorded.steps", reason="librt is not installed")

FIRST = bytes([0x0C, 7, 8, 0x90, 1])  # CFA: sp + 8; return address at CFA - 8
RULES = [
    FIRST,
    bytes([0x0E, 24]),
    bytes([0x0E, 48, 0x86, 2]),  # the frame pointer is saved
    bytes([0x0C, 6, 16, 0x86, 2]),  # CFA: fp + 16
    bytes([0x07, 16]),  # the outermost
    bytes([0x0C, 3, 16]),  # CFA: rbx + 16, which no column has
    bytes([0x0E, 12]),  # not a multiple of 8
]


@given(st.integers(0, 2**32), st.lists(st.sampled_from(RULES), min_size=1, max_size=6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_both_find_the_same_frames(seed: int, rules: list[bytes], twice: bool) -> None:
    """A recording must show the same stacks whether or not a C compiler was there when probescope was installed,
    wherever stacks lead: to rules of all kinds, to code without, out of their dumps, and round in circles."""
    rng = random.Random(seed)
    elf = ElfFile(elf_with(section(cie(FIRST), [(64 * n, 64, rule) for n, rule in enumerate(rules, 1)])))
    code = [BASE + 64 * rng.randrange(1, len(rules) + 2) + rng.randrange(64) for _ in range(8)]
    stacks = [random_stack(rng, code, rng.randrange(1, 60)) for _ in range(30)]
    cut = [d[: len(d) - rng.choice((0, 0, 3, 8))] for d, _ in stacks]
    dumps, first, data = prepared(cut, [r for _, r in stacks])
    spaces = np.array([rng.choice((0, 0, 0, -1)) for _ in stacks], np.int32)
    plain = Walk(grounds(elf), dumps, first, spaces).run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quick, "compiled", lambda *_: steps)
        ours = grounds(elf)
        walk = quick.Quick(ours)
        if twice:  # what it knows of another numbering of spaces must not be used again
            walk.walk(data, 0, dumps, first, spaces)
            ours._numbers = {}
            ours._forget()
            ours._keys = ours._ends = ours._shifts = ours._keys[:0]
            ours._ruled = ours._ruled[:0]
        pieces, rest = walk.walk(bytes(16) + data, 16, dumps, first, spaces)
    found: dict[int, list[int]] = {}
    for which, walked in pieces:
        found.update(zip(which.tolist(), split(walked), strict=True))
    assert not found.keys() & set(rest.tolist())
    assert len(found) + len(rest) == len(stacks)
    left = Walk(grounds(elf), dumps.only(rest), first.only(rest), spaces[rest]).run()
    found.update(zip(rest.tolist(), split(left), strict=True))
    assert [found[i] for i in range(len(stacks))] == split(plain)
    assert sum(walked.cut for _, walked in pieces) + left.cut == plain.cut


def test_plain_stacks_are_not_left() -> None:
    """Nearly all frames have rules of these kinds; were they left to the slow way, nobody would see it but by time.
    One that leads to itself for ever has as many frames as any stack may."""
    elf = ElfFile(elf_with(section(cie(FIRST), [(64, 64, RULES[1]), (128, 64, RULES[4])])))
    back, out = (BASE + 64 * n + 8 for n in (1, 2))
    ring = b"".join(back.to_bytes(8, "little") * 3 for _ in range(200))
    dumps, first, data = prepared(
        [ring, bytes(16) + out.to_bytes(8, "little")], [{7: STACK, 16: back, 6: 0}, {7: STACK, 16: back, 6: 0}]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quick, "compiled", lambda *_: steps)
        pieces, rest = quick.Quick(grounds(elf)).walk(data, 0, dumps, first, np.zeros(2, np.int32))
    assert not len(rest)
    found = {i: frames for which, w in pieces for i, frames in zip(which.tolist(), split(w), strict=True)}
    assert found == {0: [back] + [back - 1] * 126, 1: [back, out - 1]}
