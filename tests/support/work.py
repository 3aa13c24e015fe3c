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
    """What the second step costs by what the first did, from ``size`` over one and a half of it to twice as much: 1 for
    linear work, 1.4 for quadratic, whatever is constant. ``work`` prepares outside the count."""
    small, middle, large = (instructions(work(k * size // 2)) for k in (2, 3, 4))
    return (large - middle) / max(middle - small, size)
