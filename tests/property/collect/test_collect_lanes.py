"""Many stacks walked at once against one walked step by step."""

from __future__ import annotations

import os
import random
import shutil

import pytest
from collect_lanes import BASE, grounds, random_stack, walked

from probescope.debuginfo.eh_frame import frames_of
from probescope.debuginfo.elf import PT_LOAD, ElfFile
from probescope.debuginfo.unwind import Registers, unwind
from probescope.debuginfo.unwind_table import table_of
from probescope.model import unwind as u

LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
FILES = [f for f in (LIBC, shutil.which("bash")) if f and os.path.exists(f)]


@pytest.mark.skipif(not FILES, reason="no x86-64 files here")
@pytest.mark.parametrize("path", FILES)
def test_as_one_by_one(path: str) -> None:
    """Random stacks over the real rules of real files: every frame that the plain walk finds by tables, and no other,
    up to the first rule that tables cannot say."""
    rng = random.Random(1)
    with ElfFile.open(path) as elf:
        table = table_of(elf)
        first = next(s for s in elf.segments() if s.type == PT_LOAD)
        functions = [f for f in frames_of(elf) if f.end - f.start > 4]
        assert first.vaddr == first.offset == 0
        code = [
            BASE + (elf.to_offset(a) or 0) for f in rng.sample(functions, 200) for a in (rng.randrange(f.start, f.end),)
        ]
        where = grounds(elf)
        stacks = [random_stack(rng, code) for _ in range(2000)]
        found = walked(where, [d for d, _ in stacks], [r for _, r in stacks])
        segments = [s for s in elf.segments() if s.type == PT_LOAD]

        def place(address: int) -> tuple[object, int] | None:
            offset = address - BASE
            s = next((s for s in segments if s.offset <= offset < s.offset + s.filesz), None)
            return (table, BASE + s.offset - s.vaddr) if s is not None else None

        compared = ended = cut = 0
        for (dump, regs), frames in zip(stacks, found, strict=True):

            def read(address: int, dump: bytes = dump, low: int = regs[7]) -> int | None:
                at = address - low
                return int.from_bytes(dump[at : at + 8], "little") if 0 <= at <= len(dump) - 8 else None

            plain = unwind(Registers(regs[16], regs[7], regs[6]), place, read)  # type: ignore[arg-type]
            expected = [plain.frames[0], *(a - 1 for a in plain.frames[1:])]
            upto = next((i for i, a in enumerate(expected) if _odd(place, a)), len(expected))
            known = min(upto + 1, len(expected))
            assert frames[:known] == expected[:known]
            if upto == len(expected) and plain.why == "end":
                assert len(frames) == len(expected)
            elif upto == len(expected) and plain.why == "read":  # a frame pointer that cannot be read is no end to us
                ended += len(frames) == len(expected)
                cut += 1
            compared += len(expected)
        assert compared > 4000
        assert ended > cut / 4 > 10


def _odd(place: object, address: int) -> bool:
    """Whether the plain walk goes on by guessing: without a rule, or beside one that tables cannot say."""
    found = place(address)  # type: ignore[operator]
    kind = u.GAP if found is None else u.unpack_rule(found[0].rule(address - found[1]))[0]
    return kind in (u.GAP, u.OTHER, u.SIGNAL, u.PLT)
