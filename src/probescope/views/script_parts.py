"""Parts of samples that few recordings have, as perf-script(1) prints them: registers, pages, bytes of BPF programs.

uregs, iregs    ABI:2    AX:0x2    SP:0x7ffd5bc42360     each register in five columns, its value in hexadecimal
weight, phys_addr                                        a number in 16 columns
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from probescope.kernel.uapi.perf import REGISTERS

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.symbols import Frame
    from probescope.model.recording import Ragged

    Column = np.ndarray[Any, Any]

NUMBERS = {"weight": "%16d", "ins_lat": "%16d", "retire_lat": "%16d"}
PAGES = ("data_page_size", "code_page_size")
_MODES = {1: "K", 2: "U", 3: "H", 4: "G", 5: "g"}
"""Of PERF_RECORD_MISC_CPUMODE_MASK: kernel, user, hypervisor, a guest's kernel, its users."""


def misc(mode: int) -> str:
    return f"{_MODES.get(mode, ''):<6}"


def page(size: int) -> str:
    """`` 4K``; `` N/A`` where the kernel did not say. One of a unit is told as 1024 of the smaller one."""
    for letter in "BKM":
        if size < 2048:
            return f" {size}{letter}" if size else " N/A"
        size >>= 10
    return f" {size}G"


FAULTS = ((1, 2), (1, 5), (1, 6))
"""PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, _MIN and _MAJ: addresses of others say nothing by symbols."""
BPF_OUTPUT = (1, 10)
"""PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT: raw bytes of others (the kernel pads them) are not printed."""


def dumped(raw: Ragged, which: Column) -> list[bytes]:
    """The bytes that a program in the kernel has written."""
    return [_dump(bytes(raw.piece(i))) for i in which.tolist()]


def _dump(data: bytes) -> bytes:
    """Eight a line, as numbers and as characters; and, if it is one, the text."""
    if not data:
        return b""
    out = ["\n"]
    for at in range(0, len(data), 8):
        some = data[at : at + 8]
        letters = "".join(chr(c) if 32 <= c < 127 else "." for c in some)
        out.append(f"{'' if at else 'BPF output:':>17} {at:04x}: {some.hex(' '):<23}  {letters:<8}\n")
    text = data.rstrip(b"\0")
    if len(text) < len(data) and all(32 <= c < 127 for c in text):
        out.append(f'{"BPF string:":>17} "{text.decode()}"\n')
    return "".join(out).encode()


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


def packed(high: Column, low: Column) -> Column:
    """Two columns of i4 in one of i8."""
    import numpy as np

    packed: Column = high.astype(np.int64) << np.int64(32) | low.view(np.uint32)
    return packed


def unpacked(number: int) -> tuple[int, int]:
    low = number & 0xFFFFFFFF
    return number >> 32, low - ((low >> 31) << 32)


def worded(frame: Frame, shown: set[str]) -> str:
    """An address, and as much of what is there as is asked for."""
    found = f"{frame.address:16x}"
    if "sym" in shown:
        offset = f"+{frame.offset:#x}" if "symoff" in shown else ""
        found += f" {frame.name}{offset}" if frame.name else " [unknown]"
    if "dso" in shown and not frame.inlined:
        found += f" ({module_name(frame.module)})"
    if "srcline" in shown:
        found += f"\n  {source_line(frame)}"
    if frame.inlined:
        found += " (inlined)"
    return found


def until(frames: tuple[Frame, ...], stop: frozenset[str]) -> tuple[Frame, ...]:
    """Up to the first of these functions, and that one."""
    if not stop:
        return frames
    ends = next((i for i, f in enumerate(frames) if f.name in stop), len(frames))
    return frames[: ends + 1]


def source_line(frame: Frame) -> str:
    """``file.c:12``; where that is not known, how far into its function."""
    if frame.file:
        return f"{frame.file.rpartition('/')[2]}:{frame.line}"
    return f"{frame.name}+{frame.offset}" if frame.name else "??:0"


def module_name(path: str) -> str:
    """As perf calls it: what is not known is ``[unknown]``."""
    return path or "[unknown]"
