"""What ``stat -M`` and ``--topdown`` are made of, where a machine has it; perf's words for the shares."""

from __future__ import annotations

import pytest

from probescope.cli.stat_metrics import TOPDOWN, metric_events, permitted
from probescope.errors import UsageError
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host
from probescope.kernel.perf_attr import PerfAttr
from probescope.kernel.uapi import perf as u
from probescope.model.counting import metric
from probescope.sources.perf_events import Counter

CPU = "/sys/bus/event_source/devices/cpu"


def machine(*events: str) -> FakeHost:
    return FakeHost(files={f"{CPU}/type": "4\n", **{f"{CPU}/events/{e}": "event=0" for e in events}})


def test_topdown() -> None:
    with use_host(machine(*TOPDOWN)):
        group = "{" + ",".join(f"cpu/{e}/" for e in TOPDOWN) + "}"
        assert metric_events("", topdown=True) == metric_events("TopdownL1", topdown=True) == [group]
    with use_host(machine("slots")), pytest.raises(UsageError, match="does not count topdown-bad-spec"):
        metric_events("", topdown=True)


def test_named_metrics() -> None:
    with use_host(machine()):
        assert metric_events("IPC", topdown=False) == ["{instructions,cycles}"]
        with pytest.raises(UsageError, match="no such metric"):
            metric_events("nonsense", topdown=False)
    with use_host(FakeHost()), pytest.raises(UsageError, match="no hardware counters"):
        metric_events("IPC", topdown=False)


def test_shares_of_slots() -> None:
    """tools/perf/util/stat-shadow.c of Linux 6.1: each of the sum of the four."""
    others = {
        "cpu/slots/": 1000.0,
        **{f"cpu/{e}/": v for e, v in zip(TOPDOWN[1:], (40.0, 10.0, 20.0, 30.0), strict=True)},
    }
    assert metric("cpu/topdown-retiring/", 40.0, others, 1e9) == (40.0, "%8.1f%%", "Retiring")
    assert metric("cpu/topdown-be-bound/", 30.0, others, 1e9) == (30.0, "%8.1f%%", "Backend Bound")
    assert metric("cpu/slots/", 1000.0, others, 1e9) is None


@pytest.mark.parametrize(("level", "held", "barred"), [("2", 0, True), ("2", 1 << 38, False), ("1", 0, False)])
def test_what_is_left_without_privileges(level: str, held: int, *, barred: bool) -> None:
    """As evsel__fallback of tools/perf/util/evsel.c does it: the event of user space, by the name that perf prints."""
    counted = [
        Counter("page-faults", PerfAttr(u.PERF_TYPE_SOFTWARE, 2)),
        Counter("cs:I", PerfAttr(u.PERF_TYPE_SOFTWARE, 3)),
        Counter("cycles:u", PerfAttr(u.PERF_TYPE_HARDWARE, flags=u.FLAG_EXCLUDE_KERNEL)),
        Counter("cycles:k", PerfAttr(u.PERF_TYPE_HARDWARE, flags=u.FLAG_EXCLUDE_USER)),
        Counter("sched:sched_switch", PerfAttr(u.PERF_TYPE_TRACEPOINT, 300)),
    ]
    files = {"/proc/sys/kernel/perf_event_paranoid": level, "/proc/self/status": f"Name:\tx\nCapEff:\t{held:016x}\n"}
    with use_host(FakeHost(files=files)):
        found = list(permitted(counted))
    if not barred:
        assert found == counted
        return
    assert [c.name for c in found] == ["page-faults:u", "cs:Iu", "cycles:u", "cycles:k", "sched:sched_switch"]
    changed = u.FLAG_EXCLUDE_KERNEL | u.FLAG_EXCLUDE_HV
    assert [c.attr.flags for c in found] == [changed, changed, u.FLAG_EXCLUDE_KERNEL, u.FLAG_EXCLUDE_USER, 0]
