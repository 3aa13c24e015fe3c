"""Rows of a line program as columns, which is what its run makes, and the row of an address.

    place    line << 32 | file << 14 | column << 1 | statement            one number a row, beside its address
    ends     after how many rows a sequence ends, and the first address behind it

A kernel's unit has ten thousand rows, and a question wants one of them: as objects they would take twenty times the
time and the room. Source: DWARF 5, 6.2.5.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from probescope.debuginfo.leb128 import sleb, uleb
from probescope.errors import DwarfError

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_line import LineProgram

MAX_ROWS = 1 << 22
MAX_COLUMN = (1 << 13) - 1
"""Columns beyond are told as 0, unknown: they are those of generated code."""
_MAX_FILE = (1 << 18) - 1
_LAST = (1 << 64) - 1
_SET_ADDRESS, _END = 2, 1


class Rows(NamedTuple):
    """``damage``: what ended the run before its end."""

    addresses: array[int]
    places: array[int]
    ends: list[tuple[int, int]]
    damage: DwarfError | None


def unpacked(place: int) -> tuple[int, int, int]:
    """File (its number in the program), line, column."""
    return place >> 14 & _MAX_FILE, place >> 32, place >> 1 & MAX_COLUMN


def run(program: LineProgram) -> Rows:
    rows = Rows(array("Q"), array("Q"), [], None)
    try:
        _run(program, rows)
    except IndexError:
        return rows._replace(damage=program.error("a line program is cut"))
    except DwarfError as e:
        return rows._replace(damage=e)
    return rows


def _run(program: LineProgram, rows: Rows) -> None:  # one loop: it is the hot path of every question about lines
    data, at, end, first = program.data, program.program, len(program.data), program.opcode_base
    order, special = "little" if program.section.little else "big", _special(program)
    add_address, add_place, room = rows.addresses.append, rows.places.append, MAX_ROWS
    reset = 0, 1, 0, 1 << 14 | program.default_statement
    address, line, column, low = reset
    fixed = low  # the lower half of a row's place; ``fixed``: without its column
    while at < end:
        op = data[at]
        at += 1
        if op >= first:
            ahead, lines = special[op - first]
            address += ahead
            line += lines
        elif op == 0:
            size, at = uleb(data, at)
            kind = data[at]
            if kind == _END:
                rows.ends.append((len(rows.addresses), address & _LAST))
                address, line, column, low = reset
                fixed = low
            elif kind == _SET_ADDRESS:
                address = int.from_bytes(data[at + 1 : at + size], order) & _LAST  # type: ignore[arg-type]
            at += max(size, 1)
            continue
        elif op == 5:
            column = data[at]
            at += 1
            if column >= 0x80:
                column, at = uleb(data, at - 1)
                column = column if column <= MAX_COLUMN else 0
            low = fixed | column << 1
            continue
        elif op == 3:
            delta = data[at]
            at += 1
            if delta >= 0x80:
                delta, at = sleb(data, at - 1)
            elif delta & 0x40:
                delta -= 0x80
            line += delta
            continue
        elif op == 6:
            fixed ^= 1
            low ^= 1
            continue
        elif op == 4:
            file, at = uleb(data, at)
            fixed = min(file, _MAX_FILE) << 14 | fixed & 1
            low = fixed | column << 1
            continue
        elif op != 1:
            moved, at = _other(program, op, at)
            address += moved
            continue
        add_address(address & _LAST)
        add_place((line & 0xFFFFFFFF) << 32 | low)
        room -= 1
        if room < 0:
            raise program.error(f"a line program makes more than {MAX_ROWS} rows")


def _special(program: LineProgram) -> list[tuple[int, int]]:
    """How far each special opcode moves the address and the line."""
    span, base, step = program.line_range, program.line_base, program.step
    return [(op // span * step, base + op % span) for op in range(256 - program.opcode_base)]


def _other(program: LineProgram, op: int, at: int) -> tuple[int, int]:
    """The rarer standard opcodes: how far the address moves, and where the next opcode is."""
    data, step = program.data, program.step
    if op == 2:
        value, at = uleb(data, at)
        return value * step, at
    if op == 8:
        return (255 - program.opcode_base) // program.line_range * step, at
    if op == 9:
        if at + 2 > len(data):
            raise IndexError
        return int.from_bytes(data[at : at + 2], "little" if program.section.little else "big"), at + 2
    for _ in range(program.lengths[op - 1] if op not in (7, 10, 11) else 0):
        _, at = uleb(data, at)
    return 0, at


class LineTable:
    """The rows of a program by address. Sequences at address 0 are those of code that the linker left out."""

    def __init__(self, program: LineProgram, folder: str = "") -> None:
        """``folder``: where the unit was compiled, which old line programs do not say."""
        self._program, self._folder = program, folder
        self._rows = run(program)
        self._paths: dict[int, str] = {}
        self._sequences = sorted(self._found())

    def __len__(self) -> int:
        return len(self._rows.addresses)

    def _found(self) -> list[tuple[int, int, int, int]]:
        """(begin, end, first row, row behind the last)."""
        out, first = [], 0
        for behind, end in self._rows.ends:
            low = self._rows.addresses[first] if behind > first else 0
            if low and low < end:
                out.append((low, end, first, behind))
            first = behind
        return out

    def at(self, address: int) -> tuple[str, int, int] | None:
        """Path, line (0: code that belongs to none) and column (0: unknown) of the instruction at an address. Of rows
        at one address the last one counts: the others have no code."""
        i = bisect_right(self._sequences, (address, _LAST, _LAST, _LAST)) - 1
        if i < 0 or address >= self._sequences[i][1]:
            return None
        _, _, first, behind = self._sequences[i]
        row = bisect_right(self._rows.addresses, address, first, behind) - 1
        file, line, column = unpacked(self._rows.places[row]) if row >= first else (0, 0, 0)
        return self.path(file), line, column

    def path(self, file: int) -> str:
        found = self._paths.get(file)
        if found is None:
            found = self._paths[file] = self._program.path(file, self._folder)
        return found
