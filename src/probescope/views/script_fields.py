"""Which columns perf-script(1) prints of an event: those of its kind that were recorded, or what ``-F`` says.

-F comm,tid,ip          these, of events of all kinds
-F +pid,-cpu            what is printed anyway, with and without
-F hw:comm,ip           of hardware events; the others as before
-F trace:               tracepoints are not printed at all

Source: the table of output fields in tools/perf/builtin-script.c of Linux 6.12.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from probescope.errors import UsageError
from probescope.frozen import dataclass
from probescope.kernel.uapi import perf as u

if TYPE_CHECKING:
    from probescope.model.recording import EventType

NOTHING = ("callindent", "ipc", "synth", "metric")
"""Fields of trace data and of scripts: of an ordinary sample perf prints nothing for them."""
MEMORY = ("addr", "data_src", "weight", "ins_lat", "retire_lat", "phys_addr", "data_page_size", "code_page_size")
"""What raw events, which loads and stores are sampled by, are printed with."""
FIELDS = (
    *("comm", "pid", "tid", "cpu", "time", "period", "event", "trace", "ip", "sym", "symoff", "dso", "srcline"),
    *("uregs", "iregs", "brstack", "brstacksym", *MEMORY, "misc", "bpf-output", *NOTHING),
)
TYPES = {
    "hw": u.PERF_TYPE_HARDWARE,
    "sw": u.PERF_TYPE_SOFTWARE,
    "trace": u.PERF_TYPE_TRACEPOINT,
    "raw": u.PERF_TYPE_RAW,
    "break": u.PERF_TYPE_BREAKPOINT,
    "synth": -1,
}
"""Kinds of events by the words before a colon. None of ours is made up from trace data (``synth``)."""
_USUAL: tuple[str, ...] = ("comm", "tid", "cpu", "time", "event")
_RECORDED = ("cpu", "time", "ip", *MEMORY)


@dataclass(frozen=True, slots=True)
class Asked:
    """One ``-F``. ``type``: of ``TYPES``, empty for all. ``fields``: all that is printed, ``None`` where ``changes``
    (``+name``, ``-name``) are."""

    type: str = ""
    fields: frozenset[str] | None = None
    changes: tuple[str, ...] = ()

    def changed(self, fields: set[str]) -> set[str]:
        if self.fields is not None:
            return set(self.fields)
        for change in self.changes:
            (fields.add if change[0] == "+" else fields.discard)(change[1:])
        return fields


def shown(event: EventType, type_: int, asked: Sequence[Asked], *, stacks: bool) -> set[str]:
    """What of an event (``type_``: of its attribute) is printed; less what was not recorded. ``stacks``: also stacks of
    tracepoints."""
    fields = set(_USUAL)
    if event.fields:
        fields.add("trace")
    else:
        fields |= {"period", "bpf-output"}
    if not event.fields or ("callchain" in event.sampled and stacks):
        fields |= {"ip", "sym", "symoff", "dso"}
    if type_ == u.PERF_TYPE_RAW:
        fields |= set(MEMORY)
    for one in asked:
        if not one.type or TYPES[one.type] == type_:
            fields = one.changed(fields)
    return fields - {f for f in _RECORDED if not _has(event.sampled, f)}


def _has(sampled: frozenset[str], field: str) -> bool:
    return _ATTRIBUTES[field][0] in sampled or (field == "weight" and "weight_struct" in sampled)


_ATTRIBUTES = {
    **{name: (name, name.upper()) for name in ("cpu", "time", "addr", "data_src", "weight", "phys_addr")},
    "ip": ("ip", "IP"),
    "data_page_size": ("data_page_size", "DATA_PAGE_SIZE"),
    "code_page_size": ("code_page_size", "CODE_PAGE_SIZE"),
    "iregs": ("regs_intr", "IREGS"),
    "uregs": ("regs_user", "UREGS"),
    **dict.fromkeys(("brstack", "brstacksym"), ("branch_stack", "BRANCH_STACK")),
    **dict.fromkeys(("ins_lat", "retire_lat"), ("weight_struct", "WEIGHT_STRUCT")),
}
"""What must have been recorded for a field, and what perf calls it."""
_OPTIONS = {
    "addr": "-d",
    "data_src": "-d -W",
    "weight": "-W",
    "ins_lat": "-W",
    "retire_lat": "-W",
    "brstack": "-b",
    "phys_addr": "--phys-data",
    "data_page_size": "--data-page-size",
    "code_page_size": "--code-page-size",
    "iregs": "--intr-regs",
    "uregs": "--user-regs",
    "brstacksym": "-b",
}


def check(events: Iterable[tuple[EventType, int]], asked: Sequence[Asked]) -> None:
    """What is asked for by name can be printed of the first event (with its type) of each kind. Raises UsageError."""
    seen: set[int] = set()
    for event, type_ in events:
        if type_ in seen:
            continue
        seen.add(type_)
        for one in asked:
            if one.type and TYPES[one.type] != type_:
                continue
            for field in [*(one.fields or ()), *(c[1:] for c in one.changes if c[0] == "+")]:
                _recorded(event, field)


def _recorded(event: EventType, field: str) -> None:
    if field not in _ATTRIBUTES or _has(event.sampled, field):
        return
    attribute = _ATTRIBUTES[field][1]
    raise UsageError(
        f"samples for '{event.name}' do not have {attribute} attribute set, cannot print '{field}' field",
        hints=[f"record it: probescope record {_OPTIONS[field]}"] if field in _OPTIONS else [],
    )


def of_head(asked: Sequence[Asked], head: Iterable[str]) -> set[str]:
    """What of the head of every line is printed also of records between events."""
    fields = set(head)
    for one in asked:
        if not one.type:
            fields = one.changed(fields)
    return fields
