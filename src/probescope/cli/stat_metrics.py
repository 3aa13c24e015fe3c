"""``stat``'s metrics: which events they are made of, where this machine has these; and counters as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.collect.stat import Snapshot
    from probescope.sources.perf_events import Counter

TOPDOWN = ("slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound")
"""Of level 1, on CPUs of Intel since Ice Lake."""
METRICS = {
    "ipc": ("instructions", "cycles"),
    "cpi": ("instructions", "cycles"),
    "topdownl1": TOPDOWN,
}


def metric_events(names: str, *, topdown: bool) -> list[str]:
    """Groups to be counted. Raises UsageError for a metric that is not known, or of counters that are not there."""
    wanted = [n for n in names.split(",") if n] + (["TopdownL1"] if topdown else [])
    return ["{" + ",".join(_events(name)) + "}" for name in dict.fromkeys(wanted)]


def _events(name: str) -> tuple[str, ...]:
    from probescope.kernel.host import host
    from probescope.kernel.perf_attr import PMU_DIR, pmus

    what = "--topdown" if name == "TopdownL1" else f"-M {name}"
    events = METRICS.get(name.lower())
    if events is None:
        hints = ["metrics here: IPC, CPI, TopdownL1; those of single models of CPUs are in perf's own tables"]
        raise UsageError(f"{what}: there is no such metric", hints=hints)
    if "cpu" not in pmus():
        raise UsageError(f"{what}: this machine has no hardware counters", hints=["it needs " + ", ".join(events)])
    if events is not TOPDOWN:
        return events
    try:
        absent = set(events) - set(host().listdir(f"{PMU_DIR}/cpu/events"))
    except OSError:
        absent = set(events)
    if absent:
        raise UsageError(f"{what}: this CPU does not count {', '.join(sorted(absent))}")
    return tuple(f"cpu/{event}/" for event in events)


_TRANSACTIONS = ("cycles-t", "tx-start", "el-start", "cycles-ct")


def transactions(wanted: bool) -> list[str]:
    """What perf stat -T counts. Raises UsageError on CPUs without transactions."""
    from probescope.kernel.host import host
    from probescope.kernel.perf_attr import PMU_DIR

    if not wanted:
        return []
    try:
        there = set(host().listdir(f"{PMU_DIR}/cpu/events"))
    except OSError:
        there = set()
    if not {"cycles-t", "tx-start"} <= there:
        raise UsageError("-T: this machine counts no transactions", hints=["CPUs with TSX have cpu/tx-start/ in sysfs"])
    return ["task-clock,{instructions,cycles," + ",".join(f"cpu/{e}/" for e in _TRANSACTIONS if e in there) + "}"]


def levelled(counters: Sequence[Counter], level: str) -> Iterator[Counter]:
    """Only what happens in ``user`` space, or in the ``kernel``; both for none."""
    from probescope.frozen import replace
    from probescope.kernel.uapi import perf as u

    flag = {"user": u.FLAG_EXCLUDE_KERNEL, "kernel": u.FLAG_EXCLUDE_USER}.get(level, 0)
    for c in counters:
        yield replace(c, attr=replace(c.attr, flags=c.attr.flags | flag))


def permitted(counters: Sequence[Counter]) -> Iterator[Counter]:
    """What whoever is not root may count: the same events of user space alone, with the letter behind their names, as
    perf does it. Tracepoints are of the kernel, and refused with what to do. Source: Documentation/admin-guide/sysctl/
    kernel.rst, perf_event_paranoid."""
    from probescope.frozen import replace
    from probescope.kernel.privileges import privileges
    from probescope.kernel.uapi import perf as u

    held = privileges()
    free = held.may("perfmon") or (held.perf_event_paranoid or 0) <= _OF_THE_KERNEL
    for c in counters:
        if (
            free
            or c.attr.type == u.PERF_TYPE_TRACEPOINT
            or c.attr.flags & (u.FLAG_EXCLUDE_KERNEL | u.FLAG_EXCLUDE_USER)
        ):
            yield c
        else:
            flags = c.attr.flags | u.FLAG_EXCLUDE_KERNEL | u.FLAG_EXCLUDE_HV
            yield replace(c, name=f"{c.name}{'' if ':' in c.name else ':'}u", attr=replace(c.attr, flags=flags))


_OF_THE_KERNEL = 1
"""The level of ``perf_event_paranoid`` up to which everybody may count what happens in the kernel."""


def summed(snapshots: Sequence[Snapshot]) -> Snapshot:
    """Of all intervals."""
    from probescope.frozen import replace

    sums = list(snapshots[0].readings)
    for one in snapshots[1:]:
        for i, r in enumerate(one.readings):
            s = sums[i]
            sums[i] = replace(s, value=s.value + r.value, enabled=s.enabled + r.enabled, running=s.running + r.running)
    return replace(snapshots[-1], readings=tuple(sums))
