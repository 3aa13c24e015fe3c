"""Listing on kernels out of a dictionary: shapes, what is missing, the nearest names, and 100,000 functions."""

from __future__ import annotations

import json
import time

import pytest

from probescope.cli.main import main
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host
from probescope.sources import kernel_btf

TRACING = "/sys/kernel/tracing"
FORMAT = """name: sched_switch
ID: 316
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;

print fmt: ""
"""
COUNT = 100_000


def host(functions="vfs_read\nvfs_open\nnf_hook [nf_tables]\n", **files):
    return FakeHost(
        files={
            f"{TRACING}/available_events": "sched:sched_switch\nsched:sched_wakeup\nsyscalls:sys_enter_read\n",
            f"{TRACING}/available_filter_functions": functions,
            f"{TRACING}/events/sched/sched_switch/format": FORMAT,
            f"{TRACING}/events/sched/sched_switch/id": "316\n",
            f"{TRACING}/kprobe_events": "",
            "/sys/bus/event_source/devices/kprobe/type": "6\n",
            **files,
        }
    )


@pytest.fixture(autouse=True)
def without_types(monkeypatch):
    monkeypatch.setattr(kernel_btf, "functions", lambda _module="vmlinux": None)


def listed(capsys, *argv, machine=None):
    with use_host(machine or host()):
        code = main(["list", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_names_stand_alone_on_their_lines(capsys):
    code, out, err = listed(capsys, "tracepoint:sched:*")
    assert (code, out, err) == (0, "tracepoint:sched:sched_switch\ntracepoint:sched:sched_wakeup\n", "")


def test_arguments_stand_under_them(capsys):
    """The shape of bpftrace -lv."""
    code, out, _ = listed(capsys, "-v", "tracepoint:sched:sched_switch")
    assert (code, out) == (0, "tracepoint:sched:sched_switch\n    char prev_comm[16]\n    pid_t prev_pid\n")


def test_json_is_a_document_a_line(capsys):
    _, out, _ = listed(capsys, "-f", "json", "tracepoint:sched:*")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"probe": "tracepoint:sched:sched_switch", "source": "tracepoint"},
        {"probe": "tracepoint:sched:sched_wakeup", "source": "tracepoint"},
    ]
    _, out, _ = listed(capsys, "-v", "-f", "json", "tracepoint:sched:sched_switch")
    assert json.loads(out)["arguments"] == ["char prev_comm[16]", "pid_t prev_pid"]


def test_a_word_is_looked_for_everywhere(capsys):
    _, out, _ = listed(capsys, "read")
    assert {"kprobe:vfs_read", "tracepoint:syscalls:sys_enter_read"} <= set(out.splitlines())


def test_several_patterns(capsys):
    _, out, _ = listed(capsys, "kprobe:vfs_*", "tracepoint:sched:sched_switch")
    assert out.splitlines() == ["kprobe:vfs_open", "kprobe:vfs_read", "tracepoint:sched:sched_switch"]


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        ("tracepoint:sched:sched_swich", "tracepoint:sched:sched_switch"),
        ("tracepoint:schd:sched_switch", "tracepoint:sched:sched_switch"),
        ("sched_swich", "tracepoint:sched:sched_switch"),
        ("kprobe:vfs_raed", "kprobe:vfs_read"),
    ],
)
def test_the_nearest_names(capsys, pattern, near):
    code, out, err = listed(capsys, pattern)
    assert (code, out) == (1, "")
    assert f"no probe matches {pattern}" in err
    assert f"did you mean {near}?" in err


def test_a_source_that_is_not_there_says_why(capsys):
    machine = host()
    for name in (f"{TRACING}/kprobe_events", "/sys/bus/event_source/devices/kprobe/type"):
        del machine.files[name]
    code, _, err = listed(capsys, "kprobe:*", machine=machine)
    assert code == 1
    assert "HINT: kprobe: this kernel has no kprobes (CONFIG_KPROBES)" in err


def test_who_lists_everything_hears_what_is_missing(capsys):
    machine = host()
    for name in (f"{TRACING}/kprobe_events", "/sys/bus/event_source/devices/kprobe/type"):
        del machine.files[name]
    code, out, err = listed(capsys, machine=machine)
    assert code == 0
    assert "tracepoint:sched:sched_switch" in out
    assert "WARNING: no kprobe probes are listed: this kernel has no kprobes" in err


def test_unknown_sources_are_guessed(capsys):
    code, _, err = listed(capsys, "tracepiont:sched:*")
    assert code == 1
    assert "did you mean 'tracepoint'?" in err


def test_sources_of_the_languages_own_tests_are_kept_quiet(capsys):
    """``test`` and ``bench`` are of no use to anybody who asks what there is."""
    for pattern in ("foo:*", "tesst:*"):
        code, _, err = listed(capsys, pattern)
        assert code == 1
        assert "uretprobe" in err
        assert "test," not in err
        assert "bench" not in err


def test_a_hundred_thousand_functions(capsys):
    """Listing them takes a fraction of a second, and so does finding nothing among them."""
    machine = host("".join(f"function_{i:06}\n" for i in range(COUNT)))
    began = time.process_time()
    _, out, _ = listed(capsys, "kprobe:*", machine=machine)
    assert out.count("\n") == COUNT
    code, _, err = listed(capsys, "kprobe:function_00123x", machine=machine)
    assert code == 1
    assert "did you mean kprobe:function_001" in err
    assert time.process_time() - began < 3.0
