"""How much work a call is, counted and not timed: the same on a busy machine and on an idle one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def instructions(call: Callable[[], object]) -> int:
    """Instructions of Python's virtual machine that run in ``call`` and in whatever Python it calls. What a function in
    C does counts as one."""
    count = 0

    def inside(_frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        if event == "opcode":
            count += 1
        return inside

    def enter(frame: FrameType, _event: str, _arg: Any) -> Any:
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        return inside

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times the instructions of ``work(size)`` those of ``work(2 * size)`` are: 2 for linear work, 4 for
    quadratic. ``work`` prepares outside the count."""
    return instructions(work(2 * size)) / instructions(work(size))
