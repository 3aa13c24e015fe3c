"""The command line of ``record``: where options end, which of them take what, what they come to."""

from __future__ import annotations

import pytest

from probescope.cli.record import parse_arguments
from probescope.cli.record_request import request
from probescope.collect.recorder.request import RecordRequest, Switch
from probescope.errors import UsageError
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host
from probescope.kernel.uapi import perf as u

FILES = {
    "/sys/devices/system/cpu/online": "0-3",
    "/proc/sys/kernel/perf_event_max_sample_rate": "50000",
    "/sys/kernel/tracing/available_events": "sched:sched_switch\nsched:sched_waking\n",
    "/sys/kernel/tracing/events/sched/sched_switch/id": "300",
    "/sys/kernel/tracing/events/sched/sched_waking/id": "301",
}


def asked(*argv: str) -> tuple[RecordRequest, list[str]]:
    said: list[str] = []
    with use_host(FakeHost(FILES)):
        return request(parse_arguments(argv), argv, said.append), said


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (("-g", "ls", "-l"), ["ls", "-l"]),
        (("-ag", "-F99", "--", "ls", "-a"), ["ls", "-a"]),
        (("-age", "cycles", "ls"), ["ls"]),
        (("-z", "ls"), ["ls"]),
        (("-z9", "ls"), ["ls"]),
        (("-gz", "ls"), ["ls"]),
        (("--switch-output", "ls"), ["ls"]),
        (("--switch-output=1G", "ls"), ["ls"]),
        (("-I", "ls"), ["ls"]),
        (("-Iax", "ls"), ["ls"]),
        (("--event=cycles", "ls"), ["ls"]),
        (("-o", "-", "ls", "-"), ["ls", "-"]),
    ],
)
def test_where_the_command_begins(argv: tuple[str, ...], command: list[str]) -> None:
    """Values that may be left out are written with their option, as perf has it: what follows is the command."""
    assert parse_arguments(argv).command == command


def test_levels() -> None:
    assert [parse_arguments([o]).compression_level for o in ("-z", "-z3", "--compression-level=5")] == ["1", "3", "5"]


def test_defaults() -> None:
    """Nobody named: the whole machine; cycles, 4000 times a second as the events want it."""
    r, _ = asked()
    assert (r.whole_cpus, r.output, r.inherit, r.sampling.cpus) == (True, "perf.data", True, True)
    assert [c.name for c in r.counters] == ["cycles"]


@pytest.mark.parametrize(
    ("argv", "whole", "inherit"),
    [
        (("sh",), False, True),
        (("-a", "sh"), True, True),
        (("-C", "0,2-3", "sh"), True, True),
        (("-p", "1"), False, True),
        (("-t", "1"), False, False),
        (("-t", "1", "--inherit"), False, True),
        (("-i", "sh"), False, False),
    ],
)
def test_whom(argv: tuple[str, ...], whole: bool, inherit: bool) -> None:
    r, _ = asked(*argv)
    assert (r.whole_cpus, r.inherit) == (whole, inherit)


def test_filters_are_of_what_stands_before() -> None:
    """Of all that a glob found; several are ANDed."""
    r, _ = asked("-e", "page-faults", "-e", "sched:*", "--filter", "a == 1", "--filter", "b == 2", "-e", "cpu-clock")
    assert r.filters == {1: "(a == 1) && (b == 2)", 2: "(a == 1) && (b == 2)"}
    with pytest.raises(UsageError, match="a filter belongs to a tracepoint"):
        asked("-e", "sched:*", "-e", "cpu-clock", "--filter", "a == 1")


@pytest.mark.parametrize(
    ("text", "pages"), [("128", 128), ("100", 128), ("1M", 256), ("5K", 2), ("512K,4M", 128), ("1B", 1)]
)
def test_pages(text: str, pages: int) -> None:
    r, said = asked("-m", text)
    assert r.pages == pages
    assert said == (["-m 100: rings of 128 pages, a power of two"] if text == "100" else [])


@pytest.mark.parametrize(
    ("argv", "switch"),
    [
        (("--switch-output",), Switch(signal=True)),
        (("--switch-output=signal", "--switch-max-files", "3"), Switch(signal=True, most=3)),
        (("--switch-output=2G",), Switch(signal=True, size=2 << 30)),
        (("--switch-output=3m",), Switch(signal=True, time_ms=180_000)),
    ],
)
def test_switches(argv: tuple[str, ...], switch: Switch) -> None:
    """Files that follow each other have no build-ids and symbols, as with perf."""
    r, _ = asked(*argv)
    assert (r.switch, r.build_ids, r.keep_symbols) == (switch, "none", False)


def test_stacks() -> None:
    for argv, how in ((("-g",), "fp"), (("--call-graph", "fp,32"), "fp"), (("--call-graph", "dwarf,4001"), "dwarf")):
        assert asked(*argv)[0].sampling.call_graph == how
    assert asked("--call-graph", "fp,32")[0].sampling.max_stack == 32
    assert asked("--call-graph", "dwarf,4001")[0].sampling.stack_size == 4008
    assert asked("-g", "--call-graph", "no")[0].sampling.call_graph == ""


def test_frequencies() -> None:
    """What the kernel does not allow is lowered, with a line that says how to raise it; or refused."""
    r, said = asked("-F", "99999")
    assert r.sampling.frequency == 50000
    assert "sysctl kernel.perf_event_max_sample_rate=99999" in said[0]
    assert asked("-F", "max")[0].sampling.frequency == 50000
    with pytest.raises(UsageError, match="50,000 samples a second at most"):
        asked("-F", "99999", "--strict-freq")


def test_branches() -> None:
    """Levels alone mean any branch, as perf has it."""
    kinds = u.PERF_SAMPLE_BRANCH
    assert asked("-b")[0].sampling.branches == kinds["any"]
    assert asked("-j", "any_call,u")[0].sampling.branches == kinds["any_call"] | kinds["u"]
    assert asked("-j", "u")[0].sampling.branches == kinds["any"] | kinds["u"]


def test_registers() -> None:
    """By name; all that a sample can have without names (bits of asm/perf_regs.h)."""
    r, _ = asked("--user-regs=ax,ip,r15", "-I")
    assert (r.sampling.user_registers, r.sampling.machine_registers) == (1 | 1 << 8 | 1 << 23, 0xFF0FFF)


@pytest.mark.parametrize(
    "argv",
    [("-m", "x"), ("-F", "0"), ("-c", "-1"), ("-D", "-2"), ("--max-size", "5"), ("-z", "-m", "2T"), ("--synth", "x"),
     ("-C", "9"), ("-j", "x"), ("--nosuch",), ("-G", "x", "-e", "cpu-clock", "-p", "1")],
    ids=" ".join,
)  # fmt: skip
def test_mistakes(argv: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        asked(*argv)
