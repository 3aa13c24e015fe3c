"""Commands for the peers, other probes, and costs: small tables with rules of their own."""

from __future__ import annotations

import shlex

import pytest
from plan_facts import EVENTS, NO_FUNCTIONS, Offers

from probescope.model.site import (
    FentryAttach,
    IntervalAttach,
    IterAttach,
    KprobeAttach,
    PerfAttach,
    RawTracepointAttach,
    Site,
    TracepointAttach,
    UprobeAttach,
    UserAttach,
)
from probescope.plan.costs import Cost, Costs, cost_class, cost_name, one_percent
from probescope.plan.equivalents import equivalents
from probescope.plan.instead import instead


def tracepoint(event, number=-1):
    return Site(f"tracepoint:{event}", "tracepoint", TracepointAttach(*event.split(":"), 1, number))


def kprobe(name, **more):
    return Site(f"kprobe:{name}", "kprobe", KprobeAttach(name, **more), func=name)


def commands(site, **more):
    return [(e.tool, e.command) for e in equivalents(site, **more)]


def tools(site, **more):
    return {tool for tool, _ in commands(site, **more)}


# --- the peers' commands
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        (tracepoint("sched:sched_switch"), {"perf", "trace-cmd", "bpftrace"}),
        (tracepoint("syscalls:sys_enter_read", 0), {"perf", "trace-cmd", "bpftrace", "strace"}),
        (kprobe("vfs_read"), {"perf", "trace-cmd", "bpftrace"}),
        (Site("fentry:vmlinux:f", "fentry", FentryAttach("f", 1)), {"perf", "trace-cmd", "bpftrace"}),
        (Site("uprobe:/bin/a:f", "uprobe", UprobeAttach("/bin/a", 16), func="f"), {"perf", "trace-cmd", "bpftrace"}),
        (Site("usdt:/bin/a:p:n", "usdt", UprobeAttach("/bin/a", 16)), {"perf", "trace-cmd", "bpftrace"}),
        (Site("profile:hz:99", "profile", PerfAttach(1, 0, frequency=99)), {"perf", "bpftrace"}),
        (Site("interval:s:1", "interval", IntervalAttach(10**9)), {"perf", "bpftrace"}),
        (Site("hardware:cycles:", "hardware", PerfAttach(0, 0, 1000)), {"perf", "bpftrace"}),
        (Site("iter:task", "iter", IterAttach("task")), {"bpftrace"}),
        (Site("begin", "begin", UserAttach("begin")), set()),
        (Site("rawtracepoint:vmlinux:x", "rawtracepoint", RawTracepointAttach("x")), {"bpftrace"}),
    ],
)
def test_each_source_has_the_tools_that_know_it(site, expected):
    assert tools(site) == expected


def test_system_calls_go_by_the_name_of_the_call():
    """The tracepoint of fstat(2) is called newfstat; strace and perf trace know fstat. 5 on x86-64, 80 on AArch64."""
    site = tracepoint("syscalls:sys_enter_newfstat", 5)
    assert ("strace", "strace -f -e trace=fstat -p PID") in commands(site)
    arm = tracepoint("syscalls:sys_enter_newfstat", 80)
    assert ("strace", "strace -f -e trace=fstat -p PID") in commands(arm, arch="aarch64")


def test_one_process_is_asked_for_in_each_tools_own_way():
    found = dict(reversed(commands(tracepoint("sched:sched_switch"), pid=42)))
    assert "-p 42" in found["perf"]
    assert "-P 42" in found["trace-cmd"]
    assert "bpftrace -p 42 -e" in found["bpftrace"]


def test_patterns_stay_patterns():
    found = commands(tracepoint("syscalls:sys_enter_read", 0), pattern="tracepoint:syscalls:sys_enter_*")
    assert ("perf", "perf stat -e 'syscalls:sys_enter_*' -a -- sleep 5") in found
    assert not any(tool == "strace" for tool, _ in found)


@pytest.mark.parametrize("path", ["/tmp/a b/x", "/tmp/it's", "/tmp/$(reboot)", "/tmp/;x"])
def test_hostile_paths_are_quoted(path):
    """These lines are meant to be pasted into a shell."""
    site = Site(f"uprobe:{path}:f", "uprobe", UprobeAttach(path, 16), func="f")
    for _, command in commands(site):
        words = shlex.split(command)
        assert any(path in w for w in words)
        assert "reboot" not in words


def test_watchpoints_and_counters_have_perfs_names():
    """perf-list(1): mem:ADDR[/LEN][:ACCESS]; stalled-cycles-backend for what others call backend-stalls."""
    watch = Site("w", "watchpoint", PerfAttach(5, 0, 1, bp_addr=0x1000, bp_len=8, bp_type=3))
    assert any("-e mem:0x1000/8:rw " in c for _, c in commands(watch))
    stalls = Site("hardware:backend-stalls:", "hardware", PerfAttach(0, 8, 1000))
    assert any("-e stalled-cycles-backend " in c for _, c in commands(stalls))
    cycles = Site("hardware:cpu-cycles:", "hardware", PerfAttach(0, 0, 1000))
    assert any("-e cycles " in c for _, c in commands(cycles))


# --- other probes
# -------------------------------------------------------------------------------------------------------


def probes(site, no=()):
    return [i.probe for i in instead(site, Offers(no), lambda: EVENTS)]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("vfs_read", "tracepoint:syscalls:sys_enter_read"),
        ("__x64_sys_openat", "tracepoint:syscalls:sys_enter_openat"),
        ("do_sys_openat2", "tracepoint:syscalls:sys_enter_openat"),
        ("ksys_read", "tracepoint:syscalls:sys_enter_read"),
        ("vfs_fstat", "tracepoint:syscalls:sys_enter_newfstat"),
        ("tcp_retransmit_skb", "tracepoint:tcp:tcp_retransmit_skb"),
        ("__tcp_retransmit_skb", "tracepoint:tcp:tcp_retransmit_skb"),
        ("ext4_sync_file", "tracepoint:ext4:ext4_sync_file_enter"),
        ("some_function_without_event", "profile:hz:99"),
    ],
)
def test_a_function_has_an_event_near_by(function, expected):
    assert probes(kprobe(function), NO_FUNCTIONS)[0] == expected


def test_returns_lead_to_returns():
    site = Site("kretprobe:vfs_read", "kretprobe", KprobeAttach("vfs_read", ret=True))
    assert probes(site, NO_FUNCTIONS)[0] == "tracepoint:syscalls:sys_exit_read"


def test_trampolines_and_kprobes_stand_in_for_each_other():
    fentry = Site("fentry:vmlinux:vfs_read", "fentry", FentryAttach("vfs_read", 1))
    assert probes(fentry, ("attach:fentry",))[0] == "kprobe:vfs_read"
    assert "kprobe:vfs_read" not in probes(fentry, NO_FUNCTIONS)


def test_words_that_everything_shares_say_nothing():
    """``get``, ``init`` and the like are in every other name."""
    assert probes(kprobe("get_switch"), NO_FUNCTIONS) == ["profile:hz:99"]


def test_counters_have_the_clock():
    assert probes(Site("hardware:cycles:", "hardware", PerfAttach(0, 0, 1000))) == ["profile:hz:99"]


# --- costs
# --------------------------------------------------------------------------------------------------------------


def test_cost_names_tell_what_makes_them_differ():
    slow = Site("u", "uprobe", UprobeAttach("/a", 1, slow=True))
    usdt = Site("usdt:/a:p:n", "usdt", UprobeAttach("/a", 1))
    ret = Site("ur", "uretprobe", UprobeAttach("/a", 1, ret=True))
    assert cost_name("uprobe_multi", slow) == "uprobe_multi/stepped"
    assert cost_name("uprobe_multi", usdt) == "uprobe_multi/usdt"
    assert cost_name("uprobe_multi", ret) == "uprobe_multi/return"
    assert cost_name("perf record", slow) == "perf record/uprobe/stepped"
    assert cost_name("kprobe", Site("k", "kretprobe", KprobeAttach("f", ret=True))) == "kprobe/return"
    assert cost_name("tp_btf", tracepoint("a:b")) == "tp_btf"


def test_a_measured_cost_stands_for_its_twin():
    """One uprobe and a link of many do the same at a hit; a kernel before 6.6 has only the former to measure."""
    costs = Costs({"uprobe/stepped": Cost(9000)})
    assert costs.ns("uprobe_multi/stepped") == 9000
    assert costs.is_measured("uprobe_multi/stepped")
    assert costs.ns("uprobe_multi/nop5") == 500
    assert not costs.is_measured("uprobe_multi/nop5")
    assert costs.ns("never heard of") == 0


@pytest.mark.parametrize(
    ("ns", "word", "rate"),
    [
        (0, "", "10,000,000"),
        (55, "very low", "180,000"),
        (140, "low", "71,000"),
        (700, "medium", "14,000"),
        (10500, "high", "950"),
    ],
)
def test_costs_in_words(ns, word, rate):
    """10 ms of a second are one per cent: 10,000,000 ns / cost, cut to two digits."""
    assert cost_class(ns) == word
    assert one_percent(ns) == rate
