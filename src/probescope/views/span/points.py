"""Points of code as people write them.

FUNC  FUNC+0x1f  FUNC%return  FILE:LINE  0xADDRESS      of the file that -x names
FUNC  FUNC+0x1f  FUNC%return                             of the kernel
uprobe:...  tracepoint:...  usdt:...                     any probe, as it is
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probescope.errors import DwarfError, UsageError
from probescope.frozen import dataclass, replace
from probescope.lang.bt.pointtext import part
from probescope.model.probe import SHORT_NAMES, SOURCES

if TYPE_CHECKING:
    from probescope.debuginfo.binary import Binary
    from probescope.views.whois.images import Program

MOST_POINTS = 32
MOST_COPIES = 64
_LINE = re.compile(r"(?P<path>[^:]*\.[A-Za-z+]{1,4}):(?P<line>\d{1,7})\Z")
_FUNCTION = re.compile(r"(?P<name>[A-Za-z_$][\w.$]*)(?P<more>\+(?:0x[0-9a-fA-F]+|\d+))?(?P<back>%return)?\Z")
_OF_FILE = re.compile(
    r"(?P<name>[A-Za-z_$(<~](?:operator%=?|[^%\"])*?)(?P<more>\+(?:0x[0-9a-fA-F]+|\d+))?(?P<back>%return)?\Z"
)
"""Also ``ns::f(int)`` of C++ and ``main.(*T).Run`` of Go."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{1,16}\Z")


@dataclass(frozen=True, slots=True)
class Point:
    """``text`` as it was written; ``probes``: more than one where a line has several copies in code, and where a
    function of Go returns. ``who``: an expression that tells apart who passes."""

    text: str
    probes: tuple[str, ...]
    who: str = "tid"

    @property
    def probe(self) -> str:
        return ",".join(self.probes)


def point(text: str, program: Program | None) -> Point:
    """Raises UsageError for what is no point, DwarfError where lines are asked for and nothing tells them."""
    text = text.strip()
    if _probe(text):
        return Point(text, (text,))
    line = _LINE.match(text)
    if line is not None:
        return Point(text, _of_line(line["path"], int(line["line"]), program))
    if _ADDRESS.match(text) and program is not None:
        return Point(text, (f"uprobe:{part(program.title)}:{text}",))
    found = (_FUNCTION if program is None else _OF_FILE).match(text)
    if found is None or (found["more"] and found["back"]):
        hints = ["FUNC, FUNC+0x1f, FUNC%return, FILE:LINE, 0xADDRESS, or a probe as list shows it"]
        raise UsageError(f"'{text}' is no point of code", hints=hints)
    return _of_function(text, found, program)


def _probe(text: str) -> bool:
    head, colon, rest = text.partition(":")
    return bool(colon) and not rest.startswith(":") and (head in SOURCES or head in SHORT_NAMES)


def marked(name: str, target: str) -> list[Point]:
    """Begin and end of a span that a program marks itself (probescope.h, ``probescope.point``): ``NAME`` or
    ``PROVIDER:NAME``, in the file ``target``, or in all that a process has mapped (``*``). Raises UsageError."""
    provider, _, mark = name.rpartition(":")
    if not mark.isidentifier() or (provider and not provider.isidentifier()):
        raise UsageError(f"'{name}' is no mark", hints=["--mark parse, or with its provider: --mark app:parse"])
    ends = (f"{mark}__begin", f"{mark}__end")
    return [Point(end, (f"usdt:{part(target)}:{provider or '*'}:{end}",)) for end in ends]


def has_mark(path: str, name: str) -> bool:
    """Whether a file is a program or library with that mark."""
    from probescope.debuginfo import usdt
    from probescope.errors import ElfError

    mark = name.rpartition(":")[2]
    try:
        return any(p.name == f"{mark}__begin" for p in usdt.read_path(path))
    except ElfError:
        return False


def _of_line(path: str, line: int, program: Program | None) -> tuple[str, ...]:
    from probescope.views.whois.places import by_line, near

    if program is None:
        raise UsageError(f"{path}:{line} is a line of which program?", hints=["-x FILE names it"])
    found = by_line(program, path, line)
    if not found:
        raise DwarfError(f"no code comes from {path}:{line}", file=program.title, hints=near([program], path, line))
    return tuple(f"uprobe:{part(program.title)}:{f.where.address:#x}" for f in found[:MOST_COPIES])


def _of_function(text: str, found: re.Match[str], program: Program | None) -> Point:
    back, name = bool(found["back"]), found["name"]
    if program is None:
        return Point(text, (f"{'kretprobe' if back else 'kprobe'}:{name}{found['more'] or ''}",))
    if found["more"]:
        site = program.binary.function(name) or next(iter(program.binary.demangled(name)), None)
        if site is not None:
            return Point(text, (f"uprobe:{part(program.title)}:{site.address + int(found['more'], 0):#x}",))
    elif (both := ends(program.binary, program.title, name)) is not None:
        return replace(both[back], text=text)
    from probescope.sources.uprobe import inlined_hints

    hints = inlined_hints(name, program.binary, program.title) or program.binary.suggestions(name)
    raise UsageError(f"no function {name} in {program.title}", hints=hints)


def ends(binary: Binary, path: str, name: str) -> tuple[Point, Point] | None:
    """Where a function of a file is entered and where it returns; ``None`` if it has none of that name, which is a
    symbol, a name of C++ or Rust as people write it, or one of Go. Raises ProbeError."""
    from probescope.sources import go_points

    path = part(path)
    go = go_points.of(binary, name)
    if go is not None:
        back = tuple(f"uprobe:{path}:{a:#x}" for a in go.returns)
        return Point(name, (f"uprobe:{path}:{go.entry:#x}",), go.who), Point(f"{name}%return", back, go.who)
    if binary.function(name) is None and not _ADDRESS.match(name):
        if not binary.demangled(name):
            return None
        name = f'cpp:"{name}"'
    return Point(name, (f"uprobe:{path}:{name}",)), Point(f"{name}%return", (f"uretprobe:{path}:{name}",))


def between(words: list[str], program: Program | None) -> list[Point]:
    """``FUNC``: from where it is entered to its return. ``A to B``, ``A,B,C``. Raises UsageError."""
    text = " ".join(words)
    parts = [p for p in re.split(r"\s+to\s+|,(?![^(<]*[)>])", text) if p.strip()]  # not those between parameters
    if len(parts) > MOST_POINTS:
        raise UsageError(f"there are {len(parts)} points, at most {MOST_POINTS} are measured at once")
    if len(parts) == 1:
        name = parts[0].strip()
        found = (_FUNCTION if program is None else _OF_FILE).match(name)
        if found is None or _LINE.match(name) or _probe(name) or found["more"] or found["back"]:
            raise UsageError(f"from '{name}' to where?", hints=["A to B; a function's name alone is all of it"])
        parts.append(f"{name}%return")
    if not parts:
        raise UsageError("what is measured?", hints=["FUNC, or A to B"])
    return [point(p, program) for p in parts]
