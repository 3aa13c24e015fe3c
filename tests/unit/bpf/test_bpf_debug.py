"""Formats of debugf as the kernel takes them, by bpf_bprintf_prepare of kernel/bpf/helpers.c (6.18)."""

from __future__ import annotations

import pytest

from probescope.bpf.lower_debug import kernel_format
from probescope.ir.program import Action
from probescope.model.format import parse_format
from probescope.model.types import BOOL, I8, I32, I64, U64, Enum, Pointer, String, Type

FMT: dict[str, tuple[tuple[Type, ...], str | None]] = {
    "plain": ((), "plain"),
    "100%%": ((), "100%%"),
    "%d %5u|%-6x": ((I32, U64, I64), "%lld %5llu|%-6llx"),
    "%hhd %lX": ((I8, I64), "%lld %llX"),
    "%s %10s": ((String(4), String(8)), "%s %10s"),
    "%p": ((Pointer(I32),), "0x%llx"),
    "tab\tline\n": ((), "tab\tline\n"),
    "%.3d": ((I32,), None),
    "%#x": ((I32,), None),
    "%o": ((I32,), None),
    "%s": ((BOOL,), None),
    "%s ": ((Enum("color"),), None),
    "\u00e9": ((), None),
    "%d" * 13: ((I32,) * 13, None),
}


@pytest.mark.parametrize("text", FMT)
def test_formats(text: str) -> None:
    """What the kernel cannot say in the same way is left to user space."""
    types, expected = FMT[text]
    found = kernel_format(Action("debugf", types, parse_format(text)))
    assert found == (expected.encode() + b"\0" if expected is not None else None)
