"""Parts of samples that few recordings have, as perf-script(1) prints them: registers, branches, memory accesses.

uregs, iregs    ABI:2    AX:0x2    SP:0x7ffd5bc42360     each register in five columns, its value in hexadecimal
brstack          0xFROM/0xTO/P/-/-/0/  ...               predicted or not, in a transaction, aborted, cycles
weight, phys_addr                                        a number in 16 columns
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from probescope.kernel.uapi.perf import REGISTERS

if TYPE_CHECKING:
    import numpy as np

    from probescope.model.recording import EventBatch, Ragged

    Column = np.ndarray[Any, Any]

NUMBERS = {"weight": "%16d ", "phys_addr": "%16x "}


def named(arch: str, mask: int) -> tuple[str, ...]:
    """The registers that a mask stands for, in the order of samples."""
    names = REGISTERS.get(arch, ())
    if arch == "x86_64":
        names = tuple(n.upper() for n in names)
    return tuple(names[i] if i < len(names) else f"unknown{i}" for i in range(mask.bit_length()) if mask >> i & 1)


def registers(names: Sequence[str], values: Ragged | None, abi: Column | None, which: Column) -> list[bytes]:
    """``abi``: of each event; where it is not recorded, 2 (64 bits)."""
    out: list[bytes] = []
    for i in which.tolist():
        found = values.piece(i).tolist() if values is not None else []
        shown = "".join(f"{name:>5}:{value:#x} " for name, value in zip(names, found, strict=False))
        out.append(f" ABI:{2 if abi is None else int(abi[i])} {shown}".encode() if found else b"")
    return out


def branches(batch: EventBatch, which: Column) -> list[bytes]:
    if batch.branches is None:
        return [b""] * len(which)
    return [b"".join(map(_branch, batch.branches.piece(i).tolist())) for i in which.tolist()]


def _branch(row: list[int]) -> bytes:
    """Of struct perf_branch_entry; its first flags are mispred, predicted, in_tx, abort, then 16 bits of cycles."""
    start, end, flags = row
    predicted = "P" if flags & 2 else "M" if flags & 1 else "-"
    rest = f"{'X' if flags & 4 else '-'}/{'A' if flags & 8 else '-'}/{flags >> 4 & 0xFFFF}"
    return f" {start:#x}/{end:#x}/{predicted}/{rest}/ ".encode()
