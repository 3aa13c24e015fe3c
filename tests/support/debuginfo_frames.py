"""Call frame information as ``readelf --debug-dump=frames-interp`` reads it, and small files that hold some."""

from __future__ import annotations

import re
import struct
import subprocess
from typing import NamedTuple

from debuginfo_elfmaker import ElfMaker, Section

from probescope.debuginfo.eh_rules import Kept, Rule

_FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
_CIE = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE \"(\w*)\"")
NAMES = {"x86_64": ("rsp", "rbp"), "aarch64": ("sp", "x29")}
_REGISTERS = dict(enumerate(["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *[f"r{n}" for n in range(8, 16)]]))


class Told(NamedTuple):
    """A function as readelf tells of it: cells of (CFA, frame pointer, return address) by address."""

    start: int
    end: int
    rows: list[tuple[int, str, str, str]]
    signal: bool


def readelf_frames(path: str, machine: str = "x86_64") -> list[Told]:
    command = ["readelf", "-W", "--debug-dump=frames-interp", path]
    text = subprocess.run(command, capture_output=True, text=True, check=False, env={"LC_ALL": "C"}).stdout
    return parse(text, NAMES[machine][1])


def parse(text: str, frame: str) -> list[Told]:
    out: list[Told] = []
    cies: dict[str, tuple[list[tuple[int, str, str, str]], bool]] = {}
    rows: list[tuple[int, str, str, str]] = []
    names: list[str] = []
    for line in re.sub(r" \(\w+\)", "", text).splitlines():  # "r9 (r9)" of registers
        cie, fde = _CIE.match(line), _FDE.match(line)
        if cie:
            rows = []
            cies[cie[1]] = (rows, "S" in cie[2])
        elif fde:
            rows = []
            first, signal = cies[fde[1]]
            out.append(Told(int(fde[2], 16), int(fde[3], 16), rows, signal))
            rows.extend([(int(fde[2], 16), *r[1:]) for r in first[:1]])
        elif line.strip().startswith("LOC"):
            names = line.split()[1:]
        elif line[:1].strip() and names and re.match(r"^[0-9a-f]{16} ", line):
            cells = dict(zip(names, line.split()[1:], strict=False))
            rows.append((int(line.split()[0], 16), cells["CFA"], cells.get(frame, "u"), cells.get("ra", "u")))
    return out


def cfa_cell(rule: Rule, machine: str = "x86_64") -> str:
    if rule.code:
        return "exp"
    known = {31: "sp"} if machine == "aarch64" else _REGISTERS
    return f"{known.get(rule.register, f'x{rule.register}')}{rule.offset:+d}"


def kept_cell(kept: Kept) -> str:
    """``same`` is what readelf shows as u, where nothing is said of the register."""
    match kept.how:
        case "at":
            return f"c{kept.number:+d}"
        case "is":
            return f"v{kept.number:+d}"
        case "register":
            return f"r{kept.number}"
        case how:
            return {"same": "u", "undefined": "u", "expression": "exp", "value": "vexp"}[how]


# --- making -----------------------------------------------------------------------------------------------------------


def entry(body: bytes) -> bytes:
    """An entry with its length before it, padded by DW_CFA_nop."""
    body += bytes(-(len(body) + 4) % 8)
    return struct.pack("<I", len(body)) + body


def cie(program: bytes, *, data_align: int = 0x78, ret: int = 16, code_align: int = 1, signal: bool = False) -> bytes:
    """``data_align`` as the byte of a SLEB128 (0x78 is -8); FDEs of it have 8-byte addresses relative to nothing."""
    letters = b"zRS\0" if signal else b"zR\0"
    head = struct.pack("<IB", 0, 1) + letters + bytes([code_align, data_align, ret, 1, 0x04])
    return entry(head + program)


def fde(at: int, start: int, size: int, program: bytes, cie_at: int = 0) -> bytes:
    """``at``: where in the section it will lie."""
    return entry(struct.pack("<IQQB", at + 4 - cie_at, start, size, 0) + program)


def section(first: bytes, functions: list[tuple[int, int, bytes]]) -> bytes:
    data = first
    for start, size, program in functions:
        data += fde(len(data), start, size, program)
    return data + bytes(4)


def elf_with(eh_frame: bytes, machine: int = 62) -> bytes:
    m = ElfMaker(machine=machine)
    m.sections.append(Section(".eh_frame", data=eh_frame, flags=2, align=8))
    return m.build()
