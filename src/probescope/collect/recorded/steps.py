"""Stacks walked one after the other by rules that were looked up before, in a form that mypyc makes machine code of
(hatch_build.py does where it can).

    table   address of a space -> number of its rule     what ``learn`` was told
    rules   number -> kind, by_frame, number, saved, back, signal: six i8, as ``debuginfo.unwind_rows.Columns`` has them

It does what ``lanes`` does, for the rules that nearly all frames have. A stack that meets another one, or an address
that was not looked up yet, is left to whom it was asked by.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from librt.vecs import vec
from mypy_extensions import i64

SLOTS: Final = 1 << 16
MOST: Final = 1 << 15
_USER: Final = -512  # lanes.USER
_END: Final = 2  # debuginfo.unwind_rows
_NEAR: Final = 3
_PLT: Final = 6

UNKNOWN: Final = -1
OTHER: Final = -2
"""In place of the number of a stack's frames: an address was not looked up yet, or a rule is of another kind."""


class Steps:
    def __init__(self) -> None:
        self.keys = vec[i64]([-1] * SLOTS)
        self.rules = vec[i64]([0] * SLOTS)
        self.count: i64 = 0
        self.cut: i64 = 0
        self.deepest: i64 = 0
        """How far from the stack pointer the last stack went."""
        self.missed: i64 = 0

    def forget(self) -> None:
        slot: i64 = 0
        while slot < SLOTS:
            self.keys[slot] = -1
            slot += 1
        self.count = 0

    def _slot(self, key: i64) -> i64:
        """Where the key is, or belongs."""
        keys = self.keys
        slot: i64 = ((key * -0x61C8864680B583EB) >> 40) & (SLOTS - 1)
        while True:
            found: i64 = keys[slot]
            if found == key or found == -1:  # noqa: PLR1714 - compiled, a comparison each
                return slot
            slot = (slot + 1) & (SLOTS - 1)

    def learn(self, found: bytes) -> None:
        """Keys, not negative, and the numbers of their rules, in turns, i8."""
        at: i64 = 0
        while at < len(found):
            if self.count >= MOST:
                self.forget()
            key: i64 = read_i64_le(found, at)
            slot = self._slot(key)
            if self.keys[slot] != key:
                self.keys[slot] = key
                self.count += 1
            self.rules[slot] = read_i64_le(found, at + 8)
            at += 16

    def _rule(self, key: i64) -> i64:
        """-1: not known."""
        keys = self.keys
        slot: i64 = ((key * -0x61C8864680B583EB) >> 40) & (SLOTS - 1)
        while True:
            found: i64 = keys[slot]
            if found == key:
                return self.rules[slot]
            if found == -1:
                return -1
            slot = (slot + 1) & (SLOTS - 1)

    def walk(self, data: bytes, stacks: bytes, rules: bytes, most: i64) -> tuple[bytes, bytes, bytes, int]:
        """``stacks``: six i8 for each: what makes a key of an address of its space, ip, sp, fp, the byte of ``data``
        where its dump begins, the dump's size in bytes; dumps lie in ``data``. ``most``: frames of a stack.

        i8 numbers: for each stack that was walked to its end ``USER`` and its frames, one after the other; for each of
        all the number of its frames, ``UNKNOWN`` or ``OTHER``; the addresses that are ``UNKNOWN``, with what makes keys
        of them before each. And how many of those that were walked end where their dump does."""
        frames, counts, unknown = BytesWriter(), BytesWriter(), BytesWriter()
        self.cut = 0
        at: i64 = 0
        while at < len(stacks):
            begun: i64 = len(frames)
            write_i64_le(frames, _USER)
            depth = self._one(data, stacks, at, rules, most, frames)
            if depth < 0:
                frames.truncate(begun)
            if depth == UNKNOWN:
                write_i64_le(unknown, read_i64_le(stacks, at))
                write_i64_le(unknown, self.missed)
            write_i64_le(counts, depth)
            at += 48
        return frames.getvalue(), counts.getvalue(), unknown.getvalue(), int(self.cut)

    def _one(self, data: bytes, stacks: bytes, at: i64, rules: bytes, most: i64, frames: BytesWriter) -> i64:
        base: i64 = read_i64_le(stacks, at)
        ip: i64 = read_i64_le(stacks, at + 8)
        sp: i64 = read_i64_le(stacks, at + 16)
        fp: i64 = read_i64_le(stacks, at + 24)
        low: i64 = sp
        start: i64 = read_i64_le(stacks, at + 32)
        last: i64 = read_i64_le(stacks, at + 40) - 8
        self._ask(data, start, last)
        deepest: i64 = 0
        before: i64 = 0
        depth: i64 = 0
        while depth < most:
            address: i64 = ip - before
            if address >> 48:
                return OTHER
            rule: i64 = self._rule(base + address) * 48
            if rule < 0:
                self.missed = address
                return UNKNOWN
            kind: i64 = read_i64_le(rules, rule)
            if (kind != _NEAR and kind != _END and kind != _PLT) or read_i64_le(rules, rule + 40):  # noqa: PLR1714
                return OTHER
            write_i64_le(frames, address)
            depth += 1
            if kind == _END:
                break
            cfa: i64 = sp
            if kind == _PLT:
                cfa += 16 if (ip & 15) >= read_i64_le(rules, rule + 16) else 8
            else:
                if read_i64_le(rules, rule + 8):
                    cfa = fp
                cfa += read_i64_le(rules, rule + 16)
            place: i64 = cfa + read_i64_le(rules, rule + 32) - low
            if place < 0 or place > last:
                self.cut += 1
                break
            if place > deepest:  # noqa: PLR1730 - max() makes objects of both
                deepest = place
            ip = read_i64_le(data, start + place)
            if ip == 0:
                break
            saved: i64 = read_i64_le(rules, rule + 24)
            if saved:
                saved += cfa - low
                fp = read_i64_le(data, start + saved) if saved >= 0 and saved <= last else 0
            sp, before = cfa, 1
        self.deepest = deepest
        return depth

    def _ask(self, data: bytes, start: i64, last: i64) -> None:
        """Looks at each line of memory that the walk will need, if it is as long as the one before: they come at once,
        where the walk would wait for each."""
        place: i64 = 0
        until: i64 = self.deepest
        if until > last:  # noqa: PLR1730
            until = last
        while place < until:
            read_i64_le(data, start + place)
            place += 64
