"""Functions of Go for probes of any kind: where one is entered, where it returns, and why not by a return probe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.debuginfo.go_program import open_go
from probescope.errors import ElfError, ProbeError
from probescope.frozen import dataclass
from probescope.sources import go_code

if TYPE_CHECKING:
    from probescope.debuginfo.binary import Binary

GOROUTINE = 'reg("r14")'
"""What tells goroutines apart where Go passes arguments in registers: the place of the running one. A goroutine may go
on in another thread."""


@dataclass(frozen=True, slots=True)
class GoPoints:
    """Addresses in the file. ``who``: an expression of the language that tells who runs there."""

    name: str
    entry: int
    returns: tuple[int, ...]
    who: str


def of(binary: Binary, name: str) -> GoPoints | None:
    """Of a function by its name or its 0xADDRESS; ``None`` where Go did not compile it. Raises ``ProbeError`` where its
    returns cannot be told."""
    program = open_go(binary.elf)
    if program is None:
        return None
    if name.startswith("0x"):
        f = program.table.at(int(name, 16))
        f = f if f is not None and f.address == int(name, 16) else None
    else:
        f = next((f for f in program.table.functions if f.name == name), None)
    if f is None:
        return None
    try:
        code = binary.elf.read_vaddr(f.address, min(f.size, go_code.MAX_CODE))
    except ElfError:
        code = b""
    found = go_code.returns(code) or []
    if not 0 < len(found) <= go_code.MAX_RETURNS:
        raise ProbeError(f"where {f.name} returns cannot be told: {len(found)} places", hints=["A to B: two lines"])
    keyed = binary.elf.machine == "x86_64" and program.registers
    at = tuple(f.address + n for n in found)
    return GoPoints(f.name, f.address + go_code.behind_check(code), at, GOROUTINE if keyed else "tid")


def check_return(binary: Binary, address: int) -> None:
    """Raises ``ProbeError`` for a return probe that would kill the program: it puts an address on the stack that Go's
    runtime does not know when it moves or walks the stack."""
    program = open_go(binary.elf)
    f = program.table.at(address) if program is not None else None
    if f is not None:
        path = binary.elf.path
        hints = [
            f"probescope probe -x {path} '{f.name}%return $retval' has probes where it returns",
            f"probescope span '{f.name}' -x {path}: how long it takes",
            "--unsafe allows it",
        ]
        raise ProbeError(f"{f.name} is a function of Go: a return probe there kills the program", hints=hints)
