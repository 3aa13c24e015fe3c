"""The same histograms of what was recorded: events of one kind counted by their fields, as the kernel's hist triggers
would have.

In: a recording, an event, a trigger. Out: ``formats.tracetext.hist.Histogram``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.collect.stream.who import Told, Who
from probescope.diagnostics import nearest
from probescope.errors import UsageError
from probescope.formats.tracetext.hist import Entry, Field, Histogram, Key, Named, Span, Trigger
from probescope.formats.tracing.fields import Records
from probescope.model.recording import Ragged

if TYPE_CHECKING:
    from probescope.model.recording import Column, EventType, Recording

MOST_KEYS = 1 << 20
_THREAD = {"common_pid": "tid", "common_cpu": "cpu", "cpu": "cpu"}
Maker = Callable[[Any], Key]


def histogram(recording: Recording, event: str, trigger: Trigger) -> Histogram:
    """Raises UsageError for an event or field that is not in it, and for what a recording cannot tell."""
    kind = _kind(recording, event)
    if trigger.filter:
        hint = f"probescope run -i FILE -e 'tracepoint:{event} /args.FIELD > 1/ {{ @[args.FIELD] = count(); }}'"
        raise UsageError("filters are the kernel's: what was recorded is told apart by a program", hints=[hint])
    described = recording.events[kind]
    makers = [_maker(key, described, recording.machine.arch) for key in trigger.keys]
    sums = [v.name for v in trigger.values if v.name != "hitcount"]
    for value in trigger.values:
        if value.modifier:
            raise UsageError(f"{value}: of a recording sums are told as numbers")
    for name in sums:
        _field(name, described)
    alone = all(not e.sampled for e in recording.events)
    names = getattr(recording, "comms", None) or getattr(recording, "threads", None)
    who = Who(names, recording.events if alone else (), big=recording.machine.big_endian)
    counted: dict[tuple[Key, ...], list[int]] = {}
    dropped = 0
    for batch in recording.batches():
        told = who.told(batch)
        at = np.flatnonzero(batch.event == kind)
        if not len(at) or batch.raw is None:
            continue
        raw = Ragged(batch.raw.values, batch.raw.start[at], batch.raw.size[at])
        records = Records(raw, recording.machine.big_endian, recording.machine.long_size)
        keys = [_values(k, described, records, told, at) for k in trigger.keys]
        values = [_numbers(_field(n, described), records) for n in sums]
        for row, *more in zip(zip(*keys, strict=True), *values, strict=True):
            key = tuple(make(v) for make, v in zip(makers, row, strict=True))
            held = counted.get(key)
            if held is None:
                if len(counted) >= MOST_KEYS:
                    dropped += 1
                    continue
                held = counted[key] = [0] * (len(sums) + 1)
            held[0] += 1
            for i, value in enumerate(more):
                held[i + 1] += value
    heads = ("hitcount", *sums)
    entries = [Entry(k, tuple(zip(heads, v, strict=True))) for k, v in counted.items()]
    return Histogram(trigger, tuple(_sorted(entries, trigger)), sum(v[0] for v in counted.values()), dropped)


def _kind(recording: Recording, event: str) -> int:
    names = [e.name for e in recording.events]
    if event in names:
        return names.index(event)
    near = nearest(event, names)
    hints = [f"did you mean {' or '.join(near)}?"] if near else [f"it has {', '.join(sorted(names)[:10])}"]
    raise UsageError(f"the recording has no event {event}", hints=hints)


def _field(name: str, event: EventType) -> Any:
    found = event.field(name)
    if found is None:
        known = [f.name for f in event.fields]
        near = nearest(name, known)
        hints = [f"did you mean {' or '.join(near)}?"] if near else []
        raise UsageError(f"{event.name} has no field {name}", hints=[*hints, f"it has {', '.join(known)}"])
    return found


def _maker(key: Field, event: EventType, arch: str) -> Maker:
    """From a value to what the table shows of it."""
    if key.name not in _THREAD:
        _field(key.name, event)
    if key.modifier == "log2":
        return _power
    if key.modifier.startswith("buckets="):
        width = max(1, int(key.modifier.partition("=")[2] or 1))
        return lambda v: Span(v // width * width, v // width * width + width - 1)
    if key.modifier == "syscall":
        from probescope.model.syscalls import names

        known = names(arch)
        return lambda v: Named(f"sys_{known[v]}" if v in known else "unknown_syscall", v)
    if key.modifier == "execname":
        return lambda v: Named(v[1], v[0])
    if key.modifier in {"", "hex"}:
        return lambda v: v
    raise UsageError(f".{key.modifier} is not told by a recording", hints=["run -i FILE, with ksym() or kstack"])


def _power(value: int) -> Span:
    """As the kernel has it: ``(2**(k-1), 2**k]``."""
    power = max(0, value - 1).bit_length()
    return Span((1 << power - 1) + 1 if power else 0, 1 << power)


def _values(key: Field, event: EventType, records: Records, told: Told, at: Column) -> list[Any]:
    if key.name in _THREAD:
        numbers: list[int] = getattr(told.batch, _THREAD[key.name])[at].tolist()
        if key.modifier != "execname":
            return list(numbers)
        texts = [v.decode("utf-8", "surrogateescape") for v in told.comm.values]
        return list(zip(numbers, (texts[c] for c in told.comm.codes[at].tolist()), strict=True))
    field = _field(key.name, event)
    if field.dynamic or field.count:
        return list(records.strings(field))
    return _numbers(field, records)


def _numbers(field: Any, records: Records) -> list[int]:
    column = records.field(field)
    numbers: list[int] = (column.astype(np.int64) if field.signed else column).tolist()
    return numbers


def _sorted(entries: list[Entry], trigger: Trigger) -> list[Entry]:
    """By what ``sort`` names, the first of most weight; by hits, from few to many, without."""
    places = {str(k): i for i, k in enumerate(trigger.keys)} | {k.name: i for i, k in enumerate(trigger.keys)}

    def value(entry: Entry, name: str) -> Any:
        if name in places:
            key = entry.keys[places[name]]
            return key.low if isinstance(key, Span) else key.number if isinstance(key, Named) else key
        return dict(entry.values).get(name, 0)

    for name in reversed(trigger.sort or ("hitcount",)):
        bare = name.removesuffix(".descending").removesuffix(".ascending")
        if bare not in places and bare not in {"hitcount", *(v.name for v in trigger.values)}:
            raise UsageError(f"--sort {name}: neither a key nor a value")
        entries.sort(key=lambda e, n=bare: value(e, n), reverse=name.endswith(".descending"))  # type: ignore[misc]
    return entries
