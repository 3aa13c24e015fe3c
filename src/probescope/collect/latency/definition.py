"""What is asked in the kernel's own words: a synthetic event, and two hist triggers that make it.

    probescope_lat u64 latency; char comm[16]                                        synthetic_events
    hist:keys=pid:ts=common_timestamp:clock=boot:size=32768                          events/sched/sched_waking/trigger
    hist:keys=next_pid:lat=common_timestamp-$ts:clock=boot:size=32768                events/sched/sched_switch/trigger
        :onmatch(sched.sched_waking).trace(probescope_lat,$lat,next_comm)

Reading a variable in an expression takes it away (its ``read_once``), so that each start has one end, as in a program.
Source: Documentation/trace/histogram.rst; check_synth_field of kernel/trace/trace_events_hist.c.
"""

from __future__ import annotations

from collections.abc import Iterator

from probescope.collect.latency.words import comm_field
from probescope.frozen import dataclass
from probescope.model.latency import Asked, By, End
from probescope.model.recording import EventType, RawField

SIZE = 1 << 15
"""Keys that there is room for: threads that have been woken once count until the end."""
CLOCK = "boot"
_SAME_WORDS = frozenset("""s64 u64 s32 u32 s16 u16 s8 u8 char int long bool pid_t gfp_t""".split()) | {
    "unsigned char",
    "unsigned int",
    "unsigned long",
}
"""Types that synthetic events know (synth_field_size of kernel/trace/trace_events_synth.c). Others are taken by their
size, and then without a sign: the kernel compares it with a variable's, which has none."""
_RECORD = {"tid", "cpu"}


class Impossible(Exception):
    """Why the kernel cannot be asked so."""


@dataclass(frozen=True, slots=True)
class Definition:
    """``fields`` of the synthetic event; ``end`` has a place for its ``{name}``. ``comm`` and ``by``: the fields that
    hold them; empty: of the record itself, its thread's name, number or CPU."""

    fields: str
    start_event: str
    start: str
    end_event: str
    end: str
    comm: str
    by: tuple[str, ...]


def define(asked: Asked, start: EventType, end: EventType, filters: tuple[str | None, str | None]) -> Definition:
    """``filters``: the predicates as the kernel's, empty for none, ``None`` where it cannot be said. Raises
    Impossible."""
    if None in filters:
        raise Impossible("a predicate that the kernel's filters cannot say")
    fields, arguments, variables, by_fields = ["u64 latency"], ["$lat"], ["ts=common_timestamp"], []
    comm = comm_field(asked.end, [f.name for f in end.fields])
    if comm:
        fields.append(_synthetic("comm", _field(comm, end)))
        arguments.append(comm)
    for number, by in enumerate(asked.by):
        name = f"by{number}"
        field, argument = _by(by, name, start, end, comm)
        by_fields.append(field.rpartition(" ")[2].partition("[")[0] if field else "")
        if field:
            fields.append(field)
            arguments.append(argument)
        if by.start:
            variables.append(f"{name}={_hist_name(by.name, start)}")
    first, second = (_keys(e, t) for e, t in ((asked.start, start), (asked.end, end)))
    settings = f":size={SIZE}:clock={CLOCK}"
    action = f":onmatch({asked.start.event.replace(':', '.')}).trace({{name}},{','.join(arguments)})"
    return Definition(
        "; ".join(fields),
        asked.start.event,
        f"hist:keys={first}:{','.join(variables)}{settings}{_condition(filters[0])}",
        asked.end.event,
        f"hist:keys={second}:lat=common_timestamp-$ts{settings}{action}{_condition(filters[1])}",
        "comm" if comm else "",
        tuple(by_fields),
    )


def _condition(filter_: str | None) -> str:
    return f" if {filter_}" if filter_ else ""


def _field(name: str, event: EventType) -> RawField:
    found = event.field(name)
    if found is None:
        raise Impossible(f"{name} is no field of {event.name}")
    if found.dynamic or (found.count and found.declared != "char"):
        raise Impossible(f"{name} of {event.name} is neither a number nor a short text")
    return found


def _hist_name(name: str, event: EventType) -> str:
    if name in _RECORD:
        return {"tid": "common_pid", "cpu": "common_cpu"}[name]
    return _field(name, event).name


def _keys(side: End, event: EventType) -> str:
    return ",".join(_hist_name(name, event) for name in side.keys)


def _by(by: By, name: str, start: EventType, end: EventType, comm: str) -> tuple[str, str]:
    """The synthetic field, and what is given for it; empty where the record itself tells."""
    if by.start:
        if by.name in _RECORD:
            return f"{'int' if by.name == 'tid' else 'unsigned int'} {name}", f"${name}"
        return _synthetic(name, _field(by.name, start)), f"${name}"
    if by.name in _RECORD or (by.name == "comm" and not comm and end.field("comm") is None):
        return "", ""
    field = comm if by.name == "comm" and comm else by.name
    return _synthetic(name, _field(field, end)), field


def _synthetic(name: str, field: RawField) -> str:
    if field.count:
        return f"char {name}[{field.count}]"
    if field.declared in _SAME_WORDS:
        return f"{field.declared} {name}"
    if field.signed or field.size not in {1, 2, 4, 8}:
        raise Impossible(f"synthetic events have no type {field.declared}")
    return f"u{8 * field.size} {name}"


def shell(found: Definition, name: str, root: str) -> Iterator[str]:
    """The same by hand: lines of a shell script, with those that undo it."""
    start, end = (f"events/{e.replace(':', '/')}/trigger" for e in (found.start_event, found.end_event))
    trigger = found.end.format(name=name)
    yield f"cd {root}"
    yield f"echo '{name} {found.fields}' >> synthetic_events"
    yield f"echo '{found.start}' >> {start}"
    yield f"echo '{trigger}' >> {end}"
    yield f"echo 1 > events/synthetic/{name}/enable"
    yield "cat trace_pipe        # until Ctrl-C"
    yield f"echo 0 > events/synthetic/{name}/enable"
    yield f"echo '!{trigger}' >> {end}"
    yield f"echo '!{found.start}' >> {start}"
    yield f"echo '!{name}' >> synthetic_events"
