"""Outputs as JSON, with the types that users of bpftrace's ``-f json`` know: one document a line, or all of them as
one array."""

from __future__ import annotations

import json
import math
from typing import Any

from probescope.diagnostics import render
from probescope.model.aggregate import deviation, divide
from probescope.model.output import (
    Attached,
    BenchResult,
    Lost,
    MapOut,
    Output,
    StackOut,
    TestResult,
    Text,
    ValueOut,
    Warned,
)
from probescope.model.text import EnumValue, StructValue, frame_text, value_text
from probescope.model.types import Agg, Array, Bool, Record, Tuple, Type
from probescope.model.visible import visible_json
from probescope.views.histogram import buckets
from probescope.views.trials import trial_data
from probescope.views.tseries import moment, points

_KINDS = {"system": "syscall"}


class JsonView:
    """``show`` as in text.TextView: all of it goes to stdout, but for warnings about the script."""

    def __init__(self, *, quiet: bool = False, no_warnings: bool = False, array: bool = False) -> None:
        self.quiet = quiet
        self.no_warnings = no_warnings
        self._array = array
        self._begun = False

    def show(self, output: Output) -> tuple[str, str]:
        if isinstance(output, Warned):
            return "", "" if self.no_warnings else render(output.diagnostic) + "\n"
        data = None if self.quiet and isinstance(output, Attached) else document(output)
        if data is None:
            return "", ""
        before = ""
        if self._array:
            before, self._begun = "," if self._begun else "[\n", True
        return f"{before}{visible_json(dumped(data))}\n", ""

    def end(self) -> str:
        """What makes the array whole. The comma stands before an item, so that each line is complete at once."""
        if not self._array:
            return ""
        return "]\n" if self._begun else "[]\n"


def dumped(data: Any) -> str:
    """On one line: ``", "`` between the members of objects, ``","`` between the items of lists."""
    match data:
        case dict():
            return "{" + ", ".join(f"{_dump(str(k))}: {dumped(v)}" for k, v in data.items()) + "}"
        case list():
            return "[" + ",".join(map(dumped, data)) + "]"
        case _:
            return _dump(data)


_dump = json.JSONEncoder(ensure_ascii=False).encode


def document(o: Output) -> dict[str, Any] | None:
    """One output as a JSON value; ``None`` for those that have none."""
    match o:
        case Text(kind="errorf" | "warnf" as kind, message=message, place=place):
            return {"type": kind, "msg": printable(message), **located(place)}
        case Text(kind=kind, text=text):
            return {"type": _KINDS.get(kind, kind), "data": printable(text[:-1] if kind == "join" else text)}
        case ValueOut(map=""):
            return {"type": "value", "data": jsonable(o.type, o.value)}
        case ValueOut():
            return _map(MapOut(o.map, o.key_type, o.type, ((o.key, o.value),)))
        case MapOut():
            return _map(o)
        case Attached(count=n):
            return {"type": "attached_probes", "count": n, "data": {"probes": n}}
        case Lost():
            return _lost(o)
        case TestResult() | BenchResult():
            return trial_data(o)
        case _:
            return None


def _lost(o: Lost) -> dict[str, Any]:
    if o.helper:  # without a count it happened once
        times = {"count": o.count} if o.count > 1 else {}
        told = {"msg": o.about, "helper": o.helper, "retcode": o.code}
        return {"type": "helper_error", **times, **told, **located(o.place)}
    kind = {"ring_full": "lost_events", "read": "helper_error"}.get(o.kind, "runtime_error")
    out: dict[str, Any] = {"type": kind, "count": o.count, "data": {"events": o.count, "kind": o.kind}, "msg": o.about}
    if o.place:
        out["place"] = o.place
    return {**out, **located(o.place)}


def located(place: str) -> dict[str, Any]:
    """``stdin:1:12-20`` by its parts: the place where it begins."""
    import re

    found = re.fullmatch(r"(.*?):(\d+)(?:-\d+)?(?::(\d+)(?:-\d+)?)?", place)
    if found is None:
        return {}
    return {"filename": found[1], "line": int(found[2]), "col": int(found[3] or 1)}


def _map(o: MapOut) -> dict[str, Any] | None:
    if o.key_type is None:
        if not o.items:
            return None
        data = _value(o.value_type, o.items[0][1], o.div)
    else:
        data = {_key(o.key_type, k): _value(o.value_type, v, o.div) for k, v in o.items}
    return {"type": _map_type(o.value_type), "data": {f"@{o.name}": data}}


def _map_type(t: Type | Agg) -> str:
    if not isinstance(t, Agg):
        return "map"
    kinds = {
        "hist": "hist",
        "lhist": "hist",
        "llquantize": "hist",
        "avg": "stats",
        "stats": "stats",
        "tseries": "tseries",
    }
    return kinds.get(t.kind, "map")


def _key(t: Type, k: Any) -> str:
    """A key as a JSON object wants it: the items of a tuple with commas between."""
    if isinstance(t, Tuple):
        return ",".join(_key(i, x) for i, x in zip(t.items, k, strict=True))
    return printable(value_text(t, k))


def _value(t: Type | Agg, v: Any, div: int) -> Any:
    if not isinstance(t, Agg):
        return jsonable(t, v // div if div and isinstance(v, int) else v)
    match t.kind:
        case "hist" | "lhist" | "llquantize":
            return [_bucket(b.low, b.high, b.count // (div or 1)) for b in buckets(t, v)]
        case "tseries":
            return [{"interval_start": moment(at), "value": n} for at, n in points(t, v) if n is not None]
        case "avg":
            return divide(divide(*v), div or 1)
        case "stats":
            return {"count": v[1], "average": divide(*v), "total": v[0]}
        case "stddev":
            return deviation(v)
        case _:
            return divide(v or 0, div or 1)


def _bucket(low: int | None, high: int | None, count: int) -> dict[str, int]:
    out: dict[str, int] = {}
    if low is not None:
        out["min"] = low
    if high is not None:
        out["max"] = high - 1
    return {**out, "count": count}


def jsonable(t: Type | None, v: Any) -> Any:
    """A finished value: integers as they are, enums as numbers, tuples and arrays as lists, records and structs as
    objects."""
    match t:
        case Bool():
            return bool(v)
        case Tuple(items=items):
            return [jsonable(i, x) for i, x in zip(items, v, strict=True)]
        case Record(fields=fields):
            return {n: jsonable(i, x) for (n, i), x in zip(fields, v, strict=True)}
        case Array(element=e):
            return [jsonable(e, x) for x in v]
        case _:
            return _plain(v)


def _plain(v: Any) -> Any:
    match v:
        case EnumValue():
            return v.value
        case StructValue():
            return {n: jsonable(i, x) for n, i, x in v.members}
        case StackOut():
            return [frame_text(f, v.mode) for f in v.frames]
        case float():
            return v if math.isfinite(v) else None
        case int() | None:
            return v
        case _:
            return printable(value_text(None, v))


def printable(text: str) -> str:
    r"""Text without lone surrogates, which JSON cannot carry: bytes that were not UTF-8 become ``\\xNN``."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
