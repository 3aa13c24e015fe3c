"""The small machines inside of debug information on any input: numbers, abbreviations, expressions, line programs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from probescope.debuginfo import dwarf_expr as ex
from probescope.debuginfo.dwarf_abbrev import AbbrevTable, Format
from probescope.debuginfo.dwarf_data import Section
from probescope.debuginfo.dwarf_lines import ends_with
from probescope.debuginfo.elf_source import BufferSource
from probescope.debuginfo.leb128 import sleb, uleb
from probescope.errors import DwarfError
from probescope.model.arch import AARCH64, X86_64


def encode(value: int, *, signed: bool) -> bytes:
    """As DWARF 5, 7.6 describes it."""
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        done = value == 0 if not signed else (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40)
        out.append(byte | (0 if done else 0x80))
        if done:
            return bytes(out)


@given(st.integers(0, (1 << 64) - 1), st.binary(max_size=4))
def test_numbers_without_sign(value: int, behind: bytes) -> None:
    """What was written is read, up to where it ends."""
    data = encode(value, signed=False)
    assert uleb(data + behind, 0) == (value, len(data))


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.binary(max_size=4))
def test_numbers_with_sign(value: int, behind: bytes) -> None:
    """Likewise below zero."""
    data = encode(value, signed=True)
    assert sleb(data + behind, 0) == (value, len(data))


def section(data: bytes, name: str = ".debug_abbrev") -> Section:
    return Section(BufferSource(data), 0, len(data), name, "test")


@given(st.binary(max_size=200), st.integers(0, 210))
def test_abbreviations_of_any_bytes(data: bytes, offset: int) -> None:
    """A table, or a typed error."""
    try:
        found = AbbrevTable(section(data), offset, Format(5, 8, 4)).all()
    except DwarfError:
        return
    assert all(a.fixed == sum(a.steps) for a in found.values() if a.fixed >= 0)


@given(st.lists(st.sampled_from([*range(0x03, 0xB0), 0xF3]), max_size=24), st.binary(max_size=16))
def test_expressions_of_any_bytes(ops: list[int], operands: bytes) -> None:
    """A place, or ``None``: never an exception, whatever the stack holds."""
    data = bytes(b for pair in zip(ops, operands + bytes(24), strict=False) for b in pair)
    for arch in (X86_64, AARCH64):
        found = ex.evaluate(data, arch, frame=ex.Near(arch.sp, 8))
        assert found is None or isinstance(found, ex.Held | ex.Near | ex.Fixed | ex.Pieces)


@given(st.integers(0, 15), st.integers(-(1 << 31), 1 << 31))
def test_memory_beside_a_register(number: int, offset: int) -> None:
    """DW_OP_breg, and the same by the frame's base."""
    data = encode(offset, signed=True)
    assert ex.evaluate(bytes((0x70 + number,)) + data, X86_64) == ex.Near(X86_64.dwarf_regs[number], offset)
    framed = ex.evaluate(b"\x91" + data, X86_64, frame=ex.Near("sp", 8))
    assert framed == ex.Near("sp", 8 + offset)


WORDS = st.lists(st.sampled_from(["a", "bc", "src", "x.c"]), min_size=1, max_size=4)


@given(WORDS, WORDS)
def test_ends_of_paths(path: list[str], wanted: list[str]) -> None:
    """A file is meant by its last directories, whole names only."""
    full = "/" + "/".join(path)
    assert ends_with(full, "/".join(wanted)) == (path[-len(wanted) :] == wanted)
    assert ends_with(full, "/" + "/".join(wanted)) == (path == wanted)


@given(st.binary(max_size=300), st.binary(min_size=1, max_size=3))
def test_searching_a_section(data: bytes, needle: bytes) -> None:
    """Every place, as ``bytes.find`` sees them, overlapping ones too."""
    expected = [i for i in range(len(data)) if data.startswith(needle, i)]
    assert list(section(data).find(needle)) == expected
