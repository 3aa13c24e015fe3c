"""Code of Go functions: where to probe their entry and their returns.

A function begins with a look at the room on the stack; without enough it moves the stack and starts again. A probe at
its first instruction would fire twice then, one behind the look fires once for each call:

    49 3b 66 10          cmp  0x10(%r14), %rsp           4c 8d 64 24 d8 / 4c 8d a4 24 ....  lea -N(%rsp), %r12
    76 57 / 0f 86 ....   jbe  (moving the stack)         4d 3b 66 10 / 76 .. / 0f 86 ....   cmp, jbe

A return probe would put its own return address on the stack, which the runtime does not know: when it moves or walks
the stack, the program dies. So each ``ret`` of the function is probed instead.
Source: cmd/internal/obj/x86/obj6.go (stacksplit) of Go.
"""

from __future__ import annotations

from probescope.sources import boundaries

MAX_CODE = 1 << 20
MAX_RETURNS = 512
_SMALL = b"\x49\x3b\x66\x10"
_LARGE = b"\x4d\x3b\x66\x10"
_LEA = (b"\x4c\x8d\x64\x24", b"\x4c\x8d\xa4\x24")
_RET, _RET_N = 0xC3, 0xC2
_PREFIXES = frozenset({0x66, 0xF2, 0xF3})


def behind_check(code: bytes) -> int:
    """Bytes from the entry to where each call comes by once."""
    at = 0
    if code.startswith(_LEA[0]):
        at = 5
    elif code.startswith(_LEA[1]):
        at = 8
    if code[at : at + 4] != (_LARGE if at else _SMALL):
        return 0
    at += 4
    if code[at : at + 1] == b"\x76":
        return at + 2
    return at + 6 if code[at : at + 2] == b"\x0f\x86" else 0


def returns(code: bytes) -> list[int] | None:
    """Offsets of the instructions that return; ``None`` if the code cannot be followed to its end."""
    out: list[int] = []
    at = 0
    while at < len(code):
        size = boundaries.length(code, at)
        if not size:
            return None if code[at:].strip(b"\xcc\x00") else out
        first = at
        while first < at + size - 1 and code[first] in _PREFIXES:
            first += 1
        if code[first] in (_RET, _RET_N):
            out.append(at)
        at += size
    return out
