r"""The ``hist`` file of an event: what its hist triggers have counted.

    # event histogram
    #
    # trigger info: hist:keys=next_comm,lat.log2:vals=hitcount,lat:sort=hitcount:size=2048 [active]
    #

    { next_comm: cat                                               , lat: ~ 2^15 } hitcount:         61  lat:    1697924
    { common_stacktrace:
             schedule+0x27/0xc0
    } hitcount:          1
    \tmax:      75928  next_comm: kworker/u8:1                      prev_pid:          0        what save() kept

    Totals:
        Hits: 1354
        Entries: 13
        Dropped: 0

Several triggers of an event follow each other. Texts hold whatever strangers called their programs and files; their
least widths, and the names that the trigger's own line tells, say where they end.
Source: hist_trigger_print_key, hist_trigger_print_val and track_data_print of kernel/trace/trace_events_hist.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from probescope.errors import FormatError
from probescope.frozen import dataclass

MOST_LINES = 300
"""Of one entry: the kernel keeps 16 addresses of a stack, and texts are shorter than a page."""
MOST_KEYS = 8


@dataclass(frozen=True, slots=True)
class Named:
    """A number with its name: a task, a system call, a place in the kernel."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class Span:
    """``low`` to ``high``, both included: of .buckets and, with powers of two as ends, of .log2."""

    low: int
    high: int


Key = int | str | Named | Span | tuple[str, ...]
"""The last is a stack, innermost frame first."""


@dataclass(frozen=True, slots=True)
class Entry:
    """``values``: as they are called; numbers, percents as floats, bars (.graph) as texts. ``saved``: what save() kept
    of the event that was the largest, or changed something."""

    keys: tuple[Key, ...]
    values: tuple[tuple[str, int | float | str], ...]
    saved: tuple[tuple[str, int | str], ...] = ()

    @property
    def hits(self) -> int:
        return next((int(v) for n, v in self.values if n == "hitcount"), 0)


@dataclass(frozen=True, slots=True)
class Field:
    """Of a trigger: ``count.log2`` is the field ``count`` with the modifier ``log2``."""

    name: str
    modifier: str = ""

    def __str__(self) -> str:
        return f"{self.name}.{self.modifier}" if self.modifier else self.name


@dataclass(frozen=True, slots=True)
class Trigger:
    """``text`` without its state. ``variables`` are (name, expression)."""

    text: str
    keys: tuple[Field, ...]
    values: tuple[Field, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    sort: tuple[str, ...] = ()
    filter: str = ""
    state: str = "active"


@dataclass(frozen=True, slots=True)
class Histogram:
    """``snapshot``: what the kernel says of the snapshot that an action took."""

    trigger: Trigger
    entries: tuple[Entry, ...]
    hits: int = 0
    dropped: int = 0
    snapshot: str = ""


def parse(text: str) -> list[Histogram]:
    """Every histogram of a file. Raises FormatError."""
    return [_histogram(lines) for lines in _sections(text)]


def _sections(text: str) -> Iterator[list[str]]:
    held: list[str] = []
    for line in text.split("\n"):
        if line == "# event histogram" and any(one.startswith("# trigger info: ") for one in held):
            yield held
            held = []
        held.append(line)
    if any(one.startswith("# trigger info: ") for one in held):
        yield held


# --- the trigger's own line


def parse_trigger(text: str) -> Trigger:
    """``hist:keys=...``, as it is written, or as the kernel shows it. Raises FormatError."""
    shown = re.fullmatch(r"(.*) \[(active|paused)\]", text)
    state, body = (shown[2], shown[1]) if shown else ("active", text.strip())
    head, _, condition = body.partition(" if ")
    parts = head.split(":")
    if parts[0] != "hist":
        raise FormatError("this is no hist trigger: it begins with hist:keys=", hints=[text[:200]])
    keys: tuple[Field, ...] = ()
    values: tuple[Field, ...] = ()
    variables: list[tuple[str, str]] = []
    sort: tuple[str, ...] = ()
    for part in parts[1:]:
        name, equals, rest = part.partition("=")
        if name in {"keys", "key"}:
            keys = tuple(_field(one) for one in rest.split(","))
        elif name in {"vals", "values", "val"}:
            values = tuple(_field(one) for one in rest.split(","))
        elif name == "sort":
            sort = tuple(rest.split(","))
        elif equals and name not in {"size", "clock", "name"} and "(" not in name:
            variables += [(n, x) for n, _, x in (one.partition("=") for one in part.split(","))]
    if not 0 < len(keys) <= MOST_KEYS:
        raise FormatError("a hist trigger has keys: hist:keys=FIELD", hints=[text[:200]])
    return Trigger(body, keys, values, tuple(variables), sort, condition, state)


def _field(text: str) -> Field:
    name, _, modifier = text.partition(".")
    return Field(name, modifier)


# --- a histogram


def _histogram(lines: list[str]) -> Histogram:
    info = next(line for line in lines if line.startswith("# trigger info: "))
    trigger = parse_trigger(info.removeprefix("# trigger info: "))
    pattern = _entry_pattern(trigger)
    entries: list[Entry] = []
    totals: dict[str, int] = {}
    snapshot: list[str] = []
    held: list[str] = []
    begun = False
    for line in lines:
        if held or line.startswith("{ "):
            held.append(line)
            entry = _entry("\n".join(held), pattern, trigger)
            if entry is not None:
                entries.append(entry)
                held = []
            elif len(held) > MOST_LINES:
                raise FormatError("an entry of a histogram does not end", hints=[held[0][:200]])
        elif line.startswith("\t") and entries and not snapshot:
            entries[-1] = Entry(entries[-1].keys, entries[-1].values, tuple(_saved(line)))
        elif line.startswith("Snapshot taken") or (snapshot and line.startswith("\t")):
            snapshot.append(line.strip())
        elif line == "Totals:":
            begun = True
        elif begun and (found := re.fullmatch(r"    (\w+): (\d{1,20})", line)):
            totals[found[1]] = int(found[2])
    if held:
        raise FormatError("an entry of a histogram does not end", hints=[held[0][:200]])
    words = "; ".join(snapshot)
    return Histogram(trigger, tuple(entries), totals.get("Hits", 0), totals.get("Dropped", 0), words)


_STACK = r"\n((?:[ \t]+\S[^\n]*\n)*)"
_BODIES = {
    "hex": r" ([0-9a-f]{1,16})",
    "sym": r" \[([0-9a-f]{1,16})\] (.{45,}?)",
    "sym-offset": r" \[([0-9a-f]{1,16})\] (.{55,}?)",
    "execname": r" (.{16,}?)\[ *(\d{1,20})\]",
    "syscall": r" (.{30,}?)\[ *(\d{1,20})\]",
    "log2": r" ~ 2\^(\d{1,2}) *",
    "stacktrace": _STACK,
}
_BUCKETS = r" ~ (\d{1,20})-(\d{1,20})"
_PLAIN = r" (?:( *\d{1,20})|(.{50,}?))"
"""A number, or a text that is filled up to 50 characters."""


def _kind(key: Field) -> str:
    if key.name in {"stacktrace", "common_stacktrace"}:
        return "stacktrace"
    return "buckets" if key.modifier.startswith("buckets") else key.modifier


def _entry_pattern(trigger: Trigger) -> re.Pattern[str]:
    """Names of keys are the event's: ``cpu`` where the trigger says ``common_cpu``, so any will do."""
    keys = []
    for key in trigger.keys:
        kind = _kind(key)
        body = _BUCKETS if kind == "buckets" else _BODIES.get(kind, _PLAIN)
        keys.append(rf"[\w.]+:{body}")
    return re.compile(r"\{ " + ", ".join(keys) + r" ?\}((?: +\S[^{}\n]*)?)", re.DOTALL)


def _entry(text: str, pattern: re.Pattern[str], trigger: Trigger) -> Entry | None:
    found = pattern.fullmatch(text)
    if found is None:
        return None
    groups = iter(found.groups())
    keys = tuple(_key(_kind(key), groups) for key in trigger.keys)
    return Entry(keys, tuple(_values(next(groups), trigger)))


def _key(kind: str, groups: Iterator[Any]) -> Key:
    first = next(groups)
    if kind == "hex":
        return int(first, 16)
    if kind in {"sym", "sym-offset"}:
        return Named(next(groups).rstrip(), int(first, 16))
    if kind in {"execname", "syscall"}:
        return Named(first.rstrip(), int(next(groups)))
    if kind == "log2":
        power = min(int(first), 64)
        return Span((1 << power - 1) + 1 if power else 0, 1 << power)
    if kind == "buckets":
        return Span(int(first), int(next(groups)))
    if kind == "stacktrace":
        return tuple(line.strip() for line in first.split("\n") if line.strip())
    text = next(groups)
    return text.rstrip(" ") if text is not None else int(first)


_VALUE = re.compile(r" {1,2}([^\s:][^:]*): ( *[0-9a-f]{1,20}|\[ERROR\]| *\d+\.\d{2}|[# ]{20})(?=  |$)")


def _values(text: str, trigger: Trigger) -> Iterator[tuple[str, int | float | str]]:
    hexadecimal = {v.name for v in trigger.values if v.modifier == "hex"}
    for found in _VALUE.finditer(text):
        name, value = found[1], found[2]
        if "#" in value or value.isspace():
            yield name, value.rstrip()
        elif "." in value:
            yield name, float(value)
        elif value == "[ERROR]":
            yield name, value
        else:
            yield name, int(value, 16 if name in hexadecimal else 10)


_SAVED = re.compile(r"(?:^\t|  )([\w.]+): (?:( *\d{1,20})(?=  |$)|(.{32,}?)(?=  [\w.]+: |$))")


def _saved(line: str) -> Iterator[tuple[str, int | str]]:
    for found in _SAVED.finditer(line):
        yield found[1], int(found[2]) if found[2] is not None else found[3].rstrip()
