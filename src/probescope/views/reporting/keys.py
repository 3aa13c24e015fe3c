"""What rows can be sorted and told apart by, and which sums they can show: tables, with perf report's words.

Source: perf-report(1); tools/perf/util/sort.c (headings, least widths) and tools/perf/ui/hist.c (sums) of Linux 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from probescope.diagnostics import nearest
from probescope.errors import UsageError
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.collect.recorded.symbols import Frame


@dataclass(frozen=True, slots=True)
class Key:
    """``columns``: of ``sums.Sums``, that it needs. ``framed``: each function of a stack has a value of its own.
    ``width``: the least, in characters. ``field``: of a tracepoint, as EVENT.FIELD or FIELD. ``padded``: with blanks,
    also at a line's end."""

    name: str
    head: str
    columns: tuple[str, ...] = ()
    framed: bool = False
    right: bool = False
    width: int = 0
    field: str = ""
    padded: bool = False


@dataclass(frozen=True, slots=True)
class Sum:
    """``width``: in characters, for one event. ``percent``: shown as a share."""

    name: str
    head: str
    width: int = 8
    percent: bool = True


class Value(NamedTuple):
    """``order`` sorts, ``text`` is shown."""

    order: str | int
    text: str


_PLACE = ("ip", "mode", "space")
KEYS: Mapping[str, Key] = {
    k.name: k
    for k in (
        Key("comm", "Command", ("name",), padded=True),
        Key("pid", "    Pid:Command", ("tid",), padded=True),
        Key("tid", "    Tid:Command", ("tid",), padded=True),
        Key("tgid", "   Tgid:Command", ("pid",), padded=True),
        Key("dso", "Shared Object", _PLACE, framed=True, padded=True),
        Key("symbol", "Symbol", _PLACE, framed=True),
        Key("parent", "Parent symbol", ("stack",), padded=True),
        Key("cpu", "CPU", ("cpu",), width=3),
        Key("srcline", "Source:Line", _PLACE, framed=True),
        Key("srcfile", "Source File", _PLACE, framed=True),
        Key("local_weight", "Local Weight", ("weight",), right=True, width=12),
        Key("weight", "Weight", ("weight",), right=True, width=12),
        Key("trace", "Trace output", ("trace",)),
        Key("time", "Time", ("time",), width=12),
    )
}
SUMS: Mapping[str, Sum] = {
    s.name: s
    for s in (
        Sum("overhead", "Overhead"),
        Sum("overhead_children", "Children"),
        Sum("overhead_sys", "sys"),
        Sum("overhead_us", "usr"),
        Sum("overhead_guest_sys", "guest sys", 9),
        Sum("overhead_guest_us", "guest usr", 9),
        Sum("sample", "Samples", 12, percent=False),
        Sum("period", "Period", 12, percent=False),
    )
}
MEMORY = "mem snoop tlb locked blocked dcacheline symbol_daddr dso_daddr phys_daddr data_page_size".split()
BRANCH = "dso_from dso_to symbol_from symbol_to mispredict abort in_tx cycles srcline_from srcline_to".split()
USUAL = ("comm", "dso", "symbol")


def parse_keys(text: str, fields: Mapping[str, int] = MappingProxyType({})) -> list[Key | Sum]:
    """``comm,dso,sym`` to what it names: words may be shortened; ``+cpu`` adds to the usual ones; what is none of ours
    is one of ``fields`` of tracepoints (FIELD or EVENT.FIELD; ``trace_fields`` are all), which have widths. Raises
    UsageError."""
    words = [w.strip() for w in text.removeprefix("+").split(",") if w.strip()]
    if text.startswith("+"):
        words = [*USUAL, *words]
    if not words:
        raise UsageError("there is nothing to sort by", hints=["--sort comm,dso,sym"])
    found: list[Key | Sum] = []
    for word in words:
        for key in _named(word, fields):
            if key not in found:
                found.append(key)
    return found


def _named(word: str, fields: Mapping[str, int]) -> list[Key | Sum]:
    if word in KEYS or word in SUMS:
        return [KEYS[word] if word in KEYS else SUMS[word]]
    if word == "trace_fields" and fields:
        return [field_key(f, w) for f, w in fields.items() if not f.startswith("common_")]
    if word.rpartition(".")[2] in fields:
        return [field_key(word, fields[word.rpartition(".")[2]])]
    for near in (*KEYS, *SUMS):
        if near.startswith(word.lower()):
            return [KEYS[near] if near in KEYS else SUMS[near]]
    if word in MEMORY or word in BRANCH:
        what = "memory accesses" if word in MEMORY else "branches"
        raise UsageError(f"'{word}' is about {what}, which this command does not sum up", hints=[_known(fields)])
    hints = [f"did you mean {n}?" for n in nearest(word, [*KEYS, *SUMS, *fields])]
    raise UsageError(f"there is no key '{word}' to sort by", hints=[*hints, _known(fields)])


def _known(fields: Mapping[str, int]) -> str:
    more = f"; fields of its tracepoints: {', '.join(list(fields)[:40])}" if fields else ""
    return "keys: " + ", ".join(KEYS) + more


def field_key(word: str, width: int) -> Key:
    return Key(word, word.rpartition(".")[2], (f"field {word}",), right=True, width=width, field=word)


def module_of(frame: Frame) -> str:
    return frame.module.rpartition("/")[2] or "[unknown]"


_INLINED = " (inlined)"


def label_of(frame: Frame) -> str:
    """As a line of a call graph has it: an address of a file is told as its place there."""
    at = frame.offset if frame.module and not frame.kernel else frame.address
    return f"{frame.name}{_INLINED * frame.inlined}" if frame.name else (hex(at) if at else "0")


_LEVELS = {1: "k", 2: ".", 3: "H", 4: "g", 5: "u"}  # PERF_RECORD_MISC_*


def symbol_of(frame: Frame, mode: int = 0) -> Value:
    """``[k] name``: with the place that it was taken in."""
    level = _LEVELS.get(mode) or ("k" if frame.kernel else ".")
    if frame.name:
        return Value(frame.name, f"[{level}] {frame.name}{_INLINED * frame.inlined}")
    at = frame.offset if frame.module and not frame.kernel else frame.address
    return Value(f"\U0010ffff{at:016x}", f"[{level}] {at:#018x}")
