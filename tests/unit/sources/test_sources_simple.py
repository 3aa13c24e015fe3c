"""Sources that need nothing of the host: user, timer, pmu, watchpoint; and the registry's own errors."""

from __future__ import annotations

import pytest

from probescope.errors import LimitError, ProbeError
from probescope.model.arch import AARCH64
from probescope.model.probe import ProbeSpec
from probescope.model.site import IntervalAttach, PerfAttach, Site, UserAttach
from probescope.sources import registry
from probescope.sources.context import ResolveContext


def one(spec: ProbeSpec, **ctx: object) -> Site:
    (site,) = registry.resolve(spec, ResolveContext(**ctx))  # type: ignore[arg-type]
    return site


def test_probes_that_probescope_fires_itself() -> None:
    """Protects names and attachments of begin, end, self, test, bench."""
    assert one(ProbeSpec("begin")) == Site("begin", "begin", UserAttach("begin"))
    assert one(ProbeSpec("end")) == Site("end", "end", UserAttach("end"))
    assert one(ProbeSpec("self", "signal", "SIGUSR1")).attach == UserAttach("signal", "SIGUSR1")
    assert one(ProbeSpec("test", "okay")) == Site("test:okay", "test", UserAttach("test", "okay"))
    assert one(ProbeSpec("bench", name="loop")).name == "bench:loop"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (ProbeSpec("self", "signal", "SIGKILL"), "SIGKILL is not a signal that can be probed"),
        (ProbeSpec("self", "timer", "x"), "self has no trigger 'timer'"),
        (ProbeSpec("test"), "a test probe needs a name"),
    ],
)
def test_wrong_user_probes(spec: ProbeSpec, message: str) -> None:
    """Protects the sentence that a user reads."""
    with pytest.raises(ProbeError, match=message) as e:
        one(spec)
    assert e.value.hints


@pytest.mark.parametrize(
    ("unit", "value", "period", "frequency", "name"),
    [
        ("hz", 99, 0, 99, "profile:hz:99"),
        ("s", 1, 1_000_000_000, 0, "profile:s:1"),
        ("ms", 10, 10_000_000, 0, "profile:ms:10"),
        ("us", 100, 100_000, 0, "profile:us:100"),
        ("", 1_000_000_000, 1_000_000_000, 0, "profile:us:1000000"),  # as in profile:1s
    ],
)
def test_profile(unit: str, value: int, period: int, frequency: int, name: str) -> None:
    """Protects periods and frequencies: a factor of a thousand here is a machine that stands still."""
    site = one(ProbeSpec("profile", unit=unit, value=value), pid=7)
    assert site.name == name
    assert site.attach == PerfAttach(1, 0, period, frequency, pid=7)


def test_interval() -> None:
    """Protects the period of interval probes, whose frequency becomes a period."""
    assert one(ProbeSpec("interval", unit="s", value=2)).attach == IntervalAttach(2_000_000_000)
    assert one(ProbeSpec("interval", unit="hz", value=4)).attach == IntervalAttach(250_000_000)
    assert one(ProbeSpec("interval", unit="ms", value=5)).name == "interval:ms:5"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (ProbeSpec("profile", unit="hz", value=0), "needs a frequency above 0"),
        (ProbeSpec("profile", unit="hz", value=10_000_000), "cannot fire 10000000 times a second"),
        (ProbeSpec("interval", unit="s", value=0), "needs a period above 0"),
        (ProbeSpec("interval", unit="", value=999), "cannot have a period of 999 ns"),
        (ProbeSpec("interval", unit="s", value=1 << 62), "cannot have a period of"),
        (ProbeSpec("profile", unit="min", value=1), "min is not a unit of time"),
    ],
)
def test_wrong_timers(spec: ProbeSpec, message: str) -> None:
    """Protects against periods that the kernel refuses, or worse, takes."""
    with pytest.raises(ProbeError, match=message) as e:
        one(spec)
    assert e.value.hints


@pytest.mark.parametrize(
    ("source", "event", "type_", "config", "period"),
    # enum perf_sw_ids and perf_hw_id of include/uapi/linux/perf_event.h; periods as bpftrace's
    [
        ("software", "cpu-clock", 1, 0, 1_000_000),
        ("software", "cpu", 1, 0, 1_000_000),
        ("software", "task-clock", 1, 1, 1),
        ("software", "page-faults", 1, 2, 100),
        ("software", "faults", 1, 2, 100),
        ("software", "context-switches", 1, 3, 1000),
        ("software", "cs", 1, 3, 1000),
        ("software", "cpu-migrations", 1, 4, 1),
        ("software", "minor-faults", 1, 5, 100),
        ("software", "major-faults", 1, 6, 1),
        ("software", "alignment-faults", 1, 7, 1),
        ("software", "emulation-faults", 1, 8, 1),
        ("software", "dummy", 1, 9, 1),
        ("software", "bpf-output", 1, 10, 1),
        ("hardware", "cpu-cycles", 0, 0, 1_000_000),
        ("hardware", "cycles", 0, 0, 1_000_000),
        ("hardware", "instructions", 0, 1, 1_000_000),
        ("hardware", "cache-references", 0, 2, 1_000_000),
        ("hardware", "cache-misses", 0, 3, 1_000_000),
        ("hardware", "branch-instructions", 0, 4, 100_000),
        ("hardware", "branches", 0, 4, 100_000),
        ("hardware", "branch-misses", 0, 5, 100_000),
        ("hardware", "bus-cycles", 0, 6, 100_000),
        ("hardware", "frontend-stalls", 0, 7, 1_000_000),
        ("hardware", "backend-stalls", 0, 8, 1_000_000),
        ("hardware", "ref-cycles", 0, 9, 1_000_000),
    ],
)
def test_perf_events(source: str, event: str, type_: int, config: int, period: int) -> None:
    """Protects numbers that the kernel would take without a word if they were another event's."""
    assert one(ProbeSpec(source, event)).attach == PerfAttach(type_, config, period)
    assert one(ProbeSpec(source, event, value=17)).attach == PerfAttach(type_, config, 17)
    assert one(ProbeSpec(source, event, value=17)).name == f"{source}:{event}:17"
    assert one(ProbeSpec(source, event)).name == f"{source}:{event}:"


def test_a_misspelt_perf_event() -> None:
    """Protects the hint."""
    with pytest.raises(ProbeError, match="'page-fault' is not a software event") as e:
        one(ProbeSpec("software", "page-fault"))
    assert "did you mean software:page-faults:?" in e.value.hints


@pytest.mark.parametrize(
    ("length", "mode", "bits", "kernel_length"),
    [(8, "w", 2, 8), (4, "rw", 3, 4), (1, "wr", 3, 1), (2, "w", 2, 2), (4, "x", 4, 8)],
)
def test_watchpoints(length: int, mode: str, bits: int, kernel_length: int) -> None:
    """Protects HW_BREAKPOINT_R/W/X bits (1, 2, 4) and x86's one length for execution."""
    site = one(ProbeSpec("watchpoint", address=0x7F00, length=length, mode=mode), pid=5)
    assert site.attach == PerfAttach(
        5, 0, 1, pid=5, every_cpu=False, bp_addr=0x7F00, bp_len=kernel_length, bp_type=bits
    )


def test_reads_alone_can_be_watched_on_aarch64_only() -> None:
    """Protects the difference between the debug registers of the two."""
    spec = ProbeSpec("watchpoint", address=0x1000, length=8, mode="r")
    assert isinstance(one(spec, arch=AARCH64).attach, PerfAttach)
    with pytest.raises(ProbeError, match="'r' does not exist on x86_64") as e:
        one(spec)
    assert "use rw" in e.value.hints[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"address": 0}, "needs an address"),
        ({"address": None}, "needs an address"),
        ({"length": 3}, "cannot be 3 bytes long"),
        ({"mode": "q"}, "'q' is not a watchpoint mode"),
        ({"mode": "ww"}, "'ww' is not a watchpoint mode"),
        ({"mode": ""}, "'' is not a watchpoint mode"),
        ({"address": 0x1004, "length": 8}, "0x1004 is not a multiple of the watchpoint's length 8"),
        ({"mode": "wx"}, "'wx' does not exist"),
    ],
)
def test_wrong_watchpoints(change: dict[str, object], message: str) -> None:
    """Protects against EINVAL from the kernel, which says nothing of the cause."""
    good = ProbeSpec("watchpoint", address=0x1000, length=8, mode="w")
    values = {k: getattr(good, k) for k in ("source", "address", "length", "mode")} | change
    with pytest.raises(ProbeError, match=message) as e:
        one(ProbeSpec(**values))  # type: ignore[arg-type]
    assert e.value.hints


def test_unknown_sources_have_a_hint() -> None:
    """Protects the first error that a new user makes."""
    with pytest.raises(ProbeError, match="there is no source 'tracepont'") as e:
        one(ProbeSpec("tracepont", "a", "b"))
    assert e.value.hints == ("did you mean 'tracepoint'?",)


def test_too_many_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the machine from a pattern that matches everything."""
    site = Site("x", "begin", UserAttach("begin"))

    class Many:
        def resolve(self, spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
            return [site] * 11

    monkeypatch.setattr(registry, "source", lambda _: Many())
    with pytest.raises(LimitError, match="11 probes, more than 10"):
        registry.resolve(ProbeSpec("begin"), ResolveContext(max_probes=10))
    assert len(registry.resolve(ProbeSpec("begin"), ResolveContext(max_probes=11))) == 11


def test_lists_without_a_host() -> None:
    """Protects the names that `list` shows for perf events and timers."""
    ctx = ResolveContext()
    assert list(registry.list_probes("hardware:*cycles*", ctx)) == [
        "hardware:bus-cycles:",
        "hardware:cpu-cycles:",
        "hardware:cycles:",
        "hardware:ref-cycles:",
    ]
    assert list(registry.list_probes("i", ctx)) == ["interval:hz:", "interval:s:", "interval:ms:", "interval:us:"]
    assert list(registry.list_probes("self", ctx)) == ["self:signal:SIGUSR1"]
    assert "software:faults:" in list(registry.list_probes("software", ctx))


def test_described_perf_events_have_no_arguments() -> None:
    """Protects `list -v` on sources that offer nothing."""
    ctx = ResolveContext()
    for spec in (
        ProbeSpec("begin"),
        ProbeSpec("profile", unit="hz", value=1),
        ProbeSpec("software", "cs"),
        ProbeSpec("watchpoint", address=8, length=8, mode="w"),
    ):
        (site,) = registry.resolve(spec, ctx)
        assert registry.describe(site, ctx) == []
        assert registry.match(spec, ctx) == [site.name]
