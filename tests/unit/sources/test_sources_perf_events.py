"""perf's events on a machine out of a dictionary. Numbers are those of include/uapi/linux/perf_event.h."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from probescope.errors import ScriptError
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host
from probescope.kernel.perf_attr import PMU_DIR
from probescope.kernel.uapi import perf as u
from probescope.lang.perf.events import parse_events
from probescope.sources.perf_events import Counter, resolve_events

FILES = {
    f"{PMU_DIR}/cpu/type": "4\n",
    f"{PMU_DIR}/cpu/format/event": "config:0-7,32-35\n",
    f"{PMU_DIR}/cpu/format/umask": "config:8-15\n",
    f"{PMU_DIR}/cpu/format/ldlat": "config1:0-15\n",
    f"{PMU_DIR}/cpu/events/mem-loads": "event=0xcd,umask=0x1,ldlat=3\n",
    f"{PMU_DIR}/imc_0/type": "20\n",
    f"{PMU_DIR}/imc_0/cpumask": "0,8\n",
    f"{PMU_DIR}/imc_0/format/event": "config:0-7\n",
    f"{PMU_DIR}/imc_0/events/reads": "event=0x04\n",
    f"{PMU_DIR}/imc_0/events/reads.scale": "6.1e-5\n",
    f"{PMU_DIR}/imc_0/events/reads.unit": "MiB\n",
    f"{PMU_DIR}/imc_1/type": "21\n",
    f"{PMU_DIR}/imc_1/format/event": "config:0-7\n",
    f"{PMU_DIR}/imc_1/events/reads": "event=0x04\n",
    "/sys/kernel/tracing/available_events": "sched:sched_switch\nsched:sched_wakeup\nblock:block_rq_issue\n",
    "/sys/kernel/tracing/events/sched/sched_switch/id": "314\n",
    "/sys/kernel/tracing/events/sched/sched_wakeup/id": "315\n",
    "/sys/kernel/tracing/events/block/block_rq_issue/id": "900\n",
}


@pytest.fixture(autouse=True)
def _machine() -> Iterator[None]:
    with use_host(FakeHost(FILES)):
        yield


def found(text: str) -> list[Counter]:
    return list(resolve_events(parse_events(text), text))


@pytest.mark.parametrize(
    ("text", "kind", "config"),
    [
        ("cycles", 0, 0),
        ("branches", 0, 4),
        ("idle-cycles-frontend", 0, 7),
        ("cs", 1, 3),
        ("migrations", 1, 4),
        ("L1-dcache-load-misses", 3, 0x10000),
        ("L1-dcache-loads", 3, 0),
        ("LLC-stores", 3, 0x102),
        ("dTLB-prefetch-misses", 3, 0x10203),
        ("branch-load-misses", 3, 0x10005),
        ("iTLB-misses-load", 3, 0x10004),
        ("r1a8", 4, 0x1A8),
        ("sched:sched_switch", 2, 314),
        ("cpu/event=0x3c,umask=0x2/", 4, 0x23C),
        ("cpu/event=0x13c/", 4, 0x10000003C),
        ("cpu/config=0x1234/", 4, 0x1234),
    ],
)
def test_numbers(text: str, kind: int, config: int) -> None:
    (c,) = found(text)
    assert (c.attr.type, c.attr.config) == (kind, config)


def test_named_event_of_a_pmu() -> None:
    (c,) = found("cpu/mem-loads,ldlat=0x20/")
    assert (c.attr.config, c.attr.config1) == (0x1CD, 0x23)
    (c,) = found("mem-loads")
    assert (c.name, c.attr.config, c.attr.config1) == ("mem-loads", 0x1CD, 3)


@pytest.mark.parametrize(
    ("text", "numbers", "name", "period", "flags"),
    [
        ("cycles/period=1000,name=c/", (0, 0), "c", 1000, 0),
        ("cpu-clock/freq=99/", (1, 0), "cpu-clock/freq=99/", 99, u.FLAG_FREQ),
        ("L1-dcache-load-misses/period=7/", (3, 0x10000), "L1-dcache-load-misses/period=7/", 7, 0),
        ("r1a8/period=0x10/", (4, 0x1A8), "r1a8/period=0x10/", 16, 0),
    ],
)
def test_terms_of_events_without_a_pmu(text: str, numbers: tuple[int, int], name: str, period: int, flags: int) -> None:
    """As perf-record(1) has them: -e 'cycles/period=1000/' is written as often as -e cycles -c 1000."""
    (c,) = found(text)
    assert ((c.attr.type, c.attr.config), c.name, c.attr.period) == (numbers, name, period)
    assert c.attr.flags & u.FLAG_FREQ == flags


def test_how_events_without_a_pmu_are_sampled() -> None:
    """It is kept for the recorder; what follows the slashes are modifiers."""
    (c,) = found("page-faults/call-graph=dwarf,stack-size=4096/u")
    assert [(t.name, t.value) for t in c.terms] == [("call-graph", "dwarf"), ("stack-size", "4096")]
    assert c.attr.flags & u.FLAG_EXCLUDE_KERNEL
    (c,) = found("sched:sched_switch/call-graph=fp/")
    assert (c.name, c.attr.config, c.terms[0].value) == ("sched:sched_switch", 314, "fp")


def test_pmus_with_numbers_are_each_counted() -> None:
    first, second = found("imc/reads/")
    assert (first.attr.type, first.unit, first.scale, first.cpus) == (20, "MiB", 6.1e-5, (0, 8))
    assert (second.attr.type, second.attr.config) == (21, 4)


def test_tracepoint_globs() -> None:
    assert [(c.name, c.attr.config) for c in found("sched:*:u")] == [
        ("sched:sched_switch:u", 314),
        ("sched:sched_wakeup:u", 315),
    ]


@pytest.mark.parametrize(
    ("letters", "flags"),
    [
        ("u", u.FLAG_EXCLUDE_KERNEL | u.FLAG_EXCLUDE_HV),
        ("k", u.FLAG_EXCLUDE_USER | u.FLAG_EXCLUDE_HV),
        ("uk", u.FLAG_EXCLUDE_HV),
        ("I", u.FLAG_EXCLUDE_IDLE),
        ("pp", 2 << 15),
        ("D", u.FLAG_PINNED),
        ("e", 1 << 3),
    ],
)
def test_letters(letters: str, flags: int) -> None:
    (c,) = found(f"page-faults:{letters}")
    assert c.attr.flags == flags


def test_groups_follow_their_first() -> None:
    assert [c.leader for c in found("cs,{cycles,instructions}:u,faults")] == [-1, 1, 1, -1]
    assert all(c.attr.flags & u.FLAG_EXCLUDE_KERNEL for c in found("{cycles,instructions}:u"))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("cyclse", "there is no event 'cyclse'", "did you mean cycles?"),
        ("sched:sched_swich", "there is no tracepoint 'sched:sched_swich'", "did you mean sched:sched_switch?"),
        ("nosuch:*", "there is no tracepoint 'nosuch:*'", "probescope list 'tracepoint:*'"),
        ("cqu/event=1/", "this machine has no PMU 'cqu'", "did you mean cpu/?"),
        ("cycles/perod=1/", "cycles knows no term 'perod'", "did you mean period?"),
        ("sched:sched_switch/name=x/", "sched_switch knows no term 'name'", ""),
        ("cpu/evnt=1/", "the PMU cpu knows no term 'evnt'", "did you mean event?"),
        ("cpu/umask=0x100/", "umask=0x100 is too large: cpu gives it the bits 8-15", ""),
        ("cpu/umask=x/", "'x' of umask is not a number of 64 bits", ""),
    ],
)
def test_what_is_not_here(text: str, message: str, hint: str) -> None:
    with pytest.raises(ScriptError) as e:
        found(f"cs,{text}")
    (d,) = e.value.diagnostics
    assert d.message == message
    assert d.span.column == 4
    assert not hint or hint in d.hints
