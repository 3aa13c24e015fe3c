"""Location expressions that compilers write: what they mean was worked out by hand from DWARF 5, 2.5 and 2.6."""

from __future__ import annotations

import pytest

from probescope.debuginfo.dwarf_expr import Behind, Fixed, Held, Loaded, Moment, Near, Sum, evaluate
from probescope.model.arch import X86_64

FBREG, DEREF, MINUS, PLUS, PLUS_UCONST, STACK_VALUE, CONST1U = (
    b"\x91",
    b"\x06",
    b"\x1c",
    b"\x22",
    b"\x23",
    b"\x9f",
    b"\x08",
)
AT_80 = FBREG + b"\xb0\x7f"  # -80
FRAME = Near("sp", 48)


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        (b"\x55", Held("di")),
        (AT_80, Near("sp", -32)),
        (AT_80 + DEREF, Behind("sp", -32, 0)),
        (AT_80 + DEREF + PLUS_UCONST + b"\x08", Behind("sp", -32, 8)),
        (AT_80 + DEREF + STACK_VALUE, Loaded("sp", -32, 0)),
        (AT_80 + DEREF + CONST1U + b"\x50" + MINUS + STACK_VALUE, Loaded("sp", -32, -80)),
        (CONST1U + b"\x50" + AT_80 + DEREF + PLUS + STACK_VALUE, Loaded("sp", -32, 80)),
        (CONST1U + b"\x50" + AT_80 + DEREF + MINUS + STACK_VALUE, None),
        (AT_80 + DEREF + AT_80 + DEREF + PLUS + STACK_VALUE, None),
        (AT_80 + DEREF + b"\x73\x00" + PLUS + STACK_VALUE, None),
        (b"\x73\x20" + STACK_VALUE, Sum("bx", 32)),
        (b"\x31" + STACK_VALUE, Fixed(1)),
        (b"\x81\x05" + STACK_VALUE, None),  # breg17, which is xmm0
        (b"\x92\x11\x05", None),
        (b"\xa3\x01\x55" + STACK_VALUE, Held("di")),
        (b"\xa3\x02\x90\x05" + STACK_VALUE, Held("di")),
        (b"\xa3\x02\x75\x00" + STACK_VALUE, None),
    ],
)
def test_places(expression: bytes, place: object) -> None:
    assert evaluate(expression, X86_64, frame=FRAME, moment=Moment(FRAME)) == place


def test_entry_values_in_each_other_are_no_place() -> None:
    expression = b"\x55"
    for _ in range(2000):
        size = len(expression)
        expression = b"\xa3" + bytes((size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14)) + expression
    assert evaluate(expression, X86_64) is None
