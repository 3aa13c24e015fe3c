"""A function's listing: source lines above the instructions that come from them, each with its share.

 Percent |	Source code & Disassembly of work for cpu-clock (1411 samples, percent: local period)
-----------------------------------------------------------------------------------------------------
         :   0000000000001149 <leaf>:
         :   11   x += i * x;
   44.58 :   1167:   add    %rcx,%rax
    0.00 : > 117a:   ret                    > : a jump of the function leads here
"""

from __future__ import annotations

from collections.abc import Iterator

from probescope.frozen import dataclass
from probescope.model.visible import printable
from probescope.views.annotate.body import Body
from probescope.views.annotate.disasm import Instruction, decode
from probescope.views.annotate.hits import Function

HOTTEST = 10
MOST_SOURCE = 32 << 20
MOST_LINES = 12
"""Source lines shown together: what lies between two of them is shown if it is no more."""


@dataclass(frozen=True, slots=True)
class Look:
    """``whole``: weight that shares are of; 0 for the function's own. ``lines``: file and number behind
    instructions."""

    syntax: str = "att"
    source: bool = True
    raw: bool = False
    lines: bool = False
    whole: int = 0
    counts: bool = False
    periods: bool = False
    full_paths: bool = False


class Sources:
    """Lines of source files, each read once. Bounded by ``MOST_SOURCE`` bytes a file."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def line(self, path: str, number: int) -> str | None:
        found = self._files.get(path)
        if found is None:
            found = self._files[path] = self._read(path)
        return found[number - 1] if 0 < number <= len(found) else None

    @staticmethod
    def _read(path: str) -> list[str]:
        try:
            with open(path, "rb") as f:
                return f.read(MOST_SOURCE).decode("utf-8", "replace").expandtabs(8).splitlines()
        except (OSError, ValueError):
            return []


def text(function: Function, body: Body, event: str, look: Look, sources: Sources) -> Iterator[str]:
    shift = function.start - body.start
    code = decode(body.code, body.start, body.machine, look.syntax, body.name)
    cells = _Cells(function, look, shift)
    kind = "local" if not look.whole else "global"
    title = f" {cells.head} |\tSource code & Disassembly of {printable(function.module)} for {printable(event)}"
    title += f" ({function.samples} samples, percent: {kind} period)"
    yield title + "\n"
    yield "-" * (len(title) + 4) + "\n"
    yield from _hottest(code, cells, body, look)
    yield f"{cells.none} :\n"
    yield f"{cells.none} :   {body.start:016x} <{printable(function.name)}>:\n"
    targets = {i.target for i in code if i.target}
    shown: tuple[str, int] | None = None
    for i in code:
        place = body.line(i.address) if look.source or look.lines else None
        if look.source and place is not None and place != shown:
            for line in _between(shown, place, sources):
                yield f"{cells.none} : {line}\n"
            shown = place
        mark = ">" if i.address in targets else " "
        yield f"{cells.of(i)} : {mark} {_instruction(i, look)}{_place(place, look) if look.lines else ''}\n"
    yield "\n"


class _Cells:
    """Shares, numbers or weights of instructions."""

    def __init__(self, function: Function, look: Look, shift: int) -> None:
        self._hits = {address - shift: hit for address, hit in function.hits.items()}
        self._whole = look.whole or function.weight or 1
        self._look = look
        self.head = f"{'Samples':>7}" if look.counts else f"{'Event count':>11}" if look.periods else "Percent"
        self.none = " " * (len(self.head) + 1)

    def share(self, i: Instruction) -> float:
        hit = self._hits.get(i.address)
        return 100 * hit[0] / self._whole if hit else 0.0

    def of(self, i: Instruction) -> str:
        hit = self._hits.get(i.address, (0, 0))
        if self._look.counts or self._look.periods:
            return f"{hit[1 if self._look.counts else 0]:>{len(self.head) + 1}}"
        return f"{self.share(i):>{len(self.head) + 1}.2f}"


def _hottest(code: list[Instruction], cells: _Cells, body: Body, look: Look) -> Iterator[str]:
    hot = sorted((i for i in code if cells.share(i) >= 0.5), key=lambda i: (-cells.share(i), i.address))[:HOTTEST]
    if hot:
        yield f"{cells.none} :   hottest instructions\n"
    for i in hot:
        place = body.line(i.address)
        yield f"{cells.of(i)} :   {_instruction(i, look)}{_place(place, look)}\n"


def _instruction(i: Instruction, look: Look) -> str:
    raw = f"{i.code.hex(' '):<24}" if look.raw else ""
    return f"{i.address:x}:   {raw}{printable(i.text)}"


def _place(place: tuple[str, int] | None, look: Look) -> str:
    if place is None:
        return ""
    path = place[0] if look.full_paths else place[0].rpartition("/")[2]
    return f" // {printable(path)}:{place[1]}"


def _between(shown: tuple[str, int] | None, place: tuple[str, int], sources: Sources) -> Iterator[str]:
    """The line, and what stands between it and the one before, unless that is much."""
    path, number = place
    first = number
    if shown is None or shown[0] != path:
        yield f"  {printable(path)}:{number}"
    elif shown[1] < number <= shown[1] + MOST_LINES:
        first = shown[1] + 1
    for n in range(first, number + 1):
        line = sources.line(path, n)
        if line is not None:
            yield f"{n:<5} {printable(line)}"
