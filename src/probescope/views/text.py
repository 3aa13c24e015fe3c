"""Outputs as the text that users of bpftrace know."""

from __future__ import annotations

from typing import Any, Protocol

from probescope.diagnostics import render
from probescope.model.aggregate import deviation, divide
from probescope.model.output import Attached, BenchResult, Lost, MapOut, Output, TestResult, Text, ValueOut, Warned
from probescope.model.text import key_text, value_text
from probescope.model.types import Agg, Type
from probescope.views.histogram import histogram_text
from probescope.views.trials import bench_text, test_text
from probescope.views.tseries import tseries_text


class MapText(Protocol):
    """``plain``: for people; an empty line stands before those that are printed at the end."""

    plain: bool

    def __call__(self, o: MapOut, /) -> str: ...


_TO_STDERR = frozenset({"errorf", "warnf", "debugf"})


class TextView:
    """``show`` gives the text for stdout and the text for stderr of one output. ``quiet`` leaves out what the tool
    itself says, ``no_warnings`` what it warns of. ``ending`` stands before what is printed at the end, and
    where that is nothing if ``always_ends``. ``maps``: how maps become text, if not line by line
    (maptext.py)."""

    def __init__(
        self,
        *,
        quiet: bool = False,
        no_warnings: bool = False,
        maps: MapText | None = None,
        ending: str = "\n",
        always_ends: bool = False,
    ) -> None:
        self.quiet = quiet
        self.no_warnings = no_warnings
        self._maps = maps
        self._maps_begun = False
        self._ending = ending
        self._always_ends = always_ends

    def show(self, output: Output) -> tuple[str, str]:
        match output:
            case Text(kind=kind, text=text):
                if kind == "warnf" and self.no_warnings:
                    return "", ""
                return ("", text) if kind in _TO_STDERR else (text, "")
            case ValueOut():
                return self._value(output), ""
            case MapOut():
                return self._map(output), ""
            case Attached(count=n):
                return "", "" if self.quiet else f"Attached {n} probe{'' if n == 1 else 's'}\n"
            case Lost():
                return "", lost_text(output)
            case Warned(diagnostic=d):
                return "", "" if self.no_warnings else render(d) + "\n"
            case TestResult():
                return test_text(output), ""
            case BenchResult():
                return bench_text(output), ""
            case _:
                return "", ""

    def _value(self, o: ValueOut) -> str:
        if not o.map:
            return body_text(o.type, o.value) if isinstance(o.type, Agg) else value_text(o.type, o.value) + "\n"
        return entry_text(MapOut(o.map, o.key_type, o.type, ()), o.key, o.value)

    def _map(self, o: MapOut) -> str:
        text = (self._maps or _map_text)(o)
        head = ""
        if o.final and not self._maps_begun:
            head, self._maps_begun = "" if self._maps and not self._maps.plain else self._ending, True
        return head + text

    def end(self) -> str:
        return self._ending if self._always_ends and not self._maps_begun else ""


def _map_text(o: MapOut) -> str:
    if o.format is None:
        return map_text(o)
    from probescope.views.maptext import formatted

    return formatted(o, o.format)


def map_text(o: MapOut) -> str:
    """All entries of a map, a line each; histograms have an empty line after each, and series end at the same time."""
    t = o.value_type
    if isinstance(t, Agg) and t.kind == "tseries":
        latest = max((max(v) for _, v in o.items if v), default=None)
        return "".join(f"{_entry_name(o, k)}:\n{tseries_text(t, v, latest)}\n" for k, v in o.items)
    return "".join(entry_text(o, k, v) for k, v in o.items)


def entry_text(o: MapOut, key: Any, value: Any) -> str:
    """``@name[key]: value``; a histogram begins on its own line and is followed by an empty one."""
    name = _entry_name(o, key)
    body = body_text(o.value_type, value, o.div)
    return f"{name}:\n{body}\n" if _is_block(o.value_type) else f"{name}: {body}"


def _entry_name(o: MapOut, key: Any) -> str:
    return f"@{o.name}" if o.key_type is None else f"@{o.name}[{key_text(o.key_type, key)}]"


def _is_block(t: Type | Agg) -> bool:
    return isinstance(t, Agg) and t.kind in ("hist", "lhist", "llquantize", "tseries")


def body_text(t: Type | Agg, v: Any, div: int = 0) -> str:
    """A value, or the whole of an aggregation, with a newline at its end."""
    if not isinstance(t, Agg):
        return value_text(t, v // div if div and isinstance(v, int) else v) + "\n"
    if t.kind in ("hist", "lhist", "llquantize"):
        return histogram_text(t, v, div)
    if t.kind == "tseries":
        return tseries_text(t, v)
    return f"{agg_text(t, v, div)}\n"


def agg_text(t: Agg, v: Any, div: int = 0) -> str:
    """The aggregations that fit on a line."""
    d = div or 1
    match t.kind:
        case "avg":
            return str(divide(divide(*v), d))
        case "stats":
            total, count = v
            return f"{{ .count = {count}, .average = {divide(total, count)}, .total = {total} }}"
        case "stddev":
            return str(deviation(v))
        case _:
            return str(divide(v or 0, d))


LEADS = {
    "map_full": "Map full; can't update element. ",
    "div0": "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result. ",
    "bounds": "Array access out of bounds. This can lead to unexpected results. ",
    "outside": "Array access out of bounds. This can lead to unexpected results. ",
}
"""What users of bpftrace look for, before the count."""


def lost_text(o: Lost) -> str:
    place = f"{o.place}: " if o.place else ""
    hint = f"\nHINT: {o.hint}" if o.hint else ""
    if o.helper:
        times = f" ({o.count} times)" if o.count > 1 else ""
        more = f"Additional Info - helper: {o.helper}, retcode: {o.code}"
        return "\n".join(filter(None, (f"{place}WARNING: {o.about}{times}", more, o.context))) + f"{hint}\n"
    return f"{place}WARNING: {LEADS.get(o.kind, '')}{o.count} {o.about}{hint}\n"
