"""Where instructions begin: a probe in the middle of one would break the program that it is set in.

    x86-64   prefixes  [REX]  opcode map and opcode  [ModRM [SIB] [displacement]]  [immediate]

Only lengths are decoded. Source: Intel SDM volume 2, chapter 2 and appendix A (opcode maps in 64-bit mode); AMD APM
volume 3 for XOP.
"""

from __future__ import annotations

MAX_SCAN = 1 << 20
"""Bytes of code that are walked from a function's start."""
LONGEST = 15
"""Bytes of an instruction of x86-64."""


def is_boundary(code: bytes, offset: int, machine: str) -> bool | None:
    """Whether an instruction begins ``offset`` bytes after the start of ``code``, which is itself the start of one.
    ``None``: it cannot be told, for want of a decoder or because the bytes on the way are no instructions."""
    if machine == "aarch64":
        return offset % 4 == 0
    if machine != "x86_64" or offset > min(len(code), MAX_SCAN):
        return None
    at = 0
    while at < offset:
        size = length(code, at)
        if not size:
            return None
        at += size
    return at == offset


def around(code: bytes, offset: int, machine: str) -> tuple[int, ...]:
    """Offsets at which the instructions before and after begin."""
    good = [n for n in range(max(offset - LONGEST, 0), offset + LONGEST) if is_boundary(code, n, machine)]
    return (*[n for n in good if n < offset][-1:], *[n for n in good if n > offset][:1])


def length(code: bytes, at: int) -> int:
    """Bytes of the x86-64 instruction at ``at``; 0 for bytes that are none, or cut short."""
    try:
        end = _end(code, at)
    except IndexError:
        return 0
    return end - at if end and end - at <= 15 and end <= len(code) else 0


def _set(text: str) -> frozenset[int]:
    out: set[int] = set()
    for part in text.split():
        low, _, high = part.partition("-")
        out.update(range(int(low, 16), int(high or low, 16) + 1))
    return frozenset(out)


_PREFIXES = _set("26 2E 36 3E 64 65 66 67 F0 F2 F3")
_INVALID = _set("06 07 0E 16 17 1E 1F 27 2F 37 3F 60 61 82 9A CE D4 D5 D6 EA")
_MODRM = _set(
    "00-03 08-0B 10-13 18-1B 20-23 28-2B 30-33 38-3B 63 69 6B 80 81 83-8F C0 C1 C6 C7 D0-D3 D8-DF F6 F7 FE FF"
)
_IMM8 = _set("04 0C 14 1C 24 2C 34 3C 6A 6B 70-7F 80 83 A8 B0-B7 C0 C1 C6 CD E0-E7 EB")
_IMM_BY_SIZE = _set("05 0D 15 1D 25 2D 35 3D 68 69 81 A9 C7")  # two bytes with prefix 66, else four
_IMM32 = _set("E8 E9")
_IMM16 = _set("C2 CA")

_0F_PLAIN = _set("05-09 0B 0E 30-37 77 A0-A2 A8-AA C8-CF")
_0F_INVALID = _set("04 0A 0C 24-27 36 39 3B-3F A6 A7")
_0F_JCC = _set("80-8F")
_0F_IMM8 = _set("0F 70-73 A4 AC BA C2 C4-C6")


def _end(code: bytes, at: int) -> int:
    small = wide = False
    narrow = strange = False
    while code[at] in _PREFIXES:
        small |= code[at] == 0x66
        narrow |= code[at] == 0x67
        strange |= code[at] in (0x66, 0xF2)
        at += 1
    if code[at] & 0xF0 == 0x40:
        wide = bool(code[at] & 8)
        at += 1
    op = code[at]
    if op in (0xC4, 0xC5, 0x62) or (op == 0x8F and code[at + 1] & 31 >= 8):
        return _vector(code, at)
    if op == 0x0F:
        return _two_byte(code, at + 1, strange)
    return _one_byte(code, at, small and not wide, wide, narrow)


def _one_byte(code: bytes, at: int, small: bool, wide: bool, narrow: bool) -> int:
    op = code[at]
    if op in _INVALID:
        return 0
    at += 1
    after = _memory(code, at) if op in _MODRM else at
    if op in _IMM8:
        after += 1
    elif op in _IMM_BY_SIZE:
        after += 2 if small else 4
    elif op in _IMM32:
        after += 4
    elif op in _IMM16:
        after += 2
    elif op == 0xC8:  # enter
        after += 3
    elif 0xB8 <= op <= 0xBF:
        after += 8 if wide else 2 if small else 4
    elif 0xA0 <= op <= 0xA3:
        after += 4 if narrow else 8
    elif op in (0xF6, 0xF7) and code[at] & 0x30 == 0:  # test, among not, neg, mul, div
        after += 1 if op == 0xF6 else 2 if small else 4
    return after


def _two_byte(code: bytes, at: int, strange: bool) -> int:
    op = code[at]
    if op == 0x38:
        return _memory(code, at + 2)
    if op == 0x3A:
        return _memory(code, at + 2) + 1
    if op in _0F_INVALID:
        return 0
    if op in _0F_JCC:
        return at + 5
    if op in _0F_PLAIN:
        return at + 1
    after = _memory(code, at + 1)
    if op == 0x78 and strange:  # extrq, insertq of SSE4a
        return after + 2
    return after + 1 if op in _0F_IMM8 else after


def _vector(code: bytes, at: int) -> int:
    """VEX (C4, C5), EVEX (62) and XOP (8F): the opcode map is a number in the prefix."""
    lead = code[at]
    if lead == 0xC5:
        kind, at = 1, at + 2
    elif lead == 0x62:
        kind, at = code[at + 1] & 7, at + 4
    else:
        kind, at = code[at + 1] & 31, at + 3
    op = code[at]
    if kind == 1 and op == 0x77 and lead != 0x62:  # vzeroupper
        return at + 1
    after = _memory(code, at + 1)
    if lead == 0x8F:
        return after + {8: 1, 9: 0, 10: 4}.get(kind, 0)
    return after + (kind == 3 or (kind == 1 and op in _0F_IMM8))


def _memory(code: bytes, at: int) -> int:
    """Behind ModRM, SIB and displacement."""
    mod, rm = code[at] >> 6, code[at] & 7
    at += 1
    if mod == 3:
        return at
    base = rm
    if rm == 4:
        base = code[at] & 7
        at += 1
    if mod == 0:
        return at + 4 if base == 5 else at
    return at + (1 if mod == 1 else 4)
