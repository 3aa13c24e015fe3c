"""Readers of foreign bytes and text: whatever comes in, they answer, and soon."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.bpf.disasm import disassemble
from probescope.bpf.listing import listing
from probescope.bpf.unit import ProgSpec, Unit
from probescope.bpf.verifier_log import diagnose
from probescope.diagnostics import Source, Span, render

LINES = [
    "12: (85) call bpf_map_lookup_elem#1 ; R0=map_value",
    "R0 invalid mem access 'scalar'",
    "invalid access to map value, value_size=8 off=8 size=8",
    "infinite loop detected at insn 99999999999999999999",
    "processed 5 insns (limit 1000000)",
    '; { printf("%s", comm); }',
    "unreachable insn 4",
    "R1 type=ctx expected=fp, {0} {1} {9}",
    "from 3 to 5: R0=1",
    "",
]
log = st.lists(st.sampled_from(LINES) | st.text(max_size=80), max_size=30).map("\n".join) | st.text()


@settings(max_examples=300, deadline=1000)
@given(log, st.lists(st.integers(0, 200), max_size=5, unique=True).map(sorted))
def test_any_log_gives_one_printable_diagnostic(text, starts):
    """Protects from a traceback while an error is being explained."""
    lines = tuple((at, Span(1, 1, 1, 4)) for at in starts)
    d = diagnose(text, lines, Source("x", "abc def"))
    assert d.severity == "error"
    assert len(d.message) < 1000
    assert all(c.isprintable() or c == "\n" for c in render(d))


@settings(max_examples=300, deadline=1000)
@given(st.binary(max_size=400))
def test_any_bytes_disassemble(code):
    """Each unit gives one line, but for the second half of a 64-bit constant."""
    found = disassemble(code)
    assert all(text and text.isprintable() for _, text in found)
    assert [at for at, _ in found] == sorted({at for at, _ in found})
    assert len(found) <= len(code) // 8


@settings(max_examples=200, deadline=1000)
@given(
    st.lists(
        st.builds(
            lambda op, regs, off, imm: struct.pack("<BBhi", op, regs, off, imm),
            st.integers(0, 255),
            st.integers(0, 255),
            st.integers(-(1 << 15), (1 << 15) - 1),
            st.integers(-(1 << 31), (1 << 31) - 1),
        ),
        max_size=20,
    ).map(b"".join)
)
def test_any_program_lists(code):
    unit = Unit("u", 0, "kprobe", (0,))
    text = listing(
        ProgSpec("p", "kprobe", unit, code, functions=((0, "main"), (7, "f")), lines=((3, Span(9, 1, 9, 2)),))
    )
    assert text.startswith("; kprobe p: ")
