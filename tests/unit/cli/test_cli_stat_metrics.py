"""What ``stat -M`` and ``--topdown`` are made of, where a machine has it; perf's words for the shares."""

from __future__ import annotations

import pytest

from probescope.cli.stat_metrics import TOPDOWN, metric_events
from probescope.errors import UsageError
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host
from probescope.model.counting import metric

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
