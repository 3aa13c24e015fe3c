"""What rows can be sorted and told apart by, and which sums they can show: tables, with perf report's words.

Source: perf-report(1); tools/perf/util/sort.c (headings, least widths) and tools/perf/ui/hist.c (sums) of Linux 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from probescope.collect.recorded.jitted import JIT_MAP
from probescope.collect.recorded.kernel_names import bracketed
from probescope.diagnostics import nearest
from probescope.errors import UsageError
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.collect.recorded.symbols import Frame


@dataclass(frozen=True, slots=True)
class Key:
    """``columns``: of ``sums.Sums``, that it needs. ``framed``: each function of a stack has a value of its own.
    ``width``: the least, in characters. ``field``: of a tracepoint, as EVENT.FIELD or FIELD. ``padded``: with blanks,
    also at a line's end. ``falling``: what is greater comes first."""

    name: str
    head: str
    columns: tuple[str, ...] = ()
    framed: bool = False
    right: bool = False
    width: int = 0
    field: str = ""
    padded: bool = False
    falling: bool = False


@dataclass(frozen=True, slots=True)
class Sum:
    """``width``: in characters, for one event. ``percent``: shown as a share."""

    name: str
    head: str
    width: int = 8
    percent: bool = True


class Value(NamedTuple):
    """``order`` sorts, ``text`` is shown; ``apart`` tells values apart that look alike: where a function begins."""

    order: str | int
    text: str
    apart: tuple[str, int] = ("", 0)


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
        Key("local_weight", "Local Weight", ("number weight",), padded=True, falling=True),
        Key("weight", "Weight", ("number weight",), padded=True, width=12, falling=True),
        Key("trace", "Trace output", ("trace",)),
        Key("time", "Time", ("time",), width=12),
        Key("local_ins_lat", "Local INSTR Latency", ("number ins_lat",), padded=True, falling=True),
        Key("ins_lat", "INSTR Latency", ("number ins_lat",), padded=True, falling=True),
        Key("local_retire_lat", "Local Retire Latency", ("number retire_lat",), padded=True, falling=True),
        Key("retire_lat", "Retire Latency", ("number retire_lat",), padded=True, falling=True),
        Key("transaction", "Transaction", ("number transaction",), padded=True, width=32, falling=True),
        Key("code_page_size", "Code Page Size", ("number code_page_size",), padded=True, falling=True),
        Key("addr", "Address", ("ip",), padded=True, width=18),
        Key("socket", "Socket", ("cpu",), right=True, falling=True),
        Key("cgroup", "Cgroup", ("number cgroup",)),
    )
}
_ENDS = ("number from", "number to", "number flags", "space")
BRANCH: Mapping[str, Key] = {
    k.name: k
    for k in (
        Key("dso_from", "Source Shared Object", _ENDS, padded=True, falling=True),
        Key("dso_to", "Target Shared Object", _ENDS, padded=True, falling=True),
        Key("symbol_from", "Source Symbol", _ENDS, padded=True),
        Key("symbol_to", "Target Symbol", _ENDS, padded=True),
        Key("mispredict", "Branch Mispredicted", _ENDS, padded=True),
        Key("in_tx", "Branch in transaction", _ENDS, padded=True),
        Key("abort", "Transaction abort", _ENDS, padded=True),
        Key("cycles", "Basic Block Cycles", _ENDS, padded=True),
        Key("srcline_from", "From Source:Line", _ENDS, padded=True),
        Key("srcline_to", "To Source:Line", _ENDS, padded=True),
        Key("addr_from", "Source Address", _ENDS, padded=True, width=22),
        Key("addr_to", "Target Address", _ENDS, padded=True, width=22),
    )
}
"""Where branches are summed up."""
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
USUAL = ("comm", "dso", "symbol")
USUAL_OF_BRANCHES = ("comm", "dso_from", "symbol_from", "symbol_to", "cycles")


def parse_keys(
    text: str, fields: Mapping[str, int] = MappingProxyType({}), *, branches: bool = False
) -> list[Key | Sum]:
    """``comm,dso,sym`` to what it names: words may be shortened; ``+cpu`` adds to the usual ones; what is none of ours
    is one of ``fields`` of tracepoints (FIELD or EVENT.FIELD; ``trace_fields`` are all), which have widths.
    ``branches``: these are summed up. Raises UsageError."""
    known: dict[str, Key | Sum] = {**KEYS, **(BRANCH if branches else {}), **SUMS}
    words = [w.strip() for w in text.removeprefix("+").split(",") if w.strip()]
    if text.startswith("+"):
        words = [*(USUAL_OF_BRANCHES if branches else USUAL), *words]
    if not words:
        raise UsageError("there is nothing to sort by", hints=["--sort comm,dso,sym"])
    found: list[Key | Sum] = []
    for word in words:
        for key in _named(word, fields, known):
            if key not in found:
                found.append(key)
    return found


def _named(word: str, fields: Mapping[str, int], known: Mapping[str, Key | Sum]) -> list[Key | Sum]:
    if word in known:
        return [known[word]]
    if word == "trace_fields" and fields:
        return [field_key(f, w) for f, w in fields.items() if not f.startswith("common_")]
    if word.rpartition(".")[2] in fields:
        return [field_key(word, fields[word.rpartition(".")[2]])]
    for near, key in known.items():
        if near.startswith(word.lower()):
            return [key]
    if word in BRANCH:
        raise UsageError(f"'{word}' is about branches", hints=["report -b sums up branches, where they were recorded"])
    if word in MEMORY:
        raise UsageError(
            f"'{word}' is about memory accesses, which this command does not sum up", hints=[_known(fields, known)]
        )
    hints = [f"did you mean {n}?" for n in nearest(word, [*known, *fields])]
    raise UsageError(f"there is no key '{word}' to sort by", hints=[*hints, _known(fields, known)])


def _known(fields: Mapping[str, int], known: Mapping[str, Key | Sum]) -> str:
    more = f"; fields of its tracepoints: {', '.join(list(fields)[:40])}" if fields else ""
    return "keys: " + ", ".join(n for n in known if n not in SUMS) + more


def field_key(word: str, width: int) -> Key:
    return Key(word, word.rpartition(".")[2], (f"field {word}",), right=True, width=width, field=word, falling=True)


def module_of(frame: Frame) -> str:
    """Without its folder; ``[name]`` of a module of the kernel, ``[JIT] tid PID`` of code that a program has made."""
    if frame.kernel:
        return bracketed(frame.module) or "[unknown]"
    if frame.module.startswith(JIT_MAP):
        return f"[JIT] tid {frame.module.removeprefix(JIT_MAP).removesuffix('.map')}"
    return frame.module.rpartition("/")[2] or "[unknown]"


_INLINED = " (inlined)"


def label_of(frame: Frame) -> str:
    """As a line of a call graph has it: an address of a file is told as its place there."""
    at = _place(frame)
    return f"{frame.name}{_INLINED * frame.inlined}" if frame.name else (hex(at) if at else "0")


def _place(frame: Frame) -> int:
    """Of what has no name: where in its file."""
    return frame.offset if frame.module and not frame.module.startswith("[kernel") else frame.address


_LEVELS = {1: "k", 2: ".", 3: "H", 4: "g", 5: "u"}  # PERF_RECORD_MISC_*


def symbol_of(frame: Frame, mode: int = 0) -> Value:
    """``[k] name``: with the place that it was taken in."""
    level = _LEVELS.get(mode) or ("k" if frame.kernel else ".")
    if frame.name:
        return Value(frame.name, f"[{level}] {frame.name}{_INLINED * frame.inlined}", (frame.module, frame.start))
    at = _place(frame)
    return Value(f"\U0010ffff{at:016x}", f"[{level}] {at:#018x}")
