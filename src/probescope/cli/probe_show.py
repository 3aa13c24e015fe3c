"""``probe -V``, ``-L`` and ``-F``: variables of a place, lines with code, functions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from probescope.cli import probe_documents as documents
from probescope.errors import ProbeError

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_die import Die
    from probescope.debuginfo.dwarf_places import Spot
    from probescope.debuginfo.dwarf_scope import Variable
    from probescope.lang.probe.globs import Accepts
    from probescope.model.probe_def import LineRange
    from probescope.sources.probe_debug import DebugPlaces
    from probescope.sources.probe_target import DefinitionTarget

VARIABLES, FUNCTIONS = "!k???tab_* & !crc_*", "!_*"
"""What perf probe shows where no filter is given."""
MORE = 3
"""Lines that are shown behind the last one with code."""
HOW = "install its debug symbols, or build it with -g; -F lists functions, $arg1 is the first argument"

DEBUG = "the kernel's debug symbols tell more: linux-image-{}-dbg, or -k VMLINUX"


def _say(text: str) -> None:
    """Names and lines come out of files: no terminal is to obey them."""
    if sys.stdout.isatty():
        from probescope.model.visible import visible

        text = visible(text)
    sys.stdout.write(text)


def vars(args: argparse.Namespace, text: str) -> int:  # noqa: A001 - as the option is called
    from probescope.cli.probe_define import target
    from probescope.lang.probe.globs import name_filter
    from probescope.lang.probe.parser import parse

    place, where = parse(text).place, target(args)
    accepts = name_filter(args.filter or VARIABLES)
    debug = where.debug
    if debug is None:
        return _parameters(args, where, text, accepts)
    debug.most = args.max_probes
    spots = debug.spots(place, inlined=not args.no_inlines)
    if not spots:
        where.resolve(parse(text))  # which says why
        hints = where.debug.finder.dwarf.lost() if where.debug is not None else []
        raise ProbeError(f"the debug information of {where.label} does not know {place}", hints=hints)
    shown = ((spot, _sorted(args, set(_visible(args, debug, spot, accepts)))) for spot in spots)
    if args.format == "json":
        documents.write(_place(text, *_where(debug, spot), found) for spot, found in shown)
        return 0
    _say(f"Available variables at {text}\n")
    for spot, found in shown:
        function, offset = _where(debug, spot)
        _say(f"\t@<{function}+{offset}>\n")
        _say("".join(f"\t\t{v.text(ranged=args.range)}\n" for v in found) or "\t\t(No matched variables)\n")
    return 0


def _parameters(args: argparse.Namespace, where: DefinitionTarget, text: str, accepts: Accepts) -> int:
    """Without debug information: what the kernel's BTF says of the parameters."""
    from probescope.kernel.host import host
    from probescope.lang.probe.parser import parse

    described = getattr(where, "parameters", None)
    found = described(text.strip()) if described is not None else None
    if found is None:
        if not args.binary:
            where.resolve(parse(text))  # which says why, if there is no such function
        hints = [HOW] if args.binary else [f"$arg1 is the first argument; {DEBUG.format(host().release)}"]
        raise ProbeError(f"{where.reason}: variables of {text} are not known", hints=hints)
    lines = sorted(f"{kind}\t{name}" for kind, name in found if accepts(name))
    if args.format == "json":
        documents.write([_place(text, text.strip(), 0, [_Shown(line) for line in lines])])
        return 0
    shown = "".join(f"\t\t{line}\n" for line in lines) or "\t\t(No matched variables)\n"
    _say(f"Available variables at {text}\n\t@<{text.strip()}+0>\n{shown}")
    return 0


def _where(debug: DebugPlaces, spot: Spot) -> tuple[str, int]:
    """The function whose code it is (an inlined one has none) and how many bytes into it."""
    from probescope.debuginfo.dwarf_find import entry_of

    around = debug.scopes.around(spot.address)
    if not around:
        return spot.name, spot.address - spot.entry
    return around[0].full_name(), spot.address - (entry_of(around[0]) or spot.address)


class _Shown(NamedTuple):
    """``declared``: type, tab and name. ``mark``: whether it has a value there (VAL, INV), or is outside of functions
    (EXT). ``ranges``: where in ``function`` it is known, bytes from its entry."""

    declared: str
    mark: str = "VAL"
    function: str = ""
    ranges: tuple[tuple[int, int], ...] = ()

    def text(self, *, ranged: bool) -> str:
        if not ranged:
            return self.declared
        spans = ",".join(f"{low}-{high}" for low, high in self.ranges)
        return f"[{self.mark}]\t{self.declared}" + (f"\t@<{self.function}+[{spans}]>" if self.function else "")

    def document(self) -> documents.Document:
        out = documents.declared(self.declared) | {"known": self.mark != "INV", "extern": self.mark == "EXT"}
        return out | ({"ranges": [list(r) for r in self.ranges]} if self.function else {})


def _sorted(args: argparse.Namespace, found: set[_Shown]) -> list[_Shown]:
    return sorted(found, key=lambda v: v.text(ranged=args.range))


def _place(text: str, function: str, offset: int, found: list[_Shown]) -> documents.Document:
    place: dict[str, object] = {"place": text, "function": function, "offset": offset}
    return place | {"variables": [v.document() for v in found]}


def _visible(args: argparse.Namespace, debug: DebugPlaces, spot: Spot, accepts: Accepts) -> Iterator[_Shown]:
    from probescope.debuginfo.dwarf_declared import declared
    from probescope.debuginfo.dwarf_scope import globals_of

    for v in debug.scopes.own_variables(spot.address, spot.owner):
        known = debug.scopes.place(v, spot.address) is not None
        listed = args.range and not known and debug.scopes.expression(v.die, spot.address) == b""
        if not accepts(v.name) or not (known or listed):
            continue
        where = _range(debug, v, spot) if args.range else ("", ())
        yield _Shown(declared(v.die), "VAL" if known else "INV", *where)
    unit = debug.finder.unit(spot.address) if args.externs else None
    for die in globals_of(unit) if unit is not None else ():
        if accepts(die.full_name()) and die.inherited(0x02) is not None:
            yield _Shown(declared(die), "EXT")


def _range(debug: DebugPlaces, v: Variable, spot: Spot) -> tuple[str, tuple[tuple[int, int], ...]]:
    from probescope.debuginfo.dwarf_declared import known_ranges
    from probescope.debuginfo.dwarf_find import entry_of

    around = debug.scopes.around(spot.address)
    start = entry_of(around[0]) or 0
    spans = tuple((low - start, high - start) for low, high in known_ranges(v.die, v.scope))
    return around[0].full_name(), spans


# --- lines ------------------------------------------------------------------------------------------------------------


def line(args: argparse.Namespace, text: str) -> int:
    from probescope.cli.probe_define import target
    from probescope.lang.probe.places import parse_lines
    from probescope.sources.probe_target import Sources

    wanted, where = parse_lines(text), target(args)
    debug = where.debug
    if debug is None:
        raise ProbeError(f"{where.reason}: there are no lines", hints=[HOW])
    path, first, known = _function_lines(debug, wanted) if wanted.function else _file_lines(debug, wanted)
    texts = Sources(args.source)(path)
    last = first + wanted.end if wanted.end >= 0 else max(known, default=first) + MORE
    start = first + wanted.start
    shown = wanted.start if wanted.function or wanted.given else 0
    name = f"{wanted.function}@" if wanted.function else ""
    numbers = range(max(start, 1), min(last, len(texts)) + 1)
    if args.format == "json":
        for n in numbers:
            whose = {"function": wanted.function, "relative": n - first} if wanted.function else {}
            documents.write([{**whose, "file": path, "line": n, "code": n in known, "text": texts[n - 1]}])
        return 0
    _say(f"<{name}{path}:{shown}>\n")
    for number in numbers:
        label = f"{number - first:7d}  " if number in known else " " * 9
        _say(f"{label}{texts[number - 1]}\n")
    return 0


def _function_lines(debug: DebugPlaces, wanted: LineRange) -> tuple[str, int, set[int]]:
    """Path, number of the line that others count from, numbers of lines with code."""
    from probescope.debuginfo.dwarf_scope import line_of

    dies = debug.functions.named(wanted.function, wanted.file)
    if not dies:
        raise ProbeError(f"the debug information does not know a function {wanted.function}")
    die: Die = dies[0]
    path = debug.lines.path_of(die)
    lines = debug.lines
    rows = ((r, code.unit) for code in debug.code_of(die) for r in lines.of_function(code))
    known = {r.line for r, unit in rows if r.path == path and lines.shown(r, unit)}
    return path, line_of(die), known


def _file_lines(debug: DebugPlaces, wanted: LineRange) -> tuple[str, int, set[int]]:
    from probescope.debuginfo.dwarf_lines import ends_with

    units = list(debug.lines.units_of(wanted.file))
    paths = sorted({p for u in units for p in debug.lines.paths(u) if ends_with(p, wanted.file)})
    if not paths:
        raise ProbeError(f"no code comes from a file {wanted.file}")
    if len(paths) > 1:
        raise ProbeError(f"{wanted.file} may be any of {', '.join(paths[:6])}", hints=["write more of the path"])
    lines = debug.lines
    known = {r.line for u in units for r in lines.of_unit(u) if r.path == paths[0] and lines.shown(r, u)}
    return paths[0], 0, known


# --- functions --------------------------------------------------------------------------------------------------------


def funcs(args: argparse.Namespace, text: str) -> int:
    from probescope.cli.probe_define import target
    from probescope.lang.probe.globs import name_filter

    accepts = name_filter(text or args.filter or FUNCTIONS)
    found = target(args).function_names()
    if not args.no_demangle:
        from probescope.debuginfo.demangle import demangle

        found = sorted({demangle(n) if n.startswith("_") else n for n in found})
    accepted = [n for n in found if accepts(n)]
    if args.format == "json":
        documents.write({"function": n} for n in accepted)
        return 0
    _say("".join(f"{n}\n" for n in accepted))
    return 0
