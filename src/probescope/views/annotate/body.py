"""The code of a function: its bytes, how far it reaches, names of what it calls and uses, source lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING

from probescope.debuginfo.demangle import demangle
from probescope.errors import ElfError, FormatError
from probescope.frozen import dataclass
from probescope.views.code import File

if TYPE_CHECKING:
    from probescope.debuginfo.kallsyms import Kallsyms
    from probescope.views.annotate.hits import Function

MOST = 1 << 20
"""Bytes of a function that are decoded."""
MOST_OBJECTS = 1 << 20
BEHIND_LAST = 64
"""Bytes shown behind the last sample of a function whose size nobody tells."""


@dataclass(frozen=True, slots=True)
class Body:
    """``name``: ``<function+0x1f>`` of an address; ``line``: file and number of the source line of one."""

    code: bytes
    start: int
    machine: str
    name: Callable[[int], str]
    line: Callable[[int], tuple[str, int] | None]


def user_body(function: Function, build_id: str = "") -> Body:
    """``build_id``: of the file that was recorded, empty if not known. Raises FormatError."""
    file = function.file
    binary = file.binary if file is not None else None
    if file is None or binary is None:
        raise FormatError("its file cannot be read", file=function.module)
    if build_id and binary.elf.build_id() not in {"", build_id}:
        raise FormatError("it is not the file that was recorded", file=file.path)
    offset = binary.elf.to_offset(function.start)
    found = binary.function_at(offset) if offset is not None else None
    size = found[0].size if found is not None else 0
    size = size or max(function.hits) - function.start + BEHIND_LAST
    return Body(
        _bytes(file, function.start, min(size, MOST)), function.start, binary.elf.machine, _Names(file).of, file.line
    )


def kernel_body(function: Function, image: File, kallsyms: Kallsyms, above: int) -> Body:
    """``image``: vmlinux or /proc/kcore; ``kallsyms``: of the kernel that runs, which lies ``above`` bytes over the
    image. Where the recorded one lay is told by the function's own address. Raises FormatError."""
    binary = image.binary
    starts = [s.address for s in kallsyms.find(function.name)]
    if binary is None or not starts:
        raise FormatError("the function is not in it", file=image.path)
    now = min(starts, key=lambda a: abs(a - function.start))
    start = now - above
    size = max(_reach(kallsyms, now), max(function.hits) - function.start + 1)
    names = _KernelNames(kallsyms, above)
    return Body(_bytes(image, start, size), start, binary.elf.machine, names.of, image.line)


def _reach(kallsyms: Kallsyms, start: int) -> int:
    """Bytes up to the next symbol: functions begin at multiples of 16, or what lies between has no symbol."""
    for at in range(start + 16, start + MOST, 16):
        hit = kallsyms.lookup(at)
        if hit is None or at - hit[1] != start:
            return at - (hit[1] if hit is not None else 0) - start
    return MOST


def _bytes(file: File, start: int, size: int) -> bytes:
    assert file.binary is not None
    while size > 0:
        try:
            return file.binary.elf.read_vaddr(start, size)
        except ElfError:
            size //= 2
    raise FormatError("the function's bytes are not in it", file=file.path)


class _Names:
    def __init__(self, file: File) -> None:
        self._file = file
        self._known: dict[int, str] = {}
        self._objects: list[tuple[int, int, str]] | None = None

    def of(self, address: int) -> str:
        found = self._known.get(address)
        if found is None:
            found = self._known[address] = self._look(address)
        return found

    def _look(self, address: int) -> str:
        binary = self._file.binary
        if binary is None:
            return ""
        try:
            offset = binary.elf.to_offset(address)
            hit = binary.function_at(offset) if offset is not None else None
            if hit is not None and (hit[1] < hit[0].size or not hit[1]):
                return _told(demangle(hit[0].name), hit[1])
            return self._data(address)
        except ElfError:
            return ""

    def _data(self, address: int) -> str:
        """Variables have no index of their own: one is made when the first is asked for."""
        binary = self._file.binary
        if self._objects is None:
            tables = binary.elf.symbols() if binary is not None else ()
            found = ((s.address, s.size, s.name) for s in tables if s.is_defined and s.size and not s.is_function)
            self._objects = sorted(found)[:MOST_OBJECTS]
        i = bisect_right(self._objects, (address, 1 << 64, "")) - 1
        if i < 0 or address - self._objects[i][0] >= self._objects[i][1]:
            return ""
        return _told(demangle(self._objects[i][2]), address - self._objects[i][0])


class _KernelNames:
    def __init__(self, kallsyms: Kallsyms, above: int) -> None:
        self._kallsyms, self._above = kallsyms, above

    def of(self, address: int) -> str:
        hit = self._kallsyms.lookup(address + self._above)
        return _told(hit[0], hit[1]) if hit is not None else ""


def _told(name: str, offset: int) -> str:
    return f"<{name}+{offset:#x}>" if offset else f"<{name}>"
