"""What is passed while a function runs: the program that prints it, and what its values look like."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence

from probescope.frozen import dataclass

MOST_ARGUMENTS = 6
SHOWN = 3
"""Different values that are shown of one argument."""
TEXT = 24
"""Characters of texts that are read."""
LOWEST_ADDRESS = 0x10000
"""vm.mmap_min_addr as distributions set it: below is no memory."""
SMALL = 1 << 12


@dataclass(frozen=True, slots=True)
class Looks:
    """Of one argument: what it looks like, and some of its values as they are written."""

    what: str
    values: tuple[str, ...]


def registers(count: int) -> list[tuple[str, str]]:
    """What is asked of arguments that nothing declares: each as a number, and as the text that it may point to."""
    return [(f"arg{i}", f"str(arg{i}, {TEXT})") for i in range(min(count, MOST_ARGUMENTS))]


def program(probe: str, asked: Sequence[tuple[str, str]], hits: int) -> str:
    """In the bpftrace language: a line a hit, ``value|text`` of each that is ``asked``, fields told apart by tabs; then
    it ends."""
    form = "\\t".join("%llx|%s" for _ in asked)
    values = ", ".join(f"(uint64){number}, {text}" for number, text in asked)
    return f'{probe} {{ printf("{form}\\n", {values}); if (++@n >= {hits}) {{ exit(); }} }} END {{ clear(@n); }}'


def rows(lines: Iterable[str], count: int) -> list[list[tuple[int, str]]]:
    """What the program printed of ``count`` arguments, by hit; lines of another form are left out."""
    out = []
    for line in lines:
        fields = [f.partition("|") for f in line.rstrip("\n").split("\t")]
        try:
            row = [(int(value, 16), text) for value, _, text in fields]
        except ValueError:
            continue
        if len(row) == count:
            out.append(row)
    return out


def looks(values: Sequence[tuple[int, str]]) -> Looks:
    """Of the values of one argument."""
    numbers = [n for n, _ in values]
    texts = [t for n, t in values if n >= LOWEST_ADDRESS and len(t) > 1 and t.isprintable()]
    if not numbers:
        return Looks("was not seen", ())
    pointers = [n for n in numbers if _is_address(n)]
    if texts and 2 * len(texts) >= len(numbers):
        return Looks("looks like a text", _some(f'"{t}"' for t in texts))
    if pointers and all(n in (0, *pointers) for n in numbers):
        return Looks("looks like a pointer" + (", or null" if 0 in numbers else ""), _some(map(hex, numbers)))
    return _number(numbers)


def declared(kind: str, values: Sequence[tuple[int, str]], *, signed: bool) -> tuple[str, ...]:
    """Some values of an argument whose declaration says what it is; ``kind`` as views.peel.subject has it."""
    if kind == "text":
        return _some(f'"{text}"' if text else hex(n) for n, text in values)
    if kind == "pointer":
        return _some(hex(n) for n, _ in values)
    return _some(str(n - (1 << 64) if signed and n >> 63 else n) for n, _ in values)


def _is_address(n: int) -> bool:
    """Of user space, or of the kernel; source: Documentation/arch/x86/x86_64/mm.rst."""
    known = _as_int(n)
    return known is None or known >= LOWEST_ADDRESS if n < 1 << 47 or n >> 47 == (1 << 17) - 1 else False


def _number(numbers: list[int]) -> Looks:
    signed = [_as_int(n) if _as_int(n) is not None else n for n in numbers]
    failed = [-s for s in signed if s is not None and -4096 < s < 0]
    if failed:
        names = (errno.errorcode.get(f, str(f)) for f in failed)
        return Looks("looks like a number that may be an error", _some(f"-{n}" for n in names))
    if set(signed) <= {0, 1}:
        return Looks("is 0 or 1: a flag?", _some(map(str, signed)))
    small = all(s is not None and 0 <= s < SMALL for s in signed)
    return Looks(
        "is a small number: a file descriptor, a size, flags?" if small else "is a number", _some(map(str, signed))
    )


def _as_int(n: int) -> int | None:
    """A negative int of 32 or 64 bits near zero; the number itself below that; ``None`` for other large ones."""
    if n >= (1 << 64) - (1 << 31):
        return n - (1 << 64)
    if (1 << 32) - 4096 < n < 1 << 32:
        return n - (1 << 32)
    return n if n < 1 << 62 else None


def _some(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(list(dict.fromkeys(values))[:SHOWN])
