"""Tables for unwinding against looking at every function."""

from __future__ import annotations

from debuginfo_frames import cie, elf_with, section
from hypothesis import given
from hypothesis import strategies as st

from probescope.debuginfo.eh_frame import frames_of
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.leb128 import sleb, uleb
from probescope.debuginfo.unwind_table import SMALL_GAP, pack, table_of
from probescope.model import unwind as u

FIRST = bytes([0x0C, 7, 8, 0x90, 1])
STEP = st.tuples(st.integers(1, 60), st.integers(0, 40)).map(lambda s: bytes([0x40 | s[0], 0x0E, 8 * (s[1] % 15)]))
FUNCTION = st.tuples(st.integers(1, 900), st.integers(1, 90), st.lists(STEP, max_size=4).map(b"".join))


@given(st.lists(FUNCTION, max_size=8, unique_by=lambda f: f[0]), st.integers(0, 1100))
def test_a_table_says_what_the_functions_say(functions: list[tuple[int, int, bytes]], address: int) -> None:
    """The rule of the last function that starts at or before an address, if it reaches that far."""
    elf = ElfFile(elf_with(section(cie(FIRST), functions)))
    table = table_of(elf)
    covering = [f for f in frames_of(elf) if f.start <= address]
    expected = u.GAP
    if covering:
        frame = max(covering, key=lambda f: f.start)
        if address < frame.end:
            expected = pack(next(r for at, r in reversed(frame.rows) if frame.start + at <= address))
        else:
            following = min((f.start for f in frames_of(elf) if f.start > frame.start), default=1 << 64)
            if following - frame.end < SMALL_GAP:
                return  # alignment: nobody's
    assert table.rule(address) == expected
    assert list(table.pcs) == sorted(set(table.pcs))


@given(st.integers(0, 8), st.integers(-(1 << 17), 1 << 17), st.integers(-(1 << 13), 1 << 13))
def test_packed_rules_come_back_or_are_other(kind: int, number: int, slot: int) -> None:
    """No number is cut into another one."""
    found = u.unpack_rule(u.pack_rule(kind, number, slot))
    fits = abs(number) <= u.MOST_NUMBER and u.AT_FRAME <= slot < -u.AT_FRAME
    assert found == ((kind, number, slot) if fits else (u.OTHER, 0, 0))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_leb128_comes_back(number: int) -> None:
    """Written as the standard's own algorithm (DWARF 5, figure C.2) writes it."""
    out = bytearray()
    rest = number
    while True:
        byte, rest = rest & 0x7F, rest >> 7
        done = rest in (0, -1) and (rest == -1) == bool(byte & 0x40)
        out.append(byte if done else byte | 0x80)
        if done:
            break
    assert sleb(bytes(out), 0) == (number, len(out))
    assert uleb(bytes(out), 0)[1] == len(out)
