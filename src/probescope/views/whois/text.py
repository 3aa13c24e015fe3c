"""Findings as a person reads them, and as JSON; with the commands that go on from there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from probescope.debuginfo.demangle import demangle
from probescope.model.visible import visible
from probescope.views.whois.search import Finding, Unused

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_inlines import SourceFrame
    from probescope.views.whois.images import Image, Where

MOST_PLACES = 4
"""Places of a function that are told one by one."""


def told(found: Sequence[Finding | Unused]) -> str:
    """Messages with the functions below them."""
    out = []
    for (title, what), group in groupby(found, key=lambda f: (f.image.title, f.what)):
        if what:
            out.append(f'"{_escaped(what)}" in {visible(title)}\n')
        indent = "  " if what else ""
        out += [_unused(f) if isinstance(f, Unused) else _place(f, indent) for f in group]
    return "".join(out)


def _escaped(text: str) -> str:
    return visible(text.encode("unicode_escape").decode() if not text.isprintable() else text)


def _unused(f: Unused) -> str:
    return f"  no code was found that refers to it, at {f.address:#x}\n"


def _place(f: Finding, indent: str) -> str:
    via = f", through {visible(f.through)}" if f.through else ""
    lines = [f"{indent}{name_of(f.where)}{via}\n"]
    lines += [f"{indent}    {line}\n" for line in source_lines(f.frames)]
    lines += [f"{indent}    {command}\n" for command in commands(f)]
    return "".join(lines)


def name_of(where: Where) -> str:
    """``function+0x1f``, or that nobody names it."""
    if where.name:
        return f"{visible(demangle(where.name))}+{where.offset:#x}"
    return f"a function without a name at {where.start:#x}, +{where.offset:#x}"


def source_lines(frames: Sequence[SourceFrame]) -> list[str]:
    """The line, and the calls around it that were inlined."""
    out = []
    for frame in frames:
        place = f"{frame.file}:{frame.line}" if frame.file else ""
        inlined = " (inlined)" if frame.inlined else ""
        out.append(visible(f"{demangle(frame.function)}{inlined} {place}".strip()))
    return [line for line in out if line]


def commands(f: Finding) -> list[str]:
    """Who comes here, and when exactly this place is passed; none where nothing names the kernel's code."""
    if f.image.title.startswith("kernel") and not f.where.name:
        return []
    return [
        f"probescope run -e '{f.image.probe(f.where)} {{ @[{_stack(f.image)}] = count(); }}'",
        f"probescope run -e '{f.image.probe(f.where, exact=True)} {{ print({_stack(f.image)}); }}'",
    ]


def _stack(image: Image) -> str:
    return "kstack" if image.title.startswith("kernel") else "ustack"


def returns(image: Image, error: str, number: int, found: Sequence[tuple[Where, list[int]]], most: int) -> str:
    """Functions that set a register to an error, with how often; and how to see which one it was."""
    shown = found[:most]
    out = [f"code in {image.title} that sets a register to -{error}: {len(found)} functions\n"]
    for where, places in shown:
        out.append(f"  {_short(where):<44} {' '.join(_at(image, p) for p in places[:MOST_PLACES])}{_more(places)}\n")
    if len(found) > len(shown):
        out.append(f"  and {len(found) - len(shown)} more: -n 0 shows all, --in GLOB chooses\n")
    condition = f"/(int32)retval == -{number}/ {{ @[probe, {_stack(image)}(3)] = count(); }}"
    probe = image.probe(shown[0][0]).replace("uprobe:", "uretprobe:").replace("kprobe:", "kretprobe:") if shown else ""
    out += [f"probescope run -e '{probe} {condition}'\n"] if probe else []
    return "".join(out)


def _short(where: Where) -> str:
    return visible(demangle(where.plain)) if where.name else f"{where.start:#x}"


def _at(image: Image, place: int) -> str:
    where = image.where(place)
    frames = image.frames(place)
    return (
        visible(f"{frames[0].file.rpartition('/')[2]}:{frames[0].line}")
        if frames and frames[0].file
        else (f"+{where.offset:#x}")
    )


def _more(places: list[int]) -> str:
    return f" and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else ""


def document(f: Finding | Unused) -> dict[str, Any]:
    """One finding as plain data."""
    out: dict[str, Any] = {"file": f.image.title, "message": f.what}
    if isinstance(f, Unused):
        return {**out, "address": f.address, "function": None}
    frames = [
        {"function": s.function, "file": s.file, "line": s.line, "column": s.column, "inlined": s.inlined}
        for s in f.frames
    ]
    return {
        **out,
        "function": f.where.name or None,
        "function_address": f.where.start,
        "address": f.where.address,
        "offset": f.where.offset,
        "through": f.through,
        "source": frames,
        "probe": f.image.probe(f.where),
        "exact_probe": f.image.probe(f.where, exact=True),
    }
