"""Samples that differ in nothing that a sum asks for, put on one heap, in a form that mypyc makes machine code of (see
``chain``).

    stretch                     |  samples of 7, 7, 9, 7, 9  |  9, 9   |      7: a head, an id, a place, a thread
    heaps: first, many, periods |  0 3 3   2 2 2             |  5 2 2  |

A stretch ends where something happened to processes, so that what is known of them is the same for all of a heap.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from librt.vecs import append, vec
from mypy_extensions import i64

SLOTS: Final = 8192
FULL: Final = 4096
"""Heaps of a stretch; with more it ends early."""


def _slot(data: bytes, place: i64, first: i64, second: i64) -> i64:
    """By two words alone: what differs in others only is found in the next slots."""
    mix: i64 = (read_i64_le(data, place + first) * 0x2545F4914F6CDD1D) ^ read_i64_le(data, place + second)
    mix *= 0x2545F4914F6CDD1D
    return (mix >> 40) & (SLOTS - 1)


def _alike(data: bytes, one: i64, other: i64, words: bytes) -> bool:
    step: i64 = 0
    while step < len(words):
        word: i64 = read_i64_le(words, step) << 3
        if read_i64_le(data, one + word) != read_i64_le(data, other + word):
            return False
        step += 8
    return True


def _written(firsts: vec[i64], counts: vec[i64], sums: vec[i64]) -> bytes:
    out = BytesWriter()
    heap: i64 = 0
    while heap < len(firsts):
        write_i64_le(out, firsts[heap])
        write_i64_le(out, counts[heap])
        write_i64_le(out, sums[heap])
        heap += 1
    return out.getvalue()


def _last(words: bytes, period: i64) -> i64:
    """The last word of a sample that is looked at."""
    last: i64 = period
    step: i64 = 0
    while step < len(words):
        word: i64 = read_i64_le(words, step)
        if word > last:  # noqa: PLR1730 - max() makes objects of both
            last = word
        step += 8
    return last


class Heaps:
    """The table that heaps are found by: a slot holds the number of the stretch and of a heap."""

    def __init__(self) -> None:
        self.slots = vec[i64]([0] * SLOTS)
        self.stretch: i64 = 1

    def put(self, data: bytes, begin: i64, at: bytes, breaks: bytes, words: bytes, period: i64) -> bytes:
        """``data``: words of a little-endian file from word ``begin`` on; ``at``: words where samples begin, i8;
        ``breaks``: numbers of samples that stretches begin with, ascending; ``words``: those of a sample that tell
        heaps apart, i8, the two that differ most first; ``period``: the word of its period, 0 if there is none.

        For each heap three i8 numbers: its first sample, how many there are, the sum of their periods. Samples that do
        not lie in ``data`` as a whole have heaps of their own, with 0 for both."""
        slots = self.slots
        firsts = vec[i64]()
        counts = vec[i64]()
        sums = vec[i64]()
        count: i64 = len(at) >> 3
        most: i64 = len(data) - ((_last(words, period) + 1) << 3)
        first: i64 = read_i64_le(words, 0) << 3
        second: i64 = first
        if len(words) >= 16:
            second = read_i64_le(words, 8) << 3
        following: i64 = 0
        ending: i64 = count
        if len(breaks):
            ending = read_i64_le(breaks, 0)
        begun: i64 = 0  # the first heap of this stretch
        made: i64 = 0
        self.stretch += 1
        number: i64 = 0
        while number < count:
            while number >= ending:
                following += 1
                ending = count
                if following < (len(breaks) >> 3):
                    ending = read_i64_le(breaks, following << 3)
                self.stretch += 1
                begun = made
            if made - begun >= FULL:
                self.stretch += 1
                begun = made
            place: i64 = (read_i64_le(at, number << 3) - begin) << 3
            if place < 0 or place > most:
                firsts = append(firsts, number)
                counts = append(counts, 0)
                sums = append(sums, 0)
                made += 1
                number += 1
                continue
            slot = _slot(data, place, first, second)
            weight: i64 = 1
            if period:
                weight = read_i64_le(data, place + (period << 3))
            while True:
                found: i64 = slots[slot]
                if found >> 32 != self.stretch:
                    slots[slot] = (self.stretch << 32) | made
                    firsts = append(firsts, number)
                    counts = append(counts, 1)
                    sums = append(sums, weight)
                    made += 1
                    break
                heap: i64 = found & 0xFFFFFFFF
                if _alike(data, place, (read_i64_le(at, firsts[heap] << 3) - begin) << 3, words):
                    counts[heap] = counts[heap] + 1
                    sums[heap] = sums[heap] + weight
                    break
                slot = (slot + 1) & (SLOTS - 1)
            number += 1
        return _written(firsts, counts, sums)
