"""The last branches before a sample, the newest first, as perf-script(1) prints them.

brstack       0xFROM/0xTO/P/-/-/0/COND/-                  with dso: 0xFROM (FILE)/0xTO (FILE)/...
brstacksym   name+0xOFF/name+0xOFF/P/-/-/0/COND/-
                                  | | | |    +-- whether it was taken while speculating
                                  | | | +-- cycles since the branch before, and the branch's type
                                  | | +-- A: a transaction was aborted
                                  | +-- X: in a transaction
                                  +-- predicted, mispredicted, or not known

Source: struct perf_branch_entry and enum perf_branch_type of include/uapi/linux/perf_event.h; the words of perf 6.12.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.symbols import Frame
    from probescope.model.recording import EventBatch

    Column = np.ndarray[Any, Any]

#: What an address is, by the sample's place in the batch.
Look = Callable[[int, int], "Frame"]
_TYPES = (
    *("", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "COND_CALL", "COND_RET"),
    *("ERET", "IRQ", "SERROR", "NO_TX"),
)
_NEW_TYPES = ("FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1", "ARCH_2", "ARCH_3", "ARCH_4", "ARCH_5")
_MORE = 15
"""The type is one of the new ones."""
_SPECULATED = ("-", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH")


def branches(batch: EventBatch, which: Column, look: Look, *, names: bool, files: bool) -> list[bytes]:
    """``names``: functions instead of addresses; ``files``: with what each address lies in."""
    found = batch.branches
    if found is None:
        return [b""] * len(which)
    start = "" if names else " "

    def place(i: int, at: int) -> str:
        frame = look(i, at) if names or files else None
        text = _function(frame) if names and frame is not None else f"{at:#x}"
        return f"{text} ({frame.module or '[unknown]'})" if files and frame is not None else text

    return [
        "".join(f"{start}{place(i, a)}/{place(i, b)}{flags(word)} " for a, b, word in found.piece(i).tolist()).encode()
        for i in which.tolist()
    ]


def _function(frame: Frame) -> str:
    return f"{frame.name}+{frame.offset:#x}" if frame.name else "[unknown]"


def flags(word: int) -> str:
    """mispred, predicted, in_tx, abort: a bit each; cycles: 16, type: 4, spec: 2, new_type: 4."""
    predicted = "P" if word & 2 else "M" if word & 1 else "-"
    kind, new = word >> 20 & 15, word >> 26 & 15
    name = _TYPES[kind] if kind != _MORE else _NEW_TYPES[new] if new < len(_NEW_TYPES) else "(null)"
    speculated = _SPECULATED[word >> 24 & 3]
    rest = f"{'X' if word & 4 else '-'}/{'A' if word & 8 else '-'}/{word >> 4 & 0xFFFF}"
    return f"/{predicted}/{rest}/{name}/{speculated}"
