"""Tables for unwinding, and walking by them, on small hand-made functions."""

from __future__ import annotations

import struct

import pytest
from debuginfo_frames import cie, elf_with, section

from probescope.debuginfo.eh_frame import frames_of
from probescope.debuginfo.eh_rules import SAME, UNDEFINED, Kept, Rule
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.unwind import Registers, unwind
from probescope.debuginfo.unwind_table import UnwindTable, pack, table_of
from probescope.errors import ElfError
from probescope.model import unwind as u

RETURN = Kept("at", -8)
# DW_CFA_def_cfa rsp 8; DW_CFA_offset rip at -8
FIRST = bytes([0x0C, 7, 8, 0x90, 1])
# push %rbp; mov %rsp,%rbp; ...; pop: rbp at CFA-16 from +1, CFA rbp+16 from +4, CFA rsp+8 from +20
FRAMED = bytes([0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6, 0x50, 0x0C, 7, 8])
# sub $24,%rsp at +0, 4 bytes; add at +12
PLAIN = bytes([0x44, 0x0E, 32, 0x4C, 0x0E, 8])


def table(*functions: tuple[int, int, bytes], first: bytes = FIRST) -> UnwindTable:
    return table_of(ElfFile(elf_with(section(cie(first), list(functions)))))


def rules(t: UnwindTable) -> list[tuple[int, int, int, int]]:
    return [(pc, *u.unpack_rule(r)) for pc, r in zip(t.pcs, t.rules, strict=True)]


def test_rows_of_two_functions() -> None:
    """A function with a frame pointer, one without, 16 bytes of nothing between them."""
    t = table((0x10, 32, FRAMED), (0x40, 24, PLAIN))
    assert rules(t) == [
        (0x10, u.SP, 1, 0),
        (0x11, u.SP, 2, -2),
        (0x14, u.FP, 2, -2),
        (0x24, u.SP, 1, -2),
        (0x30, u.GAP, 0, 0),
        (0x40, u.SP, 1, 0),
        (0x44, u.SP, 4, 0),
        (0x50, u.SP, 1, 0),
        (0x58, u.GAP, 0, 0),
    ]
    assert (t.frames, t.framed, t.odd, t.bad) == (2, 1, 0, 0)


def test_alignment_between_functions_costs_no_row() -> None:
    """Fifteen bytes between functions are padding: where the rule goes on being the same nothing is written."""
    t = table((0x10, 1, b""), (0x20, 1, b""))
    assert rules(t) == [(0x10, u.SP, 1, 0), (0x21, u.GAP, 0, 0)]


def test_a_later_function_cuts_an_overlapping_one() -> None:
    """Malformed or folded code: rows stay in order, which the search in the kernel relies upon."""
    t = table((0x10, 0x100, PLAIN), (0x12, 4, FRAMED))
    assert list(t.pcs) == sorted(set(t.pcs))
    assert u.unpack_rule(t.rule(0x13)) == (u.SP, 2, -2)


def test_content_is_in_blocks_and_filled_up() -> None:
    """17 rows take two blocks; the rest of the second one lies behind every address."""
    t = table(*[(0x100 * i, 4, b"") for i in range(1, 9)], (0x2000, 4, b""))
    words = struct.unpack(f"={t.blocks * u.BLOCK * 2}I", t.content())
    assert t.blocks == 2
    assert list(words[0::2])[: len(t.pcs)] == list(t.pcs)
    assert set(words[0::2][len(t.pcs) :]) == {u.NO_ROW}
    assert list(words[1::2])[: len(t.rules)] == list(t.rules)


@pytest.mark.parametrize(
    ("rule", "packed"),
    [
        (Rule(7, 8, b"", SAME, RETURN), (u.SP, 1, 0)),
        (Rule(6, 16, b"", Kept("at", -16), RETURN), (u.FP, 2, -2)),
        (Rule(7, 8, b"", SAME, UNDEFINED), (u.END, 0, 0)),
        (Rule(10, 8, b"", SAME, RETURN), (u.OTHER, 0, 0)),  # CFA by r10: only while a stack is being aligned
        (Rule(7, 12, b"", SAME, RETURN), (u.OTHER, 0, 0)),
        (Rule(7, 8 << 15, b"", SAME, RETURN), (u.OTHER, 0, 0)),  # a frame of 256 KB
        (Rule(7, 8, b"", SAME, Kept("register", 1)), (u.OTHER, 0, 0)),
        # main() of gcc with an aligned stack: DW_OP_breg6 -8; DW_OP_deref, rbp at breg6 0
        (Rule(-1, 0, b"\x76\x78\x06", Kept("expression", 0, b"\x76\x00"), RETURN), (u.AT_FP, -1, u.AT_FRAME)),
        (Rule(-1, 0, b"\x77\x08\x06", SAME, RETURN), (u.AT_SP, 1, 0)),
        # .plt and .plt.sec of GNU ld
        (Rule(-1, 0, bytes.fromhex("770880003f1a3b2a332422"), SAME, RETURN), (u.PLT, 11, 0)),
        (Rule(-1, 0, bytes.fromhex("770880003f1a3a2a332422"), SAME, RETURN), (u.PLT, 10, 0)),
        (Rule(-1, 0, b"\x77", SAME, RETURN), (u.OTHER, 0, 0)),
        (Rule(-1, 0, b"", SAME, RETURN), (u.OTHER, 0, 0)),
        (Rule(-1, 0, b"", SAME, UNDEFINED), (u.OTHER, 0, 0)),
    ],
)
def test_packed_rules(rule: Rule, packed: tuple[int, int, int]) -> None:
    """Each kind of rule, and what does not fit: that must never be taken for something else."""
    assert u.unpack_rule(pack(rule)) == packed


def test_the_signal_frame_of_libc_is_known() -> None:
    """The return from a signal handler, as glibc writes it by hand."""
    with ElfFile.open("/lib/x86_64-linux-gnu/libc.so.6") as elf:
        assert [f.signal for f in frames_of(elf)].count(True) == 1
        assert list(table_of(elf).rules).count(u.SIGNAL) == 1


def test_the_walk_through_three_functions() -> None:
    """No frame pointer, frame pointer, outermost: addresses and memory worked out by hand."""
    t = table((0x100, 32, PLAIN), (0x200, 32, FRAMED), (0x300, 32, bytes([0x07, 16])))
    memory = {0x7018: 0x208, 0x7030: 0x7100, 0x7038: 0x310}  # PLAIN has 24 bytes; FRAMED's rbp is 0x7030
    stack = unwind(Registers(0x108, 0x7000, 0x7030), lambda _: (t, 0), memory.get)
    assert stack == ([0x108, 0x208, 0x310], "end")


def test_a_return_address_behind_its_function_belongs_to_the_call() -> None:
    """A call that never comes back may be the last instruction: its return address is the next function's."""
    t = table((0x100, 0x10, PLAIN), (0x110, 0x10, bytes([0x07, 16])), (0x200, 16, b""))
    memory = {0x7000: 0x110, 0x7008: 0}
    assert unwind(Registers(0x200, 0x7000, 0), lambda _: (t, 0), memory.get).frames == [0x200, 0x110]


def test_code_without_a_table_goes_by_its_frame_pointer() -> None:
    """A JIT's frame between two of a binary."""
    t = table((0x100, 32, PLAIN), (0x300, 32, bytes([0x07, 16])))
    memory = {0x7018: 0x9000, 0x7040: 0, 0x7048: 0x310}
    stack = unwind(Registers(0x108, 0x7000, 0x7040), lambda pc: (t, 0) if pc < 0x1000 else None, memory.get)
    assert stack == ([0x108, 0x9000, 0x310], "end")


@pytest.mark.parametrize(
    ("fp", "memory", "why"),
    [(1, {}, "table"), (0x6000, {}, "table"), (0x7000, {}, "table"), (0x7000 + (1 << 20), {}, "table")],
)
def test_what_cannot_be_a_frame_pointer_ends_the_walk(fp: int, memory: dict[int, int], why: str) -> None:
    assert unwind(Registers(0x9000, 0x7000, fp), lambda _: None, memory.get) == ([0x9000], why)


def test_unreadable_memory_and_depth_end_the_walk() -> None:
    """What was found so far is kept, and why there is no more."""
    t = table((0x100, 32, b""))
    assert unwind(Registers(0x108, 0x7000, 0), lambda _: (t, 0), {}.get) == ([0x108], "read")
    assert unwind(Registers(0x108, 0x7000, 0), lambda _: (t, 0), lambda _: 0x108, depth=5) == ([0x108] * 5, "depth")


def test_a_pc_outside_of_the_table_has_no_rule() -> None:
    t = table((0x100, 32, PLAIN))
    assert [t.rule(a) for a in (0, 0xFF, 0x120, 1 << 40)] == [u.GAP] * 4


def test_another_machine_is_refused() -> None:
    """AArch64 keeps frame pointers by its procedure call standard."""
    with pytest.raises(ElfError):
        table_of(ElfFile(elf_with(section(cie(FIRST), []), machine=183)))


def test_malformed_programs_leave_rows_that_say_so() -> None:
    """An instruction that does not exist, in the middle of a function: before it the rows hold."""
    t = table((0x100, 32, bytes([0x44, 0x0E, 32, 0x44, 0x3B])), (0x200, 32, b"\x0b"))
    assert u.unpack_rule(t.rule(0x104)) == (u.SP, 4, 0)
    assert u.unpack_rule(t.rule(0x108))[0] == u.OTHER
    assert u.unpack_rule(t.rule(0x200))[0] == u.OTHER
