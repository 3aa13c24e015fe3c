"""Every reader of debuginfo on mutated bytes, for a few seconds; a longer run: fuzz_debuginfo.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import fuzz_debuginfo

SECONDS = float(os.environ.get("PROBESCOPE_FUZZ_SECONDS", "10")) / len(fuzz_debuginfo.TARGETS)


@pytest.mark.parametrize("name", sorted(fuzz_debuginfo.TARGETS))
def test_mutated_input_gives_typed_errors_only(name: str) -> None:
    """A malformed file must never crash or hang the tool: nothing but ElfError and BtfError leaves a reader."""
    assert fuzz_debuginfo.run(name, SECONDS, seed=20_250_101) > 100


@pytest.mark.parametrize("name", sorted(fuzz_debuginfo.TARGETS))
def test_seeds_are_sound(name: str) -> None:
    """Fuzzing from input that is rejected at its first byte would prove nothing."""
    target, seeds = fuzz_debuginfo.TARGETS[name]
    for seed in seeds:
        target(seed)


def test_seeds_reach_the_depths() -> None:
    """The seeds hold what the readers look for: symbols, notes, types, functions."""
    from probescope.debuginfo import usdt
    from probescope.debuginfo.btf import Btf
    from probescope.debuginfo.btf_types import BtfTypes
    from probescope.debuginfo.elf import ElfFile

    for data in fuzz_debuginfo.TARGETS["elf"][1]:
        elf = ElfFile(data)
        assert elf.symbols().find("function_1") is not None
        assert elf.mini_symtab() is not None
        assert len(usdt.read(elf)) == 1
    for data in fuzz_debuginfo.TARGETS["stripped"][1]:
        assert [s.name for s in ElfFile(data).symbols() if s.name] == ["func", "other"]
    for data in fuzz_debuginfo.TARGETS["btf"][1]:
        layout = BtfTypes(Btf.parse(data)).layout("struct file")
        assert layout is not None
        assert [m.name for m in layout.members] == ["f_count", "a", "b", "name"]
    (frames,) = fuzz_debuginfo.TARGETS["frames"][1]
    from probescope.debuginfo.eh_frame import FrameSection
    from probescope.debuginfo.eh_pointer import Pointers

    section = FrameSection(Pointers(frames, 0), "x86_64")
    assert [len(f.rows) for f in section] == [5, 2, 2]
    assert section.bad == 0
