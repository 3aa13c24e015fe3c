"""What is asked as a program, for whatever collector is there. The pairs are what it prints.

tracepoint:sched:sched_switch /has_key(@start, args.next_pid)/ { $s = @start[args.next_pid]; delete(...); print(...) }
tracepoint:sched:sched_waking { @start[args.pid] = (nsecs, ...); }
"""

from __future__ import annotations

from collections.abc import Callable

from probescope.collect.latency.words import BUILTIN, comm_field
from probescope.diagnostics import nearest
from probescope.errors import UsageError
from probescope.model.latency import Asked, By, End

MOST_STARTS = 1 << 16
"""Starts whose ends have not come yet."""


def program(asked: Asked, fields: Callable[[str], list[str]]) -> str:
    """Raises UsageError for fields that are not there. ``fields``: of a tracepoint ``system:event``."""
    a, b = asked.start, asked.end
    of_a, of_b = _fields(a, fields), _fields(b, fields)
    first = _keys([_word(k, a, of_a) for k in a.keys])
    second = _keys([_word(k, b, of_b) for k in b.keys])
    kept = [_word(by.name, a, of_a) for by in asked.by if by.start]
    comm = comm_field(b, of_b)
    at = f"@start[{second}]"
    reading = [f"$s = {at};", f"delete({at});"]
    since = "$s.0" if kept else "$s"
    printed = [f"latency = nsecs - {since}", "time = nsecs", "cpu = (uint64)cpu", "tid = (uint64)tid"]
    printed += [f"comm = {f'args.{comm}' if comm else 'comm'}"]
    place = 0
    for number, by in enumerate(asked.by):
        if by.start:
            place += 1
            printed.append(f"by{number} = $s.{place}")
        else:
            printed.append(f"by{number} = {_by(by, b, of_b, comm)}")
    if asked.stack:
        printed.append("stack = kstack")
    value = f"(nsecs, {', '.join(kept)})" if kept else "nsecs"
    condition = f"({b.predicate}) && " if b.predicate else ""
    return "\n".join(
        (
            f"config = {{ max_map_keys = {MOST_STARTS} }}",
            f"{b.probe} /{condition}has_key(@start, {f'({second})' if len(b.keys) > 1 else second})/",
            f"{{ {' '.join(reading)} print(({', '.join(printed)})); }}",
            f"{a.probe}{f' /{a.predicate}/' if a.predicate else ''} {{ @start[{first}] = {value}; }}",
            "end { clear(@start); }",
        )
    )


def _keys(words: list[str]) -> str:
    return ", ".join(words)


def _fields(end: End, fields: Callable[[str], list[str]]) -> list[str]:
    return fields(end.event) if end.event else []


def _by(by: By, end: End, known: list[str], comm: str) -> str:
    return f"args.{comm}" if by.name == "comm" and comm else _word(by.name, end, known)


def _word(name: str, end: End, known: list[str]) -> str:
    """A field of the event if it has one of that name, else what is known of the thread."""
    if name in known and not (name in {"tid", "cpu"} and name in BUILTIN):
        return f"args.{name}"
    if name in BUILTIN:
        return name
    if not end.event:
        return f"args.{name}"
    near = nearest(name, [*known, *BUILTIN])
    hints = [f"did you mean {' or '.join(near)}?"] if near else []
    own = ", ".join(f for f in known if not f.startswith("common_"))
    raise UsageError(f"{end.event} has no field {name}", hints=[*hints, f"it has {own}; and tid, pid, cpu, comm"])
