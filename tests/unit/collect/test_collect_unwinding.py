"""Walking stacks by hand-made rules: what each frame's rule says, and where there is none."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from collect_lanes import BASE, STACK, grounds, walked
from debuginfo_frames import cie, elf_with, section

from probescope.collect.recorded.grounds import Grounds
from probescope.collect.recorded.unwinding import registers_of
from probescope.debuginfo.eh_index import FrameIndex
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.symbolize import AddressSpace, Mapping
from probescope.model.recording import MappedFile

FIRST = bytes([0x0C, 7, 8, 0x90, 1])  # CFA: sp + 8; return address at CFA - 8
DEEPER = bytes([0x0E, 24])  # CFA: sp + 24


def file(*programs: bytes, signal: bool = False) -> ElfFile:
    """Functions of 64 bytes each from offset 64 * n on."""
    functions = [(64 * n, 64, program) for n, program in enumerate(programs, 1)]
    return ElfFile(elf_with(section(cie(FIRST, signal=signal), functions)))


def stack(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}Q", *words)


def at(function: int, offset: int = 4) -> int:
    return BASE + 64 * function + offset


def one(where: Grounds, dump: bytes, **registers: int) -> list[int]:
    numbers = {"rbx": 3, "rbp": 6, "r12": 12, "ip": 16}
    return walked(where, [dump], [{7: STACK, **{numbers[k]: v for k, v in registers.items()}}])[0]


def test_frames_by_the_stack_pointer() -> None:
    """Three functions, the last one the outermost: nothing is known of its return address."""
    where = grounds(file(FIRST, DEEPER, bytes([0x07, 16])))
    dump = stack(at(2), 0, 0, at(3), 77)
    assert one(where, dump, ip=at(1)) == [at(1), at(2) - 1, at(3) - 1]


def test_a_stack_ends_where_its_dump_does() -> None:
    """The caller that would be read from behind its end is not shown."""
    where = grounds(file(FIRST, DEEPER))
    assert one(where, stack(at(2), 0, 0, at(2)), ip=at(1)) == [at(1), at(2) - 1, at(2) - 1]
    assert one(where, stack(at(2), 0, 0, at(2))[:-1], ip=at(1)) == [at(1), at(2) - 1]


def test_a_register_that_is_saved_on_the_way() -> None:
    """The outer function's CFA is beside rbx, which the inner one has pushed: the rare rule that needs more than the
    stack and frame pointers."""
    saves = bytes([0x0E, 16, 0x83, 2])  # rbx at CFA - 16
    beside = bytes([0x0C, 3, 16])  # CFA: rbx + 16
    where = grounds(file(saves, beside, bytes([0x07, 16])))
    dump = stack(STACK + 24, at(2), 0, 0, at(3))
    assert one(where, dump, ip=at(1), rbx=1) == [at(1), at(2) - 1, at(3) - 1]
    unsaved = grounds(file(DEEPER[:1] + b"\x10", beside, bytes([0x07, 16])))
    assert one(unsaved, dump, ip=at(1), rbx=STACK + 24) == [at(1), at(2) - 1, at(3) - 1]
    assert one(unsaved, dump, ip=at(1), rbx=1) == [at(1), at(2) - 1]


def test_what_a_signal_interrupted() -> None:
    """The trampoline's registers are all beside the stack pointer; the interrupted place is shown as it is, and so is
    the trampoline itself."""
    restore = bytes([0x0F, 3, 0x77, 8, 0x06, 0x10, 16, 2, 0x77, 0, 0x10, 6, 2, 0x77, 16])
    where = grounds(file(restore, bytes([0x07, 16]), signal=True))
    dump = stack(at(2, 0), STACK + 24, 0)
    assert one(where, dump, ip=at(1)) == [at(1), at(2, 0)]


@pytest.mark.parametrize(("path", "frames"), [("//anon", 3), ("", 1)])
def test_code_without_rules(path: str, frames: int) -> None:
    """A JIT's frame pointers are followed, up to what leads to no code: there guessing has to end."""
    code = MappedFile(start=BASE, size=4096, path=path) if path else MappedFile(start=BASE, size=4096, executable=False)
    where = Grounds([AddressSpace([code], pid=1)], lambda _: None)
    dump = stack(0, STACK + 24, BASE + 9, STACK + 40, BASE + 5, 0, 0x4141414141414141)
    assert one(where, dump, ip=BASE + 1, rbp=STACK + 8) == [BASE + 1, BASE + 8, BASE + 4][:frames]


def test_programs_that_lie_where_they_say() -> None:
    """Not position independent: addresses and those of the file are equal, in the first file of the first process."""
    elf = file(FIRST, bytes([0x07, 16]))
    found = (elf, FrameIndex(elf))
    space = AddressSpace([MappedFile(start=0, size=1 << 20, path="/static")], pid=1)

    def files(_: Mapping) -> tuple[ElfFile, FrameIndex]:
        return found

    assert one(Grounds([space], files), stack(128 + 4), ip=64 + 4) == [68, 131]


def test_many_processes_at_once() -> None:
    """Each lane by the files of its own process."""
    elves = [file(FIRST, bytes([0x07, 16])), file(DEEPER, bytes([0x07, 16]))]
    indexes = [(e, FrameIndex(e)) for e in elves]
    maps = [MappedFile(start=BASE, size=1 << 20, path=f"/{n}") for n in range(2)]
    where = Grounds([AddressSpace([m], pid=n) for n, m in enumerate(maps)], lambda m: indexes[int(m.path[1:])])
    dump = stack(at(2), 0, at(2, 8), 0)
    registers: Sequence[dict[int, int]] = [{7: STACK, 16: at(1)}] * 2
    assert walked(where, [dump] * 2, registers, [0, 1]) == [[at(1), at(2) - 1], [at(1), at(2, 8) - 1]]


def test_registers_of_masks() -> None:
    """perf's order is not DWARF's; a register that x86 has not makes the mask another machine's."""
    assert registers_of(0xFF0FFF) == {
        **dict(zip((0, 3, 2, 1, 4, 5, 6, 7, 16), range(9), strict=True)),
        **{r: r + 4 for r in range(8, 16)},
    }
    assert registers_of(1 << 7 | 1 << 8) == {7: 0, 16: 1}
    assert registers_of(1 << 32) == {}
