"""What was measured, as rows: some lead to another function."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from probescope.frozen import dataclass
from probescope.views.latency.text import histogram, span
from probescope.views.peel import stacks
from probescope.views.peel.program import able, command, ends
from probescope.views.peel.subject import Argument, Found, Subject
from probescope.views.span import legs

if TYPE_CHECKING:
    from probescope.formats.tracing.call_totals import CallTotals
    from probescope.views.peel.program import Who

MOST_ROWS, MOST_WAYS, MOST_FRAMES = 12, 4, 24
MOST_TOLD = 100
"""Different values of one argument in a document."""
ERRORS = 4095
NOT_CALLED = "it was not called meanwhile: --seconds N looks longer"


@dataclass(frozen=True, slots=True)
class Row:
    """``go``: the function that it leads to."""

    text: str
    go: Subject | None = None


@dataclass(frozen=True, slots=True)
class Pane:
    """A step of a look. ``command`` does it alone. ``document``: the same as plain data."""

    step: str
    title: str
    command: str
    rows: tuple[Row, ...]
    document: dict[str, Any]


def pane(found: Found, step: str, maps: Mapping[str, Any], who: Who) -> Pane:
    """Of a step that the program measured."""
    make = {"callers": _callers, "args": _args, "time": _time, "returns": _returns}[step]
    title, rows, data = make(found, maps)
    return _pane(found, step, title, rows, data, who)


def _pane(found: Found, step: str, title: str, rows: Sequence[Row], data: dict[str, Any], who: Who) -> Pane:
    shown = command(found, step, who) if able(found, step) else ""
    head = {"function": found.subject.function, "file": found.subject.binary, "step": step, "command": shown}
    return Pane(step, title, shown, tuple(rows), {**head, **data})


# --- callers ----------------------------------------------------------------------------------------------------------


def _callers(found: Found, maps: Mapping[str, Any]) -> tuple[str, list[Row], dict[str, Any]]:
    ways = stacks.ways(maps.get("@callers") or {}, found.subject.function)
    who = stacks.callers(ways, found.subject.function)
    total = sum(n for _, n in who)
    rows = [Row(f"{_share(n, total)}  {c.shown}{_at(c.source)}", c.go) for c, n in who[:MOST_ROWS]]
    rows += _more(len(who), MOST_ROWS, "callers")
    for count, frames in ways[:MOST_WAYS]:
        rows.append(Row(f"{count:,} times on this way:"))
        rows += [_frame(f, found) for f in frames[:MOST_FRAMES]]
    rows += _more(len(ways), MOST_WAYS, "ways")
    rows += [] if total else [Row(NOT_CALLED)]
    data = {
        "calls": total,
        "callers": [{"function": c.shown, "source": c.source, "file": c.go.binary if c.go else "", "calls": n} for c, n in who],  # noqa: E501
        "ways": [{"calls": n, "frames": [stacks.named(f) for f in frames]} for n, frames in ways],
    }  # fmt: skip
    return f"who calls it: {total:,} calls", rows, data


def _frame(f: Any, found: Found) -> Row:
    go = stacks.subject(f)
    source = f"{f.file}:{f.line}" if f.line else ""
    here = go is not None and stacks.is_named(go.function, found.subject.function)
    return Row(f"        {stacks.named(f)}{' (inlined)' if f.inlined else ''}{_at(source)}", None if here else go)


def _at(source: str) -> str:
    return f"  {source}" if source else ""


# --- values -----------------------------------------------------------------------------------------------------------


def _args(found: Found, maps: Mapping[str, Any]) -> tuple[str, list[Row], dict[str, Any]]:
    rows: list[Row] = []
    data: list[dict[str, Any]] = []
    for i, a in enumerate(found.arguments):
        counted = _values(a, maps.get(f"@arg{i}") or {})
        rows.append(Row(f"{a.text}{f': {a.lost}' if a.lost else ''}"))
        rows += _counts(counted, _range(a, maps.get(f"@arg{i}") or {}))
        values = [[v, n] for v, n in counted[:MOST_TOLD]]
        data.append({"name": a.name, "declaration": a.text, "different": len(counted), "values": values})
        data[-1] |= {"lost": a.lost} if a.lost else {}
    if found.arguments and not any(maps.get(f"@arg{i}") for i in range(len(found.arguments))):
        rows.append(Row(NOT_CALLED))
    if not found.arguments:
        rows.append(Row("it has none, or nothing tells which"))
    how = "guessed from machine code" if found.guessed else "as declared"
    return f"with which arguments ({how})", rows, {"guessed": found.guessed, "arguments": data}


def _returns(found: Found, maps: Mapping[str, Any]) -> tuple[str, list[Row], dict[str, Any]]:
    a = found.result
    if a is None:
        return "what it returns", [Row("nothing, or more than a register holds")], {"values": []}
    counted = _values(a, maps.get("@returns") or {})
    failed = sum(n for v, n in counted if _is_error(v, a))
    total = sum(n for _, n in counted)
    rows = _counts(counted, _range(a, maps.get("@returns") or {}))
    rows = rows or [Row("no call returned meanwhile")]
    title = f"what it returns ({a.text}): {failed:,} of {total:,} are errors"
    values = [[v, n] for v, n in counted[:MOST_TOLD]]
    return title, rows, {"returns": total, "errors": failed, "different": len(counted), "values": values}


def _counts(counted: Sequence[tuple[str, int]], between: str) -> list[Row]:
    total = sum(n for _, n in counted)
    rows = [Row(f"  {_share(n, total)}  {value}") for value, n in counted[:MOST_ROWS]]
    return [*rows, *_more(len(counted), MOST_ROWS, f"values{between}")]


def _range(a: Argument, counted: Mapping[Any, int]) -> str:
    """Of numbers that are too many to be shown one by one."""
    numbers = [k for k in counted if isinstance(k, int)] if a.kind == "number" else []
    return f"; all are from {min(numbers):,} to {max(numbers):,}" if numbers else ""


def _values(a: Argument, counted: Mapping[Any, int]) -> list[tuple[str, int]]:
    """Values as they are written; the most frequent first."""
    out: dict[str, int] = {}
    for key, count in counted.items():
        value = _written(a, *(key if isinstance(key, tuple) else (key, None)))
        out[value] = out.get(value, 0) + count
    return sorted(out.items(), key=lambda item: -item[1])


def _written(a: Argument, value: Any, text: str | None) -> str:
    if a.kind == "text" or (a.kind == "guess" and text and len(text) > 1 and text.isprintable()):
        return f'"{text}"{"" if text else "  empty, or not in memory yet"}' if value else "null"
    if not isinstance(value, int) or isinstance(value, bool):
        return str(value)
    if a.kind == "pointer":
        return _named_error(value - (1 << 64), hex(value)) if value >> 64 == 0 else hex(value)
    number = _signed(value) if a.kind == "guess" else value
    return _named_error(number, str(number) if abs(number) < 1 << 32 else hex(number & (1 << 64) - 1))


def _signed(value: int) -> int:
    """Of a register whose type nobody knows: errors are negative ints of 32 or 64 bits."""
    value &= (1 << 64) - 1
    for bits in (64, 32):
        if (1 << bits) - ERRORS <= value < 1 << bits:
            return value - (1 << bits)
    return value


def _named_error(number: int, text: str) -> str:
    """``-2  ENOENT``, as kernels and libraries return it; programs have meanings of their own for -1."""
    name = errno.errorcode.get(-number, "") if -ERRORS <= number < -1 else ""
    return f"{text}  {name}" if name else text


def _is_error(written: str, a: Argument) -> bool:
    first = written.partition(" ")[0]
    if first.startswith("0x"):
        return int(first, 16) >= (1 << 64) - ERRORS
    return first == "null" if a.kind == "text" else first.startswith("-") and -ERRORS <= int(first) < 0


# --- time and calls ---------------------------------------------------------------------------------------------------


def _time(found: Found, maps: Mapping[str, Any]) -> tuple[str, list[Row], dict[str, Any]]:
    totals = legs.totals(maps)
    points = ends(found)
    if not totals:
        return "how long it takes", [Row("no call began and ended meanwhile")], {"count": 0}
    total = next(iter(totals.values()))
    rows = [Row(legs.line(total)), *(Row(line.rstrip("\n")) for line in histogram(total))]
    document = next(iter(legs.documents(totals, points, "")))
    return "how long it takes", rows, {k: v for k, v in document.items() if k not in ("from", "to")}


def calls_pane(found: Found, totals: CallTotals | None, names: Mapping[int, str], who: Who, why: str = "") -> Pane:
    """Of a function graph; ``None`` where there was none to be had, for the reason ``why``."""
    data: list[dict[str, Any]] = []
    rows: list[Row] = []
    below: list[tuple[int, int, str]] = []
    whole = 0
    if totals is not None:
        root = next((n for n, name in names.items() if name == found.subject.function), 0)
        below = [(t, n, names[f]) for (by, f), (n, t) in totals.callers().items() if by == root and root != f]
        whole = sum(t for (_, f), (_, t) in totals.callers().items() if f == root)
    for spent, n, name in sorted(below, reverse=True):
        go = Subject(name, found.subject.binary)
        share = f"{100 * spent / whole:5.1f}%" if whole else " " * 6
        rows.append(Row(f"{n:>10,}  {share}  {span(spent):>9}  {span(spent / n):>9} each  {name}", go))
        data.append({"function": name, "calls": n, "total_ns": spent})
    quiet = [c for c in found.calls if all(c.function != d["function"] for d in data)]
    rows += [Row(f"{'-':>10}  {'':6}  {'':9}  {'':14}  {c.function}", c) for c in quiet]
    rows += [Row(f"in other files: {', '.join(c.function for c in found.outside)}")] if found.outside else []
    rows += [Row(why)] if why else [] if rows else [Row("it called nothing that can be traced")]
    document: dict[str, Any] = {"calls": data, "not_called": [c.function for c in quiet]}
    document["outside"] = [c.function for c in found.outside]
    document["why"] = why
    return _pane(found, "calls", "what it calls", rows, document, who)


def _share(n: int, total: int) -> str:
    return f"{n:>10,}  {100 * n / max(total, 1):5.1f}%"


def _more(there_are: int, shown: int, what: str) -> list[Row]:
    return [Row(f"... and {there_are - shown:,} more {what}")] if there_are > shown else []
